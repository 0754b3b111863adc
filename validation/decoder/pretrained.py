"""Reading a Hugging Face model and its tokenizer, in silence, and refusing what is damaged."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from specsim.errors import InputError


def read_pretrained(source: str | Path, *, dtype: torch.dtype) -> tuple[Any, Any]:
    """Model and tokenizer of a folder, a GGUF file, or a name on the Hugging Face hub.

    Raises
    ------
    InputError
        Nothing there, files that cannot be read, or weights that are missing.
    """
    place, options = str(source), {}
    if place.endswith(".gguf"):
        place, options = str(Path(source).parent), {"gguf_file": Path(source).name}
    elif Path(source).is_dir() and not (Path(source) / "config.json").exists():
        raise InputError(f"cannot load {source}: the folder holds no config.json")
    try:
        with silence():
            tokenizer = AutoTokenizer.from_pretrained(place, **options)
            model, report = AutoModelForCausalLM.from_pretrained(
                place, dtype=dtype, output_loading_info=True, use_safetensors=True, **options
            )
    except Exception as error:  # readers of foreign files raise whatever they stumble over
        raise InputError(f"cannot load {source}: {one_line(error)}") from error
    if report["missing_keys"]:  # transformers would fill them with random numbers
        raise InputError(f"cannot load {source}: no weights for {min(report['missing_keys'])}")
    return model.eval(), tokenizer


def one_line(error: BaseException) -> str:
    """The first line of an error's message, or its type where it has none."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


@contextmanager
def silence() -> Iterator[None]:
    """No progress bars (some come from tqdm itself) and no advice from transformers."""
    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.CRITICAL)
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.set_verbosity(verbosity)

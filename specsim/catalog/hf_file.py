"""Reading a Hugging Face config.json: from a file, a folder or its content, down to the language model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specsim import checks
from specsim.errors import InputError

Config = Mapping[str, Any]
# What a multimodal model states beside its text_config and means for the language model too.
_INHERITED = ("quantization_config", "torch_dtype", "dtype", "tie_word_embeddings", "_name_or_path")


def read(config: str | Path | Config) -> tuple[Config, str]:
    """The language model's content, and the place that errors name.

    Examples
    --------
    >>> read({"model_type": "gemma3", "text_config": {"hidden_size": 8}})
    ({'model_type': 'gemma3_text', 'hidden_size': 8}, 'config, text_config')
    """
    content, place = (config, "config") if isinstance(config, Mapping) else _read_file(Path(config))
    if "text_config" not in content:
        return content, place
    text = content["text_config"]
    if not isinstance(text, Mapping):
        raise InputError(f"{place} text_config must be an object, got {text!r}")
    inherited = {key: content[key] for key in _INHERITED if key in content}
    return {"model_type": f"{content.get('model_type')}_text"} | dict(text) | inherited, f"{place}, text_config"


def size(content: Config, key: str, place: str, *, low: int = 1, default: int | None = None) -> int:
    """A whole number that a config states; without a default it must.

    Raises
    ------
    InputError
        It is missing, no whole number, or below `low`; the message names the key and the place.
    """
    value = content.get(key)
    if value is None and default is not None:
        return default
    if value is None:
        raise InputError(f"{place} has no {key}")
    return checks.integer(f"{place}: {key}", value, low=low)


def _read_file(path: Path) -> tuple[Config, str]:
    path = path / "config.json" if path.is_dir() else path
    content = _object(path)
    # NVIDIA's quantiser writes what it did into a file beside the config.
    quantised = path.with_name("hf_quant_config.json")
    if "quantization_config" not in content and quantised.is_file():
        content["quantization_config"] = {"quant_method": "modelopt"} | _object(quantised).get("quantization", {})
    return content, str(path)


def _object(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} must be a JSON object")
    return content

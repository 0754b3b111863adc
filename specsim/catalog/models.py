"""The models of the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from specsim.catalog import rows
from specsim.catalog.attention import LatentAttention, LinearAttention
from specsim.catalog.experts import Experts
from specsim.catalog.model_shape import ModelShape
from specsim.catalog.quantisation import WeightFormat

_NESTED: dict[str, Callable[..., Any]] = {
    "experts": Experts,
    "latent": LatentAttention,
    "linear": LinearAttention,
    "weights": WeightFormat,
}


def model(name: str) -> ModelShape:
    """A model of the catalogue.

    Raises
    ------
    InputError
        An unknown name; the message lists the known ones.

    Examples
    --------
    >>> model("Qwen3-8B").kv_bytes_per_token
    147456.0
    """
    row = rows.row("models.toml", name, kind="model")
    if "same_shape_as" in row:
        other = rows.row("models.toml", row.pop("same_shape_as"), kind="model")
        row = other | row
    return ModelShape(**{key: _value(key, value) for key, value in row.items()})


def model_from(name_or_file: str) -> ModelShape:
    """A model by its catalogue name, or from a Hugging Face config.json or the folder that holds one.

    Raises
    ------
    InputError
        An unknown name, or what `ModelShape.from_config` refuses.

    Examples
    --------
    >>> model_from("SmolLM2-135M").layers
    30
    """
    is_file = name_or_file.endswith(".json") or Path(name_or_file).is_dir()
    return ModelShape.from_config(name_or_file) if is_file else model(name_or_file)


def model_names() -> list[str]:
    """Names of all models of the catalogue.

    Examples
    --------
    >>> model_names()[:3]
    ['SmolLM2-135M', 'SmolLM2-1.7B', 'Llama-3.2-1B']
    """
    return list(rows.table("models.toml"))


def _value(key: str, value: Any) -> Any:
    if key not in _NESTED:
        return value
    return _NESTED[key](**{name: tuple(item) if isinstance(item, list) else item for name, item in value.items()})

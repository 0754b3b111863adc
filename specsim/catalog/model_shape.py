"""ModelShape: the sizes of a dense decoder-only transformer, and what follows from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specsim import checks
from specsim.catalog import rows
from specsim.errors import InputError

ARCHITECTURES = ("llama", "mistral", "qwen2", "qwen3")
_SIZES = ("layers", "hidden", "heads", "kv_heads", "head_dim", "intermediate", "vocabulary")


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelShape:
    """Sizes of a dense decoder with grouped-query attention, a gated MLP and RMS norms.

    Parameters
    ----------
    name : str
        Name of the model.
    layers, hidden, heads, kv_heads, head_dim, intermediate, vocabulary : int
        Sizes, as in Hugging Face's config.json [1].
    tied_embeddings : bool
        Whether the output head is the input embedding.
    source : str
        Where the sizes are published.
    bytes_per_weight, bytes_per_kv : float
        Of one weight and of one cached number [byte].
    qkv_bias, qk_norm : bool
        Biases of query, key and value projections; norms of queries and keys per head.
    note : str
        For readers.

    Raises
    ------
    InputError
        A size below 1, heads that are no multiple of kv_heads, no source.

    Examples
    --------
    >>> model("Llama-3.1-8B").parameters
    8030261248
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    tied_embeddings: bool
    source: str
    bytes_per_weight: float = 2.0
    bytes_per_kv: float = 2.0
    qkv_bias: bool = False
    qk_norm: bool = False
    note: str = ""

    def __post_init__(self) -> None:
        for size in _SIZES:
            checks.integer(size, getattr(self, size), low=1)
        checks.positive("bytes_per_weight", self.bytes_per_weight)
        checks.positive("bytes_per_kv", self.bytes_per_kv)
        if self.heads % self.kv_heads:
            raise InputError(f"heads must be a multiple of kv_heads {self.kv_heads}, got {self.heads}")
        if not self.source:
            raise InputError(f"model {self.name!r} must have a source")

    @property
    def parameters(self) -> int:
        """All parameters, a tied matrix once [1]."""
        return self._embedding * (1 if self.tied_embeddings else 2) + self.layers * self._layer + self.hidden

    @property
    def pass_parameters(self) -> int:
        """Parameters that every pass reads and multiplies: all but the rows looked up in an untied embedding [1]."""
        return self.parameters - (0 if self.tied_embeddings else self._embedding)

    @property
    def weight_bytes(self) -> float:
        """Memory that the weights take [byte]."""
        return self.parameters * self.bytes_per_weight

    @property
    def pass_weight_bytes(self) -> float:
        """Weights that one pass reads, however many tokens it scores [byte]."""
        return self.pass_parameters * self.bytes_per_weight

    @property
    def kv_bytes_per_token(self) -> float:
        """Keys and values of one cached token over all layers [byte]."""
        return 2 * self.layers * self.kv_heads * self.head_dim * self.bytes_per_kv

    @property
    def flop_per_token(self) -> int:
        """Multiplications and additions of the matrices for one scored token, attention apart [FLOP]."""
        return 2 * self.pass_parameters

    @property
    def attention_flop_per_pair(self) -> int:
        """Attention of one scored token to one cached token, over all layers and heads [FLOP]."""
        return 4 * self.layers * self.heads * self.head_dim

    @property
    def _embedding(self) -> int:
        return self.vocabulary * self.hidden

    @property
    def _layer(self) -> int:
        projected = (self.heads + 2 * self.kv_heads) * self.head_dim
        attention = self.hidden * (projected + self.heads * self.head_dim)
        extras = projected * self.qkv_bias + 2 * self.head_dim * self.qk_norm
        return attention + 3 * self.hidden * self.intermediate + 2 * self.hidden + extras

    @classmethod
    def from_config(cls, config: str | Path | Mapping[str, Any], *, name: str | None = None) -> ModelShape:
        """The shape that a Hugging Face config.json (or its folder, or its content) describes.

        Parameters
        ----------
        config : path or mapping
            A file, a folder that holds config.json, or the parsed content.
        name : str, optional
            Name to give; by default the one in the file, else the folder's.

        Returns
        -------
        ModelShape

        Raises
        ------
        InputError
            No such file, not JSON, an architecture other than the dense ones known, or a size that is missing.

        Examples
        --------
        >>> shape = ModelShape.from_config({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 8,
        ...     "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 10}, name="tiny")
        >>> shape.kv_heads, shape.head_dim, shape.parameters
        (2, 4, 1480)
        """
        content, place = _read(config)
        kind = checks.one_of("model_type", str(content.get("model_type")), ARCHITECTURES)
        if content.get("attention_bias") or content.get("mlp_bias"):
            raise InputError(f"{place} has attention_bias or mlp_bias, which the parameter count does not cover")
        heads = _size(content, "num_attention_heads", place)
        hidden = _size(content, "hidden_size", place)
        return cls(
            name=name or content.get("_name_or_path") or place,
            layers=_size(content, "num_hidden_layers", place),
            hidden=hidden,
            heads=heads,
            kv_heads=content.get("num_key_value_heads") or heads,
            head_dim=content.get("head_dim") or hidden // heads,
            intermediate=_size(content, "intermediate_size", place),
            vocabulary=_size(content, "vocab_size", place),
            tied_embeddings=bool(content.get("tie_word_embeddings", False)),
            source=place,
            qkv_bias=kind == "qwen2",
            qk_norm=kind == "qwen3",
            bytes_per_weight=_width(content),
            bytes_per_kv=_width(content),
        )


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
    return ModelShape(**rows.row("models.toml", name, kind="model"))


def model_names() -> list[str]:
    """Names of all models of the catalogue.

    Examples
    --------
    >>> model_names()
    ['SmolLM2-135M', 'Llama-3.1-8B', 'Llama-3.1-70B', 'Qwen3-8B', 'Qwen2.5-7B']
    """
    return list(rows.table("models.toml"))


def _read(config: str | Path | Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    if isinstance(config, Mapping):
        return config, "config"
    path = Path(config)
    path = path / "config.json" if path.is_dir() else path
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} must be a JSON object")
    return content, str(path)


def _size(content: Mapping[str, Any], key: str, place: str) -> int:
    if key not in content:
        raise InputError(f"{place} has no {key}")
    return checks.integer(key, content[key], low=1)


def _width(content: Mapping[str, Any]) -> float:
    """Bytes of one number in the stored format; 2 when the file does not say."""
    return 4.0 if "float32" in (content.get("dtype"), content.get("torch_dtype")) else 2.0

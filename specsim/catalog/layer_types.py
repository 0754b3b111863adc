"""Which layers of a config see a window, and which hold a state instead of a cache."""

from __future__ import annotations

from collections.abc import Callable

from specsim.catalog.hf_file import Config, size
from specsim.errors import InputError

WINDOWED = ("sliding_attention", "chunked_attention")
LINEAR = "linear_attention"
FULL = "full_attention"


def layer_types(content: Config, place: str, *, layers: int, default: str) -> list[str]:
    """The kind of each layer: listed in the config, or by the architecture's rule.

    Parameters
    ----------
    content : mapping
        The config.
    place : str
        For messages.
    layers : int
        Layers of the model [1].
    default : str
        Name of the rule, a key of `RULES`.

    Raises
    ------
    InputError
        A list of another length, an unknown kind, or windows that only a list could place.

    Examples
    --------
    >>> layer_types({"sliding_window": 128}, "config", layers=3, default="alternate")
    ['sliding_attention', 'full_attention', 'sliding_attention']
    """
    listed = content.get("layer_types")
    if listed is None:
        windowed = RULES[default](content, place)
        return [windowed(layer) for layer in range(layers)]
    if len(listed) != layers:
        raise InputError(f"{place}: layer_types must have num_hidden_layers {layers} entries, got {len(listed)}")
    for layer, kind in enumerate(listed):
        if kind not in (*WINDOWED, LINEAR, FULL):
            raise InputError(f"{place}: layer_types[{layer}] must be one of {(*WINDOWED, LINEAR, FULL)}, got {kind!r}")
    return list(listed)


def window(content: Config, place: str, kinds: list[str]) -> int:
    """Tokens that windowed layers see; 0 where there are none [1]."""
    if not set(kinds) & set(WINDOWED):
        return 0
    return size(content, "attention_chunk_size" if "chunked_attention" in kinds else "sliding_window", place)


Rule = Callable[[int], str]


def _full(content: Config, place: str) -> Rule:
    return lambda layer: FULL


def _listed(content: Config, place: str) -> Rule:
    if content.get("use_sliding_window"):
        raise InputError(f"{place} has use_sliding_window and no layer_types that say where")
    return lambda layer: FULL


def _all_windowed(content: Config, place: str) -> Rule:
    return lambda layer: WINDOWED[0] if content.get("sliding_window") else FULL


def _all_windowed_if_used(content: Config, place: str) -> Rule:
    return _all_windowed(content, place) if content.get("use_sliding_window") else _full(content, place)


def _late_windows(content: Config, place: str) -> Rule:
    if not (content.get("use_sliding_window") and content.get("sliding_window")):
        return _full(content, place)
    first = size(content, "max_window_layers", place, low=0)
    return lambda layer: WINDOWED[0] if layer >= first else FULL


def _alternate(content: Config, place: str) -> Rule:
    return lambda layer: FULL if layer % 2 else WINDOWED[0]


def _every_sixth_full(content: Config, place: str) -> Rule:
    period = size(content, "sliding_window_pattern", place, default=6)
    return lambda layer: WINDOWED[0] if (layer + 1) % period else FULL


def _every_fourth_full(content: Config, place: str) -> Rule:
    period = size(content, "full_attention_interval", place, default=4)
    return lambda layer: LINEAR if (layer + 1) % period else FULL


def _chunked(content: Config, place: str) -> Rule:
    rotary = content.get("no_rope_layers")  # 1 where positions are rotated, and those layers are chunked
    if not content.get("attention_chunk_size"):
        return _full(content, place)
    if rotary:
        return lambda layer: WINDOWED[1] if rotary[layer] else FULL
    period = size(content, "no_rope_layer_interval", place, default=4)
    return lambda layer: WINDOWED[1] if (layer + 1) % period else FULL


RULES: dict[str, Callable[[Config, str], Rule]] = {
    "full": _full,
    "listed": _listed,
    "all_windowed": _all_windowed,
    "all_windowed_if_used": _all_windowed_if_used,
    "late_windows": _late_windows,
    "alternate": _alternate,
    "every_sixth_full": _every_sixth_full,
    "every_fourth_full": _every_fourth_full,
    "chunked": _chunked,
}

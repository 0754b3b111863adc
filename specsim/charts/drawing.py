"""Finished charts as files: the Vega libraries for a page, a specification as SVG or PNG.

vl-convert, which carries the libraries, is an extra of the package; only what draws asks for it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

import altair as alt

from specsim.errors import InputError

PIXELS = 2
"""Of a .png for each point of the chart, for screens that have them."""


def script_json(value: object) -> str:
    r"""JSON that is safe inside a script element: no text in it can close the element or open a comment.

    Examples
    --------
    >>> script_json({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@functools.cache
def vega_bundle() -> str:
    """Vega, Vega-Lite and vega-embed as one script, in the Vega-Lite version that Altair writes.

    Raises
    ------
    InputError
        vl-convert is not installed.
    """
    bundle: str = vl_convert().javascript_bundle(snippet=None, vl_version=_version())
    return bundle.replace("</script", "<\\/script")


def svg(spec: Mapping[str, Any]) -> str:
    """A specification as SVG."""
    return str(vl_convert().vegalite_to_svg(dict(spec), vl_version=_version()))


def png(spec: Mapping[str, Any], *, pixels: float = PIXELS) -> bytes:
    """A specification as PNG, with so many pixels for each of its points."""
    return bytes(vl_convert().vegalite_to_png(dict(spec), vl_version=_version(), scale=pixels))


PICTURES: dict[str, Callable[[Mapping[str, Any]], str | bytes]] = {".png": png, ".svg": svg}


def vl_convert() -> Any:
    """The module that draws.

    Raises
    ------
    InputError
        It is not installed; the message says how to get it.
    """
    try:
        import vl_convert
    except ImportError:
        raise InputError("a chart needs vl-convert: pip install 'specsim[report]'") from None
    return vl_convert


def _version() -> str:
    """Of Vega-Lite, as Altair writes it and vl-convert names it."""
    return ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])

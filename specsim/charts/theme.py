"""One look for every chart: colours, type and line styles, as Vega-Lite configs for light and dark.

Charts name styles ("guide", "band", ...) and never colours, so the same chart can be shown in either theme.
The categorical colours keep a contrast of at least 3:1 to the background (WCAG 2.2, 1.4.11) and stay apart under
simulated protanopia, deuteranopia and tritanopia; the tests compute both.
"""

from __future__ import annotations

from typing import Any

import altair as alt

from specsim import checks

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'

COLOURS: dict[str, dict[str, Any]] = {
    "light": {
        "background": "#ffffff",
        "text": "#1c2230",
        "muted": "#5b6475",
        "grid": "#e6e9ef",
        "axis": "#c3c9d4",
        "category": ["#1B63D6", "#A8320A", "#12A37A", "#D05FBD", "#343A4C", "#A39400"],
        "parts": ["#CC8A00", "#47536B", "#8FA3BF", "#CBD3DF", "#A8320A", "#12A37A"],
        "diverging": ["#E79A7C", "#F4F5F7", "#8DB7F0"],
    },
    "dark": {
        "background": "#15181d",
        "text": "#e8ebf1",
        "muted": "#a2abbb",
        "grid": "#2a2f39",
        "axis": "#4a5261",
        "category": ["#3F9BF5", "#EE6C45", "#6DE8B4", "#E6C2F2", "#868C99", "#F7B82A"],
        "parts": ["#F0B23E", "#93A6C6", "#62728E", "#414B5C", "#C4512F", "#3FA98A"],
        "diverging": ["#8F3F22", "#262B34", "#245C9E"],
    },
}


def config(theme: str = "light") -> dict[str, Any]:
    """The Vega-Lite config of a theme.

    Parameters
    ----------
    theme : str
        "light" or "dark".

    Returns
    -------
    dict
        Ready for `config=` of a specification or of vega-embed.

    Raises
    ------
    InputError
        Unknown theme.

    Examples
    --------
    >>> config("dark")["background"]
    '#15181d'
    """
    colours = COLOURS[checks.one_of("theme", theme, COLOURS)]
    return {
        "background": colours["background"],
        "font": FONT,
        "padding": 4,
        "view": {"stroke": None, "continuousWidth": 560, "continuousHeight": 320, "discreteWidth": 560},
        "title": {
            "anchor": "start",
            "color": colours["text"],
            "fontSize": 15,
            "fontWeight": 600,
            "offset": 12,
            "frame": "group",
        },
        "axis": _axis(colours),
        "axisBand": {"grid": False},
        "legend": _legend(colours),
        "range": {
            "category": colours["category"],
            "ordinal": colours["parts"],
            "diverging": colours["diverging"],
        },
        "mark": {"color": colours["category"][0]},
        "line": {"strokeWidth": 2.25, "strokeCap": "round"},
        "point": {"filled": True, "size": 64, "opacity": 1},
        "bar": {"cornerRadius": 1},
        "text": {"color": colours["text"], "fontSize": 12},
        "style": _styles(colours),
    }


def finish(*layers: alt.Chart, title: str, description: str, theme: str) -> alt.LayerChart:
    """The layers as one chart with its title, its alternative text and its theme's config."""
    return alt.LayerChart(layer=list(layers), title=title, description=description, config=config(theme))


def stacked(*charts: alt.LayerChart) -> alt.VConcatChart:
    """Finished charts of one theme, one below the other.

    Examples
    --------
    >>> one = finish(alt.Chart().mark_rule(), title="One", description="A rule.", theme="light")
    >>> both = stacked(one, one)
    >>> len(both.vconcat), both.config == one.config, both.description
    (2, True, 'A rule. A rule.')
    """
    plain = [chart.copy(deep=False) for chart in charts]
    for chart in plain:
        chart.config = alt.Undefined
    described = " ".join(str(chart.description) for chart in charts)
    together = alt.VConcatChart(vconcat=plain, spacing=36, description=described, config=charts[0].config)
    apart: alt.VConcatChart = together.resolve_scale(color="independent", shape="independent")
    return apart


def _axis(colours: dict[str, Any]) -> dict[str, Any]:
    return {
        "domainColor": colours["axis"],
        "gridColor": colours["grid"],
        "tickColor": colours["axis"],
        "tickSize": 4,
        "labelColor": colours["muted"],
        "labelFontSize": 12,
        "labelPadding": 5,
        "labelOverlap": "greedy",
        "titleColor": colours["muted"],
        "titleFontSize": 12,
        "titleFontWeight": 500,
        "titlePadding": 10,
        "tickCount": {"expr": "clamp(ceil(width / 70), 3, 10)"},
    }


def _legend(colours: dict[str, Any]) -> dict[str, Any]:
    return {
        "orient": "top",
        "direction": "horizontal",
        "title": None,
        "labelColor": colours["text"],
        "labelFontSize": 12,
        "labelLimit": {"expr": "max(80, width - 20)"},
        "symbolBaseFillColor": colours["muted"],
        "symbolBaseStrokeColor": colours["muted"],
        "symbolSize": 90,
        "symbolStrokeWidth": 2.25,
        "columnPadding": 18,
        "rowPadding": 4,
        "offset": 10,
        "padding": 0,
    }


def _styles(colours: dict[str, Any]) -> dict[str, Any]:
    return {
        "guide": {"color": colours["muted"], "strokeWidth": 1.25, "strokeDash": [5, 4]},
        "band": {"fillOpacity": 0.14, "strokeOpacity": 0},
        "interval": {"strokeWidth": 1.75, "strokeOpacity": 0.75},
        "boundary": {"color": colours["text"], "strokeWidth": 2.5, "strokeCap": "butt"},
        "halo": {"stroke": colours["background"], "strokeWidth": 4},
        "neutral": {"color": colours["muted"]},
        "neutral-band": {"color": colours["muted"], "fillOpacity": 0.2, "strokeOpacity": 0},
    }

"""Tokens per round against drafted tokens: laws, data, and how far the laws can be trusted beyond the data."""

from __future__ import annotations

import altair as alt
import pandas as pd

from specsim.charts.frame import coloured, data, described, legend, once, tip
from specsim.charts.theme import finish

ENDS = ["low", "high"]
SEEN = "measured"


def tokens_by_gamma(
    frame: pd.DataFrame,
    *,
    band: pd.DataFrame | None = None,
    measured: pd.DataFrame | None = None,
    title: str = "Tokens per round by drafted tokens",
    theme: str = "light",
) -> alt.LayerChart:
    """Tokens per round against drafted tokens, one line per law, with what was measured and what is left open.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per law and gamma. Columns: `law` (name), `gamma` (drafted tokens per round) [1], `E_tokens`
        (bonus included) [1].
    band : pandas.DataFrame, optional
        Interval at each gamma. Columns: `gamma`, `low`, `high` [1].
    measured : pandas.DataFrame, optional
        What was measured. Columns: `gamma`, `E_tokens`, `low`, `high` [1]; the region beyond its deepest gamma is
        marked as extrapolated.
    title : str
        Title, to say whose drafts.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        A dashed diagonal is every draft accepted.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, two rows for one place, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"law": "constant", "gamma": [1, 2], "E_tokens": [1.7, 2.19]})
    >>> tokens_by_gamma(frame).title
    'Tokens per round by drafted tokens'
    """
    source = data(frame, chart="tokens_by_gamma", text=["law"], numbers=["gamma", "E_tokens"])
    once(frame, ["law", "gamma"], chart="tokens_by_gamma")
    lines = alt.Chart(source).encode(
        _across(),
        _up(),
        coloured(frame, "law", order=None),
        tooltip=[tip("law", "law"), tip("gamma", "γ", "d"), tip("E_tokens", "tokens per round", ".3f")],
    )
    return finish(
        *([] if measured is None else _beyond(measured, int(frame["gamma"].max()))),
        *([] if band is None else [_band(band)]),
        _most(frame),
        lines.mark_line(),
        *([] if measured is None else _points(measured)),
        title=title,
        description=f"Line chart of the tokens per round against drafted tokens per round, {title}, by the laws "
        f"{described(frame, 'law')}, with a band of what the data leave open; beyond the data it is extrapolated.",
        theme=theme,
    )


def _across() -> alt.X:
    axis = alt.Axis(format="d", tickMinStep=1, grid=False)
    scale = alt.Scale(zero=False, nice=False, padding=12)
    return alt.X("gamma:Q", title="γ, drafted tokens per round", axis=axis, scale=scale)


def _up(field: str = "E_tokens") -> alt.Y:
    return alt.Y(f"{field}:Q", title="tokens per round, bonus included", scale=alt.Scale(domainMin=1, clamp=True))


def _band(band: pd.DataFrame) -> alt.Chart:
    source = data(band, chart="tokens_by_gamma band", numbers=["gamma", *ENDS])
    drawn: alt.Chart = alt.Chart(source).mark_area(style="neutral-band").encode(_across(), _up("low"), alt.Y2("high:Q"))
    return drawn


def _most(frame: pd.DataFrame) -> alt.Chart:
    """Every draft accepted, as far as the laws reach up."""
    top = float(frame["E_tokens"].max()) * 1.15
    first = int(frame["gamma"].min())
    rows = [{"gamma": gamma, "E_tokens": gamma + 1} for gamma in (first, max(first, top - 1))]
    drawn: alt.Chart = alt.Chart(alt.InlineData(values=rows)).mark_line(style="guide").encode(_across(), _up())
    return drawn


def _points(measured: pd.DataFrame) -> list[alt.Chart]:
    source = data(measured, chart="tokens_by_gamma measured", numbers=["gamma", "E_tokens", *ENDS])
    base = (
        alt.Chart(source)
        .transform_calculate(kind=f"'{SEEN}'")
        .encode(
            _across(),
            tooltip=[
                tip("gamma", "γ", "d"),
                tip("E_tokens", "measured", ".3f"),
                tip("low", "low", ".3f"),
                tip("high", "high", ".3f"),
            ],
        )
    )
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=[SEEN], range=["diamond"]), legend=legend([SEEN]))
    return [
        base.mark_rule(style=["interval", "neutral"]).encode(_up("low"), alt.Y2("high:Q")),
        base.mark_point(style="neutral", size=80).encode(_up(), shape),
    ]


def _beyond(measured: pd.DataFrame, deepest: int) -> list[alt.Chart]:
    """The region past the last measured gamma."""
    last = int(measured["gamma"].max())
    if last >= deepest:
        return []
    row = {"gamma": last, "end": deepest, "text": "beyond the data", "top": 0}
    base = alt.Chart(alt.InlineData(values=[row])).encode(_across())
    words = base.mark_text(style="neutral", align="left", dx=6, dy=8)
    return [
        base.mark_rule(style="guide"),
        words.encode(alt.Y("top:Q", scale=None, axis=None), text="text:N"),
    ]

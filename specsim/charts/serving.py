"""Latencies of a server under load, and the promises that it keeps."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from specsim import checks
from specsim.charts.frame import coloured, data, described, legend, once, tip
from specsim.charts.theme import finish
from specsim.errors import InputError

LATENCIES = {
    "first_token": "time to the first token",
    "per_token": "time per further token",
    "request": "time of a whole request",
}
DASHES = [[1, 0], [6, 4], [2, 3]]
"""Of lines from the lowest percentile to the highest."""
LOAD = "requests arriving per second"


def latency_by_load(
    frame: pd.DataFrame,
    *,
    latency: str,
    promise_seconds: float | None = None,
    order: Sequence[str] | None = None,
    theme: str = "light",
) -> alt.LayerChart:
    """Percentiles of one latency against load, a colour per policy and a dash per percentile.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per policy, load, latency and quantile, as of `specsim.simulate.serving.Study`. Columns: `policy`,
        `latency` (names), `requests_per_second` [1/s], `quantile` [1], `seconds` [s].
    latency : str
        "first_token", "per_token" or "request".
    promise_seconds : float, optional
        What is promised; a dashed line [s].
    order : sequence of str, optional
        Policies in the order in which colours are given, to keep colours the same across charts.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        The time is on a logarithmic axis: beyond what a server can answer, requests pile up.

    Raises
    ------
    InputError
        Unknown theme or latency, a missing column, no rows of that latency, more than three quantiles, two rows for
        one place, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"policy": "plain", "latency": "request", "requests_per_second": [1.0, 2.0],
    ...                       "quantile": 0.5, "seconds": [2.0, 3.0]})
    >>> latency_by_load(frame, latency="request").title
    'Time of a whole request by load'
    """
    chart = "latency_by_load"
    what = LATENCIES[checks.one_of("latency", latency, LATENCIES)]
    numbers = ["requests_per_second", "quantile", "seconds"]
    source = data(frame, chart=chart, text=["latency", "policy"], numbers=numbers)
    rows = frame[frame["latency"] == latency]
    if rows.empty:
        raise InputError(f"{chart} needs at least one row whose latency is {latency!r}, got none")
    once(rows, ["policy", "requests_per_second", "quantile"], chart=chart)
    kinds = [_percentile(quantile) for quantile in sorted(rows["quantile"].unique())]
    checks.integer("quantiles of latency_by_load", len(kinds), high=len(DASHES))
    values = [row | {"percentile": _percentile(row["quantile"])} for row in source.values if row["latency"] == latency]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        alt.X("requests_per_second:Q", title=LOAD, axis=alt.Axis(grid=False)),
        _seconds(what, [*rows["seconds"], *([] if promise_seconds is None else [promise_seconds])]),
        coloured(rows, "policy", order=order),
        tooltip=[
            tip("policy", "drafting"),
            tip("requests_per_second", "requests/s", ".3~g"),
            tip("percentile", "percentile"),
            tip("seconds", "seconds", ".3~g"),
        ],
    )
    dash = alt.StrokeDash("percentile:N", scale=alt.Scale(domain=kinds, range=DASHES), legend=legend(kinds))
    top = float(rows["seconds"].max())
    promised = [] if promise_seconds is None else _promise(promise_seconds, is_above=promise_seconds > top)
    title = f"{what.capitalize()} by load"
    return finish(
        *promised,
        base.mark_line().encode(dash, alt.Detail("quantile:Q")),
        base.mark_point(size=22),
        title=title,
        description=f"Line chart of the {what} against {LOAD}, percentiles {', '.join(kinds)}, for "
        f"{described(rows, 'policy')}; a dashed line marks what is promised, if anything is.",
        theme=theme,
    )


def kept_by_load(
    frame: pd.DataFrame,
    *,
    title: str = "Requests answered as promised",
    order: Sequence[str] | None = None,
    theme: str = "light",
) -> alt.LayerChart:
    """Requests per second to which a promise is kept against those that arrive, a line per policy.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per policy and load, as of `specsim.simulate.serving.Study`. Columns: `policy` (name),
        `requests_per_second`, `kept_requests_per_second` [1/s], `kept` (share of requests) [1].
    title : str
        Title, to say what is promised.
    order : sequence of str, optional
        Policies in the order in which colours are given, to keep colours the same across charts.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        On the dashed diagonal every request is answered as promised.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, two rows for one place, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"policy": "plain", "requests_per_second": [1.0, 2.0], "kept": [1.0, 0.5],
    ...                       "kept_requests_per_second": [1.0, 1.0]})
    >>> kept_by_load(frame).title
    'Requests answered as promised'
    """
    numbers = ["requests_per_second", "kept_requests_per_second", "kept"]
    source = data(frame, chart="kept_by_load", text=["policy"], numbers=numbers)
    once(frame, ["policy", "requests_per_second"], chart="kept_by_load")
    base = alt.Chart(source).encode(
        alt.X("requests_per_second:Q", title=LOAD, axis=alt.Axis(grid=False)),
        alt.Y("kept_requests_per_second:Q", title="of these answered as promised, per second"),
        coloured(frame, "policy", order=order),
        tooltip=[
            tip("policy", "drafting"),
            tip("requests_per_second", "requests/s", ".3~g"),
            tip("kept_requests_per_second", "as promised/s", ".3~g"),
            tip("kept", "share", ".1%"),
        ],
    )
    ends = [{"load": load} for load in (frame["requests_per_second"].min(), frame["requests_per_second"].max())]
    diagonal = alt.Chart(alt.InlineData(values=ends)).mark_line(style="guide").encode(alt.X("load:Q"), alt.Y("load:Q"))
    return finish(
        diagonal,
        base.mark_line(),
        base.mark_point(size=40),
        title=title,
        description=f"Line chart of the requests answered as promised against {LOAD}, {title}, for "
        f"{described(frame, 'policy')}; on the dashed diagonal all are.",
        theme=theme,
    )


def _seconds(what: str, values: Sequence[float]) -> alt.Y:
    """Logarithmic, ticked at 1, 2 and 5 in each decade, in milliseconds below a second."""
    ticks = [digit * 10.0**power for power in range(-6, 6) for digit in (1, 2, 5)]
    inside = [tick for tick in ticks if 0.7 * min(values) <= tick <= 1.4 * max(values)]
    words = "datum.value < 0.9995 ? format(1000 * datum.value, '~g') + ' ms' : format(datum.value, '~g') + ' s'"
    axis = alt.Axis(values=inside, tickCount=99, labelExpr=words, labelSeparation=4)
    return alt.Y("seconds:Q", title=what, scale=alt.Scale(type="log", nice=False, padding=8), axis=axis)


def _promise(seconds: float, *, is_above: bool) -> list[alt.Chart]:
    """The line, and a word on the side where there is room."""
    base = alt.Chart(alt.InlineData(values=[{"promise": seconds, "words": "promised"}])).encode(alt.Y("promise:Q"))
    words = base.encode(alt.Text("words:N"), x=alt.value(4))
    place = 11 if is_above else -8
    return [
        base.mark_rule(style="guide"),
        words.mark_text(style="halo", align="left", dy=place),
        words.mark_text(style="neutral", align="left", dy=place),
    ]


def _percentile(quantile: float) -> str:
    return f"p{100 * quantile:g}"

"""Time of a pass as a datasheet promises it, and as measured kernels give it."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from specsim import checks
from specsim.charts.frame import data, decades, doubling, legend, names, once, tip
from specsim.charts.theme import finish

LAWS = {"ideal": "ideal: the data sheet's peaks", "calibrated": "calibrated: what kernels reach"}
"""What each line means; the first is a bound that no pass beats."""


def pass_seconds_against_ideal(
    frame: pd.DataFrame,
    *,
    ridges: pd.DataFrame | None = None,
    title: str = "Time of one pass, ideal and calibrated",
    theme: str = "light",
) -> alt.LayerChart:
    """Seconds of one forward pass against the tokens it scores: a bound by the data sheet, and what is expected.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per law and number of tokens. Columns: `law` ("ideal" or "calibrated"), `tokens` (scored in the pass,
        of all sequences) [1], `seconds` [s].
    ridges : pandas.DataFrame, optional
        Where each law turns compute-bound. Columns: `law`, `tokens` [1], `seconds` (of a pass there) [s].
    title : str
        Title, to say which model runs where.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Both axes logarithmic: flat while a pass waits for memory, a slope of 1 once it waits for compute; diamonds
        mark the ridge between.

    Raises
    ------
    InputError
        Unknown theme or law, a missing column, no rows, two rows for one place, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"law": "ideal", "tokens": [1, 512], "seconds": [4.5e-3, 7.8e-3]})
    >>> pass_seconds_against_ideal(frame).title
    'Time of one pass, ideal and calibrated'
    """
    rows = _rows(frame, chart="pass_seconds_against_ideal")
    once(frame, ["law", "tokens"], chart="pass_seconds_against_ideal")
    marked = [] if ridges is None or ridges.empty else _rows(ridges, chart="pass_seconds_against_ideal ridges")
    times = [row["seconds"] for row in (*rows, *marked)]
    colour = alt.Color(
        "meaning:N",
        scale=alt.Scale(domain=list(LAWS.values())),
        legend=legend([LAWS[law] for law in names(frame, "law")]),
    )
    lines, marks = (
        alt.Chart(alt.InlineData(values=values)).encode(
            doubling(frame, "tokens", title="tokens scored in one pass"),
            decades("seconds", title="time of one pass [ms]", low=min(times), high=max(times), form="~g"),
            colour,
            tooltip=[tip("law", "law"), tip("tokens", "tokens scored", ",.0f"), tip("seconds", "time [ms]", ".4~g")],
        )
        for values in (rows, marked)
    )
    return finish(
        lines.mark_line(),
        *(_ridges(marks) if marked else []),
        title=title,
        description=f"Line chart of the time of one forward pass against the tokens scored, {title}; diamonds mark "
        "the ridge, where the pass turns from waiting for memory to waiting for compute.",
        theme=theme,
    )


def _rows(frame: pd.DataFrame, *, chart: str) -> list[dict[str, Any]]:
    source = data(frame, chart=chart, text=["law"], numbers=["tokens", "seconds"], scale={"seconds": 1000})
    return [row | {"meaning": LAWS[checks.one_of("law", row["law"], LAWS)]} for row in source.values]


def _ridges(marks: alt.Chart) -> list[alt.Chart]:
    words = marks.transform_calculate(text="'ridge, ' + format(datum.tokens, '.0f') + ' tokens'")
    return [
        marks.mark_point(shape="diamond", size=130),
        words.mark_text(style="halo", align="right", dx=-10, dy=-10).encode(text="text:N"),
        words.mark_text(align="right", dx=-10, dy=-10).encode(text="text:N"),
    ]

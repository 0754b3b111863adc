"""What speculation gains over batch size, and where it stops gaining."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import altair as alt
import pandas as pd

from specsim import checks
from specsim.charts.frame import coloured, data, described, doubling, even, legend, once, tip
from specsim.charts.theme import finish

MARKS = {
    "fits": ("fits the memory", "circle"),
    "lacks": ("exceeds the memory", "cross"),
    "crossover": ("crosses 1", "diamond"),
    "compute-bound": ("turns compute-bound", "triangle-up"),
}
"""What each shape means; what fits needs no explanation."""
MEANINGS = {mark: meaning for mark, (meaning, _) in MARKS.items()}


def gain_by_batch(
    frame: pd.DataFrame,
    *,
    by: str,
    marks: pd.DataFrame | None = None,
    title: str = "Speedup by batch size",
    theme: str = "light",
) -> alt.LayerChart:
    """Speedup against batch size, one line per method, context or other input.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per line and batch, as of `sweep`. Columns: the one that `by` names, `batch` [1], `speedup` [1],
        `fits` (whether there is memory for it).
    by : str
        Column that tells lines apart, such as "method" or "context".
    marks : pandas.DataFrame, optional
        Points to mark on the lines. Columns: the one that `by` names, `batch`, `speedup` [1], `mark` ("crossover":
        the last or first batch that gains; "compute-bound": the first whose verification waits for compute).
    title : str
        Title, to say what all lines share.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        A dashed line marks 1, below which speculation loses; points are crosses where the memory is too small.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, two rows for one place, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"method": "ngram", "batch": [1, 2], "speedup": [2.0, 1.9], "fits": True})
    >>> gain_by_batch(frame, by="method").title
    'Speedup by batch size'
    """
    data(frame, chart="gain_by_batch", text=[by], numbers=["batch", "speedup"], flags=["fits"])
    once(frame, [by, "batch"], chart="gain_by_batch")
    lines = _lines(frame, by)
    marked = [] if marks is None or marks.empty else _marked(marks, by)
    colour = coloured(lines, "line", order=None)
    source = data(lines, chart="gain_by_batch", text=["line"], numbers=["batch", "speedup"], flags=["fits"])
    rows = [row | {"mark": "fits" if row["fits"] else "lacks"} for row in source.values]
    shape = _shape({row["mark"] for row in [*rows, *marked]})
    across = doubling(frame, "batch", title="batch size")
    up = alt.Y("speedup:Q", title="speedup over plain decoding [×]", scale=alt.Scale(domainMin=0))
    tips = [tip("line", by.replace("_", " ")), tip("batch", "batch size", "d"), tip("speedup", "speedup", ".3f")]
    base, points = (
        alt.Chart(alt.InlineData(values=values))
        .transform_calculate(meaning=f"{MEANINGS}[datum.mark]")
        .encode(across, up, colour, tooltip=[*tips, tip("meaning", "here")])
        for values in (rows, marked)
    )
    return finish(
        even(),
        base.mark_line(),
        base.mark_point(size=30).encode(shape),
        *([points.mark_point(size=110).encode(shape)] if marked else []),
        title=title,
        description=f"Line chart of the speedup over plain decoding against batch size, {title}, for "
        f"{described(lines, 'line')}; a dashed line marks a speedup of 1.",
        theme=theme,
    )


def _lines(frame: pd.DataFrame, by: str) -> pd.DataFrame:
    """The frame with the name of each row's line: a number alone would not say what it is."""
    word = f"{by.replace('_', ' ')} " if pd.api.types.is_numeric_dtype(frame[by]) else ""
    return frame.assign(line=word + frame[by].astype(str))


def _marked(marks: pd.DataFrame, by: str) -> list[dict[str, Any]]:
    chart = "gain_by_batch marks"
    data(marks, chart=chart, text=[by])
    source = data(_lines(marks, by), chart=chart, text=["line", "mark"], numbers=["batch", "speedup"])
    rows: list[dict[str, Any]] = source.values
    for row in rows:
        checks.one_of("mark", row["mark"], MARKS)
    return rows


def _shape(present: Collection[str]) -> alt.Shape:
    meanings, shapes = zip(*MARKS.values(), strict=True)
    explained = [meaning for mark, (meaning, _) in MARKS.items() if mark in present and mark != "fits"]
    return alt.Shape(
        "meaning:N",
        scale=alt.Scale(domain=meanings, range=shapes),
        legend=legend(explained, orient="bottom") if explained else None,
    )

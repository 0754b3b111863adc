"""Speedup against batch size on a GPU, and where it falls to 1."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from specsim.charts.frame import coloured, data, described, doubling, even, legend, names, tip
from specsim.charts.theme import finish

KEYS = ["hardware", "model", "proposer", "efficiency"]
EFFICIENCIES = ["expected", "ideal"]


def speedup_by_batch(
    frame: pd.DataFrame,
    *,
    crossover: pd.DataFrame | None = None,
    order: Sequence[str] | None = None,
    highest: float | None = None,
    theme: str = "light",
) -> alt.LayerChart:
    """Speedup against batch size for one model on one GPU, one line per drafter and efficiency.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per drafter, efficiency and batch. Columns: `hardware`, `model`, `proposer` (names), `gamma` [1],
        `efficiency` ("ideal": the data sheet's peaks; "expected": what measured kernels reach, with overheads),
        `batch` [1], `speedup` [1].
    crossover : pandas.DataFrame, optional
        Where lines meet 1. Columns: the names above, `gamma`, and `crossover_batch`
        [1]; rows with less than 1 are not shown.
    order : sequence of str, optional
        Drafters in the order in which colours are given, to keep colours the same across charts.
    highest : float, optional
        Top of the speedup axis [1], to give several charts the same axis.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Solid lines are the expected efficiency, dashed ideal; diamonds are crossovers.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"hardware": "H100", "model": "8B", "proposer": "ngram", "gamma": 4,
    ...                       "efficiency": "ideal", "batch": [1, 2], "speedup": [2.0, 1.9]})
    >>> speedup_by_batch(frame).title
    '8B on H100'
    """
    source = data(frame, chart="speedup_by_batch", text=KEYS, numbers=["gamma", "batch", "speedup"])
    top = alt.Scale(domainMin=0) if highest is None else alt.Scale(domain=[0, highest])
    colour = coloured(frame, "proposer", order=order)
    strokes = alt.Scale(domain=EFFICIENCIES, range=[[1, 0], [5, 4]])
    dash = alt.StrokeDash(
        "efficiency:N",
        scale=strokes,
        legend=legend([name for name in EFFICIENCIES if name in names(frame, "efficiency")]),
    )
    base = alt.Chart(source).encode(
        doubling(frame, "batch", title="batch size"),
        alt.Y("speedup:Q", title="speedup over plain decoding [×]", scale=top),
        colour,
        tooltip=[*_who(), tip("batch", "batch size", "d"), tip("speedup", "speedup", ".3f")],
    )
    title = f"{described(frame, 'model')} on {described(frame, 'hardware')}"
    return finish(
        even(),
        base.mark_line().encode(dash, alt.Detail("gamma:Q")),
        base.mark_point(size=24),
        *([] if crossover is None else [_diamonds(crossover, colour)]),
        title=title,
        description=f"Line chart of the speedup over plain decoding against batch size, {title}, for "
        f"{described(frame, 'proposer')}, at ideal and expected efficiency; a dashed line marks a speedup of 1.",
        theme=theme,
    )


def _diamonds(crossover: pd.DataFrame, colour: alt.Color) -> alt.Chart:
    source = data(crossover, chart="speedup_by_batch crossover", text=KEYS, numbers=["gamma", "crossover_batch"])
    diamonds: alt.Chart = (
        alt.Chart(source)
        .transform_filter("datum.crossover_batch >= 1")
        .mark_point(shape="diamond", size=110)
        .encode(
            alt.X("crossover_batch:Q"),
            alt.YDatum(1),
            colour,
            tooltip=[*_who(), tip("crossover_batch", "largest batch that gains", "d")],
        )
    )
    return diamonds


def _who() -> list[alt.Tooltip]:
    return [tip("proposer", "drafter"), tip("gamma", "γ", "d"), tip("efficiency", "efficiency")]

"""Speedup against the number of drafted tokens per round."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from specsim.charts.frame import coloured, data, described, even, tip
from specsim.charts.theme import finish


def speedup_by_gamma(
    frame: pd.DataFrame,
    *,
    measured: pd.DataFrame | None = None,
    order: Sequence[str] | None = None,
    theme: str = "light",
) -> alt.LayerChart:
    """The model's speedup as a line with its interval as a band, one per drafter, and measured points on top.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per drafter and gamma of the model. Columns: `proposer` (name), `gamma` [1], `speedup`, `low`,
        `high` [1].
    measured : pandas.DataFrame, optional
        The same columns for measured values.
    order : sequence of str, optional
        Drafters in the order in which colours are given, to keep colours the same across charts.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        A dashed line marks 1, below which speculation loses.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"proposer": "ngram", "gamma": [1, 2], "speedup": [1.2, 1.4],
    ...                       "low": [1.1, 1.3], "high": [1.3, 1.5]})
    >>> speedup_by_gamma(frame).title
    'Speedup by drafted tokens per round'
    """
    model = _base(frame, order=order)
    layers = [even(), model.mark_line(), model.mark_area(style="band").encode(alt.Y("low:Q"), alt.Y2("high:Q"))]
    if measured is not None:
        points = _base(measured, order=order)
        layers.append(points.mark_rule(style="interval").encode(alt.Y("low:Q"), alt.Y2("high:Q")))
        layers.append(points.mark_point(size=70))
    return finish(
        *layers,
        title="Speedup by drafted tokens per round",
        description=f"Line chart of the speedup over plain decoding against drafted tokens per round, gamma, for "
        f"{described(frame, 'proposer')}; a dashed line marks a speedup of 1.",
        theme=theme,
    )


def _base(frame: pd.DataFrame, *, order: Sequence[str] | None) -> alt.Chart:
    source = data(frame, chart="speedup_by_gamma", text=["proposer"], numbers=["gamma", "speedup", "low", "high"])
    base: alt.Chart = alt.Chart(source).encode(
        alt.X(
            "gamma:Q",
            title="γ, drafted tokens per round",
            axis=alt.Axis(format="d", tickMinStep=1, grid=False),
            scale=alt.Scale(zero=False, nice=False, padding=12),
        ),
        alt.Y("speedup:Q", title="speedup over plain decoding [×]", scale=alt.Scale(zero=False)),
        coloured(frame, "proposer", order=order),
        tooltip=[
            tip("proposer", "drafter"),
            tip("gamma", "γ", "d"),
            tip("speedup", "speedup", ".3f"),
            tip("low", "low", ".3f"),
            tip("high", "high", ".3f"),
        ],
    )
    return base

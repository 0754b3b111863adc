"""Anything measured against anything predicted: where they agree, and how far apart they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from specsim.charts.frame import coloured, data, described, diagonal, guide, legend, tip
from specsim.charts.theme import finish

NUMBERS = ["predicted", "low", "high", "measured"]
ENDS = ["measured_low", "measured_high"]
SIDES = {True: "inside the stated interval", False: "outside it"}
WIDE = 20.0
"""Largest over smallest value above which axes are logarithmic [1]."""


def measured_by_predicted(
    frame: pd.DataFrame,
    *,
    what: str,
    unit: str = "",
    scale: float = 1.0,
    order: Sequence[str] | None = None,
    title: str = "Measured against predicted",
    theme: str = "light",
) -> alt.LayerChart:
    """Predictions across with the interval that was stated, measurements up, and the diagonal of equality.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per setting. Columns: `series` (whose colour it takes), `setting` (in words), `inside` (whether the
        stated interval held), `predicted`, `low`, `high` (the interval), `measured`, in the SI unit of the quantity;
        `measured_low`, `measured_high` where the measurement has an interval of its own.
    what, unit : str
        The quantity, and the unit that is shown.
    scale : float
        Of the unit shown: 1000 for milliseconds of a column in seconds [1].
    order : sequence of str, optional
        Series in the order in which colours are given, to keep colours the same across charts.
    title : str
        Title, to say which predictions these are.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Filled circles lie inside their interval, hollow squares do not; axes are logarithmic where values differ more
        than twentyfold.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame([["a GPU", "gamma 4", True, 2.0, 1.9, 2.1, 2.05]],
    ...                      columns=["series", "setting", "inside", *NUMBERS])
    >>> measured_by_predicted(frame, what="tokens per round").title
    'Measured against predicted'
    """
    ends = [column for column in ENDS if column in frame.columns]
    source = data(
        frame,
        chart="measured_by_predicted",
        text=["series", "setting"],
        numbers=[*NUMBERS, *ends],
        flags=["inside"],
        scale=dict.fromkeys([*NUMBERS, *ends], scale),
    )
    axis = _axis([row[column] for row in source.values for column in (*NUMBERS, *ends)])
    across, up = (
        alt.X("predicted:Q", title=_titled(f"predicted {what}", unit), scale=axis),
        alt.Y("measured:Q", title=_titled(f"measured {what}", unit), scale=axis),
    )
    base = alt.Chart(source).encode(color=coloured(frame, "series", order=order))
    rules = [base.mark_rule(style="interval").encode(alt.X("low:Q"), alt.X2("high:Q"), up)]
    if len(ends) == len(ENDS):
        rules.append(
            base.mark_rule(style="interval").encode(across, alt.Y("measured_low:Q"), alt.Y2("measured_high:Q"))
        )
    return finish(
        diagonal(axis.domain),
        *rules,
        *_points(base.encode(across, up), source.values, [_tip(column, unit) for column in NUMBERS]),
        title=title,
        description=f"Scatter chart of measured against predicted {what} for {described(frame, 'series')}, with the "
        "stated intervals and the diagonal of equality.",
        theme=theme,
    )


def residuals_by_predicted(
    frame: pd.DataFrame,
    *,
    what: str,
    unit: str = "",
    scale: float = 1.0,
    order: Sequence[str] | None = None,
    title: str = "How far measurements lie from predictions",
    theme: str = "light",
) -> alt.LayerChart:
    """Measured over predicted, less 1, with the stated interval of each point.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per setting. Columns: `series`, `setting`, `inside` as of `measured_by_predicted`, `predicted` in the SI
        unit of the quantity, `residual` (measured over predicted, less 1), `residual_low`, `residual_high` (ends of the
        stated interval over predicted, less 1) [1].
    what, unit, scale, order, title, theme
        As of `measured_by_predicted`.

    Returns
    -------
    altair.LayerChart
        Rules are stated intervals; on the dashed line the prediction was right.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"series": ["a GPU"], "setting": "gamma 4", "inside": True, "predicted": 2.0,
    ...                       "residual": 0.025, "residual_low": -0.05, "residual_high": 0.05})
    >>> residuals_by_predicted(frame, what="tokens per round").title
    'How far measurements lie from predictions'
    """
    source = data(
        frame,
        chart="residuals_by_predicted",
        text=["series", "setting"],
        numbers=["predicted", "residual", "residual_low", "residual_high"],
        flags=["inside"],
        scale={"predicted": scale},
    )
    axis = _axis([row["predicted"] for row in source.values])
    across = alt.X("predicted:Q", title=_titled(f"predicted {what}", unit), scale=axis)
    up = alt.Y("residual:Q", title="measured over predicted, less 1", axis=alt.Axis(format="+.0%"))
    base = alt.Chart(source).encode(across, color=coloured(frame, "series", order=order))
    tips = [
        _tip("predicted", unit),
        tip("residual", "measured over predicted, less 1", "+.1%"),
        tip("residual_low", "stated from", "+.1%"),
        tip("residual_high", "stated to", "+.1%"),
    ]
    return finish(
        guide(alt.YDatum(0)),
        base.mark_rule(style="interval").encode(alt.Y("residual_low:Q"), alt.Y2("residual_high:Q")),
        *_points(base.encode(up), source.values, tips),
        title=title,
        description=f"Chart of measured over predicted {what}, less 1, by what was predicted for "
        f"{described(frame, 'series')}, with the stated intervals and the line where both agree.",
        theme=theme,
    )


def _points(base: alt.Chart, rows: list[dict[str, Any]], tips: list[alt.Tooltip]) -> list[alt.Chart]:
    """Layers of points, those outside their interval on top; a layer without any would upset the axes."""
    sides = list(SIDES.values())
    shape = alt.Shape("side:N", scale=alt.Scale(domain=sides, range=["circle", "square"]), legend=legend(sides))
    return [
        base.transform_filter(f"datum.inside == {str(inside).lower()}")
        .transform_calculate(side=f"'{side}'")
        .mark_point(filled=inside, size=70, strokeWidth=2)
        .encode(shape=shape, tooltip=[tip("series", "of"), tip("setting", "setting"), tip("side", "this point"), *tips])
        for inside, side in SIDES.items()
        if any(row["inside"] == inside for row in rows)
    ]


def _axis(values: Sequence[float]) -> alt.Scale:
    """One scale around all values, logarithmic where they differ much."""
    low, high = min(values), max(values)
    if low > 0 and high > WIDE * low:
        return alt.Scale(type="log", domain=[low / 1.1, high * 1.1], nice=False)
    margin = 0.04 * (high - low) or 0.1 * abs(high) or 1.0
    return alt.Scale(domain=[low - margin, high + margin], nice=False, zero=False)


def _titled(words: str, unit: str) -> str:
    return f"{words} [{unit}]" if unit else words


def _tip(column: str, unit: str) -> alt.Tooltip:
    return tip(column, _titled({"low": "stated from", "high": "stated to"}.get(column, column), unit), ".4~g")

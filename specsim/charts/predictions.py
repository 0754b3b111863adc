"""Predicted against measured, one point per drafter and gamma."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from specsim import checks
from specsim.charts.frame import coloured, data, described, diagonal, legend, tip
from specsim.charts.theme import finish

NUMBERS = ["predicted", "predicted_low", "predicted_high", "measured", "measured_low", "measured_high"]
QUANTITIES = {
    "tau": ("Tokens per round, τ", "tokens per round", 1),
    "round_seconds": ("Time of one round", "time of one round [ms]", 1000),
    "speedup": ("Speedup over plain decoding", "speedup [×]", 1),
}
USES = ["held out", "used to calibrate"]


def predicted_against_measured(
    frame: pd.DataFrame, *, quantity: str, order: Sequence[str] | None = None, theme: str = "light"
) -> alt.LayerChart:
    """Predictions across, measurements up, with the diagonal on which they agree.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per drafter and gamma. Columns: `proposer` (name), `gamma` [1], `held_out` (whether nothing measured
        at this gamma went into the prediction), and `predicted`, `predicted_low`, `predicted_high`, `measured`,
        `measured_low`, `measured_high` in the SI unit of the quantity.
    quantity : str
        "tau" [1], "round_seconds" [s] or "speedup" [1].
    order : sequence of str, optional
        Drafters in the order in which colours are given, to keep colours the same across charts.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Filled circles are held out, hollow squares were used to calibrate; bars are the intervals, both ways.

    Raises
    ------
    InputError
        Unknown quantity or theme, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame([["ngram", 4, True, 2.0, 1.9, 2.1, 2.05, 1.95, 2.15]],
    ...                      columns=["proposer", "gamma", "held_out", *NUMBERS])
    >>> predicted_against_measured(frame, quantity="tau").title
    'Tokens per round, τ'
    """
    checks.one_of("quantity", quantity, QUANTITIES)
    title, unit, shown = QUANTITIES[quantity]
    source = data(
        frame,
        chart="predicted_against_measured",
        text=["proposer"],
        numbers=["gamma", *NUMBERS],
        flags=["held_out"],
        scale=dict.fromkeys(NUMBERS, shown),
    )
    values = [row[column] for row in source.values for column in NUMBERS]
    margin = 0.04 * (max(values) - min(values)) or 1.0
    ends = (min(values) - margin, max(values) + margin)
    scale = alt.Scale(domain=ends, nice=False, zero=False)
    across = alt.X("predicted:Q", title=f"predicted {unit}", scale=scale)
    up = alt.Y("measured:Q", title=f"measured {unit}", scale=scale)
    base = alt.Chart(source).encode(color=coloured(frame, "proposer", order=order))
    return finish(
        diagonal(ends),
        base.mark_rule(style="interval").encode(across, alt.Y("measured_low:Q"), alt.Y2("measured_high:Q")),
        base.mark_rule(style="interval").encode(alt.X("predicted_low:Q"), alt.X2("predicted_high:Q"), up),
        _points(base, across, up, held_out=False),
        _points(base, across, up, held_out=True),
        title=title,
        description=f"Scatter chart of measured against predicted {unit} for {described(frame, 'proposer')}, "
        "with intervals both ways and the diagonal of equality.",
        theme=theme,
    )


def _points(base: alt.Chart, across: alt.X, up: alt.Y, *, held_out: bool) -> alt.Chart:
    use = USES[0] if held_out else USES[1]
    points: alt.Chart = (
        base.transform_filter(f"datum.held_out == {str(held_out).lower()}")
        .transform_calculate(use=f"'{use}'")
        .mark_point(filled=held_out, size=90 if held_out else 70, strokeWidth=2)
        .encode(
            across,
            up,
            shape=alt.Shape("use:N", scale=alt.Scale(domain=USES, range=["circle", "square"]), legend=legend(USES)),
            tooltip=[
                tip("proposer", "drafter"),
                tip("gamma", "γ", "d"),
                tip("use", "this point was"),
                *(tip(column, column.replace("_", " "), ".4~g") for column in NUMBERS),
            ],
        )
    )
    return points

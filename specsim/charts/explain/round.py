"""One round of draft-and-verify on the clock, beside plain decoding."""

from __future__ import annotations

import altair as alt
import pandas as pd

from specsim import checks
from specsim.charts.frame import data, legend, names, tip
from specsim.charts.theme import finish

FATES = ("target's pass", "draft that stands", "draft that falls")
SHADES = (FATES[0], FATES[2], FATES[1])
"""In the order in which the theme's colours suit them: falling is warm."""
LANE_HEIGHT = 62
HAS_ROOM = "scale('x', datum.end_seconds) - scale('x', datum.start_seconds) > 6 * length(datum.text)"
"""Whether the tokens of a pass fit below its bar."""


def draft_and_verify(frame: pd.DataFrame, *, theme: str = "light") -> alt.LayerChart:
    """Passes as bars on a time axis, one lane for each who works.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per pass. Columns: `lane` (who works, for people), `text` (what the pass gives), `fate` (of `FATES`),
        `start_seconds`, `end_seconds` [s].
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Lanes in the frame's order.

    Raises
    ------
    InputError
        Unknown theme or fate, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"lane": ["drafter", "target"], "text": ["cat", "cat sat"], "fate": [FATES[1], FATES[0]],
    ...                       "start_seconds": [0.0, 0.002], "end_seconds": [0.002, 0.012]})
    >>> draft_and_verify(frame).title
    'One round of draft and verify'
    """
    seconds = ["start_seconds", "end_seconds"]
    source = data(
        frame,
        chart="draft_and_verify",
        text=["lane", "text", "fate"],
        numbers=seconds,
        scale=dict.fromkeys(seconds, 1000),
    )
    for fate in names(frame, "fate"):
        checks.one_of("fate", fate, FATES)
    axis = alt.Axis(domain=False, ticks=False, labelLimit=120)
    base = (
        alt.Chart(source)
        .transform_calculate(middle="(datum.start_seconds + datum.end_seconds) / 2")
        .encode(
            alt.Y("lane:N", title=None, sort=names(frame, "lane"), axis=axis),
            tooltip=[
                tip("lane", "who"),
                tip("text", "tokens"),
                tip("fate", "what it is"),
                tip("start_seconds", "from [ms]", ".2f"),
                tip("end_seconds", "to [ms]", ".2f"),
            ],
        )
    )
    bars = base.mark_bar(height=26, cornerRadius=3).encode(
        alt.X("start_seconds:Q", title="time [ms]"),
        alt.X2("end_seconds:Q"),
        alt.Color("fate:N", scale=alt.Scale(domain=list(SHADES)), legend=legend(FATES)),
    )
    texts = base.mark_text(dy=23, opacity=alt.ExprRef(f"{HAS_ROOM} ? 1 : 0")).encode(
        alt.X("middle:Q", title="time [ms]"), text="text:N"
    )
    return finish(
        bars,
        texts,
        title="One round of draft and verify",
        description="Bars on a time axis: plain decoding takes a pass of the target for each token; a round takes "
        "several short passes of a drafter and one of the target, which judges all drafts at once.",
        theme=theme,
    ).properties(height=LANE_HEIGHT * len(names(frame, "lane")))

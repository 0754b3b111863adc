"""Judging a drafted chain token by token, and as a block."""

from __future__ import annotations

import altair as alt
import pandas as pd

from specsim.charts.frame import coloured, data, names, once, tip
from specsim.charts.theme import finish


def standing_by_rule(frame: pd.DataFrame, *, theme: str = "light") -> alt.LayerChart:
    """How likely the first k drafts of one chain stand, by rule, above what target and drafter think of each draft.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per rule and depth. Columns: `rule` (name), `depth` (0 is before the first draft) [1], `token` (name),
        `ratio` (target's probability of the draft over the drafter's) [1], `chance` (that the drafts up to this one
        stand) [1].
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Lines with points, and each draft with its ratio below.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, two rows for one rule and depth, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"rule": "block", "depth": [0, 1], "token": ["", "cat"], "ratio": [1.0, 0.5],
    ...                       "chance": [1.0, 0.5]})
    >>> standing_by_rule(frame).title
    'Chance that one chain stands so far'
    """
    source = data(frame, chart="standing_by_rule", text=["rule", "token"], numbers=["depth", "ratio", "chance"])
    once(frame, ["rule", "depth"], chart="standing_by_rule")
    axis = alt.Axis(format="d", tickMinStep=1, grid=False)
    base = alt.Chart(source).encode(
        alt.X("depth:Q", title="drafts", axis=axis, scale=alt.Scale(nice=False, padding=24)),
        tooltip=[
            tip("rule", "rule"),
            tip("token", "draft"),
            tip("ratio", "p / q", ".2f"),
            tip("chance", "stands so far", ".1%"),
        ],
    )
    lines = base.encode(
        alt.Y("chance:Q", title="chance to stand", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1.12])),
        coloured(frame, "rule", order=None),
    )
    below = base.transform_filter(f"datum.depth > 0 && datum.rule == {names(frame, 'rule')[0]!r}")
    return finish(
        lines.mark_line(),
        lines.mark_point(),
        below.mark_text(fontWeight=600).encode(alt.Y(value=4), text="token:N"),
        below.transform_calculate(text="'p/q ' + format(datum.ratio, '.2f')")
        .mark_text(style="neutral", fontSize=11, opacity=alt.ExprRef("width > 350 ? 1 : 0"))
        .encode(alt.Y(value=19), text="text:N"),
        title="Chance that one chain stands so far",
        description="Line chart: the chance that the first drafts of one chain stand against their number, judged "
        "token by token and as a block; above stand the drafts and the ratio of target to drafter for each.",
        theme=theme,
    )


def lengths_by_rule(frame: pd.DataFrame, *, theme: str = "light") -> alt.LayerChart:
    """How many drafts stood in many rounds, by rule, with the exact share as a tick.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per rule and accepted length. Columns: `rule` (name), `accepted` [1], `share` (of rounds) [1], `exact`
        (its probability) [1].
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Bars side by side.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, two rows for one rule and length, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"rule": "block", "accepted": [0, 1], "share": [0.4, 0.6], "exact": [0.41, 0.59]})
    >>> lengths_by_rule(frame).title
    'Drafts that stand in a round'
    """
    source = data(frame, chart="lengths_by_rule", text=["rule"], numbers=["accepted", "share", "exact"])
    once(frame, ["rule", "accepted"], chart="lengths_by_rule")
    base = alt.Chart(source).encode(
        alt.X("accepted:O", title="drafts that stand", axis=alt.Axis(labelAngle=0)),
        alt.XOffset("rule:N", scale=alt.Scale(domain=names(frame, "rule"))),
        tooltip=[
            tip("rule", "rule"),
            tip("accepted", "drafts", "d"),
            tip("share", "share of rounds", ".2%"),
            tip("exact", "exactly", ".2%"),
        ],
    )
    bars = base.mark_bar().encode(
        alt.Y("share:Q", title="share of rounds", axis=alt.Axis(format="%")), coloured(frame, "rule", order=None)
    )
    return finish(
        bars,
        base.mark_tick(style="boundary", thickness=2).encode(alt.Y("exact:Q")),
        title="Drafts that stand in a round",
        description="Bars: the share of rounds in which so many drafts stood, judged token by token and as a block on "
        "the same drafts; a tick marks the exact probability.",
        theme=theme,
    )

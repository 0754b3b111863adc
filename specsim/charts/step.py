"""Where the time of one forward pass goes, and where more tokens stop being free."""

from __future__ import annotations

import altair as alt
import pandas as pd

from specsim import checks
from specsim.charts.frame import data, legend, tip
from specsim.charts.theme import finish

KINDS = {
    "attention over the cache": ("attention",),
    "MLP and experts": ("mlp", "experts", "shared_experts", "router", "other"),
    "attention projections": ("attention_projections",),
    "LM head": ("lm_head",),
    "all-reduce": ("all_reduce",),
    "small kernels and overhead": ("small_kernels", "overhead"),
}
"""What is shown in one colour: parts of a pass that grow alike."""
HALF_BAR = 1.28
"""From the middle of a bar to its edges on the logarithmic axis; bars that touch have the square root of 2."""


def pass_parts_by_tokens(
    frame: pd.DataFrame,
    *,
    ridge: float | None = None,
    title: str = "Where the time of a pass goes",
    theme: str = "light",
) -> alt.LayerChart:
    """Seconds of one pass by component against the tokens in flight, with the ridge.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per number of tokens and part, as of `Roofline.parts`. Columns: `tokens` (in flight: scored tokens of
        all sequences) [1], `part` (name), `seconds` [s].
    ridge : float, optional
        Tokens in flight at which the weights' part turns from memory-bound to compute-bound [1].
    title : str
        Title, to say which model runs where.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Stacked bars on a doubling axis; a dashed line marks the ridge.

    Raises
    ------
    InputError
        Unknown theme or part, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"tokens": [1, 1, 2, 2], "part": ["mlp", "attention"] * 2, "seconds": [4e-3, 1e-3] * 2})
    >>> pass_parts_by_tokens(frame, ridge=280).title
    'Where the time of a pass goes'
    """
    source = data(
        frame, chart="pass_parts_by_tokens", text=["part"], numbers=["tokens", "seconds"], scale={"seconds": 1000}
    )
    kinds = [kind for kind, parts in KINDS.items() if any(row["part"] in parts for row in source.values)]
    rows = [row | {"kind": _kind(row["part"]), "layer": list(KINDS).index(_kind(row["part"]))} for row in source.values]
    bars = (
        alt.Chart(alt.InlineData(values=rows))
        .transform_aggregate(seconds="sum(seconds)", groupby=["tokens", "kind", "layer"])
        .transform_calculate(left=f"datum.tokens / {HALF_BAR}", right=f"datum.tokens * {HALF_BAR}")
        .mark_bar(cornerRadius=0)
        .encode(
            _tokens(frame).bin("binned"),
            alt.X2("right:Q"),
            alt.Y("seconds:Q", title="time of one pass [ms]", stack="zero"),
            alt.Color("kind:N", scale=alt.Scale(domain=list(KINDS), range="ordinal"), legend=legend(kinds)),
            alt.Order("layer:Q"),
            tooltip=[
                tip("kind", "part"),
                tip("tokens", "tokens in flight", ",d"),
                tip("seconds", "time [ms]", ".4~g"),
            ],
        )
    )
    return finish(
        *([] if ridge is None else _ridge(ridge)),
        bars,
        title=title,
        description=f"Stacked bars, {title}: the time of one forward pass by component against the tokens in flight"
        f"{'' if ridge is None else ', with a dashed line where the weights turn compute-bound'}.",
        theme=theme,
    )


def _kind(part: str) -> str:
    kinds = {known: kind for kind, parts in KINDS.items() for known in parts}
    return kinds[checks.one_of("part", part, kinds)]


def _tokens(frame: pd.DataFrame) -> alt.X:
    axis = alt.Axis(title="tokens in flight", format="d", grid=False, values=[*frame["tokens"].unique()], tickCount=99)
    return alt.X("left:Q", scale=alt.Scale(type="log", base=2, nice=False, padding=6), axis=axis)


def _ridge(ridge: float) -> list[alt.Chart]:
    row = {"ridge": ridge, "text": f"ridge, {ridge:.0f} tokens", "top": 0}
    line = alt.Chart(alt.InlineData(values=[row])).encode(alt.X("ridge:Q"))
    above = alt.Y("top:Q", scale=None, axis=None)
    return [line.mark_rule(style="guide"), line.mark_text(align="right", dx=-6, dy=8).encode(above, text="text:N")]

"""The drafters of a plan, ranked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from specsim.charts.frame import data, described, even, legend, tip
from specsim.charts.theme import finish

ROW_HEIGHT = 22
SHAPES = {"chain": "circle", "tree": "diamond"}
NUMBERS = [
    "gamma",
    "nodes",
    "tensor_parallel",
    "E_tokens",
    "speedup",
    "user_tokens_per_second",
    "device_tokens_per_second",
]
INTERVAL = ["speedup_low", "speedup_high"]


def drafters_by_speedup(
    frame: pd.DataFrame, *, title: str = "Drafters by speedup", theme: str = "light"
) -> alt.LayerChart:
    """Drafters at their best depth with the interval of their speedup, the fastest on top.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per drafter, as of `Plan.frame`. Columns: `method` (name), `gamma` (depth, 0 is plain decoding),
        `nodes` (drafts that are verified; more than `gamma` in a tree), `tensor_parallel` [1], `E_tokens` (per round),
        `speedup` [1], `user_tokens_per_second`, `device_tokens_per_second` [tokens/s], `bound` (name),
        `speedup_low`, `speedup_high` [1], missing for plain decoding.
    title : str
        Title, to say what is served on what.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Circles are chains, diamonds trees; rules are the intervals, and a dashed line is plain decoding.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> columns = ["method", "bound", *NUMBERS, *INTERVAL]
    >>> frame = pd.DataFrame([["ngram", "memory", 4, 4, 1, 1.9, 1.5, 240.0, 240.0, 1.2, 1.9]], columns=columns)
    >>> drafters_by_speedup(frame).title
    'Drafters by speedup'
    """
    source = data(frame, chart="drafters_by_speedup", text=["method", "bound"], numbers=NUMBERS, gaps=INTERVAL)
    ranked = sorted(source.values, key=lambda row: -row["speedup"])
    has_degrees = len({row["tensor_parallel"] for row in ranked}) > 1
    rows = [row | {"label": _label(row, has_degrees=has_degrees), "kind": _kind(row)} for row in ranked]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        alt.Y("label:N", title=None, sort=[row["label"] for row in rows], axis=_names()), tooltip=_tips()
    )
    kinds = [kind for kind in SHAPES if any(row["kind"] == kind for row in rows)]
    explained = legend(kinds) if kinds else None
    drafters = base.transform_filter("datum.gamma > 0").encode(
        alt.Color("kind:N", scale=alt.Scale(domain=list(SHAPES)), legend=explained),
        tooltip=_tips(tip("speedup_low", "low", ".3f"), tip("speedup_high", "high", ".3f")),
    )
    speedup = alt.X("speedup:Q", title="speedup over plain decoding [×]", scale=alt.Scale(domainMin=0))
    shapes = alt.Scale(domain=list(SHAPES), range=list(SHAPES.values()))
    shape = alt.Shape("kind:N", scale=shapes, legend=explained)
    chart = finish(
        even(alt.XDatum),
        drafters.mark_rule(style="interval").encode(alt.X("speedup_low:Q"), alt.X2("speedup_high:Q")),
        base.transform_filter("datum.gamma == 0").mark_point(style="neutral").encode(speedup),
        drafters.mark_point(size=84).encode(speedup, shape),
        base.mark_text(align="right", dx=40).encode(x=alt.value("width"), text=alt.Text("speedup:Q", format=".2f")),
        title=title,
        description=f"Dot chart of the speedup over plain decoding with its interval, {title}, for "
        f"{described(frame, 'method')}; a dashed line marks plain decoding.",
        theme=theme,
    )
    return chart.properties(height=ROW_HEIGHT * len(rows))


def _kind(row: Mapping[str, Any]) -> str:
    if row["gamma"] == 0:
        return "plain"
    return "tree" if row["nodes"] > row["gamma"] else "chain"


def _label(row: Mapping[str, Any], *, has_degrees: bool) -> str:
    """Name, depth, size of a tree, and accelerators where they differ.

    Examples
    --------
    >>> _label({"method": "eagle3", "gamma": 5, "nodes": 60, "tensor_parallel": 2}, has_degrees=True)
    'eagle3, γ 5, 60 nodes, 2 GPUs'
    """
    kind = _kind(row)
    name = "plain decoding" if kind == "plain" else row["method"]
    depth = {"plain": "", "chain": f", γ {row['gamma']}", "tree": f", γ {row['gamma']}, {row['nodes']} nodes"}
    degree = f", {row['tensor_parallel']} GPU{'s' if row['tensor_parallel'] > 1 else ''}" if has_degrees else ""
    return f"{name}{depth[kind]}{degree}"


def _names() -> alt.Axis:
    return alt.Axis(grid=False, ticks=False, domain=False, labelLimit=260)


def _tips(*interval: alt.Tooltip) -> list[alt.Tooltip]:
    return [
        tip("method", "drafter"),
        tip("gamma", "γ", "d"),
        tip("nodes", "nodes", "d"),
        tip("tensor_parallel", "GPUs", "d"),
        tip("E_tokens", "tokens per round", ".3f"),
        tip("speedup", "speedup", ".3f"),
        *interval,
        tip("user_tokens_per_second", "tokens/s per user", ",.1f"),
        tip("device_tokens_per_second", "tokens/s per GPU", ",.0f"),
        tip("bound", "the pass waits for"),
    ]

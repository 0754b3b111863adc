"""What a GPU gives against what each user gets: the choice between cheap and fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from specsim.charts.frame import coloured, data, decades, described, once, tip
from specsim.charts.theme import finish

PLAIN = "plain"
NUMBERS = ["batch", "gamma", "user_tokens_per_second", "device_tokens_per_second"]


def device_speed_by_user_speed(
    frame: pd.DataFrame,
    *,
    order: Sequence[str] | None = None,
    title: str = "Throughput against speed per user",
    theme: str = "light",
) -> alt.LayerChart:
    """Tokens per second of a GPU against those of each user, a line per method and a point per batch size.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per method and batch. Columns: `method` (name), `batch`, `gamma` (drafted tokens per round) [1],
        `user_tokens_per_second`, `device_tokens_per_second` [tokens/s], `front` (whether no other row is better in
        both).
    order : sequence of str, optional
        Methods in the order in which colours are given, to keep colours the same across charts.
    title : str
        Title, to say which model runs where.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Plain decoding is grey. Larger points on a dashed line are the Pareto front; further up is cheaper, further
        right is faster.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, two rows for one place, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"method": "plain", "batch": [1, 2], "gamma": 0, "front": True,
    ...                       "user_tokens_per_second": [150.0, 140.0], "device_tokens_per_second": [150.0, 280.0]})
    >>> device_speed_by_user_speed(frame).title
    'Throughput against speed per user'
    """
    source = data(frame, chart="device_speed_by_user_speed", text=["method"], numbers=NUMBERS, flags=["front"])
    once(frame, ["method", "batch"], chart="device_speed_by_user_speed")
    speeds = [row["device_tokens_per_second"] for row in source.values]
    base = alt.Chart(source).encode(
        alt.X("user_tokens_per_second:Q", title="tokens/s that each user gets", scale=alt.Scale(zero=False)),
        decades("device_tokens_per_second", title="tokens/s of one GPU", low=min(speeds), high=max(speeds)),
        tooltip=[
            tip("method", "drafter"),
            tip("batch", "batch size", "d"),
            tip("gamma", "γ", "d"),
            tip("user_tokens_per_second", "tokens/s per user", ",.1f"),
            tip("device_tokens_per_second", "tokens/s per GPU", ",.0f"),
        ],
    )
    drafting = frame[frame["method"] != PLAIN]
    return finish(
        *(_plain(base) if len(drafting) < len(frame) else []),
        *(_drafters(base.encode(coloured(drafting, "method", order=order))) if len(drafting) else []),
        *([_front(base)] if frame["front"].any() else []),
        title=title,
        description=f"Line chart of the tokens per second of one GPU against those of each user as the batch grows, "
        f"{title}, for {described(frame, 'method')}; a dashed line with larger points is the Pareto front.",
        theme=theme,
    )


def _drafters(base: alt.Chart) -> list[alt.Chart]:
    """A line for each, with larger points on the front."""
    drafters = base.transform_filter(f"datum.method != '{PLAIN}'")
    return [
        drafters.mark_line(strokeWidth=1.5).encode(alt.Order("batch:Q")),
        drafters.mark_point().encode(size=_size()),
    ]


def _plain(base: alt.Chart) -> list[alt.Chart]:
    """Plain decoding, named where its batch is smallest."""
    plain = base.transform_filter(f"datum.method == '{PLAIN}'")
    first = plain.transform_window(rank="rank()", sort=[alt.SortField("batch")]).transform_filter("datum.rank == 1")
    return [
        plain.mark_line(style="neutral", strokeWidth=1.5).encode(alt.Order("batch:Q")),
        plain.mark_point(style="neutral").encode(size=_size()),
        first.mark_text(style="neutral", align="left", dx=8).encode(text=alt.value("plain decoding")),
    ]


def _front(base: alt.Chart) -> alt.Chart:
    """The line over all that nothing beats."""
    front = base.transform_filter("datum.front").encode(alt.Order("user_tokens_per_second:Q"))
    line: alt.Chart = front.mark_line(style="guide")
    return line


def _size() -> Any:
    return alt.condition("datum.front", alt.value(90), alt.value(16))

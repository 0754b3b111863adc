"""What a server gives in all against what each user gets, as its load grows."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from specsim.charts.frame import coloured, data, described, once, tip
from specsim.charts.theme import finish

NUMBERS = ["requests_per_second", "batch", "gamma", "user_tokens_per_second", "tokens_per_second"]


def throughput_by_user_speed(
    frame: pd.DataFrame,
    *,
    title: str = "Throughput against speed per user",
    order: Sequence[str] | None = None,
    theme: str = "light",
) -> alt.LayerChart:
    """Tokens per second of a server against those of its median user, a line per policy and a point per load.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per policy and load, as of `specsim.simulate.serving.Study`. Columns: `policy` (name),
        `requests_per_second` [1/s], `batch`, `gamma` (means over time) [1], `user_tokens_per_second`,
        `tokens_per_second` [tokens/s].
    title : str
        Title, to say which model runs where.
    order : sequence of str, optional
        Policies in the order in which colours are given, to keep colours the same across charts.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Further up is cheaper, further right is faster; each line runs to the left as the load grows.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, two rows for one place, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"policy": "plain", "requests_per_second": [1.0, 2.0], "batch": [2.0, 4.0], "gamma": 0.0,
    ...                       "user_tokens_per_second": [150.0, 140.0], "tokens_per_second": [250.0, 500.0]})
    >>> throughput_by_user_speed(frame).title
    'Throughput against speed per user'
    """
    source = data(frame, chart="throughput_by_user_speed", text=["policy"], numbers=NUMBERS)
    once(frame, ["policy", "requests_per_second"], chart="throughput_by_user_speed")
    base = alt.Chart(source).encode(
        alt.X("user_tokens_per_second:Q", title="tokens/s of the median user", scale=alt.Scale(domainMin=0)),
        alt.Y("tokens_per_second:Q", title="tokens/s of the server", axis=alt.Axis(format="~s")),
        coloured(frame, "policy", order=order),
        alt.Order("requests_per_second:Q"),
        tooltip=[
            tip("policy", "drafting"),
            tip("requests_per_second", "requests/s", ".3~g"),
            tip("batch", "mean batch", ".1f"),
            tip("gamma", "mean γ", ".2f"),
            tip("user_tokens_per_second", "tokens/s per user", ",.1f"),
            tip("tokens_per_second", "tokens/s in all", ",.0f"),
        ],
    )
    return finish(
        base.mark_line(),
        base.mark_point(size=48),
        title=title,
        description=f"Line chart of the tokens per second of a server against those of its median user as the load "
        f"grows, {title}, for {described(frame, 'policy')}.",
        theme=theme,
    )

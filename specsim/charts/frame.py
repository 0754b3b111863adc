"""What every chart asks of its frame, and the pieces of encoding that several charts share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from specsim.errors import InputError


def data(
    frame: pd.DataFrame,
    *,
    chart: str,
    text: Sequence[str] = (),
    numbers: Sequence[str] = (),
    gaps: Sequence[str] = (),
    flags: Sequence[str] = (),
    scale: Mapping[str, float] | None = None,
) -> alt.InlineData:
    """The asked columns of a frame as inline data; other columns are left out.

    `scale` names number columns that are shown in another unit than SI, such as seconds as milliseconds; `gaps` are
    number columns in which values may be missing.

    Raises
    ------
    InputError
        A missing column, no rows, or a value in a number column that is missing, infinite or not a number.

    Examples
    --------
    >>> data(pd.DataFrame({"a": [1.0], "b": [2]}), chart="speedup", numbers=["a", "c"])
    Traceback (most recent call last):
    specsim.errors.InputError: speedup needs the column 'c'; the frame has a, b
    """
    for column in (*text, *numbers, *gaps, *flags):
        if column not in frame.columns:
            raise InputError(f"{chart} needs the column {column!r}; the frame has {', '.join(map(str, frame.columns))}")
    if frame.empty:
        raise InputError(f"{chart} needs at least one row, got none")
    kept: dict[str, Any] = {column: frame[column].astype(str).to_numpy() for column in text}
    kept |= {column: frame[column].astype(bool).to_numpy() for column in flags}
    kept |= {column: _finite(frame[column], chart=chart) * (scale or {}).get(column, 1) for column in numbers}
    for column in gaps:
        present = frame[column].notna().to_numpy()
        values = _finite(frame[column].where(present, 0), chart=chart).astype(object)
        values[~present] = None
        kept[column] = values
    rows: list[dict[str, Any]] = pd.DataFrame(kept).to_dict("records")  # type: ignore[assignment]
    return alt.InlineData(values=rows)


def once(frame: pd.DataFrame, columns: Sequence[str], *, chart: str) -> None:
    """Refuse a frame that has two rows for one place in the chart: they would hide each other.

    Raises
    ------
    InputError
        Two rows are equal in all of `columns`.

    Examples
    --------
    >>> once(pd.DataFrame({"batch": [1, 8, 8]}), ["batch"], chart="speedup")
    Traceback (most recent call last):
    specsim.errors.InputError: speedup needs one row for each batch, got 2 for 8
    """
    rows = frame.groupby(list(columns), sort=False).size()
    if rows.max() > 1:
        place = rows.idxmax()
        where = ", ".join(map(str, place if isinstance(place, tuple) else (place,)))
        raise InputError(f"{chart} needs one row for each {' and '.join(columns)}, got {rows.max()} for {where}")


def names(frame: pd.DataFrame, column: str) -> list[str]:
    """The different values of a column as text, in the order in which they first appear."""
    return [str(value) for value in frame[column].unique()]


def domain(frame: pd.DataFrame, column: str, *, order: Sequence[str] | None) -> list[str]:
    """The names in `order`, then those of the column that it lacks."""
    return list(dict.fromkeys([*(order or []), *names(frame, column)]))


def coloured(frame: pd.DataFrame, column: str, *, order: Sequence[str] | None) -> alt.Color:
    """Colour by the names in `column`; `order` fixes which name gets which colour across several charts."""
    scale = alt.Scale(domain=domain(frame, column, order=order))
    return alt.Color(f"{column}:N", scale=scale, legend=legend(names(frame, column)))


def legend(entries: Sequence[str], **options: Any) -> alt.Legend:
    """A legend in as many columns as there is room for, also when the chart is as wide as its container."""
    column = 7 * max(map(len, entries)) + 44
    # The container's width, not the plot's: Vega settles the plot's width only after it has laid the legend out.
    room = "(containerSize()[0] ? containerSize()[0] - 60 : width)"
    columns = alt.ExprRef(f"width > 0 ? max(1, floor({room} / {column})) : 1")
    return alt.Legend(values=list(entries), columns=columns, **options)


def tip(field: str, title: str, form: str | None = None) -> alt.Tooltip:
    """One line of a tooltip; a d3 number format makes the field a number."""
    if form is None:
        return alt.Tooltip(f"{field}:N", title=title)
    return alt.Tooltip(f"{field}:Q", title=title, format=form)


def described(frame: pd.DataFrame, column: str) -> str:
    """The names in a column as a person would list them.

    Examples
    --------
    >>> described(pd.DataFrame({"proposer": ["ngram", "early exit", "model"]}), "proposer")
    'ngram, early exit and model'
    """
    *most, last = names(frame, column)
    return f"{', '.join(most)} and {last}" if most else last


def doubling(frame: pd.DataFrame, column: str, *, title: str) -> alt.X:
    """A logarithmic axis, ticked at powers of two, for counts of at least 1 such as batch sizes."""
    ticks = [2**k for k in range(31) if frame[column].min() <= 2**k <= frame[column].max()]
    # d3 hides labels of a logarithmic axis beyond its tick count; here only overlap shall hide them.
    axis = alt.Axis(title=title, format="d", grid=False, values=ticks, tickCount=99, labelSeparation=4)
    return alt.X(f"{column}:Q", scale=alt.Scale(type="log", base=2, nice=False, padding=12), axis=axis)


def decades(field: str, *, title: str, low: float, high: float, form: str = "~s") -> alt.Y:
    """A logarithmic axis up, ticked at 1, 2 and 5 of each power of ten, for values from `low` to `high`."""
    axis = alt.Axis(format=form, values=ticks_of_decades(low, high), tickCount=99)
    return alt.Y(f"{field}:Q", title=title, scale=alt.Scale(type="log", nice=False, padding=12), axis=axis)


def ticks_of_decades(low: float, high: float) -> list[float]:
    """1, 2 and 5 of each power of ten from `low` to `high`.

    Examples
    --------
    >>> ticks_of_decades(3, 60)
    [5.0, 10.0, 20.0, 50.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [step * 10.0**power for power in powers for step in (1, 2, 5) if low <= step * 10.0**power <= high]


def even(channel: type[alt.XDatum | alt.YDatum] = alt.YDatum) -> alt.Chart:
    """The dashed line at a speedup of 1, where speculation neither gains nor loses."""
    return guide(channel(1))


def guide(place: alt.XDatum | alt.YDatum) -> alt.Chart:
    """A dashed line across the chart at one place of an axis."""
    rule: alt.Chart = alt.Chart(alt.InlineData(values=[{}])).mark_rule(style="guide").encode(place)
    return rule


def diagonal(ends: Sequence[float]) -> alt.Chart:
    """The dashed line from one end to the other on which both axes agree."""
    corners = alt.InlineData(values=[{"x": end, "y": end} for end in ends])
    line: alt.Chart = alt.Chart(corners).mark_line(style="guide").encode(alt.X("x:Q"), alt.Y("y:Q"))
    return line


def _finite(column: pd.Series[Any], *, chart: str) -> np.ndarray[Any, Any]:
    values = pd.to_numeric(column, errors="coerce").to_numpy()
    bad = ~np.isfinite(values.astype(float))
    if bad.any():
        place = int(np.argmax(bad))
        value = column.iloc[place]
        value = value.item() if isinstance(value, np.generic) else value
        raise InputError(f"{chart} column {column.name!r} row {place} must be a finite number, got {value!r}")
    return values

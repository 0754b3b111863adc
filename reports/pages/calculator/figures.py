"""Pictures whose rows the page computes: their expressions call the functions of `formulas.js`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt

from reports.controls import parameters
from reports.template import Figure, figure
from specsim.charts.frame import even, legend, tip
from specsim.charts.live import with_parameters
from specsim.charts.theme import finish
from specsim.drafters import METHODS

LIVE = ("with this hardware's passes", "by the usual formula: scoring is free")
DEPTHS = ("at this γ", "at the best γ for each batch")
PARTS = ("target's pass", "drafting")
DRAFTERS_HEIGHT = 21 * (len(METHODS) + 1)
NUMBERS = ("gamma", "speedup", "low", "high", "tokens")


def live_parameters(scene: Mapping[str, Any]) -> list[alt.VariableParameter]:
    """The controls' values, and all of them as one `scene`, which every picture needs."""
    values = [alt.VariableParameter(name=name, value=value) for name, value in scene.items()]
    return [*values, *parameters({"scene": f"{{{', '.join(f'{name}: {name}' for name in scene)}}}"})]


def figures(shared: Sequence[alt.VariableParameter], texts: Sequence[alt.VariableParameter]) -> Iterable[Figure]:
    """All pictures; the first holds what the lines above them show."""
    yield _figure(
        _by_gamma(), [*shared, *texts], see="The ring is the chosen γ, the diamond the best one. The dashed line "
        "is what calculators with α, γ and c alone promise: one acceptance for all depths, and scoring for free."
    )  # fmt: skip
    yield _figure(
        _by_batch(),
        shared,
        see="Where the line falls below 1, plain decoding is faster. More sequences leave less idle compute.",
    )
    yield _figure(
        _by_part(),
        shared,
        see="Drafts make a round longer and give it more tokens; the lowest bar is the best γ. At 0 none is drafted.",
    )
    yield _figure(
        _by_drafter(),
        shared,
        see="Each at its best γ and tree, with published acceptance; the one chosen above with yours.",
    )


def _figure(chart: alt.LayerChart, listed: Sequence[alt.VariableParameter], *, see: str) -> Figure:
    return figure(with_parameters(chart, *listed), see=see)


def _rows(function: str, *fields: str) -> alt.Chart:
    """A row for each that a function of the page gives, with these fields."""
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=[{}])).transform_calculate(row=f"{function}(scene)").transform_flatten(["row"])
    )
    return chart.transform_calculate(**{field: f"datum.row.{field}" for field in fields})


def _shade(chart: alt.Chart, name: str, names: Sequence[str]) -> alt.Chart:
    """The chart in the colour that the legend of `names` gives to one of them."""
    named: alt.Chart = chart.transform_calculate(series=json.dumps(name)).encode(
        alt.Color("series:N", scale=alt.Scale(domain=list(names)), legend=legend(names))
    )
    return named


def _speedup(axis: type[Any] = alt.Y, field: str = "speedup") -> Any:
    scale = alt.Scale(zero=False, nice=True)
    return axis(f"{field}:Q", title="speedup over plain decoding [×]", scale=scale)


TIPS = (tip("gamma", "γ", "d"), tip("speedup", "speedup", ".3f"), tip("low", "low", ".3f"), tip("high", "high", ".3f"))


def _by_gamma() -> alt.LayerChart:
    rows = _rows("byGamma", *NUMBERS, "usual", "is_chosen", "is_best")
    axis = alt.Axis(format="d", tickMinStep=1, grid=False)
    x = alt.X("gamma:Q", title="γ, drafted tokens per round", axis=axis, scale=alt.Scale(nice=False, padding=12))
    tips = [*TIPS, tip("tokens", "tokens per round", ".3f"), tip("usual", "usual formula", ".3f")]
    base = rows.encode(x, tooltip=tips)
    mine = _shade(base.encode(_speedup()), LIVE[0], LIVE)
    return finish(
        even(),
        mine.mark_line(),
        mine.mark_area(style="band").encode(alt.Y("low:Q"), alt.Y2("high:Q")),
        _shade(base.mark_line(strokeDash=[5, 4]).encode(_speedup(field="usual")), LIVE[1], LIVE),
        mine.mark_point(),
        mine.transform_filter("datum.is_best").mark_point(shape="diamond", size=220),
        mine.transform_filter("datum.is_chosen").mark_point(filled=False, size=320, strokeWidth=2.5),
        title="Speedup by drafted tokens",
        description="Line chart that follows the controls: speedup over plain decoding against drafted tokens a round "
        "with its 95 % interval, the chosen and the best number marked, and the usual formula as a dashed line.",
        theme="light",
    )


def _by_batch() -> alt.LayerChart:
    rows = _rows("byBatch", *NUMBERS, "batch", "best_gamma", "best_speedup", "fits")
    axis = alt.Axis(format="d", grid=False, values=[2**k for k in range(11)], tickCount=99, labelSeparation=4)
    x = alt.X("batch:Q", title="batch size", scale=alt.Scale(type="log", base=2, domain=[0.9, 1140]), axis=axis)
    tips = [
        tip("batch", "batch size", ",d"),
        *TIPS,
        tip("best_gamma", "best γ", "d"),
        tip("best_speedup", "speedup at the best γ", ".3f"),
    ]
    base = rows.encode(x, tooltip=tips)
    mine = _shade(base.encode(_speedup()), DEPTHS[0], DEPTHS)
    return finish(
        even(),
        mine.mark_line(),
        mine.mark_area(style="band").encode(alt.Y("low:Q"), alt.Y2("high:Q")),
        _shade(base.mark_line(strokeDash=[2, 4]).encode(_speedup(field="best_speedup")), DEPTHS[1], DEPTHS),
        mine.transform_filter("datum.batch == batch").mark_point(filled=False, size=320, strokeWidth=2.5),
        *_edge("crossover_batch", "pays up to", "-8", x),
        *_edge("room", "memory holds", "8", x),
        title="Speedup by batch size",
        description="Line chart that follows the controls: speedup over plain decoding against batch size, at the "
        "chosen number of drafted tokens and at the best one, with the crossover batch and the largest that fits.",
        theme="light",
    )


def _edge(field: str, text: str, side: str, x: alt.X) -> list[alt.Chart]:
    """A rule at a batch, where it lies inside the picture, with a text on one side of it."""
    base = (
        alt.Chart(alt.InlineData(values=[{}]))
        .transform_calculate(row="answer(scene)")
        .transform_filter(f"datum.row && datum.row.{field} >= 1 && datum.row.{field} < 1024")
        .transform_calculate(batch=f"datum.row.{field}", text=f"'{text} ' + datum.row.{field}")
        .encode(x)
    )
    top = alt.Y(value=0 if side == "-8" else 18)
    align = alt.ExprRef(f"{side} < 0 ? 'right' : 'left'")
    return [
        base.mark_rule(style="guide"),
        base.mark_text(align=align, dx=int(side), dy=8).encode(top, text="text:N"),
    ]


def _by_part() -> alt.LayerChart:
    rows = _rows("byPart", "part", "order", "gamma", "is_chosen").transform_calculate(
        milliseconds="1000 * datum.row.seconds"
    )
    bars = rows.mark_bar(cornerRadius=1).encode(
        alt.X("gamma:O", title="γ, drafted tokens per round", axis=alt.Axis(labelAngle=0)),
        alt.Y("milliseconds:Q", title="time for one committed token [ms]", stack="zero"),
        alt.Color("part:N", scale=alt.Scale(domain=list(PARTS)), legend=legend(PARTS)),
        alt.Order("order:Q"),
        opacity=alt.condition("datum.is_chosen", alt.value(1), alt.value(0.55)),
        tooltip=[tip("gamma", "γ", "d"), tip("part", "part"), tip("milliseconds", "time for one token [ms]", ".4~g")],
    )
    return finish(
        bars,
        title="What one token costs, by drafted tokens",
        description="Stacked bars that follow the controls: the time that a round takes for each token it commits, "
        "parted into drafting and the target's pass, against drafted tokens per round; none is plain decoding.",
        theme="light",
    ).properties(height=DRAFTERS_HEIGHT)


def _by_drafter() -> alt.LayerChart:
    rows = _rows("byDrafter", *NUMBERS, "drafter", "nodes", "alpha", "is_chosen")
    order = alt.EncodingSortField(field="speedup", op="max", order="descending")
    y = alt.Y("drafter:N", title=None, sort=order, axis=alt.Axis(domain=False, ticks=False, labelLimit=170))
    shades = alt.Scale(domain=["chosen above", "with published acceptance"])
    shade = alt.Color("whose:N", scale=shades, legend=legend(["chosen above", "with published acceptance"]))
    base = rows.transform_calculate(
        whose="datum.is_chosen ? 'chosen above' : 'with published acceptance'"
    ).encode(
        y,
        shade,
        tooltip=[
            tip("drafter", "drafter"),
            *TIPS,
            tip("tokens", "tokens per round", ".3f"),
            tip("alpha", "α of the first draft", ".2f"),
        ],
    )  # fmt: skip
    return finish(
        even(alt.XDatum),
        base.mark_rule(style="interval").encode(alt.X("low:Q"), alt.X2("high:Q")),
        base.mark_point().encode(_speedup(alt.X)),
        title="Every drafter here",
        description="Points with intervals that follow the controls: the speedup of every drafter at its best depth, "
        "on the chosen model, hardware, batch and context, the fastest first.",
        theme="light",
    ).properties(height=DRAFTERS_HEIGHT)

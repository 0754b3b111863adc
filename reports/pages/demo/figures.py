"""The pictures of the demo's page, each with the sentence that says what to see; none when there is nothing to draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.cells import Row, frame
from reports.template import Figure, figure
from specsim import charts

SEE = {
    "tau": "On the dashed diagonal, rounds add as many tokens as predicted; filled points were predicted before they "
    "were measured.",
    "round_seconds": "Points above the diagonal are rounds that took longer than predicted.",
    "speedup": "Both put together: the farther up and to the right, the more a drafter at its γ gains.",
}
SIDES = [f"{side}{end}" for side in ("predicted", "measured") for end in ("", "_low", "_high")]


def predictions(result: Row, *, order: Sequence[str]) -> Iterator[Figure]:
    """Predicted against measured: tokens per round, time of a round, speedup."""
    for quantity, see in SEE.items():
        columns = [f"{quantity}_{side}" for side in SIDES]
        rows = frame(result, "predictions", text=["proposer", "held_out"], numbers=["gamma", *columns])
        if len(rows):
            kept = rows[["proposer", "gamma", "held_out", *columns]].rename(
                columns=dict(zip(columns, SIDES, strict=True))
            )
            yield figure(charts.predicted_against_measured(kept, quantity=quantity, order=order), see=see)


def speedup(result: Row, *, order: Sequence[str]) -> Iterator[Figure]:
    """Speedup against gamma: the model's curves with the measured points."""
    curve = frame(result, "speedup_by_gamma", text=["proposer"], numbers=["gamma", "speedup", "low", "high"])
    if not len(curve):
        return
    names = {"speedup_measured": "speedup", "speedup_measured_low": "low", "speedup_measured_high": "high"}
    rows = frame(result, "predictions", text=["proposer"], numbers=["gamma", *names])
    points = rows[["proposer", "gamma", *names]].rename(columns=names) if len(rows) else None
    yield figure(
        charts.speedup_by_gamma(curve, measured=points, order=order),
        see="Lines with bands are the model, points are measurements; each line peaks at its drafter's best γ, and "
        "below the dashed line speculation is slower than plain decoding.",
    )


def acceptance(result: Row, *, order: Sequence[str]) -> Iterator[Figure]:
    """Acceptance by depth."""
    numbers = ["depth", "reached", "accepted", "conditional", "low", "high"]
    rows = frame(result, "acceptance", text=["proposer"], numbers=numbers)
    if len(rows):
        yield figure(
            charts.acceptance_by_depth(rows, order=order),
            see="A drafter whose points stay high earns at depth too; intervals widen where few drafts got that far.",
        )


def passes(result: Row) -> Iterator[Figure]:
    """Time of one pass against the tokens it scores."""
    rows = frame(result, "passes", text=["dtype"], numbers=["tokens", "seconds", "low", "high"])
    if len(rows):
        yield figure(
            charts.pass_seconds_by_tokens(rows),
            see="Where a line is flat, verifying one more token is nearly free; where it climbs, drafted tokens cost.",
        )


def parts(result: Row) -> Iterator[Figure]:
    """Where the time of a round goes."""
    rows = frame(result, "round_parts", text=["proposer", "part"], numbers=["gamma", "seconds"])
    if len(rows):
        yield figure(
            charts.round_parts(rows),
            see="A long draft part asks for a cheaper drafter; the verify part is the price of the target itself.",
        )


def pit(result: Row) -> Iterator[Figure]:
    """One histogram of probability integral transforms per order of the vocabulary."""
    numbers = ["bin_low", "bin_high", "observed", "expected", "low", "high"]
    rows = frame(result, "pit", text=["order"], numbers=numbers)
    for order, bins in rows.groupby("order", sort=False):
        yield figure(
            charts.pit_histogram(bins, title=f"PIT histogram, order: {order}"),
            see="A lossless decoder's bars end inside the grey band; a slope or a hump would betray a bias.",
        )


def placement(result: Row, *, order: Sequence[str]) -> Iterator[Figure]:
    """Speedup against batch size, one picture per model and GPU, all on the same axis."""
    names = ["hardware", "model", "proposer", "efficiency"]
    rows = frame(result, "placement", text=names, numbers=["gamma", "batch", "speedup"])
    crossings = frame(result, "crossover", text=names, numbers=["gamma", "crossover_batch"])
    for (hardware, model), part in rows.groupby(["hardware", "model"], sort=False):
        here = crossings[(crossings["hardware"] == hardware) & (crossings["model"] == model)]
        yield figure(
            charts.speedup_by_batch(
                part,
                crossover=here if len(here) else None,
                order=order,
                highest=1.05 * max(1.0, float(rows["speedup"].max())),
            ),
            see="Diamonds mark the largest batch that still gains; solid lines are the efficiency expected, dashed "
            "ones a GPU that reaches its data sheet.",
        )

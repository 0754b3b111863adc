"""The pictures of a drafter report, each with the sentence that says what to see; none without rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import altair as alt
import pandas as pd

from reports.cells import Row, frame, thinned
from reports.template import Figure, figure
from specsim import charts

RANKED = ["gamma", "nodes", "tensor_parallel", "E_tokens", "speedup"]
SPEEDS = ["user_tokens_per_second", "device_tokens_per_second"]
MOST_ROWS = 2000
"""Of a frame, before what lies close together is averaged."""


def ranking(frames: Row) -> Iterator[Figure]:
    """All drafters with the interval of their speedup."""
    rows = frame(frames, "drafters", text=["method", "bound"], numbers=[*RANKED, *SPEEDS])
    if len(rows):
        yield figure(
            charts.drafters_by_speedup(rows, title="Every drafter at its best depth"),
            see="A point is the speedup over plain decoding, its rule the 95 % interval: of the passes' times, and of "
            "acceptance where it was taken from other people's measurements.",
        )


def pareto(frames: Row, *, order: Sequence[str]) -> Iterator[Figure]:
    """Cheap against fast."""
    rows = frame(frames, "pareto", text=["method", "front"], numbers=["batch", "gamma", *SPEEDS])
    if len(rows):
        yield figure(
            charts.device_speed_by_user_speed(rows, order=order, title="What a GPU gives, and what each user gets"),
            see="Follow a line to the upper left as the batch grows: the GPU gives more, each user gets less. Points "
            "on the dashed front are not beaten in both at once, each at the best γ for its batch.",
        )


def passes(frames: Row) -> Iterator[Figure]:
    """Why speculation works at all."""
    rows = frame(frames, "passes", text=["law"], numbers=["tokens", "seconds"])
    if len(rows):
        ridges = frame(frames, "ridges", text=["law"], numbers=["tokens", "seconds"])
        yield figure(
            charts.pass_seconds_against_ideal(rows, ridges=ridges),
            see="Left of the ridge a pass waits for memory and further tokens are nearly free: this is what a round of "
            "speculation spends. Right of it each token costs its arithmetic.",
        )


def pass_parts(frames: Row, *, ridge: float | None) -> Iterator[Figure]:
    """What a pass is made of."""
    rows = frame(frames, "pass_parts", text=["part"], numbers=["tokens", "seconds"])
    if len(rows):
        yield figure(
            charts.pass_parts_by_tokens(rows, ridge=ridge, title="What a pass at this batch spends its time on"),
            see="Attention reads every sequence's cache and grows with batch and context; the matrices read the "
            "weights once for all tokens, until the dashed ridge.",
        )


def acceptance(frames: Row, *, order: Sequence[str]) -> Iterator[Figure]:
    """Acceptance by depth as counted."""
    numbers = ["depth", "reached", "accepted", "conditional", "low", "high"]
    rows = frame(frames, "counts", text=["proposer"], numbers=numbers)
    if len(rows):
        yield figure(
            charts.acceptance_by_depth(rows, order=order),
            see="Each point is the share accepted among the drafts that were judged at that depth. Level points mean "
            "that one α describes the drafter; falling ones that deep drafts earn less.",
        )


def tokens(frames: Row) -> Iterator[Figure]:
    """Tokens per round by gamma, one picture per drafter."""
    rows = frame(frames, "tokens", text=["proposer", "law"], numbers=["gamma", "E_tokens"])
    bands = frame(frames, "tokens_band", text=["proposer"], numbers=["gamma", "low", "high"])
    seen = frame(frames, "tokens_measured", text=["proposer"], numbers=["gamma", "E_tokens", "low", "high"])
    for name, lines in rows.groupby("proposer", sort=False):
        yield figure(
            charts.tokens_by_gamma(
                lines,
                band=_of(bands, str(name)),
                measured=_of(seen, str(name)),
                title=f"Tokens per round of {name}, τ by γ",
            ),
            see="Every law shown fits what is known; past the data they may part, and the grey band holds all of them "
            "with their intervals. On the dashed line every draft would be accepted.",
        )


def by_gamma(frames: Row, *, order: Sequence[str]) -> Iterator[Figure]:
    """Speedup by depth."""
    rows = frame(frames, "speedup_by_gamma", text=["proposer"], numbers=["gamma", "speedup", "low", "high"])
    if len(rows):
        yield figure(
            charts.speedup_by_gamma(rows, order=order),
            see="A line climbs while further drafts are likely to stand and falls once they cost more than they bring; "
            "a flat top means that γ matters little. Bands are 95 % intervals.",
        )


def by_batch(frames: Row, *, order: Sequence[str]) -> Iterator[Figure]:
    """Speedup by batch, with crossovers."""
    rows = thinned(
        frame(frames, "speedup_by_batch", text=["method", "fits"], numbers=["batch", "speedup"]),
        by=["method"],
        along="batch",
        most=MOST_ROWS,
    )
    if len(rows):
        marks = frame(frames, "marks", text=["method", "mark"], numbers=["batch", "speedup"])
        kept = rows.assign(method=pd.Categorical(rows["method"], order)).sort_values(["method", "batch"])
        yield figure(
            charts.gain_by_batch(kept.assign(method=kept["method"].astype(str)), by="method", marks=marks),
            see="Larger batches leave less idle arithmetic to verify drafts with. Below the dashed line speculation is "
            "slower than plain decoding; crosses are batches that the memory does not hold.",
        )


def by_batch_and_gamma(frames: Row) -> Iterator[Figure]:
    """Which depth at which batch."""
    yield from _map(
        frames,
        "speedup_map",
        "gamma",
        charts.gain_by_batch_and_gamma,
        "Speedup of {} by batch and γ",
        "Read a column: its bold number, or its dot, is the best γ at that batch. Blue gains, orange loses.",
    )


def by_context(frames: Row) -> Iterator[Figure]:
    """Long contexts."""
    yield from _map(
        frames,
        "context_map",
        "context",
        charts.gain_by_batch_and_context,
        "Speedup of {} by batch and context",
        "Long caches keep a pass waiting for memory at any batch, so speculation goes on gaining where short contexts "
        "have long turned compute-bound; but they fill the memory.",
    )


def by_model(frames: Row) -> Iterator[Figure]:
    """Dense models against mixtures of experts."""
    rows = frame(frames, "models", text=["model", "fits"], numbers=["batch", "speedup"])
    if len(rows):
        yield figure(
            charts.gain_by_batch(rows, by="model", title="The same drafter on other models"),
            see="Drafts of a mixture wake experts that plain decoding would not have read: at small batches it gains "
            "less than a dense model, at medium ones all experts are read anyway.",
        )


def round_parts(frames: Row) -> Iterator[Figure]:
    """Where a round's time goes."""
    rows = frame(frames, "round_parts", text=["proposer", "part"], numbers=["gamma", "seconds"])
    if len(rows):
        yield figure(
            charts.round_parts(rows),
            see="A long draft part asks for a cheaper drafter; verify is the target's own pass. Host is scheduling, "
            "launches and sampling of that pass, which the model takes together.",
        )


def inputs(frames: Row, *, name: str, speedup: float) -> Iterator[Figure]:
    """The tornado."""
    rows = frame(frames, "inputs", text=["name", "low_input", "high_input"], numbers=["low", "high"])
    if len(rows):
        yield figure(
            charts.speedup_sensitivity(rows, speedup=speedup, title=f"What moves the speedup of {name}"),
            see="One input at a time goes from one end of its range to the other. Measure first what stands on top.",
        )


def temperature(frames: Row) -> Iterator[Figure]:
    """Published pairs."""
    rows = frame(frames, "temperature", text=["drafter", "target", "source"], numbers=["temperature", "E_tokens"])
    if len(rows):
        yield figure(
            charts.tokens_by_temperature(rows, title="What sampling costs: τ at temperature 0 and 1"),
            see="Published means, each pair from one table. Sampling costs a few per cent to a fifth, and no law says "
            "which: measure at the temperature that you serve.",
        )


def _map(frames: Row, key: str, up: str, draw: Callable[..., alt.LayerChart], title: str, see: str) -> Iterator[Figure]:
    rows = frame(frames, key, text=["method", "fits"], numbers=["batch", up, "speedup"])
    if len(rows):
        yield figure(draw(rows, title=title.format(rows["method"].iloc[0])), see=see)


def _of(rows: pd.DataFrame, name: str) -> pd.DataFrame | None:
    mine = rows[rows["proposer"] == name]
    return mine if len(mine) else None

"""Time of the multi-draft optimum over that of sorting its tokens: `python -m benchmarks.transport`."""

from __future__ import annotations

import click
import numpy as np

from benchmarks.timing import interleaved, options, ratio, report
from specsim.distributions import softmax
from specsim.verifiers.multi_draft import optimum

VOCABULARY = 152_064
NOTES = (
    f"vocabulary {VOCABULARY}, float64; 'sort' is numpy.argsort of p / q, the ratio given",
    "the optimum sorts a few of the tokens only, by bounds on the others",
)


@click.command()
@click.option("--rows", type=click.IntRange(min=1), default=8, show_default=True, help="Pairs of laws.")
@click.option("--candidates", type=click.IntRange(min=1), default=4, show_default=True)
@options
def main(rows: int, candidates: int, repeats: int, as_json: bool) -> None:
    """Time of the optimum over that of a sort."""
    rng = np.random.default_rng(0)
    logits = rng.normal(scale=3.0, size=(rows, VOCABULARY))
    p, q = softmax(logits), softmax(logits + rng.normal(size=logits.shape))
    odds = p / q
    tasks = {
        "sort": lambda: np.argsort(odds, axis=-1),
        f"{candidates} with replacement": lambda: optimum(p, q, candidates=candidates),
        "2 without replacement": lambda: optimum(p, q, candidates=2, replacement=False),
        f"{max(candidates, 3)} without replacement": lambda: optimum(
            p, q, candidates=max(candidates, 3), replacement=False
        ),
    }
    seconds = interleaved(tasks, repeats=repeats)
    ratios = [ratio(seconds, name=name, over="sort") for name in tasks]
    inputs = {"rows": rows, "candidates": candidates, "repeats": repeats, "vocabulary": VOCABULARY}
    report("benchmarks.transport", ratios, inputs=inputs, notes=NOTES, as_json=as_json)


if __name__ == "__main__":
    main()

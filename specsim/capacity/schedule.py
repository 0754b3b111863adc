"""How deep to draft at each batch size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from specsim import checks
from specsim.capacity.candidate import Candidate


def gamma_schedule(candidate: Candidate, *, max_batch: int) -> tuple[tuple[int, int, int], ...]:
    """The best depth by batch size, at most the candidate's: (first batch, last batch, gamma) from batch 1 on.

    One depth for each doubling of the batch, the best on average over it. A gamma of 0 is plain decoding; where a
    candidate is plain there is one row of it.

    Examples
    --------
    >>> from specsim.capacity import Workload, plan
    >>> from specsim.catalog import hardware, model
    >>> from specsim.roofline import Efficiency
    >>> found = plan(
    ...     model("Llama-3.1-8B"), hardware("H100-SXM"), Workload(batch=8, context=1024), methods=["ngram"],
    ...     acceptance={"ngram": 0.5}, tensor_parallel=[1], efficiency=Efficiency.ideal()
    ... )
    >>> gamma_schedule(found.best, max_batch=256)
    ((1, 16, 16), (17, 32, 8), (33, 64, 4), (65, 256, 0))
    """
    top = checks.integer("max_batch", max_batch, low=1)
    if candidate.variant is None:
        return ((1, top, 0),)
    gammas = np.arange(candidate.gamma + 1)
    found = candidate.place.rates(
        candidate.variant.method,
        acceptance=candidate.variant.acceptance,
        gamma=gammas[:, None],
        batch=np.arange(1, top + 1),
        context=candidate.workload.context,
    )
    rows: list[tuple[int, int, int]] = []
    for first, last in _doublings(top):
        gamma = int(gammas[found.speedup[:, first - 1 : last].mean(axis=1).argmax()])
        joined = rows and rows[-1][2] == gamma
        rows = [*rows[:-1], (rows[-1][0], last, gamma)] if joined else [*rows, (first, last, gamma)]
    return tuple(rows)


def _doublings(top: int) -> Iterator[tuple[int, int]]:
    """1, 2, 3 to 4, 5 to 8 ... up to `top`: within them the best depth saws with padding, which is not worth a row."""
    first, last = 1, 1
    while first <= top:
        yield first, min(last, top)
        first, last = last + 1, 2 * last

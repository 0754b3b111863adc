"""The omnibus: tests of the whole recording at a few looks, for what no bet was made on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from scipy import special

from specsim.checks import FloatArray
from specsim.conformance.acceptance import acceptance_tests, end_tests, rare_tests
from specsim.conformance.evidence import DEEPEST, Evidence
from specsim.errors import InputError
from specsim.stats import (
    ORDERS,
    TestResult,
    anderson_darling,
    directional_scores,
    pairs,
    pit_values,
    strata,
)
from specsim.stats.pairs import across, within

LAGS = tuple(range(1, 8))

Results = Iterator[tuple[str, TestResult]]


def omnibus(evidence: Evidence, *, claims: str | None, rng: np.random.Generator) -> dict[str, TestResult]:
    """Every test that the evidence is large enough for, by name.

    Parameters
    ----------
    evidence : Evidence
        All tokens of the run so far.
    claims : str or None
        "rejection" or "block": drafts are also held against that rule's law of acceptance, and `log_q` must be the law
        that they were drawn from.
    rng : numpy.random.Generator
        Of the randomised PIT.
    """
    found: dict[str, TestResult] = {}
    accepted = acceptance_tests(evidence, claims=claims)
    for tests in (_scores(evidence), _uniform(evidence, rng), accepted, end_tests(evidence), rare_tests(evidence)):
        found.update(tests)
    return found


def _scores(evidence: Evidence) -> Results:
    for direction, result in directional_scores(evidence.observed).items():
        yield f"score of {direction}", result


def _uniform(evidence: Evidence, rng: np.random.Generator) -> Results:
    for order in ORDERS:
        if order == "ratio" and evidence.observed.q is None:
            continue
        u = pit_values(evidence.observed, order=order, rng=rng)
        yield from _tried(f"PIT by {order}", anderson_darling, u)
        yield from _tried(f"requests by {order}", anderson_darling, _by_request(evidence, u, rng))
        if (evidence.depth >= 0).any():
            for depth, result in strata(u, np.minimum(evidence.depth, DEEPEST)).items():
                yield f"PIT by {order} at token {int(str(depth)) + 1} of a round", result
        for lag in LAGS:
            yield from _tried(f"pairs by {order} at lag {lag}", pairs, *within(u, evidence.request, lag=lag))
        yield from _tried(f"pairs by {order} across requests", pairs, *across(u, evidence.request))


def _by_request(evidence: Evidence, u: FloatArray, rng: np.random.Generator) -> FloatArray:
    """One uniform value a request: the sum of normal scores of its tokens.

    Places after the end of a text get fresh numbers, so that the sum has a fixed number of terms however it ended.
    """
    scores = special.ndtri(rng.random((len(evidence.room), int(evidence.room.max()))))
    scores[np.arange(scores.shape[1]) >= evidence.room[:, None]] = 0.0
    scores[evidence.request, evidence.place] = special.ndtri(np.clip(u, 1e-15, 1 - 1e-15))
    return np.asarray(special.ndtr(scores.sum(axis=1) / np.sqrt(evidence.room)))


def _tried(name: str, test: Callable[..., TestResult], *values: FloatArray) -> Results:
    """The result, if there is enough evidence for one."""
    try:
        yield name, test(*values)
    except InputError:
        return


def smallest(results: Mapping[str, TestResult]) -> tuple[str, TestResult]:
    """The result of least p-value, and its name."""
    return min(results.items(), key=lambda item: item[1].pvalue)

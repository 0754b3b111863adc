"""Faulty verifiers, planted to show that a claim would have failed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from specsim.checks import FloatArray, IntArray
from specsim.distributions import sample
from specsim.verifiers import Rejection, Verification, Verifier


class ResidualIsTarget(Rejection):
    """After a rejection the token is drawn from p, not from what the draft left of it."""

    name = "residual is p"
    is_lossless = False

    def verify(
        self,
        p: ArrayLike,
        draft: ArrayLike,
        *,
        q: ArrayLike | None,
        rng: Generator,
        drafted: ArrayLike | None = None,
    ) -> Verification:
        """As `Rejection`, with the token after a rejection drawn anew."""
        verdict = super().verify(p, draft, q=q, rng=rng, drafted=drafted)
        rejected = verdict.accepted < _gamma(draft, drafted)
        return _redraw(verdict, where=rejected, rows=_row(p, verdict.accepted), rng=rng)


class BonusFromDraft(Rejection):
    """When every draft stands the bonus is drawn from the draft's last law."""

    name = "bonus from q"
    is_lossless = False

    def verify(
        self,
        p: ArrayLike,
        draft: ArrayLike,
        *,
        q: ArrayLike | None,
        rng: Generator,
        drafted: ArrayLike | None = None,
    ) -> Verification:
        """As `Rejection`, with the bonus drawn anew; rounds without draft laws have no q to draw it from."""
        verdict = super().verify(p, draft, q=q, rng=rng, drafted=drafted)
        if q is None or np.shape(q)[-2] == 0:
            return verdict
        gamma = _gamma(draft, drafted)
        return _redraw(verdict, where=verdict.accepted == gamma, rows=_row(q, np.maximum(gamma - 1, 0)), rng=rng)


class AcceptAll(Rejection):
    """Every draft stands, whatever the target says."""

    name = "accept every draft"
    is_lossless = False

    def verify(
        self,
        p: ArrayLike,
        draft: ArrayLike,
        *,
        q: ArrayLike | None,
        rng: Generator,
        drafted: ArrayLike | None = None,
    ) -> Verification:
        """Nothing is judged; the bonus is the target's."""
        accepted = _gamma(draft, drafted)
        return Verification(accepted=accepted, token=sample(_row(p, accepted), rng.random(accepted.shape)))


FAULTS: dict[str, Callable[[], Verifier]] = {
    fault.name: fault for fault in (ResidualIsTarget, BonusFromDraft, AcceptAll)
}


def residual_is_target(p: FloatArray, q: FloatArray) -> FloatArray:
    """Law of the first token of a round under `ResidualIsTarget`: min(p, q) + (1 - alpha) p, shape (..., V) [1]."""
    kept = np.minimum(p, q)
    return np.asarray(kept + (1 - kept.sum(axis=-1, keepdims=True)) * p)


def _gamma(draft: ArrayLike, drafted: ArrayLike | None) -> IntArray:
    *lead, gamma = np.shape(draft)
    return np.full(lead, gamma) if drafted is None else np.asarray(drafted)


def _row(rows: ArrayLike, place: IntArray) -> FloatArray:
    laws = np.broadcast_to(rows, (*place.shape, *np.shape(rows)[-2:]))
    return np.asarray(np.take_along_axis(laws, place[..., None, None], axis=-2)[..., 0, :])


def _redraw(
    verdict: Verification, *, where: NDArray[np.bool_] | np.bool_, rows: FloatArray, rng: Generator
) -> Verification:
    fresh = sample(rows, rng.random(verdict.token.shape))
    return Verification(accepted=verdict.accepted, token=np.asarray(np.where(where, fresh, verdict.token)))

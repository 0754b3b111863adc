"""Tokens and seconds of many rounds at once: arrays of scenarios that share a target and a drafter."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.acceptance import Acceptance
from specsim.checks import FloatArray, IntArray
from specsim.cost import drafted_pmf, verify_seconds
from specsim.drafters import Drafter
from specsim.roofline import Count, PassCost, by_block


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Rates:
    """Tokens per round and seconds of rounds, arrays that broadcast to one shape.

    Parameters
    ----------
    E_tokens : array (...)
        Expected tokens per round and sequence, bonus included [1].
    draft_seconds, verify_seconds, host_seconds : array (...)
        Expected parts of a round [s].
    plain_seconds : array (...)
        A step of plain decoding, host included [s].
    """

    E_tokens: FloatArray
    draft_seconds: FloatArray
    verify_seconds: FloatArray
    host_seconds: FloatArray
    plain_seconds: FloatArray

    @property
    def round_seconds(self) -> FloatArray:
        """The whole round [s]."""
        return np.asarray(self.draft_seconds + self.verify_seconds + self.host_seconds)

    @property
    def speedup(self) -> FloatArray:
        """Tokens per second over those of plain decoding at the same batch [1]."""
        return np.asarray(self.E_tokens * self.plain_seconds / self.round_seconds)

    @property
    def user_tokens_per_second(self) -> FloatArray:
        """Tokens per second that one sequence gets [tokens/s]."""
        return np.asarray(self.E_tokens / self.round_seconds)

    def at(self, place: int) -> Rates:
        """The single scenario at a place of the flat arrays."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        shape = np.broadcast_shapes(*(part.shape for part in parts.values()))
        return Rates(**{name: np.asarray(np.broadcast_to(part, shape).flat[place]) for name, part in parts.items()})


def rates(
    target: PassCost,
    drafter: Drafter,
    *,
    acceptance: ArrayLike | Acceptance,
    gamma: Count,
    batch: Count = 1,
    context: Count = 0,
    host_seconds: float = 0.0,
) -> Rates:
    """Tokens per round, seconds of a round and of a plain step, for arrays of scenarios.

    Parameters
    ----------
    target, drafter
        Cost of the target's pass; cost and lengths of the drafts.
    acceptance : array (...) or Acceptance
        A constant acceptance probability for each scenario, or one law for all [1].
    gamma, batch, context : int or array (...)
        Depth drafted, sequences, tokens cached in each; all broadcast with `acceptance` [1].
    host_seconds : float
        Of a round and of a plain step, besides the passes' own overhead [s].

    Returns
    -------
    Rates

    Raises
    ------
    InputError
        A value outside its range, or one that target or drafter do not cover.

    Notes
    -----
    The same numbers as one `Scenario` each, without a Python call per scenario: passes are evaluated on the axes that
    they depend on and broadcast.

    Examples
    --------
    >>> from specsim.drafters import RatioDrafter
    >>> from specsim.roofline import Staircase
    >>> flat = Staircase(tokens=(1, 9), seconds=(0.04, 0.04), source="example")
    >>> found = rates(flat, RatioDrafter(c=0.1, step_seconds=0.04), acceptance=[0.5, 0.7], gamma=4)
    >>> found.speedup.round(3)
    array([1.384, 1.981])
    """
    depths = checks.integers("gamma", gamma)
    fixed = checks.non_negative("host_seconds", host_seconds)
    proposed = drafter.proposed_survival(int(depths.max(initial=0)))
    draft, verify = _round(
        target, drafter, depths, batch=batch, context=context, is_certain=bool((proposed == 1).all())
    )
    plain = np.asarray(target.pass_seconds(tokens=1, batch=batch, context=context))
    return Rates(
        E_tokens=_tokens(acceptance, proposed, depths),
        draft_seconds=draft,
        verify_seconds=verify,
        host_seconds=np.asarray(fixed),
        plain_seconds=plain + fixed,
    )


def _tokens(acceptance: ArrayLike | Acceptance, proposed: FloatArray, depths: IntArray) -> FloatArray:
    """1 + sum over k up to gamma of P(k proposed) * P(k accepted), bonus included [1]."""
    if isinstance(acceptance, Acceptance):
        by_gamma = [1 + float(_survival(acceptance, proposed, gamma).sum()) for gamma in range(len(proposed) + 1)]
        return np.asarray(by_gamma)[depths]
    alpha = checks.probabilities("acceptance", acceptance)
    return 1 + by_block(lambda alphas, gammas: _accepted(alphas, gammas, proposed), alpha, depths)


def _accepted(alpha: FloatArray, depths: IntArray, proposed: FloatArray) -> FloatArray:
    """Horner's scheme: alpha (c_1 + alpha (c_2 + ...)) with the chances c_k of gamma or less [1]."""
    accepted = np.zeros(alpha.shape)
    for k in range(len(proposed), 0, -1):
        accepted += proposed[k - 1] * (depths >= k)
        accepted *= alpha
    return accepted


def _survival(acceptance: Acceptance, proposed: FloatArray, gamma: int) -> FloatArray:
    return np.asarray(proposed[:gamma] * acceptance.survival(gamma))


def _round(
    target: PassCost, drafter: Drafter, depths: IntArray, *, batch: Count, context: Count, is_certain: bool
) -> tuple[FloatArray, FloatArray]:
    """Expected seconds to draft and to verify [s]."""
    if is_certain:
        draft = np.where(depths > 0, drafter.draft_seconds(depths, batch=batch, context=context), 0.0)
        return draft, verify_seconds(target, drafter, depths, batch=batch, context=context)
    shape = np.broadcast_shapes(depths.shape, np.shape(batch), np.shape(context))
    draft, verify = np.zeros(shape), np.zeros(shape)
    table = np.zeros((int(depths.max()) + 1,) * 2)  # P(d drafted) by gamma
    for gamma in range(len(table)):
        table[gamma, : gamma + 1] = drafted_pmf(drafter, gamma=gamma)
    for drafted in range(len(table)):
        weight = table[depths, drafted]
        count = np.asarray(drafted)
        draft += np.where(depths > 0, weight, 0.0) * drafter.draft_seconds(count, batch=batch, context=context)
        verify += weight * verify_seconds(target, drafter, count, batch=batch, context=context)
    return draft, verify

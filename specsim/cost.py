"""What one round costs: draft, verify, sample, host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.drafters import Drafter
from specsim.roofline import Count, PassCost


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundCost:
    """Expected seconds of a round in disjoint parts [s].

    Examples
    --------
    >>> RoundCost(draft_seconds=0.01, verify_seconds=0.03, sample_seconds=0.0, host_seconds=0.0).seconds
    0.04
    """

    draft_seconds: float
    verify_seconds: float
    sample_seconds: float
    host_seconds: float

    def __post_init__(self) -> None:
        for part in self.__slots__:
            checks.non_negative(part, getattr(self, part))

    @property
    def seconds(self) -> float:
        """The whole round [s]."""
        return self.draft_seconds + self.verify_seconds + self.sample_seconds + self.host_seconds


def drafted_pmf(drafter: Drafter, *, gamma: int) -> FloatArray:
    """P(d tokens are drafted) when gamma are asked for, d = 0..gamma, shape (gamma + 1,) [1].

    Examples
    --------
    >>> from specsim.drafters import MeasuredDrafter
    >>> lookup = MeasuredDrafter(name="ngram", per_round_seconds=0.0, per_token_seconds=0.0, proposed=(0.6, 0.5))
    >>> drafted_pmf(lookup, gamma=2).round(3)
    array([0.4, 0.1, 0.5])
    """
    survival = np.concatenate([[1.0], drafter.proposed_survival(checks.integer("gamma", gamma)), [0.0]])
    return -np.diff(survival)


def verify_seconds(
    target: PassCost, drafter: Drafter, drafted: IntArray, *, batch: Count = 1, context: Count = 0
) -> FloatArray:
    """Seconds in which the target judges `drafted` tokens per sequence, the counts broadcast [s].

    A drafter that has done part of the pass has done it for all tokens but the last draft; see `remaining_seconds`.

    Examples
    --------
    >>> from specsim.drafters import RatioDrafter
    >>> from specsim.roofline import Staircase
    >>> stairs = Staircase(tokens=(1, 5), seconds=(0.04, 0.05), source="example")
    >>> verify_seconds(stairs, RatioDrafter(c=0.1, step_seconds=0.04), np.array([0, 4]))
    array([0.04, 0.05])
    """
    scored = drafter.target_tokens(drafted)
    return remaining_seconds(target, scored, share=drafter.verify_share, batch=batch, context=context)


def remaining_seconds(
    target: PassCost, tokens: Count, *, share: float, batch: Count = 1, context: Count = 0
) -> FloatArray:
    """Seconds of a pass of which all but `share` has been done for all tokens of a sequence but one [s].

    Parameters
    ----------
    target
        Cost of the whole pass.
    tokens
        Per sequence, with the one that nothing has been done for [1].
    share
        What is left for all of them, such as the layers behind an exit over all layers [1].
    batch, context
        Sequences, and tokens cached in each [1].

    Notes
    -----
    The part that was done is charged for one token. Where reading weights is what takes time that is as much as for
    many, so that nothing is saved.

    Examples
    --------
    >>> from specsim.roofline import Staircase
    >>> stairs = Staircase(tokens=(1, 5), seconds=(0.04, 0.05), source="example")
    >>> remaining_seconds(stairs, 5, share=0.5)
    array(0.045)
    """
    whole = np.asarray(target.pass_seconds(tokens=tokens, batch=batch, context=context))
    if share == 1:
        return whole
    return np.asarray(share * whole + (1 - share) * target.pass_seconds(tokens=1, batch=batch, context=context))


def round_cost(
    target: PassCost,
    drafter: Drafter,
    *,
    gamma: int,
    batch: int = 1,
    context: int = 0,
    sample_seconds: float = 0.0,
    host_seconds: float = 0.0,
    sample_per_token_seconds: float = 0.0,
) -> RoundCost:
    """Expected cost of a round in which `gamma` tokens are asked for.

    Parameters
    ----------
    target, drafter
        Cost of the target's pass; cost and lengths of the drafts.
    gamma : int
        Tokens asked for; 0 is a plain step, which calls no drafter [1].
    batch, context : int
        Sequences, and tokens cached in each [1].
    sample_seconds, host_seconds : float
        Of a round without drafts [s].
    sample_per_token_seconds : float
        What sampling takes more for every token scored beyond the first, whose row of logits is judged too [s].

    Returns
    -------
    RoundCost

    Raises
    ------
    InputError
        A count or a time outside its range, or a pass that the target's cost does not cover.

    Notes
    -----
    Verify seconds are the sum over d of P(drafted = d) * pass_seconds(tokens = drafter.target_tokens(d)): of a chain
    the last committed token and the d drafted ones; see `remaining_seconds` for drafters that do part of it. At
    batches above 1 all sequences are taken to draft the same number of tokens.

    Examples
    --------
    >>> from specsim.drafters import RatioDrafter
    >>> from specsim.roofline import Staircase
    >>> stairs = Staircase(tokens=(1, 5), seconds=(0.04, 0.05), source="example")
    >>> round_cost(stairs, RatioDrafter(c=0.1, step_seconds=0.04), gamma=4)
    RoundCost(draft_seconds=0.016, verify_seconds=0.05, sample_seconds=0.0, host_seconds=0.0)
    """
    pmf = drafted_pmf(drafter, gamma=gamma)
    drafted = np.flatnonzero(pmf > 0)
    weights = pmf[drafted]
    draft = np.asarray(drafter.draft_seconds(drafted, batch=batch, context=context)) if gamma else np.zeros(1)
    verify = verify_seconds(target, drafter, drafted, batch=batch, context=context)
    judged = np.asarray(drafter.target_tokens(drafted)) - 1
    per_token = checks.non_negative("sample_per_token_seconds", sample_per_token_seconds)
    return RoundCost(
        draft_seconds=float(weights @ draft),
        verify_seconds=float(weights @ verify),
        sample_seconds=sample_seconds + per_token * float(weights @ judged),
        host_seconds=host_seconds,
    )

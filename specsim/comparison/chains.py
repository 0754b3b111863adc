"""Every rule for a drafted chain on the same laws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim.checks import FloatArray
from specsim.comparison.rows import Rows
from specsim.distributions import one_hot, total_variation
from specsim.verifiers import VERIFIERS, Verifier
from specsim.verifiers.block import Block, full_information_pmf
from specsim.verifiers.chain import ChainRule
from specsim.verifiers.estimate import estimate_for_rows
from specsim.verifiers.law import text_total_variation
from specsim.verifiers.protocol import Positioned

MOST_PATHS = 1 << 18
"""Drafted chains, V^G, up to which block verification is enumerated; beyond it is estimated [1]."""
MOST_TEXTS = 1 << 20
"""Pairs of a draft and a text, V^(2 G + 1), up to which texts are enumerated [1]."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChainAnswer:
    """What a rule does with a chain.

    Parameters
    ----------
    rule : str
        The key in `VERIFIERS`.
    is_lossless : bool
        With respect to the target's law, or for a greedy rule to its argmax.
    needs : str
        What the verifier has to be given besides the drafts.
    E_accepted, E_tokens : float
        Of drafts drawn from q, without and with the bonus [1].
    standard_error : float
        Of these two; 0 where they are exact [1].
    E_accepted_argmax : float
        Of drafts that are the argmax of q, judged as one-hot [1].
    output_tv : float
        Total variation from the target over the first tokens of a text that one round begins and the target goes on
        with, of sampled drafts [1].
    output_tokens : int
        How many tokens that is: gamma + 1 where that can be enumerated, else 1.
    """

    rule: str
    is_lossless: bool
    needs: str
    E_accepted: float
    E_tokens: float
    standard_error: float
    E_accepted_argmax: float
    output_tv: float
    output_tokens: int


def compare_chains(rows: Rows, *, chains: int = 20_000, seed: int = 0) -> list[ChainAnswer]:
    """What each rule of `VERIFIERS` does with chains on these laws.

    Parameters
    ----------
    rows : Rows
        Laws that do not depend on the drafts before them.
    chains, seed : int
        For what has to be estimated: block verification where V^G is above 2^18.

    Returns
    -------
    list of ChainAnswer
        In the order of `VERIFIERS`.

    Examples
    --------
    >>> rows = Rows(p=[[1 / 3, 2 / 3]] * 3, q=[[2 / 3, 1 / 3]] * 2)
    >>> answers = {answer.rule: answer for answer in compare_chains(rows)}
    >>> [round(9 * answers[rule].E_accepted, 9) for rule in ("rejection", "block")]  # ninths
    [10.0, 11.0]
    """
    return [_answer(rule, rows, chains=chains, seed=seed) for rule in VERIFIERS.values()]


def full_information(rows: Rows) -> float | None:
    """E_accepted that no rule exceeds, see `block.full_information_pmf`; None where it cannot be enumerated [1].

    Examples
    --------
    >>> round(9 * full_information(Rows(p=[[1 / 3, 2 / 3]] * 3, q=[[2 / 3, 1 / 3]] * 2)), 9)  # ninths
    12.0
    """
    if rows.vocabulary**rows.gamma > MOST_PATHS:
        return None
    return _mean(full_information_pmf(list(rows.target), list(rows.draft)))


def _answer(rule: Verifier, rows: Rows, *, chains: int, seed: int) -> ChainAnswer:
    if isinstance(rule, Block) and rows.vocabulary**rows.gamma > MOST_PATHS:
        estimate = estimate_for_rows(rule, rows.target, rows.draft, chains=chains, seed=seed)
        accepted, error = estimate.value, estimate.standard_error
    else:
        accepted, error = _mean(rule.accepted_pmf(list(rows.target), list(rows.draft))), 0.0
    certain = one_hot(rows.draft.argmax(axis=-1), vocabulary=rows.vocabulary)
    distance, tokens = _output_tv(rule, rows)
    return ChainAnswer(
        rule=rule.name,
        is_lossless=rule.is_lossless,
        needs=_needs(rule),
        E_accepted=accepted,
        E_tokens=accepted + 1,
        standard_error=error,
        E_accepted_argmax=_mean(rule.accepted_pmf(list(rows.target), list(certain))),
        output_tv=distance,
        output_tokens=tokens,
    )


def _mean(pmf: FloatArray) -> float:
    return float(pmf @ np.arange(pmf.size))


def _needs(rule: Verifier) -> str:
    if isinstance(rule, Positioned):
        return "draft laws or shared noise"
    return "draft laws" if rule.needs_draft_rows else "nothing"


def _output_tv(rule: Verifier, rows: Rows) -> tuple[float, int]:
    if rows.vocabulary ** (2 * rows.gamma + 1) <= MOST_TEXTS:
        return text_total_variation(rule, list(rows.target), list(rows.draft)), rows.gamma + 1
    p, q = rows.target[0], rows.draft[0]
    if not isinstance(rule, ChainRule):  # block verification, whose first token is a draw from p
        return 0.0, 1
    accepted = q * rule.accept_probability(p, q)
    first = accepted + (1 - accepted.sum()) * rule.residual(p, q)
    return float(total_variation(p, first)), 1

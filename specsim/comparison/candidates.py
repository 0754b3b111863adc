"""Every rule for several candidates a token on the same laws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.checks import FloatArray
from specsim.comparison.rows import Rows
from specsim.errors import InputError
from specsim.verifiers.multi_draft import MULTI_DRAFT, RecursiveWithoutReplacement, optimum

SAMPLED_NUMBERS = 1 << 20
"""Probabilities looked at by one estimate; decides its number of samples [1]."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CandidateAnswer:
    """What a rule does with K candidates a token.

    Parameters
    ----------
    rule : str
        The key in `MULTI_DRAFT`, or the bound's name.
    is_lossless, is_bound : bool
        A bound is what no rule exceeds.
    alpha : tuple of float
        Probability that a candidate stands, by depth [1].
    E_accepted, E_tokens : float
        Of the tree in which every node down to depth G has K children, without and with the bonus [1].
    standard_error : float
        Of the largest alpha in error, at most; 0 where all are exact [1].
    """

    rule: str
    is_lossless: bool
    is_bound: bool
    alpha: tuple[float, ...]
    E_accepted: float
    E_tokens: float
    standard_error: float


def compare_candidates(rows: Rows, *, candidates: int, seed: int = 0) -> list[CandidateAnswer]:
    """What each rule of `MULTI_DRAFT` does with `candidates` candidates a token, and the two optima.

    Parameters
    ----------
    rows : Rows
        Laws that do not depend on the drafts before them.
    candidates : int
        K [1].
    seed : int
        For what has to be estimated: recursive rejection without replacement, where V^(K - 2) is large.

    Returns
    -------
    list of CandidateAnswer
        In the order of `MULTI_DRAFT`, bounds last.

    Examples
    --------
    >>> rows = Rows(p=[[0.5, 0.3, 0.2]] * 2, q=[[0.2, 0.3, 0.5]])
    >>> for answer in compare_candidates(rows, candidates=2):
    ...     print(answer.rule, round(answer.E_accepted, 4))
    recursive_with_replacement 0.76
    recursive_without_replacement 0.82
    k_seq 0.7914
    optimal 0.86
    top_k 0.5
    optimum_with_replacement 0.86
    optimum_without_replacement 0.9857
    """
    checks.integer("candidates", candidates, low=1)
    answers = []
    for rule in MULTI_DRAFT.values():
        try:
            alpha, error = rule.acceptance_vector(rows.target[:-1], rows.draft, candidates=candidates).sum(axis=-1), 0.0
        except InputError:
            if not isinstance(rule, RecursiveWithoutReplacement):
                raise
            alpha, error = _estimated(rule, rows, candidates=candidates, seed=seed)
        answers.append(_answer(rule.name, alpha, is_lossless=rule.is_lossless, is_bound=False, error=error))
    for name, replacement in (("optimum_with_replacement", True), ("optimum_without_replacement", False)):
        best = optimum(rows.target[:-1], rows.draft, candidates=candidates, replacement=replacement)
        answers.append(_answer(name, best, is_lossless=True, is_bound=True, error=0.0))
    return answers


def _estimated(
    rule: RecursiveWithoutReplacement, rows: Rows, *, candidates: int, seed: int
) -> tuple[FloatArray, float]:
    samples = int(np.clip(SAMPLED_NUMBERS // rows.vocabulary, 8, 10_000))
    rng = np.random.default_rng(checks.integer("seed", seed))
    pairs = [
        rule.estimated_acceptance(p, q, candidates=candidates, samples=samples, rng=rng)
        for p, q in zip(rows.target[:-1], rows.draft, strict=True)
    ]
    return np.array([vector.sum() for vector, _ in pairs]), float(max(errors.sum() for _, errors in pairs))


def _answer(name: str, alpha: FloatArray, *, is_lossless: bool, is_bound: bool, error: float) -> CandidateAnswer:
    accepted = float(np.cumprod(np.minimum(alpha, 1)).sum())
    return CandidateAnswer(
        rule=name,
        is_lossless=is_lossless,
        is_bound=is_bound,
        alpha=tuple(alpha.tolist()),
        E_accepted=accepted,
        E_tokens=accepted + 1,
        standard_error=error,
    )

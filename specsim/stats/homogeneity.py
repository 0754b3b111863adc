"""Two samples, no law: did both decoders draw the tokens of each prompt alike?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.stats.chi_square import pool
from specsim.stats.chi_square_tail import guarded
from specsim.stats.power import LEVEL, POWER, smallest_total_variation
from specsim.stats.result import TestResult


def homogeneity(first: Sequence[ArrayLike], second: Sequence[ArrayLike], *, min_expected: float = 5.0) -> TestResult:
    """Chi-square of homogeneity of two samples per prompt, summed over prompts.

    Parameters
    ----------
    first, second : sequence of arrays (N,) and (M,)
        For each prompt the tokens that one decoder gave, and the other.
    min_expected : float
        Tokens that the smaller sample expects fewer of are merged [1].

    Returns
    -------
    TestResult
        `smallest_tv` is between the two laws of tokens of a prompt, averaged over prompts.

    Raises
    ------
    InputError
        No prompts, not as many in both, an empty sample, no prompt with two cells left.

    Notes
    -----
    Weaker than any test that knows the law: both samples carry noise. Which tokens are merged depends on both samples
    together, which says nothing of how they split. The statistic is scaled by (N + M - 1) / (N + M), which makes its
    mean given the totals exactly its degrees of freedom; the law is approximate as a chi-square law is. Prompts with a
    single cell say nothing and are left out.

    Examples
    --------
    >>> homogeneity([[0] * 20 + [1] * 20], [[0] * 40 + [1] * 40]).statistic
    0.0

    """
    if len(first) == 0 or len(first) != len(second):
        raise InputError(f"second must have one sample per prompt, {len(first)} and at least one, got {len(second)}")
    tables = [_table(i, a, b, min_expected) for i, (a, b) in enumerate(zip(first, second, strict=True))]
    used = [table for table in tables if table.shape[1] > 1]
    if not used:
        raise InputError(f"first must leave two cells that expect {min_expected:g} each in some prompt, got none")
    degrees = sum(table.shape[1] - 1 for table in used)
    statistic = sum(_statistic(table) for table in used)
    size = sum(_effective(table) for table in used)
    return TestResult(
        test="homogeneity",
        statistic=statistic,
        pvalue=guarded(float(stats.chi2.sf(statistic, degrees)), least=min(map(_least, used))),
        n=int(sum(table.sum() for table in used)),
        detail=f"{len(used)} of {len(tables)} prompts, {degrees} degrees of freedom",
        smallest_tv=smallest_total_variation(n=max(1, int(size)), cells=degrees + 1, level=LEVEL, power=POWER),
        details={"degrees": float(degrees), "effective_n": size},
    )


def _table(place: int, first: ArrayLike, second: ArrayLike, least: float) -> FloatArray:
    """Counts (2, K) of the tokens that both samples together hold often enough; the rest is one more cell."""
    samples = [checks.integers(f"{name}[{place}]", x) for name, x in (("first", first), ("second", second))]
    if any(sample.ndim != 1 or sample.size == 0 for sample in samples):
        raise InputError(f"first[{place}] and second[{place}] must be one axis of at least one token")
    tokens, index = np.unique(np.concatenate(samples), return_inverse=True)
    which = np.repeat([0, 1], [sample.size for sample in samples])
    table = np.bincount(which * tokens.size + index, minlength=2 * tokens.size).reshape(2, -1).astype(np.float64)
    expected = table.sum(axis=0) * min(sample.size for sample in samples) / which.size
    return np.stack([pool(row, expected, min_expected=least)[0] for row in table])


def _statistic(table: FloatArray) -> float:
    n = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    return float(((table - expected) ** 2 / expected).sum() * (n - 1) / n)


def _least(table: FloatArray) -> float:
    """The smallest expected count."""
    return float(table.sum(axis=0).min() * table.sum(axis=1).min() / table.sum())


def _effective(table: FloatArray) -> float:
    """The size of one sample against a known law with the same power."""
    sizes = table.sum(axis=1)
    return float(sizes[0] * sizes[1] / sizes.sum())

"""Two samples of texts: maximum mean discrepancy under the Hamming kernel, judged by permutation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.stats.power import LEVEL, POWER
from specsim.stats.result import TestResult

EXCEEDANCES = 20
"""Permutations as extreme as the data after which more would not change the answer."""
_BLOCK = 256


def mmd(
    first: Sequence[ArrayLike], second: Sequence[ArrayLike], *, rng: np.random.Generator, permutations: int = 9999
) -> TestResult:
    """Squared MMD of two samples of texts per prompt, summed over prompts.

    Parameters
    ----------
    first, second : sequence of arrays (N, L) and (M, L)
        For each prompt the texts of one decoder, and of the other, cut or padded to L tokens.
    rng : numpy.random.Generator
        Source of the permutations.
    permutations : int
        The most to draw; the p-value is at least 1 / (permutations + 1) [1].

    Returns
    -------
    TestResult
        `smallest_tv` is of a fault that moves mass from one token to another, the same at every place of the text, at
        level 1e-6 or the least p-value, if that is larger: normal approximation, the spread from 99 permutations.

    Raises
    ------
    InputError
        No prompts, not as many in both, texts of two lengths, an empty sample.

    Notes
    -----
    Kernel k(x, y) = the number of places where x and y agree. Labels are permuted within each prompt. Exact in finite
    samples: drawing stops at the twentieth permutation as extreme as the data, p = 20 / drawn then [1]_, else
    (extreme + 1) / (drawn + 1).

    References
    ----------
    .. [1] Besag, Clifford, "Sequential Monte Carlo p-values", Biometrika 78 (1991).

    Examples
    --------
    >>> a, b = np.zeros((40, 3), int), np.ones((40, 3), int)
    >>> mmd([a], [b], rng=np.random.default_rng(0), permutations=199).pvalue
    0.005

    """
    checks.integer("permutations", permutations, low=1)
    if len(first) == 0 or len(first) != len(second):
        raise InputError(f"second must have one sample per prompt, {len(first)} and at least one, got {len(second)}")
    prompts = [_prompt(i, a, b) for i, (a, b) in enumerate(zip(first, second, strict=True))]
    observed = sum(float(weights @ gram @ weights) for gram, weights in prompts)
    pvalue, drawn = _sequential(observed, _permuted(prompts, permutations, rng), permutations)
    return TestResult(
        test="mmd",
        statistic=observed,
        pvalue=pvalue,
        n=sum(weights.size for _, weights in prompts),
        smallest_tv=_smallest_tv(prompts, permutations, rng),
        details={"permutations": float(drawn)},
    )


def _prompt(place: int, first: ArrayLike, second: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Kernel of all texts of a prompt, and the weights 1/N and -1/M of the two samples."""
    samples = [checks.integers(f"{name}[{place}]", x) for name, x in (("first", first), ("second", second))]
    shapes = [sample.shape for sample in samples]
    if any(len(shape) != 2 or 0 in shape for shape in shapes) or shapes[0][1] != shapes[1][1]:
        raise InputError(f"first[{place}] and second[{place}] must be (N, L) and (M, L), got {shapes[0]}, {shapes[1]}")
    texts = np.concatenate(samples)
    gram = np.zeros((len(texts), len(texts)))
    for column in texts.T:
        gram += column[:, None] == column
    weights = np.concatenate([np.full(shapes[0][0], 1 / shapes[0][0]), np.full(shapes[1][0], -1 / shapes[1][0])])
    return gram, weights


def _permuted(
    prompts: Sequence[tuple[FloatArray, FloatArray]], permutations: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    for start in range(0, permutations, _BLOCK):
        count = min(_BLOCK, permutations - start)
        total = np.zeros(count)
        for gram, weights in prompts:
            shuffled = rng.permuted(np.tile(weights, (count, 1)), axis=1)
            total += np.einsum("bn,bn->b", shuffled @ gram, shuffled)
        yield total


def _smallest_tv(
    prompts: Sequence[tuple[FloatArray, FloatArray]], permutations: int, rng: np.random.Generator
) -> float:
    """A total variation t at each of L places of P prompts moves the sum by 2 t^2 L P; the kernel's diagonal is L."""
    spread = float(np.std(next(_permuted(prompts, 99, rng))))
    drift = float(stats.norm.isf(max(LEVEL, 1 / (permutations + 1))) + stats.norm.isf(1 - POWER))
    places = sum(float(gram[0, 0]) for gram, _ in prompts)
    return min(1.0, float(np.sqrt(max(0.0, drift * spread) / (2 * places))))


def _sequential(observed: float, blocks: Iterator[FloatArray], permutations: int) -> tuple[float, int]:
    """Besag and Clifford's p-value, and the permutations drawn."""
    least = observed * (1 - 1e-9)  # equal sums differ by rounding
    extreme, drawn = 0, 0
    for block in blocks:
        hits = np.flatnonzero(block >= least)
        if extreme + hits.size >= EXCEEDANCES:
            drawn += int(hits[EXCEEDANCES - extreme - 1]) + 1
            return EXCEEDANCES / drawn, drawn
        extreme, drawn = extreme + hits.size, drawn + block.size
    return (extreme + 1) / (permutations + 1), drawn

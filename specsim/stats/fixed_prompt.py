"""Fixed prompts, asked many times: chi-square of one token, or of several jointly, against their exact law."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.stats.chi_square import judged, pearson
from specsim.stats.result import TestResult


def fixed_prompt(
    tokens: Sequence[ArrayLike], laws: Sequence[ArrayLike], *, min_expected: float = 5.0, tolerance: float = 0.0
) -> TestResult:
    """Chi-square of the tokens that many runs of each prompt gave, summed over the prompts.

    Parameters
    ----------
    tokens : sequence of arrays (N,) or (N, L)
        For each prompt the first token of every run, or the first L.
    laws : sequence of arrays (V,) or (V,) * L
        For each prompt their joint probabilities [1].
    min_expected, tolerance : float
        As in :func:`~specsim.stats.chi_square.goodness_of_fit` [1].

    Returns
    -------
    TestResult
        `smallest_tv` is a mean over runs, between joint laws, of any fault that moves mass between cells.

    Raises
    ------
    InputError
        Tokens outside the law's axes, a law that does not sum to 1, too few runs for two cells.

    Notes
    -----
    The strongest test per sample of what goes wrong in one context, and blind to all others. Runs must be independent.

    Examples
    --------
    >>> fixed_prompt([[[0, 0], [0, 1], [1, 0], [1, 1]] * 25], [np.full((2, 2), 0.25)]).pvalue > 0.99
    True

    """
    if len(tokens) == 0 or len(tokens) != len(laws):
        raise InputError(f"laws must be one per prompt and at least one, got {len(laws)} for {len(tokens)} prompts")
    parts = []
    for place, (runs, law) in enumerate(zip(tokens, laws, strict=True)):
        joint = checks.array(f"laws[{place}]", law)
        counts = _counts(f"tokens[{place}]", runs, joint.shape)
        parts.append(pearson(counts, joint.ravel(), min_expected=min_expected))
    return judged("fixed_prompt", parts, tolerance=tolerance)


def _counts(name: str, tokens: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    runs = checks.integers(name, tokens)
    columns = runs[:, None] if runs.ndim == 1 else runs
    if columns.ndim != 2 or columns.shape[1] != len(shape):
        raise InputError(f"{name} must hold {len(shape)} tokens per run, got shape {runs.shape}")
    bad = np.argwhere(columns >= np.array(shape))
    if bad.size:
        raise InputError(f"{name}[{bad[0][0]}] must be inside its law of shape {shape}, got {columns[bad[0][0]]}")
    flat = np.ravel_multi_index(tuple(columns.T), shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).astype(np.float64)

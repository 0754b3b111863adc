"""Sequences that speculate together: rows of one batch that accept different lengths, and padding for it."""

from __future__ import annotations

from specsim import checks
from specsim.acceptance import Acceptance
from specsim.tau import expected_tokens


def tokens_of_slowest(acceptance: Acceptance, *, gamma: int, batch: int) -> float:
    """Expected tokens per round and row where every row is cut to what the slowest accepted.

    Parameters
    ----------
    acceptance : Acceptance
        Of each row; rows are independent.
    gamma : int
        Drafted tokens per round [1].
    batch : int
        Rows, B [1].

    Returns
    -------
    float
        1 + sum over k of s_k^B [1].

    Notes
    -----
    Exact. Batches without ragged kernels decode so; at B = 8 little of the speculation is left.

    Examples
    --------
    >>> round(tokens_of_slowest(Acceptance.constant(0.7), gamma=4, batch=8), 4)
    1.0612
    """
    survival = acceptance.survival(gamma)
    return 1 + float((survival ** checks.integer("batch", batch, low=1)).sum())


def tokens_of_fastest(acceptance: Acceptance, *, gamma: int, batch: int) -> float:
    """Expected length of the longest row of a round: what a cache that is padded to one length grows by.

    Parameters
    ----------
    acceptance, gamma, batch
        As for `tokens_of_slowest`.

    Returns
    -------
    float
        1 + sum over k of 1 - (1 - s_k)^B [1].

    Examples
    --------
    >>> round(tokens_of_fastest(Acceptance.constant(0.7), gamma=4, batch=8), 4)
    4.8495
    """
    survival = acceptance.survival(gamma)
    return 1 + float((1 - (1 - survival) ** checks.integer("batch", batch, low=1)).sum())


def padding_efficiency(acceptance: Acceptance, *, gamma: int, batch: int) -> float:
    """Tokens over places in a cache that is padded to the longest row, in expectation over one round each [1].

    A ratio of expectations: what is filled in the long run of rounds that are padded one by one.

    Examples
    --------
    >>> round(padding_efficiency(Acceptance.constant(0.7), gamma=4, batch=8), 4)
    0.5718
    """
    return expected_tokens(acceptance, gamma=gamma) / tokens_of_fastest(acceptance, gamma=gamma, batch=batch)

"""The exact law of the text that a rule writes, by enumeration over prefix tables, and how far it is from the target's.

For small vocabularies and few drafts: what one round commits, with the rest of the first G + 1 tokens drawn from the
target. A rule is lossless if that is the target's law; a text of many rounds then follows it too, since every round
starts anew from what was committed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError
from specsim.verifiers.protocol import Verifier
from specsim.verifiers.tables import prefix_tables

MOST_CELLS = 2**24


def text_law(
    rule: Verifier, p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike], *, lengths: ArrayLike | None = None
) -> FloatArray:
    """Joint law of the first G + 1 tokens of a text under a rule.

    Parameters
    ----------
    rule : Verifier
        Judges the round.
    p_tables, q_tables
        Prefix tables of G + 1 and G laws; see `Verifier.accepted_pmf`.
    lengths : array of int, shape (V,) * G, or None
        How many of the drafts are judged, for every chain that may be drafted; fewer axes on the left broadcast. None
        judges all.

    Returns
    -------
    array, shape (V,) * (G + 1)
        Probabilities [1].

    Raises
    ------
    InputError
        Tables that do not fit, or more than 2^24 pairs of a draft and a text.

    Examples
    --------
    >>> from specsim.verifiers import Rejection
    >>> p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> text_law(Rejection(), [p, p], [q]).sum(axis=1)  # the first token
    array([0.5, 0.3, 0.2])
    """
    given = text_given_draft(rule, p_tables, q_tables, lengths=lengths)
    drafted = draft_law(p_tables, q_tables)
    return np.tensordot(drafted, given, axes=drafted.ndim)


def text_total_variation(
    rule: Verifier, p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike], *, lengths: ArrayLike | None = None
) -> float:
    """Total variation between the text of a rule and the target's, over the first G + 1 tokens; see `text_law` [1].

    Examples
    --------
    >>> from specsim.verifiers import Lenience, Rejection
    >>> p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> round(text_total_variation(Lenience(factor=0.5), [p, p], [q]), 9)
    0.2
    """
    difference = text_law(rule, p_tables, q_tables, lengths=lengths) - target_law(p_tables, q_tables)
    return float(np.abs(difference).sum() / 2)


def accepted_law(
    rule: Verifier, p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike], *, lengths: ArrayLike | None = None
) -> FloatArray:
    """Law of the accepted length where the number of drafts that are judged depends on them, shape (G + 1,) [1]."""
    drafted = draft_law(p_tables, q_tables)
    lasting = _outcomes(rule, p_tables, q_tables, lengths=lengths).sum(axis=-1)
    return np.tensordot(drafted, lasting, axes=drafted.ndim)


def target_law(p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike]) -> FloatArray:
    """Joint law of the first G + 1 tokens of plain decoding, shape (V,) * (G + 1) [1]."""
    return _path(prefix_tables(p_tables, q_tables)[0])


def draft_law(p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike]) -> FloatArray:
    """Joint law of the drafted chain, shape (V,) * G [1]."""
    return _path(prefix_tables(p_tables, q_tables)[1])


def text_given_draft(
    rule: Verifier, p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike], *, lengths: ArrayLike | None = None
) -> FloatArray:
    """Law of the first G + 1 tokens given each drafted chain, shape (V,) * G + (V,) * (G + 1) [1]; see `text_law`."""
    targets, drafts = prefix_tables(p_tables, q_tables)
    gamma, size = len(drafts), targets[0].shape[-1]
    if size ** (2 * gamma + 1) > MOST_CELLS:
        raise InputError(f"V^(2 G + 1) must be at most 2^24 to be enumerated, got {size}^{2 * gamma + 1}")
    outcomes = _outcomes(rule, p_tables, q_tables, lengths=lengths).reshape(-1, gamma + 1, size)
    chains, texts = _strings(size, gamma), _strings(size, gamma + 1)
    law = np.zeros((len(chains), len(texts)))
    for accepted in range(gamma + 1):
        begins = (chains[:, None, :accepted] == texts[None, :, :accepted]).all(axis=-1)
        rest = np.prod([targets[k][tuple(texts[:, : k + 1].T)] for k in range(accepted + 1, gamma + 1)], axis=0)
        law += begins * outcomes[:, accepted, texts[:, accepted]] * rest
    return law.reshape((size,) * (2 * gamma + 1))


def _outcomes(
    rule: Verifier, p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike], *, lengths: ArrayLike | None
) -> FloatArray:
    """P(accepted, token given the chain), shape (V,) * G + (G + 1, V)."""
    targets, drafts = prefix_tables(p_tables, q_tables)
    gamma, size = len(drafts), targets[0].shape[-1]
    lead = (size,) * gamma
    chains = _strings(size, gamma).reshape(*lead, gamma)
    drafted = None if lengths is None else np.broadcast_to(checks.integers("lengths", lengths), lead)
    rows = np.zeros((*lead, 0, size)) if not drafts else _rows(drafts, lead=lead)
    return rule.outcomes(_rows(targets, lead=lead), chains, q=rows, drafted=drafted)


def _rows(tables: list[FloatArray], *, lead: tuple[int, ...]) -> FloatArray:
    """Each chain's rows, shape (V,) * G + (len(tables), V)."""
    gaps = [table.reshape(*table.shape[:-1], *(1,) * (len(lead) + 1 - table.ndim), -1) for table in tables]
    return np.stack([np.broadcast_to(table, (*lead, table.shape[-1])) for table in gaps], axis=-2)


def _path(tables: list[FloatArray]) -> FloatArray:
    law: FloatArray = np.ones(())
    for table in tables:
        law = law[..., None] * table
    return law


def _strings(size: int, length: int) -> IntArray:
    """Every string of tokens, shape (V^length, length)."""
    return np.indices((size,) * length).reshape(length, size**length).T

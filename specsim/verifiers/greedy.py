"""Greedy verification: a draft stands exactly where the target would have said the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray, IntArray
from specsim.distributions import laws, one_hot
from specsim.errors import InputError
from specsim.topology import ROOT, Topology
from specsim.verifiers.chain import ChainRule
from specsim.verifiers.protocol import Verification
from specsim.verifiers.rounds import Round, flat_round
from specsim.verifiers.tables import chain_pmf


class Greedy(ChainRule):
    """Accept while the draft is the target's first argmax; the next token is the target's argmax.

    Notes
    -----
    Lossless with respect to greedy decoding: the text is the one that the target's argmax gives, up to how the
    target's own numerics break ties. Laws of any temperature may be given, since only their argmax is read.

    Examples
    --------
    >>> rows = [[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]]
    >>> Greedy().verify(rows, [1, 1], q=None, rng=np.random.default_rng(0))
    Verification(accepted=array(1), token=array(0))
    """

    name = "greedy"
    is_lossless = True
    needs_draft_rows = False

    def verify(
        self,
        p: ArrayLike,
        draft: ArrayLike,
        *,
        q: ArrayLike | None,
        rng: np.random.Generator,
        drafted: ArrayLike | None = None,
    ) -> Verification:
        """Judge one round of each sequence; `q` and `rng` are not read. See `Verifier.verify`."""
        turn = flat_round(p, draft, q=None, drafted=drafted)
        accepted, token = np.zeros((2, turn.drafted.size), dtype=np.intp)
        going = np.arange(turn.drafted.size)
        for depth in range(turn.p.shape[1]):  # rows after a mismatch are never looked at
            best = _argmax(turn.p[going, depth])
            token[going] = best
            more = turn.drafted[going] > depth
            going, best = going[more], best[more]
            going = going[turn.draft[going, depth] == best] if depth < turn.draft.shape[1] else going
            accepted[going] += 1
        return turn.outcome(accepted, token)

    def accepted_pmf(self, p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike]) -> FloatArray:
        """Exact law of the accepted length, shape (G + 1,) [1]; greedy drafts are one-hot tables."""
        return chain_pmf(p_tables, q_tables, mass=lambda p, q: q * _best(p))

    def accept_probability(self, p: ArrayLike, q: ArrayLike) -> FloatArray:
        """1 at the first argmax of p, else 0, shape (..., V) [1]."""
        return _best(np.broadcast_arrays(*laws(p, q))[0])

    def residual(self, p: ArrayLike, q: ArrayLike) -> FloatArray:
        """The law of the token that replaces a rejected draft: all on the first argmax of p, shape (..., V) [1]."""
        return self.accept_probability(p, q)

    def _stands(self, turn: Round, *, sequence: IntArray, depth: int) -> FloatArray:
        best = _argmax(turn.p[sequence, depth])
        return np.where(turn.draft[sequence, depth] == best, 1.0, 0.0)

    def _replacement(self, turn: Round, rows: FloatArray, *, sequence: IntArray, depth: IntArray) -> FloatArray:
        return _best(rows)

    def _bonus(self, rows: FloatArray) -> FloatArray:
        return _best(rows)


def greedy_path(
    draft: Sequence[int], best: Sequence[int], *, topology: Topology | None = None
) -> tuple[tuple[int, ...], int]:
    """Down a drafted chain or tree along the target's most probable tokens, without any law.

    Parameters
    ----------
    draft
        G drafted tokens; of a tree in the order of its nodes.
    best
        The target's argmax: place 0 after the text, place k + 1 after draft k.
    topology
        The tree; None for a chain.

    Returns
    -------
    nodes
        Places of the drafts that stand, in the order of the text.
    token
        The target's token after them.

    Notes
    -----
    What `Greedy` says of a chain; every lossless rule for trees comes to this at temperature 0.

    Examples
    --------
    >>> greedy_path([4, 5], [4, 6, 0])
    ((0,), 6)
    >>> greedy_path([4, 5, 6], [5, 0, 6, 7], topology=Topology(parents=(-1, -1, 1)))
    ((1, 2), 7)
    """
    path: list[int] = []
    node = ROOT
    while True:
        token = best[node + 1]
        if topology is not None:
            children: Iterable[int] = topology.children(node)
        else:
            children = range(node + 1, min(node + 2, len(draft)))
        node = next((child for child in children if draft[child] == token), ROOT)
        if node == ROOT:
            return tuple(path), token
        path.append(node)


def _best(p: FloatArray) -> FloatArray:
    return one_hot(p.argmax(axis=-1), vocabulary=p.shape[-1], dtype=p.dtype)


def _argmax(rows: FloatArray) -> IntArray:
    best = np.asarray(rows.argmax(axis=-1))
    if np.isnan(rows[np.arange(best.size), best]).any():  # argmax stops at the first NaN
        raise InputError("p must not hold NaN")
    return best

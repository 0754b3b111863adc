"""How many drafts of a tree stand: exact where the node probabilities are, a surrogate where the drafter guessed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.topology.draft import DraftTree
from specsim.topology.shape import Topology


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeLength:
    """Expected length of a round with a tree.

    Parameters
    ----------
    E_accepted : float
        Expected drafts that stand [1].
    is_exact : bool
        Whether this is the expectation under `assumption`, or a surrogate made of the drafter's own guesses.
    assumption : str
        What it rests on.
    """

    E_accepted: float
    is_exact: bool
    assumption: str

    @property
    def E_tokens(self) -> float:
        """With the bonus or correction token [1]."""
        return 1 + self.E_accepted


def positional_length(topology: Topology, *, acceptance: ArrayLike) -> TreeLength:
    """Expected length where the child of rank r stands with probability `acceptance[r]` if its parent does.

    Notes
    -----
    Exact under that assumption: the sum over nodes of the product of acceptance along the path, Chen et al.
    (arXiv 2402.12374). `MultiDraftVerifier.acceptance_vector` gives such a vector for a rule and two laws.

    Examples
    --------
    >>> round(positional_length(Topology(parents=(-1, 0, -1)), acceptance=[0.6, 0.2]).E_tokens, 9)
    2.16
    """
    reached = standing(topology, positional_chances(topology, acceptance=acceptance))
    return TreeLength(
        E_accepted=float(reached.sum()), is_exact=True, assumption="acceptance depends on rank alone, not on context"
    )


def target_length(topology: Topology, *, chances: ArrayLike) -> TreeLength:
    """Expected length of a tree of certain drafts, from the target's probability of each node's token.

    Parameters
    ----------
    topology : Topology
        Siblings must hold different tokens.
    chances : array, shape (N,)
        The target's probability of the token of each node, given the path to it [1].

    Notes
    -----
    Exact for drafts that are no draw: a token stands if the target would have drawn it.

    Examples
    --------
    >>> target_length(Topology(parents=(-1, -1)), chances=[0.5, 0.25]).E_accepted
    0.75
    """
    return TreeLength(
        E_accepted=float(standing(topology, chances).sum()),
        is_exact=True,
        assumption="the target's own probabilities, drafts that are no draw",
    )


def surrogate_length(tree: DraftTree) -> TreeLength:
    """The sum of the values that a tree was built by: what the drafter hopes for.

    Examples
    --------
    >>> tree = DraftTree(topology=Topology(parents=(-1,)), choices=(3,), values=(0.9,), draft_passes=1)
    >>> surrogate_length(tree).is_exact
    False
    """
    return TreeLength(
        E_accepted=float(sum(tree.values)),
        is_exact=False,
        assumption="the drafter's probabilities in place of the target's",
    )


def standing(topology: Topology, chances: ArrayLike) -> FloatArray:
    """The probability that each node stands: the product of the chances along its path.

    Parameters
    ----------
    topology : Topology
        N nodes.
    chances : array, shape (..., N)
        Of each node given that its parent stands [1].
    """
    given = checks.probabilities("chances", chances)
    if given.ndim == 0 or given.shape[-1] != topology.nodes:
        raise InputError(f"chances must have shape (..., {topology.nodes}), got {given.shape}")
    reached = given.astype(np.float64)
    for node, parent in enumerate(topology.parents):
        if parent >= 0:
            reached[..., node] *= reached[..., parent]
    return reached


def standing_pmf(topology: Topology, reached: FloatArray) -> FloatArray:
    """Law of the accepted length from the probabilities that nodes stand, shape (..., depth + 1) [1].

    Of the nodes of one depth at most one stands, so P(accepted >= d) is their sum.
    """
    survival = np.zeros((*reached.shape[:-1], topology.depth + 2))
    survival[..., 0] = 1.0
    for depth in range(1, topology.depth + 1):
        survival[..., depth] = reached[..., topology.positions == depth].sum(axis=-1)
    lasting = np.minimum.accumulate(survival, axis=-1)  # rounding must not make a probability negative
    return np.asarray(lasting[..., :-1] - lasting[..., 1:])


def positional_chances(topology: Topology, *, acceptance: ArrayLike) -> FloatArray:
    """The acceptance of every node's rank, shape (N,) [1]."""
    vector = acceptance_vector(acceptance)
    ranks = np.array([path[-1] for path in topology.rank_paths], dtype=np.intp)
    if ranks.size and ranks.max() >= vector.size:
        raise InputError(f"acceptance must know {ranks.max() + 1} ranks for this tree, got {vector.size}")
    return vector[ranks]


def acceptance_vector(acceptance: ArrayLike) -> FloatArray:
    """Checked acceptance by rank: of the children of a node one stands at most, so it sums to at most 1."""
    vector = checks.probabilities("acceptance", acceptance, ndim=1).astype(np.float64)
    total = float(vector.sum())
    if vector.size == 0 or total > 1 + 1e-9:
        raise InputError(f"acceptance must be of one rank at least and sum to at most 1, got a sum of {total:.6g}")
    return vector

"""How large a tree should be, given what drafting and verifying it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.topology.sequoia import optimal_tokens, sequoia
from specsim.topology.shape import Topology


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeSize:
    """The tree that makes most tokens per second.

    Parameters
    ----------
    topology : Topology
        Empty where plain decoding is fastest.
    E_tokens : float
        Expected tokens of a round [1].
    round_seconds : float
        Drafting and verifying [s].
    """

    topology: Topology
    E_tokens: float
    round_seconds: float

    @property
    def tokens_per_second(self) -> float:
        """Of one sequence."""
        return self.E_tokens / self.round_seconds


def best_size(
    acceptance: ArrayLike,
    *,
    draft_seconds: float,
    verify_seconds: Callable[[int], float],
    max_nodes: int,
    max_depth: int,
) -> TreeSize:
    """The Sequoia tree, over all sizes and depths, of the fewest seconds per token.

    Parameters
    ----------
    acceptance : array, shape (R,)
        By rank; see `sequoia` [1].
    draft_seconds : float
        One drafter pass; a tree of depth d takes d of them [s].
    verify_seconds : callable
        Seconds of a target pass that scores so many tokens: n + 1 for n drafts, such as
        `lambda tokens: roofline.pass_seconds(tokens=tokens)`.
    max_nodes, max_depth : int
        The largest that are looked at [1].

    Notes
    -----
    Chen et al. (arXiv 2402.12374): argmin over (n, d) of (d t_draft + t_target(n + 1)) / E_tokens(n, d), with trees of
    exactly n nodes and depth up to d. Of ties the smaller tree is taken.

    Examples
    --------
    >>> flat = best_size([0.6, 0.15], draft_seconds=0.1, verify_seconds=lambda tokens: 1.0, max_nodes=8, max_depth=4)
    >>> steep = best_size([0.6, 0.15], draft_seconds=0.1, verify_seconds=lambda n: 1.0 * n, max_nodes=8, max_depth=4)
    >>> flat.topology.nodes, steep.topology.nodes
    (8, 0)
    """
    tokens = optimal_tokens(acceptance, nodes=max_nodes, max_depth=max_depth)
    verifying = [checks.positive(f"verify_seconds({n + 1})", verify_seconds(n + 1)) for n in range(max_nodes + 1)]
    drafting = np.arange(max_depth + 1) * checks.non_negative("draft_seconds", draft_seconds)
    seconds = np.add.outer(drafting, np.array(verifying))
    depth, nodes = np.unravel_index(np.argmax(tokens / seconds), tokens.shape)
    return TreeSize(
        topology=sequoia(acceptance, nodes=int(nodes), max_depth=int(depth)),
        E_tokens=float(tokens[depth, nodes]),
        round_seconds=float(seconds[depth, nodes]),
    )

"""What can be chosen as a drafter: every method for a target, as a chain and with its trees, and one's own c."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from specsim.capacity import Assumed, assumed_acceptance
from specsim.catalog import ModelShape
from specsim.checks import IntArray
from specsim.drafters import METHODS, DraftMethod
from specsim.errors import InputError

MAX_GAMMA = 16
OWN = "a step of c"
"""A drafter that takes a share c of a target step for every draft, as the usual formula has it: `RatioDrafter`."""
OWN_ALPHA = 0.7


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """A way of drafting for a target: a method as a chain or with a tree, and what was published of its acceptance."""

    key: str
    name: str
    method: DraftMethod
    assumed: Assumed

    @property
    def gammas(self) -> IntArray:
        """Depths that it can draft, shape (G,) [1]."""
        return np.arange(1, min(MAX_GAMMA, self.method.max_gamma or MAX_GAMMA) + 1)

    @property
    def verified_tokens(self) -> IntArray:
        """That the target scores, by depth, shape (G,) [1]."""
        return self.method.target_tokens(self.gammas)

    @property
    def drafted_tokens(self) -> IntArray:
        """That the drafter's passes score, shape (2 G,) [1]."""
        return np.concatenate([self.method.first_pass_tokens(self.gammas), self.method.pass_tokens(self.gammas)])


def ways(target: ModelShape) -> Iterator[Way]:
    """All methods that can draft for a target, chains and trees.

    Examples
    --------
    >>> from specsim.catalog import model
    >>> [way.key for way in ways(model("Llama-3.1-8B")) if way.name == "medusa"]
    ['medusa', 'medusa, tree of 8', 'medusa, tree of 16', 'medusa, tree of 32', 'medusa, tree of 63']
    """
    for name, method in METHODS.items():
        assumed = assumed_acceptance(name, {}, task=None)
        try:
            chain = method.default(target)
            chain.model(target)
        except InputError:  # no smaller model with its vocabulary
            continue
        for each in (chain, *chain.with_trees()):
            tree = f", tree of {each.tree_nodes}" if each.tree_nodes else ""
            yield Way(key=name + tree, name=name, method=each, assumed=assumed)


def way_counts(way: Way, target: ModelShape) -> dict[str, Any]:
    """Counts of a way of drafting by depth, 0 to its deepest."""
    method, gammas = way.method, np.concatenate([[0], way.gammas])
    return {
        "name": way.name,
        "nodes": method.tree_nodes,
        "passes": method.passes(gammas).tolist(),
        "first_tokens": method.first_pass_tokens(gammas).tolist(),
        "pass_tokens": method.pass_tokens(gammas).tolist(),
        "target_tokens": method.target_tokens(gammas).tolist(),
        "host_seconds": float(method.host_seconds(1)),
        "verify_share": method.verify_share(target),
        "is_ratio": False,
        "alpha": round(way.assumed.alpha, 3),
        "error": round(way.assumed.error, 3),
        "source": way.assumed.source,
    }


def own_counts() -> dict[str, Any]:
    """Counts of the drafter that is a share of the target's step."""
    gammas = np.arange(MAX_GAMMA + 1)
    none = np.zeros_like(gammas).tolist()
    return {
        "name": OWN,
        "nodes": 0,
        "passes": none,
        "first_tokens": none,
        "pass_tokens": none,
        "target_tokens": (gammas + 1).tolist(),
        "host_seconds": 0.0,
        "verify_share": 1.0,
        "is_ratio": True,
        "alpha": OWN_ALPHA,
        "error": 0.0,
        "source": "yours to set",
    }

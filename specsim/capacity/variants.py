"""Ways to run a drafter: as a chain, or with trees of several sizes, and what is accepted of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from specsim import catalog, checks
from specsim.acceptance import Acceptance
from specsim.catalog import ModelShape
from specsim.checks import IntArray
from specsim.drafters import METHODS, DraftMethod

MAX_GAMMA = 16
LEAST_ALPHA_ERROR = 0.03
Given = float | Acceptance


@dataclass(frozen=True, kw_only=True, slots=True)
class Assumed:
    """What is assumed of a method's acceptance.

    Parameters
    ----------
    acceptance : Acceptance
        Of a chain of drafts.
    error : float
        One standard deviation of its constant alpha [1].
    source : str
        Where it comes from.
    """

    acceptance: Acceptance
    error: float
    source: str

    @property
    def alpha(self) -> float:
        """Of the first draft [1]."""
        return float(self.acceptance.conditional(1)[0])


@dataclass(frozen=True, kw_only=True, slots=True)
class Variant:
    """A method as a chain or as a tree, with the law of its accepted depth."""

    method: DraftMethod
    acceptance: Acceptance

    @property
    def gammas(self) -> IntArray:
        """Depths that it can draft, from 1, shape (G,) [1]."""
        return np.arange(1, min(MAX_GAMMA, self.method.max_gamma or MAX_GAMMA) + 1)


def assumed_acceptance(method: str, given: Mapping[str, Given], *, task: str | None) -> Assumed:
    """What the user gave for a method, else what was published for it.

    Notes
    -----
    The published figure is one of other models and texts. Its error is the spread of all figures of the method that
    are listed, and at least 0.03: a user's own measurement is worth more than any of them.

    Examples
    --------
    >>> assumed_acceptance("eagle3", {"eagle3": 0.7}, task=None)
    Assumed(acceptance=ConstantAcceptance(alpha=0.7, source='given'), error=0.0, source='given')
    """
    if method in given:
        law = given[method]
        if not isinstance(law, Acceptance):
            law = Acceptance.constant(checks.probability(f"acceptance of {method}", law), source="given")
        return Assumed(acceptance=law, error=0.0, source=law.source or "given")
    rows = [row for row in catalog.published_rows() if row.method == method]
    tasks = {row.task for row in rows}
    chosen = catalog.published_acceptance(method, task=task if task in tasks else None)
    spread = float(np.std([row.alpha for row in rows]))
    return Assumed(
        acceptance=chosen.acceptance,
        error=max(spread, LEAST_ALPHA_ERROR),
        source=f"{chosen.confidence}: {chosen.source} ({chosen.target}, {chosen.dataset})",
    )


def variants(name: str, target: ModelShape, assumed: Assumed) -> Iterator[Variant]:
    """A method's default, and its trees where it has some."""
    method = METHODS[checks.one_of("method", name, METHODS)].default(target)
    ranks = catalog.rank_vector(assumed.alpha)
    for way in (method, *method.with_trees()):
        nodes = way.tree_nodes
        law = Acceptance.tree(ranks, nodes=nodes, source=assumed.source) if nodes else assumed.acceptance
        yield Variant(method=way, acceptance=law)

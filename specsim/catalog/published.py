"""Published acceptance of ways of drafting, and the probabilities behind it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
from scipy import optimize

from specsim import checks, topology
from specsim.acceptance import Acceptance
from specsim.acceptance.conversions import constant_alpha_from_tokens, tokens_from_utilisation
from specsim.catalog import rows
from specsim.checks import FloatArray
from specsim.errors import InputError

RANKS = 10
RANK_DECAY = 0.22
"""Acceptance of a candidate over that of the next better one, fitted to EAGLE-3's trees of 16 and of 60 nodes [1]."""

CONFIDENCES = ("published", "secondary", "bound", "assumed")


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedAcceptance:
    """One published figure.

    Parameters
    ----------
    method : str
        Way of drafting, by its name in `specsim.drafters.METHODS`.
    target, dataset, task : str
        What it was measured on; `task` is a word such as "chat" or "code".
    source : str
        Paper and table, repository, or why it is assumed.
    confidence : str
        "published", "secondary" (read in another's copy), "bound" (derived from a speedup) or "assumed".
    temperature : float, optional
        Not stated where None.
    tau, utilisation, stated_alpha : float, optional
        Exactly one: tokens per round, bonus included; accepted over drafted; acceptance as stated [1].
    gamma : int
        Drafts of a chain, for `tau` and `utilisation` [1].
    nodes, depth : int
        Size and levels of a tree, for `tau` [1].
    tree : str
        "eagle1" for EAGLE-1's static tree.
    note : str
        For readers.

    Raises
    ------
    InputError
        Not exactly one figure, a figure without its chain or tree, or a value outside its range.

    Notes
    -----
    Figures of different papers differ in target, training data and temperature: compare methods within one source.
    """

    method: str
    target: str
    dataset: str
    task: str
    source: str
    confidence: str
    temperature: float | None = None
    tau: float | None = None
    utilisation: float | None = None
    stated_alpha: float | None = None
    gamma: int = 0
    nodes: int = 0
    depth: int = 0
    tree: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        checks.one_of("confidence", self.confidence, CONFIDENCES)
        figures = (self.tau, self.utilisation, self.stated_alpha)
        if sum(figure is not None for figure in figures) != 1:
            raise InputError(f"{self.method} must have exactly one of tau, utilisation and alpha, got {figures}")
        shapes = (self.gamma > 0, self.nodes > 0 and self.depth > 0, self.tree == "eagle1")
        if sum(shapes) != (self.stated_alpha is None) or (self.utilisation is not None and not self.gamma):
            raise InputError(f"{self.method} must state tau of one chain or tree, or utilisation of a chain")
        deepest = self.gamma or self.depth or topology.eagle1().depth
        if self.tau is not None:
            checks.number("tau", self.tau, low=1.0, high=1.0 + deepest, open_low=True)
        checks.probability("utilisation", 0.0 if self.utilisation is None else self.utilisation)
        checks.probability("alpha", 0.0 if self.stated_alpha is None else self.stated_alpha)

    @property
    def alpha(self) -> float:
        """Acceptance of the best candidate: of each draft of a chain [1]."""
        if self.stated_alpha is not None:
            return self.stated_alpha
        if self.utilisation is not None:
            return constant_alpha_from_tokens(
                tokens_from_utilisation(self.utilisation, gamma=self.gamma), gamma=self.gamma
            )
        tau = float(self.tau or 0.0)
        if self.gamma:
            return constant_alpha_from_tokens(tau, gamma=self.gamma)
        return _tree_alpha(tau, nodes=self.nodes, depth=self.depth, tree=self.tree)

    @property
    def derivation(self) -> str:
        """How `alpha` follows from the figure."""
        if self.stated_alpha is not None:
            return "as stated"
        if self.gamma:
            return f"the constant alpha of that many tokens per round at gamma {self.gamma}"
        shape = "the static tree" if self.tree else f"the best tree of {self.nodes} nodes and depth {self.depth}"
        return f"the first of the ranks a min({RANK_DECAY:g}, 1 - a)^r with that many tokens per round in {shape}"

    @property
    def ranks(self) -> FloatArray:
        """Acceptance of candidates by rank, best first, for trees: shape (10,) [1]."""
        return rank_vector(self.alpha)

    @property
    def acceptance(self) -> Acceptance:
        """The constant law of `alpha`."""
        return Acceptance.constant(self.alpha, source=f"{self.confidence}: {self.source}")


def published_rows() -> tuple[PublishedAcceptance, ...]:
    """All published figures, those of a method together and its default first."""
    return _rows()


def published_acceptance(
    method: str, *, task: str | None = None, temperature: float | None = None
) -> PublishedAcceptance:
    """The default figure of a method, or its first for a task and a temperature.

    Raises
    ------
    InputError
        An unknown method, or a task or temperature that it has no figure for; the message lists those it has.

    Examples
    --------
    >>> chat = published_acceptance("eagle3", task="chat", temperature=1.0)
    >>> chat.tau, round(chat.alpha, 3), chat.source
    (2.66, 0.634, 'arXiv 2607.05147, Table 1')
    """
    known = _rows()
    checks.one_of("method", method, {row.method for row in known})
    found = [row for row in known if row.method == method]
    if task is not None:
        checks.one_of(f"task of {method}", task, {row.task for row in found})
        found = [row for row in found if row.task == task]
    if temperature is not None:
        stated = [row.temperature for row in found if row.temperature is not None]
        if temperature not in stated:
            listed = ", ".join(f"{value:g}" for value in sorted(set(stated))) or "none"
            raise InputError(f"temperature of {method} must be a published one, got {temperature:g}; known: {listed}")
        found = [row for row in found if row.temperature == temperature]
    return found[0]


def rank_vector(alpha: float, *, decay: float = RANK_DECAY) -> FloatArray:
    """Acceptance of candidates by rank: a min(decay, 1 - a)^r, r = 0..9, which sums to 1 at most [1].

    Notes
    -----
    Two parameters, and trees of two sizes give both: DFlash's Table 1 (arXiv 2602.06036) has EAGLE-3 on Qwen3-8B at
    2.96 tokens with 16 nodes and 3.40 with 60, which is a = 0.60 and a decay of 0.22; single tasks give 0.19 to 0.25.
    With that decay EAGLE-1's static tree and EAGLE-2's dynamic one, whose drafts are the same, give a within 0.01 of
    each other on each of four tasks at temperature 0. Dynamic trees follow the context, which a vector does not know:
    what they gain is in the ranks.

    Examples
    --------
    >>> rank_vector(0.6)[:3].round(3)
    array([0.6  , 0.132, 0.029])
    """
    best = checks.probability("alpha", alpha)
    return np.asarray(best * min(checks.probability("decay", decay), 1 - best) ** np.arange(RANKS))


@cache
def _rows() -> tuple[PublishedAcceptance, ...]:
    listed = cast(list[dict[str, Any]], rows.table("acceptance.toml")["acceptance"])
    return tuple(PublishedAcceptance(**_renamed(row)) for row in listed)


def _renamed(row: dict[str, Any]) -> dict[str, Any]:
    return {"stated_alpha" if key == "alpha" else key: value for key, value in row.items()}


@cache
def _tree_alpha(tau: float, *, nodes: int, depth: int, tree: str) -> float:
    """The rank vector's first entry at which the tree gives tau tokens."""

    def excess(alpha: float) -> float:
        ranks = rank_vector(alpha)
        if tree:
            return topology.positional_length(topology.eagle1(), acceptance=ranks).E_tokens - tau
        return 1 + float(Acceptance.tree(ranks, nodes=nodes).survival(depth).sum()) - tau

    return float(optimize.brentq(excess, 1e-3, 1 - 1e-6))

"""DraftMethod: how a way of drafting works, apart from the machine that it runs on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from specsim import checks
from specsim.catalog import ModelShape
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError
from specsim.roofline import Count

LAWS = ("full", "one_hot", "marginals")
DEPENDENCES = ("autoregressive", "parallel", "copied")
PLACES = ("accelerator", "host", "target_pass")


@dataclass(frozen=True, kw_only=True, slots=True)
class Traits:
    """What kind of drafter a method is.

    Parameters
    ----------
    q : str
        What a verifier may use: the "full" law of each draft, "one_hot", or "marginals" that do not depend on the
        drafts before.
    dependence : str
        Each draft follows from those before ("autoregressive"), all come at once ("parallel"), or are "copied".
    runs_on : str
        "accelerator" (passes of its own), "host" (the CPU), or "target_pass" (within the target's own pass).
    trained : bool
        Whether it has to be trained for the target.
    note : str
        What losslessness asks for, where it is not plain.
    """

    q: str
    dependence: str
    runs_on: str
    trained: bool
    note: str = ""

    def __post_init__(self) -> None:
        checks.one_of("q", self.q, LAWS)
        checks.one_of("dependence", self.dependence, DEPENDENCES)
        checks.one_of("runs_on", self.runs_on, PLACES)


class DraftMethod(ABC):
    """A way of drafting: what its passes read and score, and what it keeps in memory.

    Notes
    -----
    `gamma` is how deep is drafted: tokens of a chain, levels of a tree. All methods take single counts and arrays of
    them, and give arrays of the same shape. What a method does not override is that of a model that drafts a chain.
    """

    __slots__ = ()

    name: str
    traits: ClassVar[Traits]

    @classmethod
    @abstractmethod
    def default(cls, target: ModelShape) -> DraftMethod:
        """The usual configuration for a target."""

    @property
    def max_gamma(self) -> int | None:
        """The deepest that it can draft; None is no limit [1]."""
        return None

    @abstractmethod
    def model(self, target: ModelShape) -> ModelShape | None:
        """What one pass of it reads; None where it makes none."""

    def serial_model(self, target: ModelShape) -> ModelShape | None:
        """What it reads once more for every draft, one after the other, once its passes are done; None as a rule."""
        return None

    @abstractmethod
    def passes(self, gamma: Count) -> IntArray:
        """Passes of `model`, one after the other, that a round takes [1]."""

    def pass_tokens(self, gamma: Count) -> IntArray:
        """Tokens per sequence that a pass scores [1]."""
        return np.ones_like(self.depths(gamma))

    def first_pass_tokens(self, gamma: Count) -> IntArray:
        """Tokens per sequence that the first pass scores, those that it has to catch up on among them [1]."""
        return self.pass_tokens(gamma)

    def target_tokens(self, gamma: Count) -> IntArray:
        """Tokens per sequence that the target's pass scores [1]."""
        return np.asarray(self.depths(gamma) + 1)

    def host_seconds(self, gamma: Count, *, batch: Count = 1) -> FloatArray:
        """Time on the CPU, when nothing else of the round runs [s]."""
        return np.zeros(np.broadcast_shapes(self.depths(gamma).shape, np.shape(batch)))

    @property
    def tree_nodes(self) -> int:
        """Nodes of the tree that the target verifies at most; 0 for a chain [1]."""
        return 0

    def with_trees(self) -> tuple[DraftMethod, ...]:
        """Itself with trees of several usual sizes; none where it drafts only what it is set up for."""
        return ()

    def verify_share(self, target: ModelShape) -> float:
        """Share of the target's pass that is left for verifying; the rest is done for all but the last draft [1]."""
        return 1.0

    def kv_bytes_per_token(self, target: ModelShape) -> float:
        """Keys and values that it caches for a token besides the target's [byte]."""
        own = self.model(target)
        return own.kv_bytes_per_token if own is not None else 0.0

    def extra_bytes(self, target: ModelShape) -> float:
        """Weights that it adds to the accelerator's memory [byte]."""
        own = self.model(target)
        return (self.copies * own.weight_bytes if own is not None else 0.0) + self.side_bytes(target)

    @property
    def copies(self) -> int:
        """How many of `model` lie in memory [1]."""
        return 1

    def side_bytes(self, target: ModelShape) -> float:
        """Weights in memory that no pass of `model` reads [byte]."""
        return 0.0

    @property
    def datastore_bytes(self) -> float:
        """What it keeps on the host to look up in [byte]."""
        return 0.0

    def proposed_survival(self, gamma: int) -> FloatArray:
        """P(at least k tokens are proposed when gamma are asked for), k = 1..gamma, shape (gamma,) [1]."""
        return np.ones(int(self.depths(gamma)))

    def depths(self, gamma: Count) -> IntArray:
        """Checked depths [1].

        Raises
        ------
        InputError
            Not a whole number, below 0, or deeper than it can draft.
        """
        asked = checks.integers("gamma", gamma)
        if self.max_gamma is not None and (asked > self.max_gamma).any():
            raise InputError(f"gamma must be at most {self.max_gamma} for {self.name}, got {asked.max()}")
        return asked


def same_vocabulary(target: ModelShape, draft: ModelShape) -> ModelShape:
    """`draft`, where its tokens can be those of `target`: sizes are compared, for a shape knows no tokens.

    Raises
    ------
    InputError
        The vocabularies differ in size.
    """
    if draft.vocabulary != target.vocabulary:
        raise InputError(
            f"draft {draft.name} must have the {target.vocabulary} tokens of {target.name}, got {draft.vocabulary}"
        )
    return draft

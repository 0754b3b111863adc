"""Lookahead decoding: the target's own pass finds n-grams for later rounds while it verifies some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from specsim import checks
from specsim.catalog import ModelShape
from specsim.checks import IntArray
from specsim.drafters.method import DraftMethod, Traits
from specsim.roofline import Count


@dataclass(frozen=True, kw_only=True, slots=True)
class Lookahead(DraftMethod):
    """Jacobi iteration in a window, and a pool of the n-grams that it met.

    Parameters
    ----------
    window : int
        Positions ahead that are iterated at once, W [1].
    guesses : int
        n-grams of the pool that are verified at once, G [1].
    ngram : int
        Their length N; they hold N - 1 drafts [1].

    Notes
    -----
    Fu et al. (arXiv 2402.02057). Whatever the depth gamma of the drafts, up to N - 1, the window holds W (N - 1)
    tokens: a pass scores these, G gamma drafts and the last committed token. The defaults are those of their
    repository.

    Examples
    --------
    >>> Lookahead().target_tokens([0, 2, 4])
    array([ 1, 43, 57])
    """

    window: int = 7
    guesses: int = 7
    ngram: int = 5
    name: str = "lookahead"
    traits: ClassVar[Traits] = Traits(q="one_hot", dependence="copied", runs_on="target_pass", trained=False)

    def __post_init__(self) -> None:
        checks.integer("window", self.window, low=1)
        checks.integer("guesses", self.guesses, low=1)
        checks.integer("ngram", self.ngram, low=2)

    @classmethod
    def default(cls, target: ModelShape) -> Lookahead:
        """W = G = 7, N = 5."""
        return cls()

    @property
    def max_gamma(self) -> int:
        """N - 1 [1]."""
        return self.ngram - 1

    def model(self, target: ModelShape) -> None:
        """None: all is done in the target's pass."""
        return

    def passes(self, gamma: Count) -> IntArray:
        """None [1]."""
        return np.zeros_like(self.depths(gamma))

    def target_tokens(self, gamma: Count) -> IntArray:
        """Window, guesses and the last committed token [1]."""
        depths = self.depths(gamma)
        return np.where(depths > 0, self.window * (self.ngram - 1) + self.guesses * depths, 0) + 1

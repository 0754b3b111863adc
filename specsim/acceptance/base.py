"""`Acceptance`: what every law of the accepted length answers, and the constructors of all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray
from specsim.verifiers import VERIFIERS

if TYPE_CHECKING:
    from specsim.acceptance.beta import BetaAcceptance
    from specsim.acceptance.by_depth import DepthAcceptance
    from specsim.acceptance.constant import ConstantAcceptance
    from specsim.acceptance.counted import CountedAcceptance
    from specsim.acceptance.decay import DecayAcceptance
    from specsim.acceptance.markov import MarkovAcceptance
    from specsim.acceptance.tree import TreeAcceptance


class Acceptance(ABC):
    """Probability that draft k stands, given that it was drafted and that those before it stood.

    Notes
    -----
    The product of conditional probabilities is exact, by the chain rule, however contexts differ: the deeper ones are
    averaged over the rounds that got there, so they may rise with k although no draft gets better.

    Examples
    --------
    >>> Acceptance.constant(0.7).survival(3).round(3)
    array([0.7  , 0.49 , 0.343])
    >>> Acceptance.beta(7, 3).conditional(3).round(3)
    array([0.7  , 0.727, 0.75 ])
    """

    __slots__ = ()

    source: str

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is, in a few words."""

    @abstractmethod
    def _conditional(self, gamma: int) -> FloatArray:
        """`conditional` for a checked gamma."""

    def conditional(self, gamma: int) -> FloatArray:
        """alpha_k for k = 1..gamma, shape (G,) [1].

        Raises
        ------
        InputError
            `gamma` is negative, or deeper than what is known and not to be held.
        """
        return self._conditional(checks.integer("gamma", gamma))

    def survival(self, gamma: int) -> FloatArray:
        """s_k = P(accepted >= k) for k = 1..gamma, shape (G,) [1]."""
        return np.asarray(np.cumprod(self.conditional(gamma)))

    # Each constructor imports its law when called: the laws are subclasses, so they import this module first.

    @staticmethod
    def constant(alpha: float, *, source: str = "") -> ConstantAcceptance:
        """The same probability at every depth, independent of the context: the assumption of Leviathan et al. [1]."""
        from specsim.acceptance.constant import ConstantAcceptance

        return ConstantAcceptance(alpha=alpha, source=source)

    @staticmethod
    def by_depth(alphas: Sequence[float] | FloatArray, *, beyond: str = "raise", source: str = "") -> DepthAcceptance:
        """One conditional probability a depth; beyond the last either an error or, with "hold", the last [1]."""
        from specsim.acceptance.by_depth import DepthAcceptance

        checked = checks.probabilities("alphas", alphas, ndim=1)
        return DepthAcceptance(alphas=tuple(checked.tolist()), beyond=beyond, source=source)

    @staticmethod
    def decay(a: float, b: float, *, source: str = "") -> DecayAcceptance:
        """alpha_k = a b^(k-1): drafts that get worse with depth by the same factor [1]."""
        from specsim.acceptance.decay import DecayAcceptance

        return DecayAcceptance(a=a, b=b, source=source)

    @staticmethod
    def beta(a: float, b: float, *, source: str = "") -> BetaAcceptance:
        """One probability for all drafts of a round, redrawn from Beta(a, b) every round."""
        from specsim.acceptance.beta import BetaAcceptance

        return BetaAcceptance(a=a, b=b, source=source)

    @staticmethod
    def markov(
        *,
        start_good: float,
        stay_good: float,
        stay_bad: float,
        alpha_good: float,
        alpha_bad: float,
        source: str = "",
    ) -> MarkovAcceptance:
        """Text that is now easy, now hard: a hidden state that changes from draft to draft sets the probability."""
        from specsim.acceptance.markov import MarkovAcceptance

        return MarkovAcceptance(
            start_good=start_good,
            stay_good=stay_good,
            stay_bad=stay_bad,
            alpha_good=alpha_good,
            alpha_bad=alpha_bad,
            source=source,
        )

    @staticmethod
    def tree(ranks: Sequence[float] | FloatArray, *, nodes: int, source: str = "") -> TreeAcceptance:
        """The best tree of `nodes` nodes, gamma levels deep, where the child of rank r stands with `ranks[r]` [1]."""
        from specsim.acceptance.tree import TreeAcceptance

        return TreeAcceptance(ranks=tuple(np.asarray(ranks, dtype=np.float64).tolist()), nodes=nodes, source=source)

    @staticmethod
    def from_tables(
        p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike], *, verifier: str = "rejection", source: str = ""
    ) -> DepthAcceptance:
        """Exact, from prefix tables of both laws under a rule of `VERIFIERS`; see `Verifier.accepted_pmf`."""
        rule = VERIFIERS[checks.one_of("verifier", verifier, VERIFIERS)]
        survival = np.cumsum(rule.accepted_pmf(p_tables, q_tables)[::-1])[-2::-1]
        reached = np.concatenate(([1.0], survival[:-1]))[: survival.size]
        alphas = np.divide(survival, reached, out=np.zeros_like(survival), where=reached > 0)
        return Acceptance.by_depth(alphas.clip(0, 1), source=source or f"prefix tables, {verifier} verification")

    @staticmethod
    def from_counts(
        reached: Sequence[int], accepted: Sequence[int], *, beyond: str = "hold", source: str = ""
    ) -> CountedAcceptance:
        """From how often draft k was judged and how often it stood, k = 1..K."""
        from specsim.acceptance.counted import CountedAcceptance

        return CountedAcceptance(reached=tuple(reached), accepted=tuple(accepted), beyond=beyond, source=source)

"""Wrong chances for drafts to stand."""

from __future__ import annotations

import numpy as np

from specsim.checks import FloatArray, IntArray
from specsim.conformance.batch import Batch, Turn
from specsim.conformance.decoder import TableDecoder
from specsim.distributions.draw import draw
from specsim.stats.rows import BoolArray
from specsim.verifiers import Typical
from specsim.verifiers.chain import ratio


class WithoutQ(TableDecoder):
    """Drafts stand with p(x), but the residual is that of sampled drafts."""

    def chance(self, turn: Turn) -> FloatArray:
        return self.chances(turn)[0]


class Always(TableDecoder):
    """Every draft stands."""

    def chance(self, turn: Turn) -> FloatArray:
        return np.ones(turn.draft.shape)


class PAtLeastQ(TableDecoder):
    """Drafts stand where p(x) >= q(x), without a coin."""

    def chance(self, turn: Turn) -> FloatArray:
        p, q = self.chances(turn)
        return (p >= q).astype(np.float64)


class FreshMatch(TableDecoder):
    """Drafts stand if they equal a draw from p; where they do not, p is drawn from again."""

    def stands(self, batch: Batch, turn: Turn) -> BoolArray:
        return np.asarray(draw(turn.p[:, :-1], turn.coins[:, :-1]) == turn.draft)

    def residual(self, turn: Turn, some: IntArray, depth: IntArray) -> FloatArray:
        return turn.p[some, depth]


class InvertedRatio(TableDecoder):
    """Drafts stand with q(x) / p(x)."""

    def chance(self, turn: Turn) -> FloatArray:
        p, q = self.chances(turn)
        return ratio(q, p)


class TypicalAcceptance(TableDecoder):
    """Drafts stand where p(x) exceeds Medusa's threshold."""

    def chance(self, turn: Turn) -> FloatArray:
        chances = Typical().accept_probability(turn.p[:, :-1], turn.q)
        return np.take_along_axis(chances, turn.draft[..., None], axis=-1)[..., 0]


class Lenience(TableDecoder):
    """Drafts stand with p(x) / (0.8 q(x))."""

    share = 0.8

    def chance(self, turn: Turn) -> FloatArray:
        p, q = self.chances(turn)
        return ratio(p, self.share * q)


class SlightLenience(Lenience):
    """Drafts stand with p(x) / (0.95 q(x))."""

    share = 0.95


FAULTS = {
    "accept.without_q": WithoutQ,
    "accept.always": Always,
    "accept.p_at_least_q": PAtLeastQ,
    "accept.fresh_match": FreshMatch,
    "accept.inverted_ratio": InvertedRatio,
    "accept.typical": TypicalAcceptance,
    "accept.lenience_0.8": Lenience,
    "accept.lenience_0.95": SlightLenience,
}

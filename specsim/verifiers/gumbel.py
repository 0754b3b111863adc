"""Gumbel coupling: drafter and target draw with the same noise, and a draft stands where both draw the same token."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.distributions import laws
from specsim.errors import InputError
from specsim.verifiers.chain import ChainRule, normalised, or_target, without
from specsim.verifiers.coupling import pick_given_draft, shared_mass
from specsim.verifiers.noise import CoupledNoise
from specsim.verifiers.protocol import Verification
from specsim.verifiers.rounds import Round, flat_round


@dataclass(frozen=True, kw_only=True)
class Gumbel(ChainRule):
    """Accept while the draft is the token that the target draws itself; the first other draw is the next token.

    Parameters
    ----------
    noise : CoupledNoise or None
        The noise that the drafts were drawn with (`CoupledNoise.sample`). The text is then what plain decoding with
        that noise writes, the same for every drafter. None integrates the noise out: given the draft and its law q,
        what was accepted and what follows have the same law, from coins of the round.
    position : array of int, shape (...), or None
        Tokens of each sequence before its first draft, the prompt included; `at` sets it every round.

    Notes
    -----
    Lossless, whatever was drafted: every token is a draw from the target's law. Daliri et al. (arXiv 2408.07978); the
    drafts stand with `coupling.gumbel_match`, less than `distributions.overlap`, which is the price of a drafter that
    need not hand over its law. Drafter and target must be warped alike, and the text is the same only as far as the
    target's rows are the same bits for passes of different lengths.

    Examples
    --------
    >>> p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> noise, rng = CoupledNoise(seed=7), np.random.default_rng(0)
    >>> draft = noise.sample([q, q], position=[10, 11])
    >>> turn = Gumbel(noise=noise).at(10).verify([p, p, p], draft, q=None, rng=rng)
    >>> plain = noise.sample([p, p, p], position=[10, 11, 12])
    >>> [*draft[: turn.accepted], turn.token] == list(plain[: turn.accepted + 1])
    True
    >>> Gumbel().accepted_pmf([p, p], [q]).round(4)
    array([0.3692, 0.6308])
    """

    noise: CoupledNoise | None = None
    position: ArrayLike | None = None
    name = "gumbel"
    is_lossless = True

    @property
    def needs_draft_rows(self) -> bool:
        """Without the noise itself, the law of the draft is needed."""
        return self.noise is None

    @property
    def needs_coupled_noise(self) -> bool:
        """Whether drafts must come from the noise."""
        return self.noise is not None

    def at(self, position: ArrayLike) -> Gumbel:
        """The rule for a round that begins after `position` tokens."""
        return dataclasses.replace(self, position=position)

    def verify(
        self,
        p: ArrayLike,
        draft: ArrayLike,
        *,
        q: ArrayLike | None,
        rng: np.random.Generator,
        drafted: ArrayLike | None = None,
    ) -> Verification:
        """Judge one round of each sequence; with shared noise `q` and `rng` are not read. See `Verifier.verify`."""
        if self.noise is None:
            return super().verify(p, draft, q=q, rng=rng, drafted=drafted)
        if self.position is None:
            raise InputError("position must be set for a rule with shared noise: Gumbel(noise=...).at(position)")
        turn = flat_round(p, draft, q=None, drafted=drafted)
        start = turn.spread("position", checks.integers("position", self.position))
        texts = CoupledNoise(seed=turn.spread("seed", np.asarray(self.noise.seed)))
        accepted, token = np.zeros((2, start.size), dtype=np.intp)
        going = np.arange(start.size)
        for depth in range(turn.p.shape[1]):
            token[going] = texts.of(going).sample(turn.target_rows(going, depth), position=start[going] + depth)
            going = going[turn.drafted[going] > depth]
            going = going[turn.draft[going, depth] == token[going]] if depth < turn.draft.shape[1] else going
            accepted[going] += 1
        return turn.outcome(accepted, token)

    def accept_probability(self, p: ArrayLike, q: ArrayLike) -> FloatArray:
        """P(the target draws x given that the drafter did), shape (..., V); 0 where either law has no x [1]."""
        p, q = np.broadcast_arrays(*laws(p, q))
        return np.asarray(np.divide(shared_mass(p, q), q, out=np.zeros(p.shape), where=q > 0))

    def residual(self, p: ArrayLike, q: ArrayLike) -> FloatArray:
        """The law of the token that replaces a rejected draft, over all drafts, shape (..., V) [1]."""
        p, q = np.broadcast_arrays(*laws(p, q))
        return normalised(or_target(np.maximum(p - shared_mass(p, q), 0), p))

    def _stands(self, turn: Round, *, sequence: IntArray, depth: int) -> FloatArray:
        drawn, drafted = turn.drawn(sequence, depth)
        drawn_from = turn.draft_rows(sequence, depth)
        if drawn_from is None:
            return drawn
        with np.errstate(over="ignore"):
            at = np.divide(drafted, drawn, where=drawn > 0, out=np.zeros_like(drawn))
            at = np.minimum(at, np.finfo(at.dtype).max)  # never infinity, which a law of 0 makes NaN
            heights = np.maximum(drawn_from, turn.target_rows(sequence, depth) * at[:, None])
            total = heights.sum(axis=-1)
        return np.where(drawn > 0, np.minimum(1, 1 / total), 0.0)

    def _replacement(self, turn: Round, rows: FloatArray, *, sequence: IntArray, depth: IntArray) -> FloatArray:
        drawn_from, token = turn.draft_rows(sequence, depth), turn.draft[sequence, depth]
        if drawn_from is None:
            return without(rows, token)
        return or_target(pick_given_draft(rows, drawn_from, token), rows)

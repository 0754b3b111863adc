"""Table models: a target and a draft whose laws are tables, so that what a decoder must produce is known exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError

DRAFTS = ("good", "bad", "flat")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TableModels:
    """Two chains over one vocabulary that look at the last two tokens and at the first of the text.

    The first token stands for all that a long context does: a decoder that reads another request's cache has the wrong
    one until the text ends.

    Parameters
    ----------
    target, draft : array, shape (V, V, V, V)
        Logits of the next token given the first token of the text and its last two; token 0 stands before the first.

    Raises
    ------
    InputError
        Tables of other shapes, or with entries that are not finite.

    Examples
    --------
    >>> models = TableModels.random(vocabulary=3, seed=0)
    >>> models.states([[2, 0, 1]]).tolist()  # after each token: first, last but one, last in base 3
    [[20, 24, 19]]
    >>> models.logits("target", np.array([20])).shape
    (1, 3)
    """

    target: FloatArray
    draft: FloatArray

    def __post_init__(self) -> None:
        for name in ("target", "draft"):
            table = checks.array(name, getattr(self, name), ndim=4)
            if len(set(table.shape)) != 1 or table.shape != np.shape(self.target):
                raise InputError(f"{name} must have shape (V, V, V, V), one V for both, got {table.shape}")
            object.__setattr__(self, name, table)

    @classmethod
    def random(
        cls, *, vocabulary: int = 8, seed: int, draft: str = "mixed", eos_id: int | None = None, eos_bonus: float = 0.0
    ) -> TableModels:
        """Random tables.

        Parameters
        ----------
        vocabulary : int
            V, at least 2 [1].
        seed : int
            Of the tables.
        draft : str
            "good": its logits are 0.8 times the target's plus noise, and about 0.7 of its tokens stand; "bad": minus
            the target's, and 0.2 stand; "flat": 0.3 times the target's, and half stand; "mixed": good for texts that
            begin with one half of the vocabulary, bad and flat for a quarter each.
        eos_id, eos_bonus
            Added to the logits of one token in both tables, for texts that end soon [nat].

        Notes
        -----
        Logits of the target are N(0, 1.5^2), the noise N(0, 0.9^2).
        """
        checks.one_of("draft", draft, ("mixed", *DRAFTS))
        size = checks.integer("vocabulary", vocabulary, low=2)
        rng = np.random.default_rng(seed)
        target = rng.normal(0, 1.5, (size,) * 4)
        drafts = [0.8 * target + rng.normal(0, 0.9, target.shape), -target, 0.3 * target]
        kind = np.repeat([0, 0, 1, 2], -(-size // 4))[:size] if draft == "mixed" else np.full(size, DRAFTS.index(draft))
        proposed = np.stack(drafts)[kind, np.arange(size)]
        if eos_id is not None:
            bonus = np.where(np.arange(size) == eos_id, eos_bonus, 0.0)
            target, proposed = target + bonus, proposed + bonus
        return cls(target=target, draft=proposed)

    @property
    def vocabulary(self) -> int:
        """V."""
        return int(self.target.shape[0])

    def start(self, token: IntArray) -> IntArray:
        """The state after the first token of a text."""
        return np.asarray(token * self.vocabulary**2 + token)

    def advance(self, state: IntArray, token: IntArray) -> IntArray:
        """The state after one more token."""
        size = self.vocabulary
        return np.asarray(state // size**2 * size**2 + state % size * size + token)

    def states(self, texts: Sequence[Sequence[int]] | IntArray) -> IntArray:
        """The state after each token of texts of one length, shape (N, L)."""
        tokens = np.asarray(texts)
        states = np.empty_like(tokens)
        states[:, 0] = self.start(tokens[:, 0])
        for place in range(1, tokens.shape[1]):
            states[:, place] = self.advance(states[:, place - 1], tokens[:, place])
        return states

    def last(self, state: IntArray) -> IntArray:
        """The last token of each state."""
        return np.asarray(state % self.vocabulary)

    def logits(self, side: str, state: IntArray) -> FloatArray:
        """Rows of the "target" or the "draft" after each state, shape (..., V)."""
        table: FloatArray = getattr(self, side)
        return table.reshape(-1, self.vocabulary)[state]

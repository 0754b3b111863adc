"""A language of ten words, small enough to see all of: what a target says after a word, and what a drafter guesses."""

from __future__ import annotations

import numpy as np

from specsim.checks import FloatArray
from specsim.distributions import softmax

FOLLOWERS: dict[str, dict[str, float]] = {
    "the": {"cat": 2.6, "dog": 2.2, "mat": 1.6, "old": 1.4},
    "old": {"cat": 2.2, "dog": 2.4, "mat": 1.2},
    "cat": {"sat": 2.6, "ran": 1.7, "and": 1.0},
    "dog": {"ran": 2.7, "sat": 1.6, "and": 1.2},
    "sat": {"on": 3.0, "and": 1.6, ".": 1.2},
    "ran": {"on": 2.0, "and": 1.9, ".": 1.9},
    "on": {"the": 3.4, "and": 0.4},
    "and": {"the": 2.6, "ran": 1.4, "sat": 1.3},
    "mat": {".": 2.8, "and": 1.4},
    ".": {"the": 3.0, "and": 0.6},
}
"""By word, the logits of words that may well follow; others have 0."""
WORDS = tuple(FOLLOWERS)
MISREADING = 0.9
"""By how much a logit of the drafter is off, up or down."""


def target_logits() -> FloatArray:
    """Of the word in the column after that in the row, shape (V, V)."""
    return np.array([[after.get(word, 0.0) for word in WORDS] for after in FOLLOWERS.values()])


def draft_logits() -> FloatArray:
    """Those of the target, a drafter's misreading apart, shape (V, V)."""
    slips = np.random.default_rng(20_240).choice([-MISREADING, 0.0, MISREADING], size=(len(WORDS),) * 2)
    return np.asarray(target_logits() + slips)


def target() -> FloatArray:
    """The target's law of the next word by the last one, shape (V, V) [1]."""
    return softmax(target_logits())


def drafter() -> FloatArray:
    """The drafter's [1]."""
    return softmax(draft_logits())


def words(tokens: object) -> list[str]:
    """Tokens as words.

    Examples
    --------
    >>> words([0, 2])
    ['the', 'cat']
    """
    return [WORDS[token] for token in np.ravel(np.asarray(tokens)).tolist()]


def drafted(count: int, *, gamma: int, seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    """Chains of the drafter after "the", shape (count, gamma)."""
    rng, law = np.random.default_rng(seed), drafter().cumsum(axis=1)
    chains = np.zeros((count, gamma + 1), dtype=np.intp)
    for place in range(gamma):
        coins = rng.random((count, 1))
        chains[:, place + 1] = np.minimum((coins > law[chains[:, place]]).sum(axis=1), len(WORDS) - 1)
    return chains[:, 1:]

"""TableModel: a language model whose law is a table, so that what the decoder must produce is known exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray
from specsim.distributions import Sampling
from specsim.errors import InputError
from validation.decoder.sequence import Logits

LONG = 1 << 20  # tokens; a table remembers no more than its order


class TableModel:
    """An order-k Markov chain that meets `SequenceModel`, in numpy alone.

    Parameters
    ----------
    laws
        Law of the next token given the last k, shape (V,)*k + (V,); k is 0 for independent tokens. A text of fewer
        than k tokens counts as one with token 0 in front.
    context_limit
        Most tokens that can be cached.

    Raises
    ------
    InputError
        Rows that are no distributions, or axes of different sizes.

    Examples
    --------
    >>> model = TableModel([[0.9, 0.1], [0.5, 0.5]])  # order 1
    >>> np.exp(model.score([1, 0])).round(3).tolist()
    [[0.5, 0.5], [0.8999999761581421, 0.10000000149011612]]
    >>> model.truncate(1)
    >>> model.length, model.law(steps=2).tolist()  # after token 1: joint law of the next two
    (1, [[0.45, 0.05], [0.25, 0.25]])
    """

    def __init__(self, laws: ArrayLike, *, context_limit: int = LONG) -> None:
        laws = checks.distribution("laws", laws)
        if len(set(laws.shape)) != 1:
            raise InputError(f"laws must have equal axes, one per remembered token and one more, got {laws.shape}")
        self.laws = laws
        self.order = laws.ndim - 1
        self.vocabulary_size = laws.shape[-1]
        self.context_limit = checks.integer("context_limit", context_limit, low=1)
        self._histories = self.vocabulary_size**self.order
        with np.errstate(divide="ignore"):
            self._logits = np.log(laws).astype(np.float32).reshape(self._histories, -1)
        self._states = [0]  # the last `order` tokens as one number, after each cached token

    @classmethod
    def random(
        cls,
        vocabulary_size: int,
        *,
        order: int = 1,
        concentration: float = 1.0,
        seed: int,
        context_limit: int = LONG,
    ) -> TableModel:
        """A chain whose rows are drawn from a symmetric Dirichlet law; a small `concentration` makes them peaked."""
        checks.integer("vocabulary_size", vocabulary_size, low=1)
        checks.integer("order", order)
        weights = np.full(vocabulary_size, checks.positive("concentration", concentration))
        rng = np.random.default_rng(seed)
        laws = rng.dirichlet(weights, size=(vocabulary_size,) * order)
        return cls(laws, context_limit=context_limit)

    @property
    def length(self) -> int:
        """Tokens cached now."""
        return len(self._states) - 1

    def score(self, tokens: Sequence[int], *, keep: int | None = None) -> Logits:
        """Append `tokens`; log probabilities (n, V) after each of them, or after the last `keep` only."""
        states, state = self._states, self._states[-1]
        if len(states) + len(tokens) > self.context_limit + 1:
            raise InputError(f"context must be at most {self.context_limit} tokens, got {self.length + len(tokens)}")
        for token in tokens:
            state = (state * self.vocabulary_size + token) % self._histories
            states.append(state)
        return self._logits[states[len(states) - (len(tokens) if keep is None else keep) :]]

    def truncate(self, length: int) -> None:
        """Keep the first `length` cached tokens."""
        del self._states[checks.integer("length", length, high=self.length) + 1 :]

    def law(self, *, steps: int, sampling: Sampling | None = None) -> FloatArray:
        """Exact joint law of the next `steps` tokens after the cached ones.

        Parameters
        ----------
        steps
            How many tokens, at least 1.
        sampling
            Temperature and truncation applied to every row; none by default.

        Returns
        -------
        array
            Probabilities, shape (V,)*steps.
        """
        rows = self.laws.reshape(self._histories, -1)
        if sampling is not None:
            rows = sampling.probabilities(np.log(rows, where=rows > 0, out=np.full_like(rows, -np.inf)))
        joint, states = np.ones(()), np.array(self._states[-1])
        for _ in range(checks.integer("steps", steps, low=1)):
            joint = joint[..., None] * rows[states]
            states = (states[..., None] * self.vocabulary_size + np.arange(self.vocabulary_size)) % self._histories
        return joint

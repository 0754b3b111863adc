"""TableModel: a language model whose law is a table, so that what the decoder must produce is known exactly."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray
from specsim.conformance.tables import TableModels
from specsim.distributions import Sampling
from specsim.errors import InputError
from specsim.topology import ROOT, Topology
from validation.decoder.language_model import LanguageModel, Logits, Reading

_EMPTY = -1
LONG = 1 << 20  # tokens; a table remembers no more than its order


class StateModel(LanguageModel):
    """A language model in numpy alone whose law depends on a state that every token moves on.

    Parameters
    ----------
    log_laws
        Log law of the next token in each state, shape (S, V), float32.
    initial
        State of an empty text.
    context_limit
        Most tokens of a row.
    """

    def __init__(self, log_laws: Logits, *, initial: int, context_limit: int = LONG) -> None:
        self.log_laws = log_laws
        self.initial = initial
        self.vocabulary_size = log_laws.shape[-1]
        self.context_limit = checks.integer("context_limit", context_limit, low=1)
        self.begin(1)

    @abstractmethod
    def advance(self, state: int, token: int) -> int:
        """The state after one more token."""

    @property
    def lengths(self) -> Sequence[int]:
        """Tokens of each row now [token]."""
        return [len(states) - 1 for states in self._rows]

    def begin(self, rows: int) -> None:
        """See `LanguageModel.begin`."""
        self._rows: list[list[int]] = [[self.initial] for _ in range(checks.integer("rows", rows, low=1))]

    def read(
        self,
        tokens: Sequence[Sequence[int]],
        *,
        keep: int | None = None,
        trees: Sequence[Topology | None] | None = None,
        layers: Sequence[int] = (),
    ) -> Reading:
        """See `LanguageModel.read`; a table has no hidden states."""
        if layers:
            raise InputError(f"layers must be () for a table, which has no hidden states, got {tuple(layers)}")
        found = []
        for row, (states, new) in enumerate(zip(self._rows, tokens, strict=True)):
            start = len(states)
            self._append(states, new, tree=trees[row] if trees else None)
            found.append(self.log_laws[states[start if keep is None else max(start, len(states) - keep) :]])
        self._given = [len(new) for new in tokens]
        return Reading(logits=found)

    def _append(self, states: list[int], tokens: Sequence[int], *, tree: Topology | None) -> None:
        depth = len(tokens) if tree is None else 1 + tree.depth
        if len(states) + depth > self.context_limit + 1:
            raise InputError(f"context must be at most {self.context_limit} tokens, got {len(states) - 1 + depth}")
        state, root = states[-1], len(states)
        for place, token in enumerate(tokens):
            if tree is not None and place:
                parent = tree.parents[place - 1]
                state = states[root if parent == ROOT else root + 1 + parent]
            state = self.advance(state, token)
            states.append(state)

    def cut(self, lengths: Sequence[int]) -> None:
        """See `LanguageModel.cut`."""
        for row, (states, length) in enumerate(zip(self._rows, lengths, strict=True)):
            del states[checks.integer(f"lengths[{row}]", length, high=len(states) - 1) + 1 :]

    def compact(self, kept: Sequence[Sequence[int]]) -> None:
        """See `LanguageModel.compact`."""
        for states, places, given in zip(self._rows, kept, self._given, strict=True):
            start = len(states) - given
            states[start:] = [states[start + place] for place in places]

    def select(self, rows: Sequence[int]) -> None:
        """See `LanguageModel.select`."""
        self._rows = [self._rows[row] for row in rows]


class TableModel(StateModel):
    """An order-k Markov chain that meets `LanguageModel`, in numpy alone.

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
        self._histories = laws.shape[-1] ** self.order
        with np.errstate(divide="ignore"):
            log_laws = np.log(laws).astype(np.float32).reshape(self._histories, -1)
        super().__init__(log_laws, initial=0, context_limit=context_limit)

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

    def advance(self, state: int, token: int) -> int:
        """The last `order` tokens as one number."""
        return (state * self.vocabulary_size + token) % self._histories

    def law(self, *, steps: int, sampling: Sampling | None = None) -> FloatArray:
        """Exact joint law of the next `steps` tokens of the first row.

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
        joint, states = np.ones(()), np.array(self._rows[0][-1])
        for _ in range(checks.integer("steps", steps, low=1)):
            joint = joint[..., None] * rows[states]
            states = (states[..., None] * self.vocabulary_size + np.arange(self.vocabulary_size)) % self._histories
        return joint


class ConformanceModel(StateModel):
    """Target or draft of the table models of `specsim.conformance`: it remembers the first token and the last two.

    Parameters
    ----------
    models
        Both tables.
    side
        "target" or "draft".

    Examples
    --------
    >>> models = TableModels.random(vocabulary=3, seed=0)
    >>> model = ConformanceModel(models, side="target")
    >>> bool(np.allclose(model.score([2, 0, 1])[-1], models.target[2, 0, 1], atol=1e-6))
    True
    """

    def __init__(self, models: TableModels, *, side: str) -> None:
        checks.one_of("side", side, ("target", "draft"))
        self._square = models.vocabulary**2
        table = getattr(models, side).reshape(-1, models.vocabulary).astype(np.float32)
        super().__init__(table, initial=_EMPTY)

    def advance(self, state: int, token: int) -> int:
        """As of `TableModels`, in whole numbers."""
        if state == _EMPTY:
            return token * self._square + token
        return state // self._square * self._square + state * self.vocabulary_size % self._square + token

"""Jacobi iteration: guess the next tokens all at once, read them, and take what each place says for the next guess."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from specsim import checks
from validation.decoder.language_model import LanguageModel
from validation.decoder.load import Loaded
from validation.decoder.model import CachedModel
from validation.decoder.proposers.branching import BranchingProposer, Growth
from validation.decoder.proposers.protocol import Draft, up_to_eos
from validation.decoder.text import Text

if TYPE_CHECKING:
    from torch import Tensor


class JacobiProposer(BranchingProposer):
    """Drafts the fixed point that greedy decoding of gamma tokens converges to, from the last round's guess.

    Parameters
    ----------
    model
        The target's weights with a cache of their own.
    iterations
        Passes a round; after k of them the first k drafts are the model's own greedy text [1].

    Notes
    -----
    Santilli et al. (arXiv 2305.10427). Each iteration is a pass of its own over all the target's weights, besides the
    pass that verifies: a round costs `iterations` + 1 passes and commits at least `iterations` + 1 tokens at
    temperature 0. It gains where guesses hold further than that. Drafts are certain given the text.

    Examples
    --------
    >>> from validation.decoder.table_model import TableModel
    >>> from validation.decoder.text import Request
    >>> proposer, text = JacobiProposer(TableModel([[0, 1], [1, 0]]), iterations=3), Text(Request(prompt=[0]))
    >>> proposer.begin([text], None)
    >>> proposer.propose([text], gammas=[3])[0]
    Draft(tokens=(1, 0, 1), q=None, passes=3, topology=None, riders=0)
    """

    def __init__(self, model: LanguageModel, *, name: str = "jacobi", iterations: int = 1) -> None:
        super().__init__(model, name=name)
        self.iterations = checks.integer("iterations", iterations, low=1)
        self._guesses: list[_Guess] = []

    def begin(self, texts: Sequence[Text], features: Sequence[Tensor] | None) -> None:
        """See `Proposer.begin`."""
        super().begin(texts, features)
        self._guesses = [_Guess() for _ in texts]

    def keep(self, rows: Sequence[int]) -> None:
        """See `Proposer.keep`."""
        super().keep(rows)
        self._guesses = [self._guesses[row] for row in rows]

    def growth(self, text: Text, *, row: int, depth: int) -> Growth:
        """See `BranchingProposer.growth`."""
        guess = self._guesses[row].at(text, depth)
        for _ in range(self.iterations):
            logits = yield [tuple(guess[:place]) for place in range(depth)]
            guess = logits.argmax(axis=-1).tolist()
        self._guesses[row] = _Guess(tokens=guess, position=len(text.tokens))
        return Draft(tokens=up_to_eos(guess, text.request.eos_ids))


class _Guess:
    """Guessed tokens, and the place in the text of the first of them."""

    def __init__(self, *, tokens: Sequence[int] = (), position: int = 0) -> None:
        self._tokens, self._position = tokens, position

    def at(self, text: Text, depth: int) -> list[int]:
        """What it says of the next `depth` tokens, filled up with tokens of the text."""
        known = self._tokens[len(text.tokens) - self._position :][:depth]
        return [*known, *filler(text, depth - len(known))]


def filler(text: Text, count: int) -> list[int]:
    """Tokens of the text by chance, the same for the same text: where a guess has to begin."""
    return list(np.random.default_rng([len(text.tokens), text.tokens[-1]]).choice(text.tokens, count).tolist())


def build(loaded: Loaded, *, iterations: int = 1) -> JacobiProposer:
    """Over the target's own weights."""
    return JacobiProposer(CachedModel(loaded.model, pack=True), iterations=iterations)

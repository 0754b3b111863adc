"""Draft with a language model: an independent one, the first layers of the target, or a table."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.random import Generator

from specsim.checks import FloatArray
from specsim.distributions import Sampling, sample
from specsim.verifiers import CoupledNoise
from validation.decoder.proposers.protocol import Draft
from validation.decoder.sequence import Logits, SequenceModel, check_logits

LAST = 64  # tokens; more than one round commits


class ModelProposer:
    """Drafts token by token with any `SequenceModel`.

    Parameters
    ----------
    model
        The drafter; it must not be the very object that serves as target, whose cache it would share.
    name
        Goes into the records.
    argmax
        Draft the most probable token at every temperature (what vLLM V1 does by default) instead of a sample.
    noise
        Draw drafts with the noise of a `Gumbel` verifier, so that text does not depend on the drafter.

    Notes
    -----
    At temperature 0, or with `argmax`, drafts are certain given the text and no rows are handed over. Otherwise the
    rows are the laws that were sampled: the drafter's logits under the target's `sampling`. Only tokens that the
    drafter's cache lacks are read: after a rejection the correction, after a full acceptance the last draft as well.

    Examples
    --------
    >>> from validation.decoder.table_model import TableModel
    >>> proposer = ModelProposer(TableModel([[0.0, 1.0], [1.0, 0.0]]))
    >>> proposer.propose([0], gamma=3, sampling=Sampling(), rng=np.random.default_rng(0))
    Draft(tokens=(1, 0, 1), rows=array([[0., 1.],
           [1., 0.],
           [0., 1.]], dtype=float32), passes=3)
    """

    def __init__(
        self, model: SequenceModel, *, name: str = "model", argmax: bool = False, noise: CoupledNoise | None = None
    ) -> None:
        self.name = name
        self._model = model
        self._argmax = argmax
        self._noise = noise
        self._cached: list[int] = []
        self._eos_ids: frozenset[int] = frozenset()

    @property
    def vocabulary_size(self) -> int:
        """V of the drafter [token]."""
        return self._model.vocabulary_size

    def begin(self, tokens: Sequence[int], *, eos_ids: Collection[int]) -> None:
        """Forget the last text and read the prompt but for its last token."""
        self._model.truncate(0)
        self._cached = []
        self._eos_ids = frozenset(eos_ids)
        if 1 < len(tokens) <= self._model.context_limit:
            self._score(tokens[:-1], keep=1)

    def propose(self, tokens: Sequence[int], *, gamma: int, sampling: Sampling, rng: Generator) -> Draft:
        """Draft `gamma` tokens, fewer after an end-of-text token or near the drafter's context limit."""
        gamma = min(gamma, self._model.context_limit - len(tokens) + 1)
        if gamma < 1:
            return Draft()
        certain = self._argmax or sampling.is_greedy
        drafted: list[int] = []
        rows = []
        pending = self._reconcile(tokens)
        while True:
            logits = self._score(pending, keep=1)
            if certain:
                token = int(logits[0].argmax())
            else:
                law = sampling.probabilities(logits)
                token = self._draw(law[0], position=len(tokens) + len(drafted), rng=rng)
                rows.append(law)
            drafted.append(token)
            if len(drafted) == gamma or token in self._eos_ids:
                break
            pending = [token]
        return Draft(tokens=tuple(drafted), rows=np.concatenate(rows) if rows else None, passes=len(drafted))

    def _draw(self, law: FloatArray, *, position: int, rng: Generator) -> int:
        if self._noise is None:
            return int(sample(law, rng.random()))
        return int(self._noise.sample(law, position=position))

    def _reconcile(self, tokens: Sequence[int]) -> Sequence[int]:
        """Cut the cache back to what it has in common with `tokens`; the tokens it lacks, at least the last one."""
        common = min(_common_prefix(self._cached, tokens), len(tokens) - 1)
        self._model.truncate(common)
        del self._cached[common:]
        return tokens[common:]

    def _score(self, tokens: Sequence[int], *, keep: int) -> Logits:
        self._cached.extend(tokens)
        logits = self._model.score(tokens, keep=keep)
        check_logits(logits, whose=f"proposer {self.name}", position=len(self._cached))
        return logits


def _common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """How many first tokens agree; the two differ near the end or not at all, so the rest is compared at once."""
    size = min(len(left), len(right))
    start = max(0, size - LAST)
    start = start if left[:start] == right[:start] else 0
    return next((place for place in range(start, size) if left[place] != right[place]), size)

"""Drafts of a batch that are cut by a schedule, and whether texts keep the target's law under it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError
from specsim.policies import admit, best_budget, prefix_schedule
from specsim.policies.ranking import RoundSeconds
from specsim.stats import TestResult, goodness_of_fit
from validation.decoder.language_model import LanguageModel
from validation.decoder.loop import decode_all
from validation.decoder.proposers import Draft, ModelProposer, Proposer
from validation.decoder.table_model import TableModel
from validation.decoder.text import Request, Text

if TYPE_CHECKING:
    from torch import Tensor

Confidence = Callable[[FloatArray], FloatArray]
"""From the largest probability of each draft law, shape (G,), to the chance that its draft stands if those before it
do [1]."""
Schedule = Callable[[FloatArray, IntArray], IntArray]
"""From confidences (R, G) and drafts (R,) to how many of each are judged, shape (R,) [1]."""


class ScheduledProposer(Proposer):
    """Lets another draft for all texts of the batch, and hands over what a schedule admits.

    Parameters
    ----------
    proposer
        Samples chains.
    confidence, schedule
        Which drafts look likely, and how many of each text's are judged.

    Raises
    ------
    InputError
        When it proposes: drafts that are no chains, or were not sampled, so that nothing says how likely they are.

    Notes
    -----
    Drafts are thrown away after they were sampled. That keeps the target's law only because neither the confidence of a
    draft nor its being admitted looks at it: see `specsim.policies`.
    """

    def __init__(self, proposer: Proposer, *, confidence: Confidence, schedule: Schedule) -> None:
        self.name = proposer.name
        self.vocabulary_size = proposer.vocabulary_size
        self.remembers = proposer.remembers
        self.feature_layers = proposer.feature_layers
        self._proposer, self._confidence, self._schedule = proposer, confidence, schedule

    def meet(self, target: LanguageModel) -> None:
        """See `Proposer.meet`."""
        self._proposer.meet(target)

    def begin(self, texts: Sequence[Text], features: Sequence[Tensor] | None) -> None:
        """See `Proposer.begin`."""
        self._proposer.begin(texts, features)

    def absorb(self, texts: Sequence[Text], features: Sequence[Tensor] | None) -> None:
        """See `Proposer.absorb`."""
        self._proposer.absorb(texts, features)

    def keep(self, rows: Sequence[int]) -> None:
        """See `Proposer.keep`."""
        self._proposer.keep(rows)

    def propose(self, texts: Sequence[Text], *, gammas: Sequence[int]) -> list[Draft]:
        """Draft as deep as asked, then cut each draft to what is admitted."""
        drafts = self._proposer.propose(texts, gammas=gammas)
        chances = np.zeros((len(drafts), max(len(draft.tokens) for draft in drafts)))
        for row, draft in zip(chances, drafts, strict=True):
            if draft.topology is not None or (draft.tokens and draft.q is None):
                raise InputError(f"drafts to be scheduled must be sampled chains, proposer {self.name} gave others")
            if draft.q is not None:
                row[: len(draft.tokens)] = self._confidence(draft.q.max(axis=-1))
        lengths = self._schedule(chances, np.array([len(draft.tokens) for draft in drafts]))
        return [_cut(draft, int(length)) for draft, length in zip(drafts, lengths, strict=True)]


def _cut(draft: Draft, length: int) -> Draft:
    return replace(draft, tokens=draft.tokens[:length], q=None if draft.q is None or not length else draft.q[:length])


def early_stopping(round_seconds: RoundSeconds) -> Schedule:
    """The scheduler of DSpark: likeliest first, up to the first draft that does not pay."""
    return lambda chances, drafted: prefix_schedule(chances, round_seconds=round_seconds, drafted=drafted).lengths


def retrospective(round_seconds: RoundSeconds) -> Schedule:
    """The fault: a budget that is best for the very drafts that it is spent on."""
    return lambda chances, drafted: admit(
        chances, budget=best_budget(chances, round_seconds=round_seconds), drafted=drafted
    )


SCHEDULES: dict[str, Callable[[RoundSeconds], Schedule]] = {
    "early stopping": early_stopping,
    "retrospective": retrospective,
}
SURE, UNSURE, OPEN = 0, 1, 2
"""Tokens of the table: the drafter is certain after the first and torn after the others; the last is never drawn."""
LAW = np.array([0.7, 0.3, 0.0])
TORN = np.array([0.5, 0.5, 0.0])


def law_holds(make: Callable[[RoundSeconds], Schedule], *, texts: int, seed: int) -> TestResult:
    """Do texts keep the target's law under a schedule? Chi-square of the first two tokens, over a table.

    Notes
    -----
    Two texts a batch. Of one all drafts look certain. The other's first draft looks too unlikely to pay alone, and
    pays together with the second where the first is SURE: to drop it elsewhere favours SURE. By counterexample of
    DSpark's appendix the share of SURE is then 0.85 in place of 0.7.
    """
    schedule = make(lambda tokens: np.interp(tokens, [2, 3, 4, 5, 6], [1.0, 1.2, 1.4, 1.65, 1.7]))
    target = TableModel(np.stack([LAW] * 3))
    draft = TableModel(np.stack([[1.0, 0.0, 0.0], TORN, TORN]))
    proposer = ScheduledProposer(ModelProposer(draft), confidence=lambda peaks: peaks, schedule=schedule)
    rng = np.random.default_rng([seed, 3])
    asked = [Request(prompt=[prompt], max_tokens=3, seed=rng) for _ in range(texts) for prompt in (SURE, OPEN)]
    found = decode_all(target, proposer, asked, gamma=2, batch=2)[1::2]
    pairs = [2 * text.tokens[0] + text.tokens[1] for text in found]
    return goodness_of_fit(np.bincount(pairs, minlength=4), np.outer(LAW[:2], LAW[:2]).ravel())

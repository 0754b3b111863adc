"""Seconds of every step that a server may take, tabulated once so that a step is a look-up."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.cost import verify_seconds
from specsim.scenario import Scenario
from specsim.simulate.serving.lines import Lines

CONTEXT_KNOTS = 17
"""Contexts at which rounds are priced; between them seconds are linear [1]."""
PROMPT_KNOTS = 9
"""The same for passes over prompts [1]."""
EXACT_TOKENS = 256
"""Tokens in flight up to which passes over prompts are priced one by one; beyond, every `TOKENS_APART` [1]."""
TOKENS_APART = 16


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StepTimes:
    """Seconds of rounds and of passes over prompts, of a scenario's target and drafter.

    Parameters
    ----------
    scenario : Scenario
        Its gamma is the deepest that is drafted, G; its batch and context are not used.
    max_batch : int
        Most sequences that decode at once, B [1].
    chunk_tokens : int
        Most prompt tokens in a pass [1].
    longest : int
        Longest sequence [1].

    Notes
    -----
    Rounds are priced at every batch and drafted depth, and at 17 contexts; between them seconds are linear in the mean
    context of the batch, which is off by less than 1 % with the laws that are shipped. Where drafters propose fewer
    tokens than asked, seconds are linear in the mean number of drafts per sequence.
    Prompt tokens go through the same pass as the round: they add what the pass over all tokens in flight takes more
    than the one over the round's, each priced as one sequence at the context halfway through the chunk.

    Examples
    --------
    >>> from specsim.acceptance import Acceptance
    >>> from specsim.drafters import RatioDrafter
    >>> from specsim.roofline import Staircase
    >>> flat = Staircase(tokens=(1, 99), seconds=(0.04, 0.04), source="example")
    >>> drafter = RatioDrafter(c=0.1, step_seconds=0.04)
    >>> scenario = Scenario(target=flat, drafter=drafter, acceptance=Acceptance.constant(0.7), gamma=2)
    >>> StepTimes(scenario=scenario, max_batch=1, chunk_tokens=64, longest=100).rounds(batch=1, context=50)
    array([0.04 , 0.044, 0.048])
    """

    scenario: Scenario
    max_batch: int
    chunk_tokens: int
    longest: int
    proposed: tuple[FloatArray | None, ...] = field(init=False, repr=False)
    """P(at least k are proposed) for every gamma asked; None where all of them always are."""
    in_flight: IntArray = field(init=False, repr=False)
    """Tokens that the target scores in a sequence at each drafted depth, (G + 1,)."""
    _asked: Lines = field(init=False, repr=False)
    """Seconds where a drafter was asked, by context, batch and drafted depth, (C, B + 1, G + 1)."""
    _rounds: Lines = field(init=False, repr=False)
    """Expected seconds by context, batch and gamma asked, (C, B + 1, G + 1)."""
    _passes: Lines = field(init=False, repr=False)
    """Seconds of a pass over one sequence, by context and tokens, (C, K)."""
    _tokens: IntArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        gamma, drafter = self.scenario.gamma, self.scenario.drafter
        checks.integer("max_batch", self.max_batch, low=1)
        checks.integer("chunk_tokens", self.chunk_tokens, low=1)
        checks.integer("longest", self.longest, low=1)
        survivals = [drafter.proposed_survival(depth) for depth in range(gamma + 1)]
        drafted = np.array([survival.sum() for survival in survivals])
        contexts = _knots(self.longest, CONTEXT_KNOTS)
        self._set("proposed", tuple(None if (survival == 1).all() else survival for survival in survivals))
        self._set("in_flight", np.asarray(drafter.target_tokens(np.arange(gamma + 1))))
        self._set("_asked", Lines.of(contexts, self._round_seconds))
        expected = np.apply_along_axis(lambda row: np.interp(drafted, np.arange(gamma + 1), row), 2, self._asked.values)
        expected[:, 1:, 0] = self._plain_seconds(contexts)
        self._set("_rounds", Lines(self._asked.knots, expected))
        self._set("_tokens", _token_knots(self.chunk_tokens + self.max_batch * int(self.in_flight.max())))
        self._set("_passes", Lines.of(_knots(self.longest, PROMPT_KNOTS), self._pass_seconds))

    def rounds(self, *, batch: int, context: float) -> FloatArray:
        """Expected seconds of a round in which 0..G drafts are asked for, shape (G + 1,) [s]."""
        return self._rounds.at(context, batch)

    def round(self, *, drafted: float, batch: int, context: float) -> float:
        """Seconds of a round whose sequences drafted so many tokens on average, a drafter having been asked [s]."""
        asked = self._asked.at(context, batch)
        return float(np.interp(drafted, np.arange(len(asked)), asked))

    def prompts(self, *, tokens: int, context: float, beside: IntArray) -> FloatArray:
        """Seconds that prompt tokens add to rounds with `beside` tokens in flight, of the shape of `beside` [s]."""
        passes = self._passes.at(context)
        return np.asarray(np.interp(beside + tokens, self._tokens, passes) - np.interp(beside, self._tokens, passes))

    def prompts_alone(self, *, tokens: int, context: float) -> float:
        """Seconds of a pass over prompt tokens when nothing decodes [s]."""
        seconds = float(np.interp(tokens, self._tokens, self._passes.at(context)))
        return seconds + self.scenario.sample_seconds + self.scenario.host_seconds

    def _round_seconds(self, contexts: IntArray) -> FloatArray:
        """Of rounds in which a drafter was asked, (C, B + 1, G + 1); batch 0 is there to be its own place [s]."""
        scenario, depths = self.scenario, np.arange(self.scenario.gamma + 1)
        counts = {"batch": np.arange(1, self.max_batch + 1)[:, None], "context": contexts[:, None, None]}
        verify = verify_seconds(scenario.target, scenario.drafter, depths, **counts)
        draft = scenario.drafter.draft_seconds(depths, **counts) if scenario.gamma else 0.0
        sample = scenario.sample_seconds + scenario.sample_per_token_seconds * (self.in_flight - 1)
        seconds = np.zeros((len(contexts), self.max_batch + 1, len(depths)))
        seconds[:, 1:] = draft + verify + sample + scenario.host_seconds
        return seconds

    def _plain_seconds(self, contexts: IntArray) -> FloatArray:
        """Of rounds without drafts, (C, B) [s]."""
        batches = np.arange(1, self.max_batch + 1)
        passes = self.scenario.target.pass_seconds(tokens=1, batch=batches, context=contexts[:, None])
        return np.asarray(passes + self.scenario.sample_seconds + self.scenario.host_seconds)

    def _pass_seconds(self, contexts: IntArray) -> FloatArray:
        passes = self.scenario.target.pass_seconds(tokens=self._tokens, batch=1, context=contexts[:, None])
        return np.array(np.broadcast_to(passes, (len(contexts), len(self._tokens))))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def _knots(longest: int, number: int) -> IntArray:
    """Whole contexts from 0 to the longest, closer where they are short."""
    return np.unique(np.rint(longest * np.linspace(0, 1, number) ** 2).astype(np.int64))


def _token_knots(most: int) -> IntArray:
    apart = np.arange(EXACT_TOKENS, most, TOKENS_APART)
    return np.unique(np.concatenate((np.arange(1, min(most, EXACT_TOKENS) + 1), apart, [most])))

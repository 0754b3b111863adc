"""What the claims about acceptance share: a target and its drafter, texts, and decoded rounds, made once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from specsim import checks
from specsim.acceptance import Acceptance, CountedAcceptance
from specsim.checks import FloatArray, IntArray
from specsim.distributions import Sampling
from specsim.records import RoundRecord
from specsim.verifiers import VERIFIERS, Verifier
from validation.claims.first_failure import FirstFailureEnds
from validation.claims.protocol import Settings
from validation.claims.statement import Sums
from validation.decoder.judge import Rule
from validation.decoder.loop import Step, stream
from validation.decoder.proposers import ModelProposer, Proposer
from validation.decoder.text import Request

if TYPE_CHECKING:  # so that claims can be listed without torch
    from validation.decoder.load import Loaded
    from validation.decoder.model import CachedModel

CALIBRATION, HELD_OUT = 0, 1
"""Which texts: those that statements are made from, and those that are measured."""
EXPECTED: tuple[Verifier, ...] = (VERIFIERS["rejection"], VERIFIERS["block"], FirstFailureEnds())
"""Rules whose survival is looked at in every drafted chain."""
BATCH = {"cpu": 32, "cuda": 64}
"""Texts side by side, by device [1]."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Drafting:
    """A target and a drafter that samples.

    Parameters
    ----------
    loaded
        The target.
    target, draft
        With caches of their own.
    name
        Of the pair.
    batch
        Texts side by side [1].
    """

    loaded: Loaded
    target: CachedModel
    draft: CachedModel
    name: str
    batch: int

    def proposer(self, *, argmax: bool = False) -> ModelProposer:
        """The drafter, token by token."""
        return ModelProposer(self.draft, name=self.name, argmax=argmax)


def open_drafting(settings: Settings, *, bits: int = 4) -> Drafting:
    """The pair that was asked for, opened once; without a drafter it is the target quantised.

    Notes
    -----
    A copy of the target in 4 bits is the drafter that any target has, and one that gets drafts accepted. It is taken
    in place of a trained head as well: most of these claims read a drafter's laws off texts, and a head reads hidden
    states.
    """
    drafter = None if settings.drafter is not None and is_head(settings.drafter) else settings.drafter
    place = settings.loaded, settings.model, settings.device, settings.cache_dir
    return _open(*place, drafter=drafter, widest=settings.widest, bits=bits)


def is_head(drafter: str) -> bool:
    """Whether a drafter that was named is the file of a trained head."""
    return drafter.endswith(".safetensors")


@lru_cache(maxsize=2)
def _open(
    loaded: Loaded | None,
    model: str | None,
    device: str,
    cache_dir: Path | None,
    *,
    drafter: str | None,
    widest: float,
    bits: int,
) -> Drafting:
    from validation.decoder.load import load
    from validation.decoder.model import CachedModel
    from validation.decoder.proposers.independent import drafter_model
    from validation.decoder.quantised import quantise

    found = loaded or load(model, dtype="float32", device=device, cache_dir=cache_dir)
    if drafter is None:
        draft, name = CachedModel(quantise(found.model, bits=bits), pack=True), f"int{bits} copy"
    else:
        draft, name = drafter_model(found, drafter), drafter
    return Drafting(
        loaded=found,
        target=CachedModel(found.model, pack=True),
        draft=draft,
        name=f"{found.name}, drafter {name}",
        batch=int(min(BATCH[found.model.device.type], widest)),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Texts:
    """Which texts.

    Parameters
    ----------
    count, tokens
        Texts, and new tokens of each; none ends earlier, so that no round is cut but the last ones [1].
    temperature
        [1].
    part
        CALIBRATION or HELD_OUT: other prompts, other seeds. Both take prompts in turn, of which no trained head saw the
        first 160.
    seed
        Of prompts and samples.
    """

    count: int
    tokens: int
    temperature: float = 1.0
    part: int = CALIBRATION
    seed: int = 0

    def __post_init__(self) -> None:
        checks.integer("texts", self.count, low=2)
        checks.integer("tokens", self.tokens, low=2)
        checks.positive("temperature", self.temperature)

    def requests(self, loaded: Loaded) -> list[Request]:
        """What to ask the decoder."""
        from validation.train.text import unseen_prompts

        every = list(unseen_prompts())
        every = every[: len(every) // 2 * 2]  # so that the parts stay apart when prompts come again
        places = [2 * (self.seed * self.count + place) + self.part for place in range(self.count)]
        messages = [every[place % len(every)] for place in places]
        return [
            Request(
                prompt=loaded.prompt_tokens(message),
                name=str(place),
                max_tokens=self.tokens,
                sampling=Sampling(temperature=self.temperature),
                seed=int(np.random.SeedSequence([self.seed, self.part, place]).generate_state(1)[0]),
            )
            for place, message in enumerate(messages)
        ]


class Judged(NamedTuple):
    """What a rule was asked about one text in one round, boiled down by a `Look`."""

    place: int
    step: Step
    seen: Any


Look = Callable[[Mapping[str, Any]], Any]
"""What to keep of the arguments that a rule's `verify` was given."""


class Watched:
    """A rule that judges as it did, and keeps what a look makes of every call, in the order of the calls."""

    def __init__(self, rule: Rule, look: Look) -> None:
        self._rule, self._look = rule, look
        self.seen: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rule, name)

    def verify(self, *arguments: Any, **named: Any) -> Any:
        """As the rule; a tree comes before the laws."""
        names = ("p", "tokens") if len(arguments) == 2 else ("topology", "p", "tokens")
        self.seen.append(self._look(dict(zip(names, arguments, strict=True)) | named))
        return self._rule.verify(*arguments, **named)


def watch(
    pair: Drafting, proposer: Proposer, texts: Texts, *, gamma: int, rule: Rule, look: Look, batch: int | None = None
) -> list[Judged]:
    """Decode texts and keep, of every round with room for all of gamma, the step and what `look` saw."""
    watched = Watched(rule, look)
    requests = texts.requests(pair.loaded)
    steps = list(stream(pair.target, proposer, requests, gamma=gamma, batch=batch or pair.batch, verifier=watched))
    return [
        Judged(step.place, step, seen)
        for step, seen in zip(steps, watched.seen, strict=True)
        if room(step.record, requests[step.place]) > gamma
    ]


def room(record: RoundRecord, request: Request) -> int:
    """Tokens that could still come when the round began [1]."""
    return request.max_tokens - (record.context_tokens + 1 - len(request.prompt))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Chains:
    """Rounds of n texts that drafted chains of K.

    Parameters
    ----------
    rounds : array (n,)
        Rounds with room for all drafts [1].
    survived : array (n, K)
        Those in which draft k stood; or how many are expected [1].
    expected : Mapping of arrays (n, K)
        By rule, expected rounds in which draft k stands, given the drafts of these rounds: no coins [1].
    """

    rounds: FloatArray
    survived: FloatArray
    expected: Mapping[str, FloatArray] = field(default_factory=dict)

    @property
    def counted(self) -> CountedAcceptance:
        """As data for the laws of acceptance."""
        stood = self.survived.sum(axis=0).astype(int).tolist()
        return Acceptance.from_counts([int(self.rounds.sum()), *stood[:-1]], stood)

    @property
    def lengths(self) -> IntArray:
        """Rounds that accepted 0..K drafts, shape (K + 1,) [1]."""
        stood = np.concatenate(([self.rounds.sum()], self.survived.sum(axis=0), [0.0]))
        return np.asarray(-np.diff(stood).round().astype(int))

    def survival(self, depth: int) -> Sums:
        """P(draft k stands) as counted."""
        return Sums(top=self.survived[:, depth - 1], bottom=self.rounds, least=self._least)

    def accepted(self) -> Sums:
        """E_accepted as counted."""
        return Sums(top=self.survived.sum(axis=1), bottom=self.rounds, least=self._least)

    def without_coins(self, rule: str | None = None) -> Sums:
        """E_accepted as a rule is expected to give it; by default that of `survived` itself."""
        expected = self.survived if rule is None else self.expected[rule]
        tossed = coins(expected.sum(axis=0) / self.rounds.sum())
        return Sums(top=expected.sum(axis=1), bottom=self.rounds, coins=tossed, least=self._least)

    @property
    def _least(self) -> float:
        """Half a draft in the rounds of a text: drafts that all stood may yet fall."""
        return float((0.5 / self.rounds.mean()) ** 2)


def coins(survival: FloatArray) -> float:
    """Variance of the accepted length when draft k stands with probability survival[k] [1].

    Examples
    --------
    >>> coins(np.array([0.5]))
    0.25
    """
    odd = 2 * np.arange(len(survival)) + 1
    return float(odd @ survival - survival.sum() ** 2)


@lru_cache(maxsize=32)
def chains(pair: Drafting, texts: Texts, *, gamma: int, argmax: bool = False, rule: str = "rejection") -> Chains:
    """Decode texts with chains of gamma drafts, once for all claims that ask for the same."""

    def look(asked: Mapping[str, Any]) -> FloatArray:
        return np.stack([each.survival(asked["p"], asked["tokens"], q=asked["q"]) for each in EXPECTED])

    found = watch(pair, pair.proposer(argmax=argmax), texts, gamma=gamma, rule=VERIFIERS[rule], look=look)
    places = np.array([one.place for one in found])
    accepted = np.array([one.step.record.accepted for one in found])
    seen = np.stack([one.seen for one in found])
    return Chains(
        rounds=by_text(np.ones(len(found)), places, texts.count),
        survived=by_text(accepted[:, None] > np.arange(gamma), places, texts.count),
        expected={each.name: by_text(seen[:, row], places, texts.count) for row, each in enumerate(EXPECTED)},
    )


def by_text(values: Any, places: IntArray, count: int) -> FloatArray:
    """Sums by text of values (N, ...), shape (count, ...)."""
    rows = np.asarray(values, dtype=np.float64)
    sums = np.zeros((count, *rows.shape[1:]))
    np.add.at(sums, places, rows)
    return sums

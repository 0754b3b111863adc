"""A quantised copy of the target as its drafter: how often it is right, and whether it pays."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from scipy import stats

from specsim import checks
from specsim.calibrate import Estimate, calibrate, measured_speedup
from specsim.distributions import Sampling
from validation.claims.drafting import HELD_OUT, Drafting, Texts, chains, open_drafting
from validation.claims.places import foreseen, reading
from validation.claims.prediction import STATED
from validation.claims.protocol import ClaimResult, Settings
from validation.claims.statement import Stated, Statement, judged, state

if TYPE_CHECKING:  # so that claims can be listed without torch
    from validation.demo.bench import Bench, Run

BITS = {"cpu": (4, 8), "cuda": (4,)}
"""Bits of the copies, by device; the first one is timed as well [bit]."""
CALIBRATED_GAMMAS, HELD_OUT_GAMMA = (1, 4), 2
PROMPTS, TIMED_TOKENS = 8, 32
"""Of the timed runs: texts, and new tokens of each at least [1]."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantised:
    """A quantised copy's accepted length and speedup are foretold, one by laws, the other by calibration.

    Parameters
    ----------
    texts, tokens : int
        Texts of either part, times the budget, and new tokens of each [1].
    gamma : int
        Drafted tokens per round [1].

    Notes
    -----
    Accepted lengths are stated from texts that the target wrote alone and measured on others, for copies in 4 bits and
    (on a processor) in 8. The speedup of the first copy is stated by `specsim.calibrate` from two gammas and measured
    at a third. Another drafter that was asked for is left aside. Faults: a copy so good that every draft stands, and
    drafts that take no time.
    """

    texts: int = 32
    tokens: int = 40
    gamma: int = 6
    name: ClassVar[str] = "quantised"

    def __post_init__(self) -> None:
        checks.integer("texts", self.texts, low=2)
        checks.integer("gamma", self.gamma, low=1)
        checks.integer("tokens", self.tokens, low=self.gamma + 1)

    def run(self, settings: Settings) -> ClaimResult:
        """Read and state, decode with every copy; then calibrate one, state, and time it."""
        own = dataclasses.replace(settings, drafter=None)
        target = open_drafting(own)
        bits = BITS[target.target.device.type]
        accepted = []
        for place, width in enumerate(bits, start=1):
            accepted.append(self._accepted(open_drafting(own, bits=width), width, settings))
            settings.progress(0.6 * place / len(bits))
        speed = timed(open_drafting(own, bits=bits[0]), bits[0], settings)
        settings.progress(1.0)
        return judged(
            self.name,
            [*accepted, speed.stated],
            model=target.loaded.name,
            settings=settings,
            faults={
                "every draft of a copy stands": [
                    (statement.instead(float(self.gamma)), measured) for statement, measured in accepted
                ],
                "drafts take no time": [(speed.stated[0].instead(speed.without_drafting), speed.stated[1])],
            },
            figures={"draft_step_over_plain_step": speed.draft_over_plain},
            note=f"speedup {speed.stated[1]:.2f} with {bits[0]} bits at gamma {HELD_OUT_GAMMA}",
        )

    def _accepted(self, pair: Drafting, bits: int, settings: Settings) -> Stated:
        count = settings.scaled(self.texts, least=8)
        options = {"count": count, "tokens": self.tokens, "seed": settings.seed}
        read = reading(pair, Texts(**options))[1.0, 1.0]
        statement = state(
            foreseen(read, gamma=self.gamma).without_coins(),
            setting={"bits": bits, "gamma": self.gamma},
            quantity="E_accepted",
            texts=count,
        )
        return statement, chains(pair, Texts(part=HELD_OUT, **options), gamma=self.gamma).accepted().value


@dataclass(frozen=True, kw_only=True, slots=True)
class Timed:
    """Speedup of a copy.

    Parameters
    ----------
    stated
        As foretold and as measured [1].
    without_drafting
        As foretold if drafts took no time [1].
    draft_over_plain
        Seconds of a drafted token over those of a plain step [1].
    """

    stated: Stated
    without_drafting: float
    draft_over_plain: float


def timed(pair: Drafting, bits: int, settings: Settings) -> Timed:
    """Calibrate a copy at some gammas, state its speedup at another, and measure it, in turns with plain decoding."""
    from validation.demo.bench import PLAIN, Bench, Setting, rows
    from validation.demo.prompts import prompts

    proposer = pair.proposer()
    bench = Bench(
        target=pair.target,
        proposers={proposer.name: proposer},
        prompts={prompt: pair.loaded.prompt_tokens(prompt.text) for prompt in prompts(PROMPTS)},
        sampling=Sampling(),
        tokens=settings.scaled(TIMED_TOKENS, least=3 * max(CALIBRATED_GAMMAS)),
        slow=frozenset(),
        eos_ids=pair.loaded.eos_ids,
    )
    before = _runs(bench, CALIBRATED_GAMMAS, seed=settings.seed)
    known = calibrate([record for run in before for record in run.decoding.records], seed=settings.seed)
    speedup, cost = known.predict(HELD_OUT_GAMMA).speedup, known.scenario(HELD_OUT_GAMMA).cost
    statement = _statement(speedup, setting={"bits": bits, "gamma": HELD_OUT_GAMMA}, quantity="speedup")
    after = _runs(bench, (HELD_OUT_GAMMA,), seed=settings.seed + PROMPTS)
    drafted = rows(after, Setting(proposer=proposer.name, gamma=HELD_OUT_GAMMA))
    return Timed(
        stated=(statement, measured_speedup(drafted, rows(after, PLAIN), seed=settings.seed).value),
        without_drafting=speedup.value * cost.seconds / (cost.seconds - cost.draft_seconds),
        draft_over_plain=cost.draft_seconds / HELD_OUT_GAMMA / known.plain_seconds.value,
    )


def _runs(bench: Bench, gammas: tuple[int, ...], *, seed: int) -> list[Run]:
    from validation.demo.bench import PLAIN, Setting, decode_interleaved

    (name,) = bench.proposers
    return decode_interleaved(bench, [PLAIN, *(Setting(proposer=name, gamma=gamma) for gamma in gammas)], seed=seed)


def _statement(estimate: Estimate, *, setting: dict[str, int], quantity: str) -> Statement:
    """An estimate with its interval as a statement."""
    freedom = estimate.n - 1
    reach = float(stats.t.isf((1 - STATED) / 2, freedom))
    return Statement(
        setting=setting,
        quantity=quantity,
        predicted=estimate.value,
        error=(estimate.high - estimate.low) / (2 * reach),
        freedom=freedom,
    )

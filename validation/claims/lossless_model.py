"""On a real model sampled texts follow the target's own law, token by token."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.random import Generator

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.distributions import Sampling, sample
from specsim.stats import (
    ORDERS,
    TestResult,
    anderson_darling,
    combine,
    order_position,
    randomized_pit,
    smallest_total_variation,
    support,
    uniformity,
)
from specsim.verifiers import Verifier
from validation.claims.faults import residual_is_target
from validation.claims.protocol import ClaimResult, Control, Settings, verdict
from validation.decoder.loop import decode

if TYPE_CHECKING:  # so that claims can be listed without torch
    from validation.claims.workbench import Workbench

BINS = 16
_UNIFORMITY_TESTS = (anderson_darling, uniformity)
_COLD = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Texts:
    """Sampled tokens in order, and what target and draft said of each with speculation off.

    Parameters
    ----------
    tokens : array (N,)
        Token ids.
    p, q : arrays (N, V)
        Laws of the target and of the draft given the same history [1].
    rounds, accepted : int
        Rounds played and drafts accepted on the way [1].
    """

    tokens: IntArray
    p: FloatArray
    q: FloatArray
    rounds: int
    accepted: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LosslessModel:
    """Texts sampled speculatively from a real model follow the target's own law: randomised PIT of every token.

    Parameters
    ----------
    tokens : int
        Tokens judged, times the budget [1].
    text_tokens : int
        Longest text [1].
    gamma : int
        Drafted tokens per round [1].
    sampling : Sampling
        Law of the texts; temperature 1 by default.
    draft_layers : int | None
        Layers of the early exit, in its own cache and in the target's; nine in ten of the model's by default [1].
    verifier : Verifier | None
        Rule under test; None for the decoder's default.

    Notes
    -----
    Texts come from a drafter that samples (first layers of the target), from one that copies (n-gram), and from the
    first in the target's own cache, in turn; all are kept however they finish, and the last is cut by index. Each is
    then scored by one pass with speculation off, and u = F(x-) + v p(x) taken in three orders: token id, p
    descending, q/p. Anderson-Darling and chi-square of each, Holm-corrected. Controls draw other tokens after the
    very same histories: from the draft's law (a decoder that accepts everything) and from the target at half the
    temperature. What a milder fault would need is in `figures`: the one-token total variation of "residual is p",
    next to the smallest one that is sure to be seen.
    """

    tokens: int = 300
    text_tokens: int = 60
    gamma: int = 2
    sampling: Sampling = field(default_factory=Sampling)
    draft_layers: int | None = None
    verifier: Verifier | None = None
    name: ClassVar[str] = "lossless_model"

    def __post_init__(self) -> None:
        checks.integer("tokens", self.tokens, low=1)
        checks.integer("text_tokens", self.text_tokens, low=1)
        checks.integer("gamma", self.gamma, low=1)

    def run(self, settings: Settings) -> ClaimResult:
        """Sample, score with speculation off, judge by PIT."""
        from validation.claims.workbench import open_workbench

        bench = open_workbench(settings, draft_layers=self.draft_layers)
        rng = np.random.default_rng([settings.seed, 2])
        texts = measure(self, bench, settings=settings, rng=rng)
        u = pit(texts.tokens, texts, rng=rng)
        result = judge(texts.tokens, texts, u=u)
        controls = [
            _control(fault, rows, texts, level=settings.level, rng=rng) for fault, rows in _faulty_laws(texts).items()
        ]
        level = settings.level / (len(ORDERS) * len(_UNIFORMITY_TESTS) + 1)
        mild = np.abs(residual_is_target(texts.p, texts.q) - texts.p).sum(axis=1).mean() / 2
        return ClaimResult(
            test=self.name,
            model=bench.loaded.name,
            n=texts.tokens.size,
            unit="tokens",
            pvalue=result.pvalue,
            level=settings.level,
            verdict=verdict(result, level=settings.level, controls=controls),
            statistic=result.statistic,
            smallest_total_variation=smallest_total_variation(n=texts.tokens.size, cells=BINS, level=level),
            controls=tuple(controls),
            figures={
                "rounds": texts.rounds,
                "accepted_drafts": texts.accepted,
                "total_variation_of_residual_is_p": float(mild),
            },
            histograms={order: _histogram(values) for order, values in u.items()},
            detail=result.detail,
        )


def measure(claim: LosslessModel, bench: Workbench, *, settings: Settings, rng: Generator) -> Texts:
    """Sample texts until there are enough tokens, and score each with speculation off."""
    from validation.claims.workbench import teacher_forced

    wanted = settings.scaled(claim.tokens, least=5 * BINS)
    proposers = bench.proposers()
    made: list[Texts] = []
    count = 0
    while count < wanted:
        turn, kind = divmod(len(made), len(proposers))
        prompt = bench.prompts[turn % len(bench.prompts)]
        text = decode(
            bench.target,
            proposers[kind],
            prompt,
            gamma=claim.gamma,
            max_tokens=min(claim.text_tokens, wanted - count),
            sampling=claim.sampling,
            verifier=claim.verifier,
            allow_lossy=True,  # whatever it is called: it is measured
            eos_ids=bench.eos_ids,
            seed=rng,
            request=str(len(made)),
        )
        made.append(
            Texts(
                tokens=np.array(text.tokens),
                p=teacher_forced(bench.reference, prompt, text.tokens, sampling=claim.sampling),
                q=teacher_forced(bench.draft_reference, prompt, text.tokens, sampling=claim.sampling),
                rounds=len(text.records),
                accepted=sum(record.accepted for record in text.records),
            )
        )
        count += len(text.tokens)
        settings.progress(min(1.0, count / wanted))
    return Texts(
        tokens=np.concatenate([text.tokens for text in made]),
        p=np.concatenate([text.p for text in made]),
        q=np.concatenate([text.q for text in made]),
        rounds=sum(text.rounds for text in made),
        accepted=sum(text.accepted for text in made),
    )


def pit(tokens: IntArray, texts: Texts, *, rng: Generator) -> dict[str, FloatArray]:
    """U of every token in each order, shape (N,) each [1]; `tokens` stand where those of `texts` stood."""
    return {
        order: randomized_pit(*order_position(texts.p, tokens, order=order, draft_rows=texts.q), rng)
        for order in ORDERS
    }


def judge(tokens: IntArray, texts: Texts, *, u: Mapping[str, FloatArray]) -> TestResult:
    """Support, and uniformity of u in each order by two tests, Holm-corrected."""
    mass = np.take_along_axis(texts.p, tokens[:, None], axis=1)[:, 0]
    results = [support(np.minimum(mass, 1.0))]
    for order, values in u.items():
        for test in _UNIFORMITY_TESTS:
            outcome = test(values)
            results.append(dataclasses.replace(outcome, test=f"{outcome.test}, {order}"))
    return combine(results, test=LosslessModel.name)


def _faulty_laws(texts: Texts) -> dict[str, FloatArray]:
    cold = texts.p.astype(np.float64) ** (1 / _COLD)
    return {
        "accept every draft": texts.q,
        f"temperature times {_COLD:g}": cold / cold.sum(axis=1, keepdims=True),
    }


def _control(fault: str, rows: FloatArray, texts: Texts, *, level: float, rng: Generator) -> Control:
    """The same histories with tokens from a faulty law, judged as the real ones."""
    tokens = sample(rows, rng.random(len(rows)))
    outcome = judge(tokens, texts, u=pit(tokens, texts, rng=rng))
    return Control(fault=fault, n=tokens.size, pvalue=outcome.pvalue, caught=not outcome.passed(level))


def _histogram(u: FloatArray) -> tuple[int, ...]:
    return tuple(np.histogram(u, bins=BINS, range=(0, 1))[0].tolist())

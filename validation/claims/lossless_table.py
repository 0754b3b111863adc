"""On an exact table model the decoder's texts follow the law that can be computed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.stats import TestResult, combine, goodness_of_fit, smallest_total_variation
from specsim.stats.chi_square import pool
from specsim.verifiers import Verifier
from validation.claims.faults import FAULTS
from validation.claims.protocol import ClaimResult, Control, Settings, verdict
from validation.decoder.loop import decode
from validation.decoder.proposers import ModelProposer
from validation.decoder.table_model import TableModel

STEPS = 3
_MIN_EXPECTED = 20.0  # chi-square tails hold at 1e-6
_CONTROL_SHARES = (64, 16, 4, 1)
_LEAST_ROUNDS, _LEAST_TEXTS = 2000, 500  # below, chi-square would have no cells
_PARTS = 8  # of each case; what a worker does at a time
_MEASURING = 0.8  # of the work; the rest is the controls


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One draft against the target, and the fault that this draft shows best."""

    name: str
    target: TableModel
    draft: TableModel
    prompt: tuple[int, ...]
    fault: str

    @property
    def eos(self) -> int:
        """The last token ends a text."""
        return int(self.target.vocabulary_size) - 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """How often each triple came, shape (V^3,), and in how many rounds."""

    counts: IntArray
    rounds: int

    @property
    def texts(self) -> int:
        """Texts counted."""
        return int(self.counts.sum())


@dataclass(frozen=True, kw_only=True, slots=True)
class LosslessTable:
    """The decoder's texts on an exact table model follow its law: chi-square of the first three tokens jointly.

    Parameters
    ----------
    rounds : int
        Least number of rounds over all cases, times the budget; never below 2000 [1].
    vocabulary_size : int
        V of the table; the last token ends a text [1].
    gamma : int
        Drafted tokens per round; with 2 the third token is bonus, draft or correction [1].
    verifier : Verifier | None
        Rule under test; None for the decoder's default.

    Notes
    -----
    An order-2 Markov chain with a good draft (overlap about 0.9) and one that has nothing to do with it. A text that
    ends early counts as such: the law of an ended text stays at the end token. The three tokens cross the borders of
    rounds, and every round up to the third token drafts in full. Controls run the real decoder with a planted fault
    on growing shares of the run's size until it is caught.
    """

    rounds: int = 200_000
    vocabulary_size: int = 6
    gamma: int = 2
    verifier: Verifier | None = None
    name: ClassVar[str] = "lossless_table"

    def __post_init__(self) -> None:
        checks.integer("rounds", self.rounds, low=1)
        checks.integer("vocabulary_size", self.vocabulary_size, low=2)
        checks.integer("gamma", self.gamma, low=1)

    def run(self, settings: Settings) -> ClaimResult:
        """Predict the joint law, measure it on the real decoder, judge by chi-square."""
        cases = table_cases(self.vocabulary_size)
        quota = -(-settings.scaled(self.rounds, least=_LEAST_ROUNDS) // len(cases))
        level = settings.level / len(cases)
        with settings.executor() as executor:
            measured = self._measure(cases, rounds=quota, settings=settings, executor=executor)
            controls = self._controls(cases, measured, level=level, settings=settings, executor=executor)
        laws = [predict(case) for case in cases]
        outcomes = [judge(case.name, found.counts, law) for case, found, law in zip(cases, measured, laws, strict=True)]
        settings.progress(1.0)
        result = combine(outcomes, test=self.name)
        return ClaimResult(
            test=self.name,
            model=f"order-2 Markov table of {self.vocabulary_size} tokens",
            n=sum(found.rounds for found in measured),
            unit="rounds",
            pvalue=result.pvalue,
            level=settings.level,
            verdict=verdict(result, level=settings.level, controls=controls),
            statistic=result.statistic,
            smallest_total_variation=max(
                _smallest(law, texts=found.texts, level=level) for law, found in zip(laws, measured, strict=True)
            ),
            controls=tuple(controls),
            figures={"texts": sum(outcome.n for outcome in outcomes)},
            detail=result.detail,
        )

    def _measure(self, cases: Sequence[Case], *, rounds: int, settings: Settings, executor: Executor) -> list[Measured]:
        """Every case in parts, each with a generator of its own, so that the result does not depend on the executor."""
        parts = [(place, part) for place in range(len(cases)) for part in range(_PARTS)]
        waiting = [
            executor.submit(
                measure,
                cases[place],
                gamma=self.gamma,
                verifier=self.verifier,
                rng=np.random.default_rng([settings.seed, 1, place, part]),
                rounds=-(-rounds // _PARTS),
            )
            for place, part in parts
        ]
        for done, _ in enumerate(as_completed(waiting), start=1):
            settings.progress(_MEASURING * done / len(parts))
        found = [future.result() for future in waiting]
        return [_sum(found[place * _PARTS : (place + 1) * _PARTS]) for place in range(len(cases))]

    def _controls(
        self,
        cases: Sequence[Case],
        measured: Sequence[Measured],
        *,
        level: float,
        settings: Settings,
        executor: Executor,
    ) -> list[Control]:
        waiting = [
            executor.submit(
                control,
                case,
                gamma=self.gamma,
                texts=found.texts,
                level=level,
                rng=np.random.default_rng([settings.seed, 2, place]),
            )
            for place, (case, found) in enumerate(zip(cases, measured, strict=True))
        ]
        return [future.result() for future in waiting]


def table_cases(vocabulary_size: int) -> tuple[Case, ...]:
    """The two cases; the tables are part of the claim and do not move with its seed."""
    target = TableModel.random(vocabulary_size, order=2, seed=0)
    other = TableModel.random(vocabulary_size, order=2, seed=1)
    good = TableModel(0.8 * target.laws + 0.2 * other.laws)
    return (
        Case(name="good draft", target=target, draft=good, prompt=(0, 1), fault="bonus from q"),
        Case(name="bad draft", target=target, draft=other, prompt=(1, 0), fault="residual is p"),
    )


def predict(case: Case) -> FloatArray:
    """Exact joint law of the first three tokens after the prompt, shape (V, V, V), the end token absorbing [1].

    Examples
    --------
    >>> law = predict(table_cases(3)[0])
    >>> law.shape, round(float(law.sum()), 12), float(law[2, 0].sum())
    ((3, 3, 3), 1.0, 0.0)
    """
    case.target.truncate(0)
    case.target.score(case.prompt)
    law = case.target.law(steps=STEPS)
    for step in range(STEPS - 1):
        ended = (slice(None),) * step + (case.eos,)
        mass = law[ended].sum(axis=tuple(range(step, STEPS - 1)))
        law[ended] = 0
        law[(slice(None),) * step + (case.eos,) * (STEPS - step)] = mass
    return law


def measure(
    case: Case,
    *,
    gamma: int,
    verifier: Verifier | None,
    rng: Generator,
    rounds: int | None = None,
    texts: int | None = None,
) -> Measured:
    """Decode texts until there are enough `rounds` or `texts`, and count their first three tokens.

    Notes
    -----
    Stopping at a number of rounds makes the last text a long one a little more often: one text in thousands.
    """
    proposer = ModelProposer(case.draft)
    cells: list[int] = []
    played = 0
    while not _enough(played, rounds) and not _enough(len(cells), texts):
        text = decode(
            case.target,
            proposer,
            case.prompt,
            gamma=gamma,
            max_tokens=STEPS + gamma,
            verifier=verifier,
            allow_lossy=True,  # whatever it is called: it is measured
            eos_ids=(case.eos,),
            seed=rng,
        )
        cells.append(_cell(text.tokens, eos=case.eos))
        played += len(text.records)
    return Measured(counts=np.bincount(cells, minlength=(case.eos + 1) ** STEPS), rounds=played)


def judge(name: str, counts: IntArray, law: FloatArray) -> TestResult:
    """Chi-square of the counted triples against their law."""
    return dataclasses.replace(goodness_of_fit(counts, law.ravel(), min_expected=_MIN_EXPECTED), test=name)


def control(case: Case, *, gamma: int, texts: int, level: float, rng: Generator) -> Control:
    """The case's fault through the same decoder, on more and more texts until it is caught, at most the run's own."""
    law = predict(case)
    for size in sorted({min(texts, max(_LEAST_TEXTS, texts // share)) for share in _CONTROL_SHARES}):
        faulty = measure(case, gamma=gamma, verifier=FAULTS[case.fault](), rng=rng, texts=size)
        outcome = judge(case.name, faulty.counts, law)
        if not outcome.passed(level):
            break
    fault = f"{case.fault} ({case.name})"
    return Control(fault=fault, n=faulty.rounds, pvalue=outcome.pvalue, caught=not outcome.passed(level))


def _sum(parts: Sequence[Measured]) -> Measured:
    return Measured(counts=np.sum([part.counts for part in parts], axis=0), rounds=sum(part.rounds for part in parts))


def _smallest(law: FloatArray, *, texts: int, level: float) -> float:
    expected = texts * law.ravel()
    cells = pool(np.zeros_like(expected), expected, min_expected=_MIN_EXPECTED)[1].size
    return smallest_total_variation(n=texts, cells=cells, level=level)


def _cell(tokens: Sequence[int], *, eos: int) -> int:
    first, second, third = (*tokens[:STEPS], *[eos] * (STEPS - len(tokens)))
    return (first * (eos + 1) + second) * (eos + 1) + third


def _enough(count: int, wanted: int | None) -> bool:
    return wanted is not None and count >= wanted

"""The self-test: every fault of the catalogue must be caught, and every odd but lossless decoder must pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from specsim import checks
from specsim.conformance.check import check
from specsim.conformance.decoder import TableDecoder
from specsim.conformance.faults import FAULTS
from specsim.conformance.lookalikes import LOOKALIKES
from specsim.conformance.plan import LEVEL, Plan, plan
from specsim.conformance.protocol import Decoder, Output, Request
from specsim.conformance.table_laws import TableOracle
from specsim.conformance.tables import TableModels
from specsim.conformance.verdict import CONFORMS, FAILS, Verdict

BUDGETS = (1_000, 4_000, 16_000, 64_000, 256_000)
VOCABULARY, EOS = 8, 7


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultRow:
    """What became of one fault.

    Parameters
    ----------
    id, group : str
        Its name and class.
    detected : bool
    tokens : int
        Until it was found, or all that there were [1].
    hypothesis : str
        What the verdict says it looks like.
    where : str
        The group of tokens in which it shows most.
    test : str
        The test that found it.
    """

    id: str
    group: str
    detected: bool
    tokens: int
    hypothesis: str
    where: str
    test: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlRow:
    """What became of one lossless decoder.

    Parameters
    ----------
    id : str
    passed : bool
    tokens : int
    outcome : str
        The verdict; for one that did not pass with the reason.
    """

    id: str
    passed: bool
    tokens: int
    outcome: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SelfTest:
    """The detection table.

    Parameters
    ----------
    faults : tuple of FaultRow
    controls : tuple of ControlRow
    """

    faults: tuple[FaultRow, ...]
    controls: tuple[ControlRow, ...]

    @property
    def is_sound(self) -> bool:
        """Whether every control passed."""
        return all(control.passed for control in self.controls)

    def caught(self, tokens: int) -> int:
        """Faults found within so many tokens [1]."""
        return sum(fault.detected and fault.tokens <= tokens for fault in self.faults)


class TextOnly:
    """A decoder whose rounds are not told, and which claims no rule: what is seen of a black box.

    Parameters
    ----------
    decoder : Decoder
        Any.
    """

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """See `Decoder.generate`."""
        return [replace(output, blocks=None, drafted=None) for output in self.decoder.generate(requests)]


def table_check(
    decoder: type[TableDecoder],
    *,
    tokens: int,
    seed: int = 0,
    text_only: bool = False,
    negative_controls: bool = True,
    level: float = LEVEL,
) -> Verdict:
    """`check` of a decoder over the self-test's table models, with exact laws.

    Parameters
    ----------
    decoder : subclass of TableDecoder
        What is checked; its `claims` and `is_seeded` say what it promises.
    tokens, seed, negative_controls, level
        As of `plan` and `check`.
    text_only : bool
        Whether the check sees texts and the target's laws alone: no rounds, no claim, no laws of the draft.

    Examples
    --------
    A fault of one's own, in a few lines:

    >>> class Lucky(TableDecoder):
    ...     def chance(self, turn):
    ...         return super().chance(turn) ** 0.5
    >>> verdict = table_check(Lucky, tokens=4000)
    >>> verdict.outcome, verdict.tokens < 2000
    ('does not conform', True)
    """
    models = table_models(seed)
    asked = table_plan(tokens=tokens, seed=seed, is_seeded=decoder.is_seeded, level=level)
    made = decoder(models)
    return check(
        TextOnly(made) if text_only else made,
        TableOracle(models, with_draft=not text_only),
        asked,
        claims=None if text_only else decoder.claims,
        negative_controls=negative_controls,
    )


def table_models(seed: int) -> TableModels:
    """The models of the self-test: good, bad and flat drafts, by the first token of the text."""
    return TableModels.random(vocabulary=VOCABULARY, seed=seed)


def table_plan(*, tokens: int, seed: int = 0, is_seeded: bool = True, level: float = LEVEL) -> Plan:
    """The plan of the self-test."""
    return plan(tokens=tokens, vocabulary=VOCABULARY, eos_id=EOS, seed=seed, is_seeded=is_seeded, level=level)


def self_test(
    *,
    tokens: int,
    seed: int = 0,
    faults: Mapping[str, type[TableDecoder]] | None = None,
    controls: Mapping[str, type[TableDecoder]] | None = None,
    text_only: bool = False,
    executor: Executor | None = None,
    watch: Callable[[str], None] | None = None,
) -> SelfTest:
    """Check every faulty decoder and every lossless one.

    Parameters
    ----------
    tokens : int
        For each [1].
    seed : int
        Of tables, prompts and draws.
    faults, controls : mapping from id to decoder or None
        The whole catalogue and all look-alikes by default.
    text_only : bool
        See `table_check`.
    executor : Executor or None
        Runs them side by side; classes must then be at the top of a module.
    watch : callable or None
        Called with the id of each that is done.
    """
    checks.integer("tokens", tokens, low=1)
    wrong, right = FAULTS if faults is None else faults, LOOKALIKES if controls is None else controls
    tasks = [(decoder, tokens, seed, text_only, id_ in right) for id_, decoder in (*right.items(), *wrong.items())]
    verdicts = []
    for id_, verdict in zip((*right, *wrong), _run(tasks, executor), strict=True):
        verdicts.append(verdict)
        if watch is not None:
            watch(id_)
    return SelfTest(
        controls=tuple(_control(id_, verdict) for id_, verdict in zip(right, verdicts, strict=False)),
        faults=tuple(_fault(id_, verdict) for id_, verdict in zip(wrong, verdicts[len(right) :], strict=True)),
    )


Task = tuple[type[TableDecoder], int, int, bool, bool]


def _run(tasks: Sequence[Task], executor: Executor | None) -> Iterator[Verdict]:
    return map(_one, tasks) if executor is None else executor.map(_one, tasks)


def _one(task: Task) -> Verdict:
    decoder, tokens, seed, text_only, negative_controls = task
    return table_check(decoder, tokens=tokens, seed=seed, text_only=text_only, negative_controls=negative_controls)


def _fault(id_: str, verdict: Verdict) -> FaultRow:
    return FaultRow(
        id=id_,
        group=id_.split(".")[0],
        detected=verdict.outcome == FAILS,
        tokens=verdict.tokens,
        hypothesis=verdict.hypothesis,
        where=verdict.where,
        test=verdict.test,
    )


def _control(id_: str, verdict: Verdict) -> ControlRow:
    passed = verdict.outcome == CONFORMS
    outcome = verdict.outcome if passed else f"{verdict.outcome}: {verdict.hypothesis}"
    return ControlRow(id=id_, passed=passed, tokens=verdict.tokens, outcome=outcome)

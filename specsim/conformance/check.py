"""check: does this decoder follow the target's law?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from specsim import checks
from specsim.conformance.acceptance import CLAIMS
from specsim.conformance.asking import ask, score
from specsim.conformance.collecting import collect
from specsim.conformance.diagnosis import hypothesis, replays, where
from specsim.conformance.evidence import Evidence
from specsim.conformance.fixed_prompts import joint_laws, kinds
from specsim.conformance.gate import ALL
from specsim.conformance.invariants import Breach, end_breaches, log_probability_breaches, seed_breaches
from specsim.conformance.negative_controls import failed_controls, sight
from specsim.conformance.plan import Plan
from specsim.conformance.protocol import Decoder, Oracle, Output, Request, Rows
from specsim.conformance.recorded import refuse_filtered
from specsim.conformance.trial import Trial
from specsim.conformance.verdict import CONFORMS, FAILS, INCONCLUSIVE, Replay, Verdict
from specsim.errors import AdapterError, InputError

DIAGNOSIS_TOKENS = 600
"""A rejection may take fewer, but its cause shows in no less."""

Watch = Callable[[Trial], None]
Record = Callable[[Sequence[Request], Sequence[Output]], None]


@dataclass(slots=True)
class _Run:
    """What was asked and answered so far."""

    requests: list[Request] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    trial: Trial | None = None
    breach: Breach | None = None
    breach_tokens: int = 0

    def is_over(self, plan: Plan) -> bool:
        """Whether something was found, and there are tokens enough to say what it looks like."""
        if self.trial is None or self.breach is not None:
            return self.breach is not None
        return self.trial.finding is not None and self.trial.tokens >= min(plan.tokens, DIAGNOSIS_TOKENS)


def check(
    decoder: Decoder,
    oracle: Oracle,
    plan: Plan,
    *,
    claims: str | None = None,
    negative_controls: bool = True,
    watch: Watch | None = None,
    record: Record | None = None,
) -> Verdict:
    """Ask the decoder what the plan says, and hold every token against the oracle's laws.

    Parameters
    ----------
    decoder : Decoder
        What is tested.
    oracle : Oracle
        A path to the target's laws without speculation.
    plan : Plan
        What to ask, and for how many tokens; see `plan`.
    claims : str or None
        "rejection" or "block": the rule that the decoder says it follows with sampled drafts and a bonus. Its rounds
        are then held against that rule's law of acceptance too, which takes `blocks` and `drafted` of outputs, and
        `log_q` of the oracle as the law that drafts were drawn from. Lossless decoders that follow another rule fail.
    negative_controls : bool
        Whether a pass must be earned: the run's own prefixes with tokens drawn anew must pass, and fail with a fault
        planted.
    watch : callable or None
        Called with the trial after every batch, for progress.
    record : callable or None
        Called with the requests and outputs of every batch as soon as they are there.

    Returns
    -------
    Verdict
        "does not conform" with probability at most `plan.level` for a lossless decoder, however the run goes.

    Raises
    ------
    AdapterError
        The decoder or the oracle breaks its contract; `recorded` holds the pairs of requests and outputs until then.

    Examples
    --------
    >>> from specsim.conformance import TableDecoder, TableModels, TableOracle, plan
    >>> models = TableModels.random(seed=0)
    >>> check(TableDecoder(models), TableOracle(models), plan(tokens=2000, vocabulary=8)).outcome
    'conforms'
    """
    if claims is not None:
        checks.one_of("claims", claims, CLAIMS)
    run = _Run()
    try:
        if plan.is_seeded and not plan.given:
            run.breach, run.breach_tokens = seed_breaches(decoder, plan)
        while not run.is_over(plan) and (asked := plan.next_requests(len(run.requests), _tokens(run))):
            outputs = ask(decoder, asked, timeout_seconds=plan.timeout_seconds)
            run.requests += asked
            run.outputs += outputs
            if record is not None:
                record(asked, outputs)
            _judge(run, oracle, plan, asked, outputs, claims)
            if watch is not None and run.trial is not None:
                watch(run.trial)
        if plan.given:
            refuse_filtered(run.outputs, run.trial.evidence() if run.trial else None)
    except AdapterError as error:
        raise AdapterError(str(error), recorded=list(zip(run.requests, run.outputs, strict=False))) from error
    return _verdict(run, plan, negative_controls=negative_controls)


def _judge(
    run: _Run, oracle: Oracle, plan: Plan, asked: Sequence[Request], outputs: Sequence[Output], claims: str | None
) -> None:
    rows = score(oracle, asked, outputs, timeout_seconds=plan.timeout_seconds)
    evidence = _evidence(asked, outputs, rows, plan)
    before = _tokens(run)
    if run.trial is None:
        size = None if rows.ids is not None else np.shape(rows.log_p)[1]
        laws = {kind: joint_laws(kind, oracle, vocabulary=size) for kind in kinds(plan)} if size else {}
        run.trial = Trial.new(plan, groups=tuple(evidence.strata()), claims=claims, laws=laws)
    run.trial = run.trial.update(evidence, requests=asked, outputs=outputs)
    run.breach = next(_breaches(asked, outputs, rows, plan), None)
    if run.breach is not None:
        number = [request.id for request in asked].index(run.breach.request.id)
        run.breach_tokens = before + sum(len(output.tokens) for output in outputs[:number]) + run.breach.place + 1
        if run.trial.finding is not None and run.trial.finding.tokens <= run.breach_tokens:
            run.breach = None


def _evidence(asked: Sequence[Request], outputs: Sequence[Output], rows: Rows, plan: Plan) -> Evidence:
    try:
        return collect(asked, outputs, rows, tags=plan.tags)
    except InputError as error:
        raise AdapterError(f"the oracle's rows: {error}") from error


def _breaches(asked: Sequence[Request], outputs: Sequence[Output], rows: Rows, plan: Plan) -> Iterator[Breach]:
    yield from end_breaches(asked, outputs)
    yield from log_probability_breaches(asked, outputs, rows, tolerance=plan.tolerance)


def _tokens(run: _Run) -> int:
    return 0 if run.trial is None else run.trial.tokens


def _verdict(run: _Run, plan: Plan, *, negative_controls: bool) -> Verdict:
    if run.breach is not None:
        return _breached(run, plan)
    if run.trial is None:
        raise AdapterError("the plan asks for no request")
    trial = run.trial
    evidence, finding = trial.evidence(), trial.finding
    found = sight(evidence, level=plan.level)
    common = {
        "requests": len(run.requests),
        "level": plan.level,
        "smallest_tv": found.total_variation,
        "log_evalue": trial.gate.processes[ALL].peak,
        "results": trial.adjusted(),
    }
    if finding is not None:
        return Verdict(
            outcome=FAILS,
            tokens=finding.tokens,
            test=finding.test,
            hypothesis=hypothesis(finding, evidence),
            where=where(finding, evidence),
            replays=replays(finding, evidence, run.requests, run.outputs),
            **common,  # type: ignore[arg-type]
        )
    doubt = failed_controls(evidence, plan, found) if negative_controls else None
    outcome = CONFORMS if doubt is None else INCONCLUSIVE
    return Verdict(outcome=outcome, tokens=trial.tokens, hypothesis=doubt or "", **common)  # type: ignore[arg-type]


def _breached(run: _Run, plan: Plan) -> Verdict:
    breach = run.breach
    assert breach is not None
    replay = Replay(request=breach.request, output=breach.output, place=breach.place, why=breach.hypothesis)
    return Verdict(
        outcome=FAILS,
        tokens=run.breach_tokens,
        requests=len(run.requests),
        level=plan.level,
        test=breach.name,
        hypothesis=breach.hypothesis,
        results={} if run.trial is None else run.trial.adjusted(),
        replays=(replay,),
    )

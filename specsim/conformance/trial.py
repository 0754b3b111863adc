"""A trial: the tests of one run, batch after batch, with one false-alarm rate over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from specsim.checks import FloatArray
from specsim.conformance.acceptance import contradictions
from specsim.conformance.evidence import Evidence, joined
from specsim.conformance.fixed_prompts import Prompt, first_tokens, fixed_prompt_tests
from specsim.conformance.gate import Gate
from specsim.conformance.omnibus import omnibus, smallest
from specsim.conformance.plan import Plan
from specsim.conformance.protocol import Output, Request
from specsim.stats import TestResult, exact_binomial, holm_named, support

IMPOSSIBLE = "impossible tokens"
NO_CHOICE = "drafts that cannot stand or fall"
WRONG_RESIDUAL = "tokens replace fallen drafts that the rule's residual forbids: a wrong residual, or wrong rows"
WRONG_DRAFT = "drafts stand that the draft's law forbids: it is not the law that they were drawn from"
GATE_SHARE = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """The test that rejected, and after how many tokens.

    Parameters
    ----------
    test : str
    tokens : int
        Of the run, until the test could tell [1].
    result : TestResult
        Its p-value is adjusted: at most the plan's level.
    """

    test: str
    tokens: int
    result: TestResult


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Trial:
    """What the tests of a run say so far.

    Parameters
    ----------
    plan : Plan
    claims : str or None
        See `omnibus`.
    gate : Gate
        It gets half of the level.
    laws : mapping
        Joint laws of fixed prompts.
    parts : tuple of Evidence
        Batches so far.
    texts : tuple
        Kind and first tokens of each request so far.
    looked : int
        Looks of the plan that are done; the omnibus gets the other half of the level, in equal parts at every look.
    results : mapping
        Of the last look, with p-values adjusted over tests and looks.
    finding : Finding or None
        The first rejection.

    Notes
    -----
    By construction a lossless decoder is rejected with probability at most `plan.level`: Ville's inequality for the
    gate, Holm's correction at each look for the omnibus, and a union over looks.
    """

    plan: Plan
    claims: str | None
    gate: Gate
    laws: Mapping[Request, Mapping[int, FloatArray]] = field(default_factory=dict)
    parts: tuple[Evidence, ...] = ()
    texts: tuple[tuple[Request, Prompt], ...] = ()
    looked: int = 0
    results: Mapping[str, TestResult] = field(default_factory=dict)
    finding: Finding | None = None

    @classmethod
    def new(
        cls,
        plan: Plan,
        *,
        groups: Sequence[str],
        claims: str | None = None,
        laws: Mapping[Request, Mapping[int, FloatArray]] | None = None,
    ) -> Trial:
        """Before the first batch."""
        gate = Gate.new(groups, level=plan.level * GATE_SHARE, tolerance=plan.tolerance)
        return cls(plan=plan, claims=claims, gate=gate, laws=laws or {})

    @property
    def tokens(self) -> int:
        """Tokens so far, at most the plan's."""
        return self.gate.n

    def update(self, evidence: Evidence, *, requests: Sequence[Request] = (), outputs: Sequence[Output] = ()) -> Trial:
        """After one more batch; tokens past the budget are cut off, by number alone."""
        room = self.plan.tokens - self.tokens
        kept = evidence if len(evidence) <= room else evidence.take(np.arange(room))
        kinds = first_tokens(requests, outputs, of=self.laws)
        trial = replace(self, gate=self.gate.update(kept), parts=(*self.parts, kept), texts=(*self.texts, *kinds))
        before = self.tokens
        found = [trial._impossible(kept, before), trial._contradicted(kept, before), trial._crossed()]
        looks = [look for look in self.plan.looks[self.looked :] if look <= trial.tokens]
        for look in looks:
            if min((one.tokens for one in found if one), default=look) >= look:
                trial = trial._look(look)
                found.append(trial.finding)
        first = min((one for one in found if one), key=lambda one: one.tokens, default=None)
        return replace(trial, finding=self.finding or first)

    def evidence(self) -> Evidence:
        """All of it."""
        return joined(self.parts)

    def adjusted(self) -> dict[str, TestResult]:
        """All results, with p-values that are to be held against the plan's level."""
        gate = {
            name: replace(result, pvalue=min(1.0, result.pvalue / GATE_SHARE))
            for name, result in self.gate.results().items()
        }
        return {**gate, **self.results}

    def _impossible(self, evidence: Evidence, before: int) -> Finding | None:
        zero = np.flatnonzero(evidence.observed.mass == 0)
        if not zero.size:
            return None
        result = support(evidence.observed.mass)
        if self.plan.tolerance > 0:  # rounding may move the edge of a nucleus
            count = sum(int((part.observed.mass == 0).sum()) for part in self.parts)
            chance = exact_binomial(count, self.tokens, probability=self.plan.tolerance, alternative="greater")
            result = replace(result, pvalue=chance.pvalue)
        adjusted = replace(result, test=IMPOSSIBLE, pvalue=min(1.0, result.pvalue * len(self.plan.looks)))
        if adjusted.pvalue > self.plan.level:
            return None
        return Finding(test=IMPOSSIBLE, tokens=before + int(zero[0]) + 1, result=adjusted)

    def _contradicted(self, evidence: Evidence, before: int) -> Finding | None:
        if self.plan.tolerance > 0:  # one rounding error could do it
            return None
        places = np.flatnonzero(contradictions(evidence, claims=self.claims))
        if not places.size:
            return None
        fell = int((evidence.accepted[places] == 0).sum())
        cause = WRONG_RESIDUAL if 2 * fell >= places.size else WRONG_DRAFT
        result = TestResult(test=NO_CHOICE, statistic=float(places.size), pvalue=0.0, n=len(evidence), detail=cause)
        return Finding(test=NO_CHOICE, tokens=before + int(places[0]) + 1, result=result)

    def _crossed(self) -> Finding | None:
        if self.gate.crossed is None:
            return None
        name = f"betting on {self.gate.crossed[0]}"
        return Finding(test=name, tokens=self.gate.crossed[1], result=self.adjusted()[name])

    def _look(self, look: int) -> Trial:
        evidence = self.evidence()
        evidence = evidence if len(evidence) == look else evidence.take(np.arange(look))
        rng = np.random.default_rng([self.plan.seed, look])
        results = omnibus(evidence, claims=self.claims, rng=rng)
        whole = int(evidence.request[-1])  # the last request may be cut
        results.update(fixed_prompt_tests(self.texts[:whole], self.laws, tolerance=self.plan.tolerance))
        factor = len(self.plan.looks) / (1 - GATE_SHARE)
        adjusted = {
            name: replace(results[name], pvalue=min(1.0, pvalue * factor))
            for name, pvalue in holm_named(results).items()
        }
        name, result = smallest(adjusted)
        found = Finding(test=name, tokens=look, result=result) if result.pvalue <= self.plan.level else None
        return replace(self, looked=self.looked + 1, results=adjusted, finding=found)

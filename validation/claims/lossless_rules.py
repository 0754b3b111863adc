"""Every lossless rule, with every way to draft, passes the conformance harness over exact tables."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import as_completed
from dataclasses import dataclass
from typing import ClassVar

from specsim import checks
from specsim.conformance import TableModels, TableOracle, Verdict, check, plan
from specsim.conformance.sources.fitting import fitting
from specsim.stats import TestResult
from specsim.topology import Topology
from specsim.verifiers import MULTI_DRAFT, TREE_VERIFIERS, VERIFIERS
from validation.claims.faults import FAULTS
from validation.claims.protocol import ClaimResult, Control, Settings, verdict
from validation.conformance.own import OwnDecoder
from validation.decoder.judge import Rule
from validation.decoder.language_model import LanguageModel
from validation.decoder.proposers import ModelProposer, NgramProposer, Proposer
from validation.decoder.proposers.dynamic_tree import DynamicTreeProposer
from validation.decoder.proposers.sampled_tree import SampledTreeProposer
from validation.decoder.proposers.suffix import SuffixProposer
from validation.decoder.table_model import ConformanceModel

VOCABULARY, END = 8, 7
_TREE = Topology.branching(3, 2, 1)
Draws = Callable[[LanguageModel], Proposer | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A rule and a way to draft.

    Parameters
    ----------
    name : str
        For people and results.
    rule : str or None
        Name of a rule; None for the usual one.
    drafts : str
        A key of `DRAFTS`.
    claims : str or None
        The law of acceptance that is tested too.
    """

    name: str
    rule: str | None
    drafts: str
    claims: str | None = None


DRAFTS: dict[str, Draws] = {
    "none": lambda draft: None,
    "sampled": ModelProposer,
    "argmax": lambda draft: ModelProposer(draft, argmax=True),
    "ngram": lambda draft: NgramProposer(),
    "suffix": lambda draft: SuffixProposer(),
    "dynamic tree": lambda draft: DynamicTreeProposer(draft, nodes=8, top_k=3),
    "tree without replacement": lambda draft: SampledTreeProposer(draft, topology=_TREE),
    "tree with replacement": lambda draft: SampledTreeProposer(
        draft, topology=_TREE, rule=MULTI_DRAFT["recursive_with_replacement"]
    ),
}

CASES = (
    Case(name="plain decoding", rule=None, drafts="none"),
    Case(name="rejection, sampled drafts", rule="rejection", drafts="sampled", claims="rejection"),
    Case(name="rejection, argmax drafts", rule="rejection", drafts="argmax"),
    Case(name="rejection, n-gram drafts", rule="rejection", drafts="ngram"),
    Case(name="block, sampled drafts", rule="block", drafts="sampled", claims="block"),
    Case(name="block, argmax drafts", rule="block", drafts="argmax"),
    Case(name="Gumbel coupling", rule="gumbel", drafts="sampled"),
    Case(name="traversal, chains", rule="traversal", drafts="sampled", claims="block"),
    Case(name="recursive without replacement, chains", rule="recursive_without_replacement", drafts="sampled"),
    Case(name="recursive with replacement, chains", rule="recursive_with_replacement", drafts="sampled"),
    Case(name="k-seq, chains", rule="k_seq", drafts="sampled"),
    Case(name="optimal, chains", rule="optimal", drafts="sampled"),
    Case(name="top-k, chains", rule="top_k", drafts="argmax"),
    Case(name="rejection, suffix drafts", rule="rejection", drafts="suffix"),
    Case(name="top-k, dynamic trees", rule="top_k", drafts="dynamic tree"),
    Case(name="traversal, trees", rule="traversal", drafts="tree without replacement"),
    Case(
        name="recursive without replacement, trees",
        rule="recursive_without_replacement",
        drafts="tree without replacement",
    ),
    Case(name="recursive with replacement, trees", rule="recursive_with_replacement", drafts="tree with replacement"),
    Case(name="k-seq, trees", rule="k_seq", drafts="tree with replacement"),
    Case(name="optimal, trees", rule="optimal", drafts="tree with replacement"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LosslessRules:
    """Each lossless rule and way to draft conforms over exact tables, parameters and batches mixed.

    Parameters
    ----------
    tokens : int
        For each case, times the budget [1].
    gamma : int
        Drafted tokens per round [1].
    cases : tuple of Case
        What is tested.

    Notes
    -----
    The harness (`specsim.conformance`) asks for temperatures, truncation, penalties, bans, least lengths, stop
    sequences and ends of text, good and bad drafts, in batches of eight whose rows accept different numbers of
    drafts. Controls plant faulty verifiers in the same decoder.
    """

    tokens: int = 4000
    gamma: int = 3
    cases: tuple[Case, ...] = CASES
    name: ClassVar[str] = "lossless_rules"

    def __post_init__(self) -> None:
        checks.integer("tokens", self.tokens, low=1)
        checks.integer("gamma", self.gamma, low=1)

    def run(self, settings: Settings) -> ClaimResult:
        """Check every case, and every fault."""
        tokens = settings.scaled(self.tokens, least=1000)
        level = settings.level / len(self.cases)
        faults = tuple(Case(name=fault, rule=fault, drafts="sampled") for fault in FAULTS)
        with settings.executor() as executor:
            waiting = [
                executor.submit(conform, case, tokens=tokens, gamma=self.gamma, seed=settings.seed, level=level)
                for case in (*self.cases, *faults)
            ]
            for done, _ in enumerate(as_completed(waiting), start=1):
                settings.progress(done / len(waiting))
        verdicts = [future.result() for future in waiting]
        passed, planted = verdicts[: len(self.cases)], verdicts[len(self.cases) :]
        failed = [case.name for case, found in zip(self.cases, passed, strict=True) if found.exit_code == 1]
        controls = [
            Control(fault=fault.name, n=found.tokens, pvalue=float(found.exit_code != 1), caught=found.exit_code == 1)
            for fault, found in zip(faults, planted, strict=True)
        ]
        unsure = any(found.exit_code == 2 for found in passed)
        result = TestResult(
            test=self.name, statistic=float(len(failed)), pvalue=float(not failed), n=sum(v.tokens for v in passed)
        )
        return ClaimResult(
            test=self.name,
            model=f"tables of {VOCABULARY} tokens that remember three",
            n=result.n,
            unit="tokens",
            pvalue=result.pvalue,
            level=settings.level,
            verdict="inconclusive" if unsure and not failed else verdict(result, level=0.5, controls=controls),
            statistic=result.statistic,
            smallest_total_variation=max(found.smallest_tv for found in passed),
            controls=tuple(controls),
            rows=tuple(
                {
                    "case": case.name,
                    "verdict": found.outcome,
                    "tokens": found.tokens,
                    "smallest_tv": found.smallest_tv,
                    "hypothesis": found.hypothesis,
                }
                for case, found in zip(self.cases, passed, strict=True)
            ),
            detail=f"did not conform: {', '.join(failed)}" if failed else f"all {len(self.cases)} conform",
        )


def conform(case: Case, *, tokens: int, gamma: int, seed: int, level: float) -> Verdict:
    """The verdict on one case; the rule may also be the name of a planted fault."""
    models = TableModels.random(vocabulary=VOCABULARY, seed=seed)
    decoder = OwnDecoder(
        ConformanceModel(models, side="target"),
        DRAFTS[case.drafts](ConformanceModel(models, side="draft")),
        gamma=gamma,
        verifier=_rule(case.rule),
    )
    asked = plan(tokens=tokens, vocabulary=VOCABULARY, eos_id=END, seed=seed, level=level, is_seeded=decoder.is_seeded)
    return check(decoder, TableOracle(models), fitting(asked, decoder)[0], claims=case.claims)


def _rule(name: str | None) -> Rule | None:
    if name is None:
        return None
    return FAULTS[name]() if name in FAULTS else {**TREE_VERIFIERS, **VERIFIERS}[name]

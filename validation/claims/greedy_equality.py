"""Greedy speculative text is greedy plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from specsim import checks
from specsim.distributions import Sampling
from specsim.verifiers import Verifier
from validation.claims.faults import AcceptAll
from validation.claims.protocol import ClaimResult, Control, Settings, certain, verdict
from validation.decoder.language_model import LanguageModel
from validation.decoder.loop import decode
from validation.decoder.proposers import Proposer

if TYPE_CHECKING:  # so that claims can be listed without torch
    from validation.claims.workbench import Workbench

_GREEDY = Sampling(temperature=0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Two texts, token for token.

    Parameters
    ----------
    compared : int
        Tokens compared: all, or those up to the first that differs [1].
    gap : float | None
        By how much the plain token's logit exceeds the other's where the texts part; infinite where one text ends
        and the other goes on; None where they are equal [1].
    """

    compared: int
    gap: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class GreedyEquality:
    """Greedy speculative text equals greedy plain text token for token in float32, up to ties of the logits.

    Parameters
    ----------
    tokens : int
        New tokens per text, times the budget [1].
    gamma : int
        Drafted tokens per round [1].
    tolerance : float
        Logit gap up to which two tokens count as tied [1].
    draft_layers : int | None
        Layers of the early-exit drafter; nine in ten of the model's by default [1].
    verifier : Verifier | None
        Rule under test; None for the decoder's default.

    Notes
    -----
    Passes over one and over several tokens round differently (in float32 logits move by about 1e-5), so two tokens
    that are closer than that may swap. Where texts part at a tie the rest is another text and is not compared. The
    control accepts every draft; it has to change a text.
    """

    tokens: int = 24
    gamma: int = 3
    tolerance: float = 1e-3
    draft_layers: int | None = None
    verifier: Verifier | None = None
    name: ClassVar[str] = "greedy_equality"

    def __post_init__(self) -> None:
        checks.integer("tokens", self.tokens, low=1)
        checks.integer("gamma", self.gamma, low=1)
        checks.non_negative("tolerance", self.tolerance)

    def run(self, settings: Settings) -> ClaimResult:
        """Decode each prompt plainly and with each proposer, and compare."""
        from validation.claims.workbench import open_workbench

        bench = open_workbench(settings, draft_layers=self.draft_layers)
        size = settings.scaled(self.tokens, least=2)
        comparisons = list(measure(self, bench, tokens=size, settings=settings))
        ties = [c.gap for c in comparisons if c.gap is not None and c.gap <= self.tolerance]
        flips = [c.gap for c in comparisons if c.gap is not None and c.gap > self.tolerance]
        compared = sum(c.compared for c in comparisons)
        result = certain(self.name, holds=not flips, n=compared, statistic=float(len(flips)))
        controls = [_control(self, bench, tokens=size)]
        return ClaimResult(
            test=self.name,
            model=bench.loaded.name,
            n=compared,
            unit="tokens",
            pvalue=result.pvalue,
            level=settings.level,
            verdict=verdict(result, level=settings.level, controls=controls),
            statistic=result.statistic,
            controls=tuple(controls),
            figures={"texts": len(comparisons), "ties": len(ties), "largest_tie": max(ties, default=0.0)},
            detail=f"{len(flips)} of {len(comparisons)} texts differ, {len(ties)} part at a tie",
        )


def measure(claim: GreedyEquality, bench: Workbench, *, tokens: int, settings: Settings) -> Iterator[Comparison]:
    """Every prompt under every proposer against plain decoding."""
    proposers = bench.proposers()
    done, total = 0, len(bench.prompts) * (1 + len(proposers))
    for prompt in bench.prompts:
        plain = _text(bench, None, prompt, claim=claim, tokens=tokens)
        for proposer in proposers:
            fast = _text(bench, proposer, prompt, claim=claim, tokens=tokens, verifier=claim.verifier)
            yield compare(plain, fast, model=bench.reference, prompt=prompt)
            done += 1
            settings.progress((done + done / len(proposers)) / total)


def compare(plain: Sequence[int], fast: Sequence[int], *, model: LanguageModel, prompt: Sequence[int]) -> Comparison:
    """Compare two texts; where they part, ask the model with speculation off how close the two tokens are.

    Parameters
    ----------
    plain, fast
        Greedy texts without and with speculation.
    model
        Scores the history that they share.
    prompt
        What both continue.
    """
    place = next((i for i, (a, b) in enumerate(zip(plain, fast, strict=False)) if a != b), None)
    if place is None:
        same = len(plain) == len(fast)
        return Comparison(compared=min(len(plain), len(fast)), gap=None if same else float("inf"))
    model.truncate(0)
    logits = model.score([*prompt, *plain[:place]], keep=1)[-1]
    return Comparison(compared=place + 1, gap=abs(float(logits[plain[place]]) - float(logits[fast[place]])))


def _text(
    bench: Workbench,
    proposer: Proposer | None,
    prompt: Sequence[int],
    *,
    claim: GreedyEquality,
    tokens: int,
    verifier: Verifier | None = None,
) -> tuple[int, ...]:
    return decode(
        bench.target,
        proposer,
        prompt,
        gamma=claim.gamma,
        max_tokens=tokens,
        sampling=_GREEDY,
        verifier=verifier,
        allow_lossy=True,  # whatever it is called: it is measured
        eos_ids=bench.eos_ids,
    ).tokens


def _control(claim: GreedyEquality, bench: Workbench, *, tokens: int) -> Control:
    """Accept every draft of the first layers, prompt by prompt until a text changes by more than a tie."""
    compared = 0
    for prompt in bench.prompts:
        plain = _text(bench, None, prompt, claim=claim, tokens=tokens)
        faulty = _text(bench, bench.proposers()[0], prompt, claim=claim, tokens=tokens, verifier=AcceptAll())
        outcome = compare(plain, faulty, model=bench.reference, prompt=prompt)
        compared += outcome.compared
        if outcome.gap is not None and outcome.gap > claim.tolerance:
            return Control(fault=AcceptAll.name, n=compared, pvalue=0.0, caught=True)
    return Control(fault=AcceptAll.name, n=compared, pvalue=1.0, caught=False)

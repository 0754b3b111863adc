"""Acceptance by depth on some texts foretells it on others; laws of acceptance are compared on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import optimize, special, stats

from specsim import checks
from specsim.acceptance import Acceptance, BetaAcceptance, compare
from specsim.checks import FloatArray
from validation.claims.drafting import HELD_OUT, Chains, Texts, chains, open_drafting
from validation.claims.protocol import ClaimResult, Settings
from validation.claims.statement import judged, state

LAWS = ("constant", "beta", "by_depth")
FEWEST = 25
"""Rounds in which a draft must have stood on the calibration texts for its depth to be stated [1]."""
IMPOSSIBLE = 1e-12


@dataclass(frozen=True, kw_only=True, slots=True)
class AcceptanceByDepth:
    """Survival by depth, counted on some texts, is that of other texts within its interval.

    Parameters
    ----------
    texts, tokens : int
        Texts of either part, times the budget, and new tokens of each [1].
    gamma : int
        Drafted tokens per round [1].

    Notes
    -----
    Held out are other prompts with other seeds. Stated is the survival of each depth by the counts, which assume
    nothing of how acceptance moves with depth or from round to round. Rows show beside them what a constant, a Beta by
    round ("beta") and a Beta by request ("by_request") foretell, and `figures` how well each law tells the accepted
    lengths of the held-out rounds. The planted faults are two readings of published numbers: accepted over drafted
    taken for alpha, and survival taken for the conditional probability.
    """

    texts: int = 48
    tokens: int = 40
    gamma: int = 6
    name: ClassVar[str] = "acceptance_by_depth"

    def __post_init__(self) -> None:
        checks.integer("texts", self.texts, low=2)
        checks.integer("gamma", self.gamma, low=2)
        checks.integer("tokens", self.tokens, low=self.gamma + 1)

    def run(self, settings: Settings) -> ClaimResult:
        """Count on the calibration texts, state, count on the others."""
        pair = open_drafting(settings)
        count = settings.scaled(self.texts, least=8)
        known = chains(pair, Texts(count=count, tokens=self.tokens, seed=settings.seed), gamma=self.gamma)
        laws = fitted(known)
        deepest = max(1, int((known.survived.sum(axis=0) >= FEWEST).sum()))
        statements = {
            depth: state(known.survival(depth), setting={"depth": depth}, quantity="survival", texts=count)
            for depth in range(1, deepest + 1)
        }
        settings.progress(0.5)
        others = Texts(count=count, tokens=self.tokens, seed=settings.seed, part=HELD_OUT)
        found = chains(pair, others, gamma=self.gamma)
        settings.progress(1.0)
        measured = {depth: found.survival(depth).value for depth in statements}
        return judged(
            self.name,
            [(statements[depth], measured[depth]) for depth in statements],
            model=pair.name,
            settings=settings,
            faults={
                fault: [(statements[depth].instead(float(wrong[depth - 1])), measured[depth]) for depth in statements]
                for fault, wrong in misread(known).items()
            },
            figures={f"held_out_nats_per_round_{law}": nats(acceptance, found) for law, acceptance in laws.items()},
            also=[
                {"depth": depth, "quantity": f"survival, {law}", "predicted": float(value), "measured": measured[depth]}
                for law, acceptance in laws.items()
                for depth, value in enumerate(acceptance.survival(deepest), start=1)
            ],
            note=f"simplest law left: {compare(known.counted, laws=LAWS).chosen.law}",
        )


def fitted(known: Chains) -> Mapping[str, Acceptance]:
    """Laws fitted to counts: those of `LAWS`, and one probability a request."""
    compared = compare(known.counted, laws=LAWS)
    return {law: fit.acceptance for law, fit in compared.fits.items()} | {"by_request": by_request(known)}


def by_request(known: Chains) -> BetaAcceptance:
    """One probability for all drafts of a request, drawn from a Beta: maximum likelihood of the requests' counts.

    Notes
    -----
    Draft k is on trial where those before it stood, so a request's drafts that stood are binomial in those on trial.
    """
    trials = known.rounds + known.survived[:, :-1].sum(axis=1)
    stood = known.survived.sum(axis=1)

    def cost(point: FloatArray) -> float:
        mean, total = special.expit(point[0]), np.exp(point[1])
        return -float(stats.betabinom.logpmf(stood, trials, mean * total, (1 - mean) * total).sum())

    rough = special.logit((stood.sum() + 0.5) / (trials.sum() + 1))
    found = optimize.minimize(cost, [rough, np.log(20.0)], bounds=[(-12.0, 12.0), (-3.0, 9.0)])
    mean, total = special.expit(found.x[0]), np.exp(found.x[1])
    return Acceptance.beta(float(mean * total), float((1 - mean) * total), source="by request")


def misread(known: Chains) -> Mapping[str, FloatArray]:
    """Survival by depth as two slips would have it, shape (gamma,) each [1]."""
    survival = known.survived.sum(axis=0) / known.rounds.sum()
    return {
        "accepted over drafted taken for alpha": Acceptance.constant(float(survival.mean())).survival(len(survival)),
        "survival taken for conditional acceptance": np.cumprod(survival),
    }


def nats(acceptance: Acceptance, found: Chains) -> float:
    """Mean log probability of the accepted lengths of rounds under a law [nat]."""
    gamma = len(found.lengths) - 1
    survival = np.concatenate(([1.0], acceptance.survival(gamma), [0.0]))
    log_pmf = np.log(np.maximum(-np.diff(survival), IMPOSSIBLE))
    return float(found.lengths @ log_pmf / found.lengths.sum())

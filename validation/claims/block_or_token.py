"""Block against token verification: accepted lengths foretold from drafts without a coin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specsim import checks
from validation.claims.drafting import HELD_OUT, Texts, chains, open_drafting
from validation.claims.first_failure import FirstFailureEnds
from validation.claims.protocol import ClaimResult, Settings
from validation.claims.statement import Sums, judged, state

RULES = ("rejection", "block")


@dataclass(frozen=True, kw_only=True, slots=True)
class BlockOrToken:
    """Accepted lengths under token and block verification follow from drafts alone, without a coin.

    Parameters
    ----------
    texts, tokens : int
        Texts of either part, times the budget, and new tokens of each [1].
    gamma : int
        Drafted tokens per round [1].

    Notes
    -----
    Stated is the mean over drafted rounds of `Verifier.survival`, summed over depths (Rao-Blackwell), for each rule at
    the places where its own rounds begin; measured is what each accepts on other texts. What block verification gains
    over token verification is far less than one run of either can tell: `figures` say it on the same drafts, where the
    coins cancel. The fault is a block rule that stops at the first coin that fails.
    """

    texts: int = 32
    tokens: int = 40
    gamma: int = 6
    name: ClassVar[str] = "block_or_token"

    def __post_init__(self) -> None:
        checks.integer("texts", self.texts, low=2)
        checks.integer("gamma", self.gamma, low=2)
        checks.integer("tokens", self.tokens, low=self.gamma + 1)

    def run(self, settings: Settings) -> ClaimResult:
        """Look at drafts, state, decode under either rule."""
        pair, count = open_drafting(settings), settings.scaled(self.texts, least=8)
        options = {"count": count, "tokens": self.tokens, "seed": settings.seed}
        known, statements = {}, {}
        for place, rule in enumerate(RULES, start=1):
            known[rule] = chains(pair, Texts(**options), gamma=self.gamma, rule=rule)
            statements[rule] = state(
                known[rule].without_coins(rule),
                setting={"verifier": rule, "gamma": self.gamma},
                quantity="E_accepted",
                texts=count,
            )
            settings.progress(place / 4)
        measured = {}
        for place, rule in enumerate(RULES, start=3):
            found = chains(pair, Texts(part=HELD_OUT, **options), gamma=self.gamma, rule=rule)
            measured[rule] = found.accepted().value
            settings.progress(place / 4)
        same = {rule: expected.sum(axis=1) for rule, expected in known["rejection"].expected.items()}
        gain = state(Sums(top=same["block"], bottom=same["rejection"]), setting={}, quantity="gain", texts=count).row(
            measured["block"] / measured["rejection"], n=count
        )
        wrong = known["block"].without_coins(FirstFailureEnds.name).value
        return judged(
            self.name,
            [(statements[rule], measured[rule]) for rule in RULES],
            model=pair.name,
            settings=settings,
            faults={FirstFailureEnds.name: [(statements["block"].instead(wrong), measured["block"])]},
            figures={
                "gain_on_the_same_drafts": gain.predicted,
                "gain_low": gain.low,
                "gain_high": gain.high,
                "gain_of_the_two_runs": gain.measured,
            },
            note=f"block over token on the same drafts {gain.predicted - 1:+.1%}",
        )

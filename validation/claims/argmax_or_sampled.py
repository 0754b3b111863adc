"""What a drafter gains or loses by drafting its most probable token instead of a sample."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from specsim import checks
from validation.claims.drafting import HELD_OUT, Texts, chains, open_drafting
from validation.claims.places import foreseen, reading
from validation.claims.protocol import ClaimResult, Settings
from validation.claims.statement import judged, state

TEMPERATURES = (0.6, 1.0)
"""Of the texts [1]."""
KINDS = ("sampled", "argmax")


@dataclass(frozen=True, kw_only=True, slots=True)
class ArgmaxOrSampled:
    """Sampled drafts stand with E sum min(p, q), argmax drafts with E p(argmax q), as laws read beforehand say.

    Parameters
    ----------
    texts, tokens : int
        Texts at each temperature, times the budget, and new tokens of each [1].

    Notes
    -----
    Neither kind dominates (`specsim.verifiers.Rejection`), so both are stated, at two temperatures, from texts that the
    target wrote alone; measured is accepted over drafted in rounds of one draft on other texts. The fault takes either
    for the other, as who reads an engine's acceptance rate does without asking how it drafts.
    """

    texts: int = 32
    tokens: int = 40
    name: ClassVar[str] = "argmax_or_sampled"

    def __post_init__(self) -> None:
        checks.integer("texts", self.texts, low=2)
        checks.integer("tokens", self.tokens, low=2)

    def run(self, settings: Settings) -> ClaimResult:
        """Read, state, decode with either kind of draft."""
        pair, count = open_drafting(settings), settings.scaled(self.texts, least=8)
        options = {"count": count, "tokens": self.tokens, "seed": settings.seed}
        cases = list(product(TEMPERATURES, KINDS))
        statements = {}
        for temperature, kind in cases:
            law = (temperature, temperature)
            read = reading(pair, Texts(temperature=temperature, **options), laws=(law,))[law]
            statements[temperature, kind] = state(
                foreseen(read, gamma=1, argmax=kind == "argmax").without_coins(),
                setting={"temperature": temperature, "drafts": kind},
                quantity="alpha",
                texts=count,
            )
            settings.progress(len(statements) / (2 * len(cases)))
        measured = {}
        for temperature, kind in cases:
            texts = Texts(temperature=temperature, part=HELD_OUT, **options)
            measured[temperature, kind] = chains(pair, texts, gamma=1, argmax=kind == "argmax").accepted().value
            settings.progress(0.5 + len(measured) / (2 * len(cases)))
        other = dict(zip(KINDS, reversed(KINDS), strict=True))
        return judged(
            self.name,
            [(statements[case], measured[case]) for case in cases],
            model=pair.name,
            settings=settings,
            faults={
                "either taken for the other": [
                    (statements[case].instead(statements[case[0], other[case[1]]].predicted), measured[case])
                    for case in cases
                ]
            },
        )

"""Acceptance at temperatures between those that texts were written at, from logits read with speculation off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from specsim import checks
from validation.claims.drafting import HELD_OUT, Texts, chains, open_drafting
from validation.claims.places import Laws, Places, foreseen, reading
from validation.claims.protocol import ClaimResult, Settings
from validation.claims.statement import Sums, judged, state

SIDES = {0.5: (0.4, 0.6), 0.8: (0.6, 1.0)}
"""Held-out temperatures, and those on either side that texts are written at [1]."""
KEPT = "temperature kept from the drafter"
MULTIPLIED = "drafter's logits multiplied by the temperature"


@dataclass(frozen=True, kw_only=True, slots=True)
class Temperature:
    """Acceptance at held-out temperatures follows from logits that were read without a draft.

    Parameters
    ----------
    texts, tokens : int
        Texts at each temperature, times the budget, and new tokens of each [1].

    Notes
    -----
    Temperature does two things: it warps both laws at a given place, which logits tell exactly
    (`specsim.distributions.warped_alphas` in one call), and it leads the text to other places. So texts are written and
    read at temperatures on either side of a held-out one, their laws warped to it, and the two averaged. Measured is
    accepted over drafted in rounds of one draft, whose places `places.foreseen` weighs as rounds come to them.
    Rows show beside it what a temperature kept from the drafter would have foretold.
    The fault multiplies the drafter's logits by the temperature that should divide them.
    """

    texts: int = 32
    tokens: int = 40
    name: ClassVar[str] = "temperature"

    def __post_init__(self) -> None:
        checks.integer("texts", self.texts, low=2)
        checks.integer("tokens", self.tokens, low=2)

    def run(self, settings: Settings) -> ClaimResult:
        """Read, state, decode at the held-out temperatures."""
        pair, count = open_drafting(settings), settings.scaled(self.texts, least=8)
        options = {"count": count, "tokens": self.tokens, "seed": settings.seed}
        read = {}
        for place, written in enumerate(sorted({side for sides in SIDES.values() for side in sides}), start=1):
            read[written] = reading(pair, Texts(temperature=written, **options), laws=_laws(written))
            settings.progress(0.2 * place)
        sums = {
            temperature: {law: _between([read[side][law] for side in sides]) for law in _warps(temperature).values()}
            for temperature, sides in SIDES.items()
        }
        stated = []
        for place, temperature in enumerate(SIDES):
            statement = state(
                sums[temperature][temperature, temperature],
                setting={"temperature": temperature},
                quantity="alpha_sampled",
                texts=count,
            )
            texts = Texts(temperature=temperature, part=HELD_OUT, **options)
            stated.append((statement, chains(pair, texts, gamma=1).accepted().value))
            settings.progress(1 - 0.4 * (1 - (place + 1) / len(SIDES)))
        return judged(
            self.name,
            stated,
            model=pair.name,
            settings=settings,
            faults={
                MULTIPLIED: [
                    (statement.instead(sums[temperature][_warps(temperature)[MULTIPLIED]].value), measured)
                    for temperature, (statement, measured) in zip(SIDES, stated, strict=True)
                ]
            },
            also=[
                {
                    "temperature": temperature,
                    "quantity": f"alpha_sampled, {KEPT}",
                    "predicted": sums[temperature][_warps(temperature)[KEPT]].value,
                    "measured": measured,
                }
                for temperature, (_, measured) in zip(SIDES, stated, strict=True)
            ],
        )


def _warps(temperature: float) -> dict[str, Laws]:
    """Laws at a held-out temperature: as they are, and as slips have them."""
    return {
        "as they are": (temperature, temperature),
        KEPT: (temperature, 1.0),
        MULTIPLIED: (temperature, 1 / temperature),
    }


def _laws(written: float) -> tuple[Laws, ...]:
    """All that texts written at a temperature are read for."""
    nearby = [temperature for temperature, sides in SIDES.items() if written in sides]
    return tuple(dict.fromkeys(law for each in nearby for law in _warps(each).values()))


def _between(sides: list[list[Places]]) -> Sums:
    """Accepted over drafted, averaged over both sides prompt by prompt; a text to come varies as one of either side."""
    both = [foreseen(side, gamma=1).without_coins() for side in sides]
    return Sums(
        top=np.mean([side.top for side in both], axis=0),
        bottom=np.mean([side.bottom for side in both], axis=0),
        coins=float(np.mean([side.coins for side in both])),
        least=float(np.mean([side.variance for side in both])),
    )

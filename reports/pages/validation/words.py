"""Quantities as people name them, in the unit that they are shown in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reports.pages.validation.published import COST


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """A quantity: what it is, the unit shown, and SI units over that."""

    what: str
    unit: str = ""
    scale: float = 1.0

    @property
    def options(self) -> dict[str, Any]:
        """As charts take them."""
        return {"what": self.what, "unit": self.unit, "scale": self.scale}


NAMED = {
    "tau": Words(what="tokens per round, τ"),
    "alpha": Words(what="acceptance, α"),
    "survival": Words(what="share of rounds that reach a depth"),
    "E_accepted": Words(what="accepted drafts per round"),
    "speedup": Words(what="speedup", unit="×"),
    COST: Words(what="cost of a round", unit="plain passes"),
}
ENDINGS = {"_per_second": ("{} per second", "", 1.0), "_seconds": ("{} time", "ms", 1e3), "_bytes": ("{}", "GB", 1e-9)}
"""By the ending of a column's name: what it is, the unit shown, and what SI values are multiplied by."""


def quantity(name: str) -> Words:
    """The words of a column.

    Examples
    --------
    >>> quantity("round_seconds"), quantity("tokens_per_second").what
    (Words(what='round time', unit='ms', scale=1000.0), 'tokens per second')
    """
    if name in NAMED:
        return NAMED[name]
    for ending, (words, unit, scale) in ENDINGS.items():
        if name.endswith(ending):
            return Words(what=words.format(name.removesuffix(ending).replace("_", " ")), unit=unit, scale=scale)
    return Words(what=name.replace("_", " "))

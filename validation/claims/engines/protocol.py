"""What an engine module says: where its engine runs, and what is asked of it there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from specsim import checks
from specsim.conformance.verdict import CONFORMS, FAILS, Verdict
from specsim.errors import InputError

CRASHES = "crashes"
EXPECTED = (CONFORMS, FAILS, CRASHES)


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """Packages that an engine needs, installed apart from this project's own.

    Parameters
    ----------
    requirements : tuple of str
        For pip, installed in one go with this checkout.
    packages : tuple of str
        Distributions whose versions belong to the result.
    bare : tuple of str
        Requirements that are installed afterwards, without their dependencies.
    extras : tuple of str
        Of this checkout; "validation" brings torch and transformers.
    pip_options : tuple of str
        More arguments of `pip install`.
    """

    requirements: tuple[str, ...]
    packages: tuple[str, ...]
    bare: tuple[str, ...] = ()
    extras: tuple[str, ...] = ("validation", "http")
    pip_options: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One way to run the engine, and what the run is expected to say.

    Parameters
    ----------
    name : str
        Unique within the engine.
    drafter : str
        What drafts, in words.
    rule : str
        What accepts, in words.
    temperature : float or None
        Of all requests; None where they follow the whole matrix of parameters [1].
    gamma : int or None
        Tokens drafted in a round, at most; None where the engine chooses [1].
    model : str
        What is decoded.
    tokens : int
        Budget of the run [1].
    run : callable
        `run(tokens, seed)` holds the engine to its target's law.
    expect : str
        "conforms"; "does not conform" for a mode that is lossy on purpose, and for a finding; "crashes" for a finding.
    note : str
        One line: what is special, and what had to be left out.
    finding : str
        A fault of the engine that was confirmed by hand: what, where in its code or behaviour, exact probabilities
        against measured frequencies, and how to see it with few lines.

    Raises
    ------
    InputError
        An expectation that is not known, or a finding of an engine that is expected to conform.
    """

    name: str
    drafter: str
    rule: str
    temperature: float | None
    gamma: int | None
    model: str
    tokens: int
    run: Callable[[int, int], Verdict]
    expect: str = CONFORMS
    note: str = ""
    finding: str = ""

    def __post_init__(self) -> None:
        checks.one_of("expect", self.expect, EXPECTED)
        checks.integer("tokens", self.tokens, low=1)
        if self.finding and self.expect == CONFORMS:
            raise InputError(f"finding must come with an expectation other than {CONFORMS!r}, got it in {self.name!r}")


class Engine(Protocol):
    """A module of this package; it imports its engine inside of functions, for the parent has none of it."""

    ENVIRONMENT: Environment

    def cases(self) -> tuple[Case, ...]:
        """All cases, in the order in which they are run; called in the engine's environment."""

"""The verdict on a decoder: whether it conforms, and if not, what it looks like and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from specsim.conformance.protocol import Output, Request
from specsim.stats import TestResult

CONFORMS, FAILS, INCONCLUSIVE = "conforms", "does not conform", "inconclusive"
_EXIT_CODES = {CONFORMS: 0, FAILS: 1, INCONCLUSIVE: 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class Replay:
    """A request that shows the fault, to be asked again.

    Parameters
    ----------
    request : Request
    output : Output
        What the decoder answered.
    place : int
        The token of the output at which it shows most [1].
    why : str
    """

    request: Request
    output: Output
    place: int
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a run says of a decoder.

    Parameters
    ----------
    outcome : str
        "conforms", "does not conform" or "inconclusive".
    tokens : int
        Tokens until the verdict [1].
    requests : int
        Texts asked [1].
    level : float
        Probability that a lossless decoder gets "does not conform", at most [1].
    test : str
        The test that rejected; empty if none did.
    hypothesis : str
        What the fault looks like, or why the run is inconclusive; empty for a decoder that conforms.
    where : str
        The group of tokens in which it shows most, if it shows more there than elsewhere.
    smallest_tv : float
        Smallest total variation, a mean over tokens, that the run would have caught with probability 0.99, of faults
        that bend laws along one direction; 1 if it is sure of none [1].
    log_evalue : float
        Logarithm of the largest e-value of the bets on all tokens [1].
    results : mapping
        All tests by name; p-values are adjusted, to be held against `level`.
    replays : tuple of Replay
        The requests that show the fault most.
    """

    outcome: str
    tokens: int
    requests: int
    level: float
    test: str = ""
    hypothesis: str = ""
    where: str = ""
    smallest_tv: float = 1.0
    log_evalue: float = 0.0
    results: Mapping[str, TestResult] = field(default_factory=dict)
    replays: tuple[Replay, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 conforms, 1 does not, 2 inconclusive."""
        return _EXIT_CODES[self.outcome]

    @property
    def sentence(self) -> str:
        """The verdict in one line.

        Examples
        --------
        >>> Verdict(outcome="conforms", tokens=4000, requests=170, level=1e-6, smallest_tv=0.03).sentence
        'conforms after 4000 tokens; a mean total variation of 0.03 would have been caught with probability 0.99'
        """
        if self.outcome == CONFORMS:
            caught = f"a mean total variation of {self.smallest_tv:.2g} would have been caught with probability 0.99"
            return f"{self.outcome} after {self.tokens} tokens; {caught}"
        place = f" ({self.where})" if self.where else ""
        return f"{self.outcome} after {self.tokens} tokens: {self.hypothesis}{place}"

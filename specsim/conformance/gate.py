"""The gate: bets against the decoder on all tokens and on groups of them, watched after every batch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from specsim.conformance.evidence import Evidence
from specsim.stats import BettingProcess, TestResult

ALL = "all tokens"
_SHARE_OF_ALL = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """A betting process for all tokens, which gets half of the level, and one for each group, which share the rest.

    Parameters
    ----------
    level : float
        Probability that any of them ever rejects a lossless decoder, at most [1].
    processes : mapping
        By group.
    crossed : tuple of str and int, or None
        The group that rejected first, and how many tokens of the run that took.
    n : int
        Tokens of the run so far [1].

    Notes
    -----
    By Ville's inequality each process reaches 1 / level_i with probability level_i at most, whenever one looks; the
    levels sum to `level`.
    """

    level: float
    processes: Mapping[str, BettingProcess]
    crossed: tuple[str, int] | None = None
    n: int = 0

    @classmethod
    def new(cls, groups: Sequence[str], *, level: float, tolerance: float = 0.0) -> Gate:
        """Before the first token; `groups` are all that evidence will have."""
        return cls(level=level, processes={name: BettingProcess(tolerance=tolerance) for name in (ALL, *groups)})

    def share(self, name: str) -> float:
        """The level of one process."""
        others = len(self.processes) - 1
        return self.level * (_SHARE_OF_ALL if name == ALL else (1 - _SHARE_OF_ALL) / others)

    def update(self, evidence: Evidence) -> Gate:
        """After one more batch."""
        masks = {ALL: np.ones(len(evidence), dtype=bool), **evidence.strata()}
        processes, crossings = dict(self.processes), []
        for name, process in self.processes.items():
            rows = np.flatnonzero(masks[name])
            if not rows.size:
                continue
            processes[name] = process.update(evidence.observed if name == ALL else evidence.observed.take(rows))
            crossing = processes[name].crossing(self.share(name))
            if crossing is not None:
                crossings.append((self.n + int(rows[crossing - process.n - 1]) + 1, name))
        crossed = self.crossed or ((min(crossings)[1], min(crossings)[0]) if crossings else None)
        return replace(self, processes=processes, crossed=crossed, n=self.n + len(evidence))

    @property
    def log_margin(self) -> float:
        """How far the best process is from rejecting, in nats: 0 or more rejects."""
        return max(process.peak + math.log(self.share(name)) for name, process in self.processes.items())

    def results(self) -> dict[str, TestResult]:
        """One result for each process; p-values are adjusted by the share of the level that the process has."""
        return {
            f"betting on {name}": _adjusted(process.result(), self.share(name) / self.level)
            for name, process in self.processes.items()
            if process.n
        }


def _adjusted(result: TestResult, share: float) -> TestResult:
    return replace(result, pvalue=min(1.0, result.pvalue / share))

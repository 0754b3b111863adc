"""One law fitted to accepted lengths, with intervals for its parameters and for tau at any gamma."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.acceptance import beta, by_depth, constant, decay, markov
from specsim.acceptance.base import Acceptance
from specsim.acceptance.data import Lengths
from specsim.acceptance.family import Family
from specsim.acceptance.likelihood import maximum
from specsim.acceptance.profile import ends
from specsim.checks import FloatArray
from specsim.errors import InputError

FAMILIES: dict[str, Callable[[Sequence[int]], Family]] = {
    "constant": lambda edges: constant.FAMILY,
    "decay": lambda edges: decay.FAMILY,
    "beta": lambda edges: beta.FAMILY,
    "markov": lambda edges: markov.FAMILY,
    "by_depth": by_depth.family,
}
"""Laws that can be fitted, simple ones first; each makes a `Family` from the depths that the data tell apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """A law at its maximum likelihood.

    Parameters
    ----------
    family : Family
        What was fitted.
    data : Lengths
        To what.
    point : tuple of float
        The parameters [1].
    log_likelihood : float
        Of the data, up to a constant that all laws share [nat].

    Examples
    --------
    >>> fit = fit_law(Acceptance.from_counts([1000, 700, 490], [700, 490, 343]), law="constant")
    >>> round(fit.acceptance.alpha, 6), round(fit.expected_tokens(8), 4)
    (0.7, 3.1988)
    >>> [round(end, 3) for end in fit.tokens_interval(8, level=0.95)]
    [3.033, 3.375]
    """

    family: Family
    data: Lengths
    point: tuple[float, ...]
    log_likelihood: float

    @property
    def law(self) -> str:
        """The key in `FAMILIES`."""
        return self.family.name

    @property
    def acceptance(self) -> Acceptance:
        """The fitted law."""
        return self.family.law(np.asarray(self.point))

    @property
    def parameters(self) -> dict[str, float]:
        """By name [1]."""
        return dict(zip(self.family.parameters, self.point, strict=True))

    @property
    def is_told(self) -> bool:
        """Whether there are data enough to tell its parameters from noise."""
        return bool(np.isfinite(self.data.cutoff(0.5, parameters=len(self.point))))

    def expected_tokens(self, gamma: int) -> float:
        """E_tokens at a gamma that may be beyond the data, bonus included [1]."""
        return _tokens(self.acceptance.conditional(gamma))

    def tokens_interval(self, gamma: int, *, level: float = 0.95) -> tuple[float, float]:
        """Profile likelihood interval of E_tokens, given that the law is of this family [1].

        Notes
        -----
        Covers with probability `level` as the data grow; at a bound of a parameter with more. Where the data cannot
        tell the parameters at all (no more means than parameters) it is all of 1..gamma + 1.
        """
        deep = checks.integer("gamma", gamma)
        return self._ends(lambda point: _tokens(self.family.conditional(point, deep)), level, limits=(1.0, deep + 1.0))

    def parameter_interval(self, name: str, *, level: float = 0.95) -> tuple[float, float]:
        """Profile likelihood interval of one parameter [1]."""
        place = self.family.parameters.index(checks.one_of("parameter", name, self.family.parameters))
        return self._ends(lambda point: float(point[place]), level, limits=(0.0, 1.0))

    def _ends(
        self, quantity: Callable[[FloatArray], float], level: float, *, limits: tuple[float, float]
    ) -> tuple[float, float]:
        drop = self.data.cutoff(_level(level), parameters=len(self.point))
        if not np.isfinite(drop):
            return limits
        return ends(
            quantity,
            lambda point: self.data.log_likelihood(self.family.conditional(point, self.data.depths)),
            best=np.asarray(self.point),
            starts=self.family.starts(self.data.rough()),
            drop=drop,
        )


def fit_law(data: Lengths, *, law: str, start: Fit | None = None) -> Fit:
    """One law fitted by maximum likelihood.

    Parameters
    ----------
    data : CountedAcceptance or MeanLengths
        Counts by depth, or means by gamma.
    law : str
        A key of `FAMILIES`.
    start : Fit, optional
        A fit of the same law to much the same data, to set out from.

    Raises
    ------
    InputError
        An unknown law; the message lists the known ones.

    Examples
    --------
    >>> fit_law(Acceptance.from_counts([100, 80], [80, 40]), law="by_depth").acceptance.conditional(2).round(6)
    array([0.8, 0.5])
    """
    family = FAMILIES[checks.one_of("law", law, FAMILIES)](data.edges)
    starts = family.starts(data.rough())
    if start is not None and start.family.parameters == family.parameters:
        starts = [start.point, *starts]
    point, best = maximum(
        lambda point: data.log_likelihood(family.conditional(point, data.depths)), starts, size=data.size
    )
    return Fit(family=family, data=data, point=tuple(point.tolist()), log_likelihood=best)


def _tokens(conditional: FloatArray) -> float:
    return 1 + float(np.cumprod(conditional).sum())


def _level(level: float) -> float:
    checked = checks.number("level", level, low=0, high=1, open_low=True)
    if checked == 1:
        raise InputError("level must be in (0, 1), got 1")
    return checked

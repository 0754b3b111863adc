"""Laws that are linear in what a pass works on, fitted to timed passes; and how far from them the next ones may lie."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import numpy as np
from scipy import optimize, stats

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError
from validation.claims.prediction import STATED, Row

Key = TypeVar("Key")


class Setting(Protocol):
    """What was timed: a named tuple."""

    def _asdict(self) -> dict[str, Any]: ...


Timed = TypeVar("Timed", bound=Setting)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Fit:
    """Seconds as a sum of non-negative parts.

    Parameters
    ----------
    coefficients
        One a feature, shape (F,) [s].
    spread
        Standard deviation of measured over fitted, on the log scale [1].
    points, freedom
        Points fitted, and what the coefficients leave of them [1].

    Examples
    --------
    >>> found = fit(np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 4.0]]), np.array([3.0, 4.0, 6.0]))
    >>> found.coefficients.round(6), found.freedom
    (array([2., 1.]), 1)
    """

    coefficients: FloatArray
    spread: float
    points: int
    freedom: int

    def interval(self, value: float, *, also: float = 0.0) -> tuple[float, float]:
        """Where a further measurement of what is predicted as `value` lies with probability 0.95.

        Parameters
        ----------
        value
            The prediction.
        also
            Variance on the log scale that the fit does not know of [1].
        """
        own = self.spread**2 * (1 + (self.points - self.freedom) / self.points)
        reach = float(stats.t.ppf((1 + STATED) / 2, self.freedom)) * math.sqrt(own + also)
        return value * math.exp(-reach), value * math.exp(reach)


def fit(features: FloatArray, seconds: FloatArray, *, chosen: int = 0) -> Fit:
    """Non-negative least squares on relative errors.

    Parameters
    ----------
    features
        Shape (N, F).
    seconds
        Shape (N,), above 0 [s].
    chosen
        Numbers that the features themselves were chosen by; they count as fitted [1].

    Raises
    ------
    InputError
        Fewer points than a spread needs.
    """
    measured = checks.array("seconds", seconds, ndim=1)
    weighted = features / measured[:, None]
    scale = np.where(weighted.any(axis=0), np.abs(weighted).max(axis=0), 1.0)  # so that no part is lost to rounding
    coefficients = optimize.nnls(weighted / scale, np.ones(len(measured)))[0] / scale
    used = int((coefficients > 0).sum()) + chosen
    if len(measured) <= used:
        raise InputError(f"timed points must be more than the {used} numbers fitted to them, got {len(measured)}")
    residual = np.log(features @ coefficients / measured)
    freedom = len(measured) - used
    spread = math.sqrt(float(residual @ residual) / freedom)
    return Fit(coefficients=coefficients, spread=spread, points=len(measured), freedom=freedom)


def timed(
    actions: Mapping[Key, Callable[[], object]],
    *,
    known: Collection[Key],
    repeats: int,
    seed: int,
    progress: Callable[[float], None] = lambda fraction: None,
    prepared: Mapping[Key, Callable[[], object]] = MappingProxyType({}),
) -> tuple[dict[Key, float], float]:
    """Median seconds of each action, and the variance of the machine's own level from one turn to the next.

    Every turn does the same work, so that what its turns have in common on the log scale is the machine's wandering. It
    is taken from the actions `known` beforehand, not from those that are held out. What is `prepared` for an action is
    not timed.
    """
    from validation.timing import interleaved

    done = 0

    def ready(key: Key) -> None:
        nonlocal done
        if key in prepared:
            prepared[key]()
        done += 1
        progress(done / ((repeats + WARM_UP) * len(actions)))

    samples = interleaved(actions, repeats=repeats, warm_up=WARM_UP, before=ready, seed=seed)
    medians = {key: float(np.median(seconds)) for key, seconds in samples.items()}
    levels = np.log([samples[key] for key in known]) - np.log([[medians[key]] for key in known])
    return medians, float(np.var(np.median(levels, axis=0)))


def timed_rows(
    quantity: str,
    foretold: Mapping[Timed, float],
    measured: Mapping[Timed, float],
    *,
    found: Fit,
    drift: float,
    repeats: int,
) -> list[Row]:
    """Rows of held-out actions: seconds that a fit foretold, within its spread and the machine's wandering."""
    rows = []
    for setting, seconds in measured.items():
        low, high = found.interval(foretold[setting], also=drift)
        rows.append(
            Row(
                setting=setting._asdict(),
                quantity=quantity,
                predicted=foretold[setting],
                low=low,
                high=high,
                measured=seconds,
                n=repeats,
            )
        )
    return rows


WARM_UP = 1

"""Maximum likelihood in a box, and how far a quantity can move before the likelihood drops too far."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from scipy import optimize

from specsim.checks import FloatArray

Value = Callable[[FloatArray], float]
STEP = 1e-6
"""Half of the width of a difference that stands for a derivative; parameters live in [0, 1] [1]."""
SLACK = 1e-3
"""Share of the allowed drop by which an end of an interval may miss it [1]."""
WORST = -1e9
"""Stands for the log likelihood of the impossible, which no step of an optimiser can use [nat]."""


def maximum(log_likelihood: Value, starts: Iterable[tuple[float, ...]], *, size: int) -> tuple[FloatArray, float]:
    """The point of the unit box with the largest log likelihood, from several starts, and that value.

    Parameters
    ----------
    log_likelihood : callable
        Of a point (P,) [nat].
    starts : iterable of tuple
        Where to set out.
    size : int
        Observations: the likelihood is worked with per observation [1].

    Examples
    --------
    >>> point, best = maximum(lambda x: -((float(x[0]) - 0.3) ** 2), [(0.9,)], size=1)
    >>> point.round(6), abs(round(best, 9))
    (array([0.3]), 0.0)
    """
    found = [_climb(log_likelihood, np.clip(start, 0.0, 1.0), size=size) for start in starts]
    return max(found, key=lambda pair: pair[1])


def ends(
    quantity: Value, log_likelihood: Value, *, best: FloatArray, starts: Iterable[tuple[float, ...]], drop: float
) -> tuple[float, float]:
    """Least and largest `quantity` over the points where twice the log likelihood is within `drop` of that at `best`.

    Notes
    -----
    These are the ends of the profile likelihood interval of the quantity [1]: every value inside is reached by a
    point that likely. Each end is the farthest from several starts, so a flat likelihood makes the interval longer.

    References
    ----------
    .. [1] Venzon, Moolgavkar, "A method for computing profile-likelihood-based confidence intervals", Applied
       Statistics 37 (1988).
    """
    top = log_likelihood(best)

    def room(point: FloatArray) -> float:
        return 1 - 2 * (top - max(log_likelihood(point), WORST)) / drop

    others = [np.clip(start, 0.0, 1.0) for start in starts]
    reached = [quantity(best)]
    for cost in (quantity, lambda point: -quantity(point)):
        found = (_slide(cost, room, place) for place in (_off(cost, room, best), *others))
        reached += [quantity(point) for point in found if room(point) > -SLACK]
    return min(reached), max(reached)


def _climb(log_likelihood: Value, start: FloatArray, *, size: int) -> tuple[FloatArray, float]:
    def cost(point: FloatArray) -> float:
        return -max(log_likelihood(point), WORST) / size

    options = {"ftol": 1e-14, "gtol": 1e-8}
    found = optimize.minimize(
        cost, start, jac=partial(_gradient, cost), bounds=_box(start), method="L-BFGS-B", options=options
    )
    point = np.asarray(found.x if found.fun <= cost(start) else start)
    return point, log_likelihood(point)


def _off(cost: Value, room: Value, best: FloatArray) -> FloatArray:
    """A point down the slope of `cost` that is still inside: at `best` itself the likelihood shows no direction."""
    slope = _gradient(cost, best)
    length = 2 / max(float(np.abs(slope).max()), 1e-12)
    for _ in range(40):
        place = (best - length * slope).clip(0.0, 1.0)
        if room(place) >= 0:
            return place
        length /= 2
    return best


def _slide(cost: Value, room: Value, start: FloatArray) -> FloatArray:
    inside = {"type": "ineq", "fun": room, "jac": partial(_gradient, room)}
    found = optimize.minimize(
        cost, start, jac=partial(_gradient, cost), bounds=_box(start), method="SLSQP", constraints=inside, options={"maxiter": 50}
    )
    return np.asarray(found.x).clip(0.0, 1.0)


def _box(start: FloatArray) -> list[tuple[float, float]]:
    return [(0.0, 1.0)] * start.size


def _gradient(value: Value, point: FloatArray) -> FloatArray:
    slopes = np.empty(point.size)
    for place in range(point.size):
        low, high = point.copy(), point.copy()
        low[place], high[place] = max(point[place] - STEP, 0.0), min(point[place] + STEP, 1.0)
        slopes[place] = (value(high) - value(low)) / (high[place] - low[place])
    return slopes

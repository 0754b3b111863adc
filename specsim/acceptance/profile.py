"""Profile likelihood: how far a quantity can move before the likelihood has dropped too far."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy import optimize

from specsim.acceptance.likelihood import Value, axes, gradient
from specsim.checks import FloatArray

SLACK = 1e-3
"""Share of the allowed drop by which an end of an interval may miss it [1]."""


def ends(
    quantity: Value, log_likelihood: Value, *, best: FloatArray, starts: Iterable[tuple[float, ...]], drop: float
) -> tuple[float, float]:
    """Least and largest `quantity` over the points where twice the log likelihood is within `drop` of that at `best`.

    Parameters
    ----------
    quantity, log_likelihood : callable
        Of a point of the unit box (P,).
    best : array, shape (P,)
        The maximum.
    starts : iterable of tuple
        Where to set out, besides from where a quadratic likelihood would have its ends.
    drop : float
        Above 0 [nat].

    Notes
    -----
    These are the ends of the profile likelihood interval of the quantity [1]: every value inside is reached by a
    point that likely. Each end is the farthest from several starts, so a flat likelihood makes the interval longer.

    References
    ----------
    .. [1] Venzon, Moolgavkar, "A method for computing profile-likelihood-based confidence intervals", Applied
       Statistics 37 (1988).

    Examples
    --------
    >>> flat = lambda x: -50 * float(x[0] + x[1] - 1) ** 2
    >>> low, high = ends(lambda x: float(x[0] + x[1]), flat, best=np.array([0.5, 0.5]), starts=[], drop=4.0)
    >>> round(low, 3), round(high, 3)
    (0.8, 1.2)
    """
    top = log_likelihood(best)

    def room(point: FloatArray) -> float:
        return 1 - 2 * (top - log_likelihood(point)) / drop

    ways = axes(log_likelihood, best, drop=drop)
    slope = ways.T @ gradient(quantity, best)
    wald = ways @ slope / max(float(np.linalg.norm(slope)), 1e-300)
    others = [np.clip(start, 0.0, 1.0) for start in starts]
    reached = [quantity(best)]
    for sign in (1.0, -1.0):
        for place in (best + sign * wald, *others):
            end = _slide(quantity, sign, room, place.clip(0.0, 1.0), best=best, ways=ways)
            reached.append(quantity(_pulled(end, room, best)))
    return min(reached), max(reached)


def _slide(
    quantity: Value, sign: float, room: Value, start: FloatArray, *, best: FloatArray, ways: FloatArray
) -> FloatArray:
    """Push the quantity up (or down) as far as there is room, in steps along the axes of the likelihood."""

    def point(step: FloatArray) -> FloatArray:
        return np.asarray((best + ways @ step).clip(0.0, 1.0))

    def cost(step: FloatArray) -> float:
        return -sign * quantity(point(step))

    def cost_slope(step: FloatArray) -> FloatArray:
        return np.asarray(-sign * ways.T @ gradient(quantity, point(step)))

    def spare(step: FloatArray) -> FloatArray:
        """Room in the likelihood, and to each wall of the box."""
        place = best + ways @ step
        return np.concatenate(([room(point(step))], place, 1 - place))

    def spare_slope(step: FloatArray) -> FloatArray:
        return np.vstack((ways.T @ gradient(room, point(step)), ways, -ways))

    found = optimize.fmin_slsqp(
        cost,
        np.linalg.lstsq(ways, start - best)[0],
        fprime=cost_slope,
        f_ieqcons=spare,
        fprime_ieqcons=spare_slope,
        iter=50,
        iprint=0,
    )
    return point(np.asarray(found))


def _pulled(place: FloatArray, room: Value, best: FloatArray) -> FloatArray:
    """The place if it is inside, else the last point that is on the way there from `best`."""
    if room(place) > -SLACK:
        return place
    inside, outside = 0.0, 1.0
    for _ in range(30):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if room(best + middle * (place - best)) >= 0 else (inside, middle)
    return np.asarray(best + inside * (place - best))

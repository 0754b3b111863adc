"""Maximum likelihood over a box of probabilities, and the shape of the likelihood there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from scipy import optimize

from specsim.checks import FloatArray

Value = Callable[[FloatArray], float]
STEP = 1e-6
"""Half of the width of a difference that stands for a derivative; parameters live in [0, 1] [1]."""


def maximum(log_likelihood: Value, starts: Iterable[tuple[float, ...]], *, size: int) -> tuple[FloatArray, float]:
    """The point of the unit box with the largest log likelihood, from several starts, and that value.

    Parameters
    ----------
    log_likelihood : callable
        Of a point (P,); finite everywhere [nat].
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


def gradient(value: Value, point: FloatArray) -> FloatArray:
    """Slopes of a function of the unit box, by differences that stay inside.

    Examples
    --------
    >>> gradient(lambda x: float(x[0] ** 2 + x[1]), np.array([0.5, 1.0])).round(4)
    array([1., 1.])
    """
    slopes = np.empty(point.size)
    for place in range(point.size):
        low, high = point.copy(), point.copy()
        low[place], high[place] = max(point[place] - STEP, 0.0), min(point[place] + STEP, 1.0)
        slopes[place] = (value(high) - value(low)) / (high[place] - low[place])
    return slopes


def axes(log_likelihood: Value, best: FloatArray, *, drop: float) -> FloatArray:
    """Directions (P, P), one a column, along which twice the log likelihood falls by about `drop` in a unit step.

    A direction along which it hardly falls is cut to the size of the box.

    Examples
    --------
    >>> abs(axes(lambda x: -50 * float(x[0] - 0.5) ** 2, np.array([0.5]), drop=4.0)).round(3)
    array([[0.2]])
    """
    widths = np.asarray([_width(log_likelihood, best, place, drop=drop) for place in range(best.size)])
    centre = best.clip(np.minimum(widths, 0.5), 1 - np.minimum(widths, 0.5))
    steps = np.diag(widths)

    def at(shift: FloatArray) -> float:
        return log_likelihood((centre + shift).clip(0.0, 1.0))

    bend = np.empty((best.size, best.size))
    for one in range(best.size):
        for other in range(one + 1):
            corners = [at(a * steps[one] + b * steps[other]) * a * b for a in (0.5, -0.5) for b in (0.5, -0.5)]
            bend[one, other] = bend[other, one] = 4 * sum(corners)
    falls, directions = np.linalg.eigh(-bend)
    lengths = np.sqrt(drop / np.maximum(falls, 1e-12))
    ways = widths[:, None] * directions
    return np.asarray(ways * np.minimum(lengths, 1 / np.abs(ways).max(axis=0)))


def _width(log_likelihood: Value, best: FloatArray, place: int, *, drop: float) -> float:
    """How far one parameter may move alone before the likelihood has fallen by `drop`, to a factor of 2."""
    top, width = log_likelihood(best), 1.0
    for _ in range(40):
        low, high = best.copy(), best.copy()
        low[place], high[place] = max(best[place] - width, 0.0), min(best[place] + width, 1.0)
        if 2 * (top - min(log_likelihood(low), log_likelihood(high))) <= drop:
            break
        width /= 2
    return width


def _climb(log_likelihood: Value, start: FloatArray, *, size: int) -> tuple[FloatArray, float]:
    def cost(point: FloatArray) -> float:
        return -log_likelihood(point) / size

    found = optimize.minimize(
        cost,
        start,
        jac=partial(gradient, cost),
        bounds=[(0.0, 1.0)] * start.size,
        method="L-BFGS-B",
        options={"ftol": 1e-13, "gtol": 1e-8, "maxiter": 200},
    )
    point = np.asarray(found.x if found.fun <= cost(start) else start)
    return point, log_likelihood(point)

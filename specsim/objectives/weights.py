"""How much each depth of a draft counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.acceptance import Acceptance
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.objectives.losses import Loss


def depth_sensitivity(acceptance: Acceptance, *, gamma: int) -> FloatArray:
    """dE_accepted / d alpha_k: what one more point of conditional acceptance at depth k is worth.

    Parameters
    ----------
    acceptance : Acceptance
        By depth.
    gamma : int
        Drafted tokens per round [1].

    Returns
    -------
    array, shape (G,)
        (sum of s_m over m >= k) / alpha_k, and its limit where alpha_k is 0 [1].

    Notes
    -----
    Exact: E_accepted = sum of s_m, s_m the product of alpha_1..alpha_m. These are the weights of a drafter's loss by
    depth; they fall with k unless alpha rises steeply, and the mean over tokens ignores them.

    Examples
    --------
    >>> depth_sensitivity(Acceptance.constant(0.5), gamma=3)
    array([1.75, 0.75, 0.25])
    """
    alphas = acceptance.conditional(checks.integer("gamma", gamma, low=1))
    reached = np.concatenate(([1.0], np.cumprod(alphas)[:-1]))
    beyond = np.ones(alphas.size)  # drafts k, k + 1, .. expected to stand once k stands
    for depth in range(alphas.size - 2, -1, -1):
        beyond[depth] = 1 + alphas[depth + 1] * beyond[depth + 1]
    return np.asarray(reached * beyond)


def decay_weights(*, gamma: int, scale: float | None = None) -> FloatArray:
    """exp(-(k - 1) / scale) for k = 1..gamma, the weights that DFlash and DSpark train with.

    Parameters
    ----------
    gamma : int
        Drafted tokens per round [1].
    scale : float or None
        Depths over which weights fall by a factor e; None is `gamma`, as in the DSpark paper (arXiv 2607.05147), whose
        released configuration has 4 at a block of 7 [1].

    Returns
    -------
    array, shape (G,)
        [1].

    Examples
    --------
    >>> decay_weights(gamma=2).round(4)
    array([1.    , 0.6065])
    """
    depths = np.arange(checks.integer("gamma", gamma, low=1))
    return np.asarray(np.exp(-depths / checks.positive("scale", gamma if scale is None else scale)))


def weighted(loss: Loss, *, weights: ArrayLike) -> Loss:
    """The sum over depths of weight times loss, for losses of shape (..., G).

    Parameters
    ----------
    loss : Loss
        Value (..., G), gradient (..., G, V).
    weights : array, shape (G,)
        At least 0; not normalised.

    Returns
    -------
    Loss
        Value (...), gradient (..., G, V).

    Examples
    --------
    >>> from specsim.objectives import tv
    >>> loss = tv([0.5, 0.5], np.log([[0.8, 0.2], [0.6, 0.4]]))
    >>> float(weighted(loss, weights=[1.0, 0.5]).value.round(12))
    0.35
    """
    shares = checks.array("weights", weights, ndim=1)
    if loss.value.ndim == 0 or loss.value.shape[-1] != shares.size:
        raise InputError(f"weights must match the depths of a loss of shape {loss.value.shape}, got {shares.size}")
    if (shares < 0).any():
        raise InputError(f"weights must be at least 0, got {shares.min():g}")
    return Loss(np.asarray(loss.value @ shares), loss.gradient * shares[:, None])

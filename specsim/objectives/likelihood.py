"""LK losses: acceptance made trainable from a cold start.

References
----------
.. [1] Samarin et al., "LK losses: direct acceptance rate optimization for speculative decoding", arXiv 2602.23881;
   their names and the default eta as in the documentation of vLLM's speculators (`user_guide/loss_functions.md`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray
from specsim.distributions.logits import first_place
from specsim.errors import InputError
from specsim.objectives.losses import Loss, forward_kl, overlap_gradient, target_and_draft, tv


def nla(p: ArrayLike, logits: ArrayLike) -> Loss:
    """Negative log acceptance, -log(alpha).

    Parameters
    ----------
    p : array, shape (..., V)
        Target laws [1].
    logits : array, shape (..., V)
        The draft's logits.

    Returns
    -------
    Loss
        Value [nat]; the gradient is that of total variation over alpha, so that it does not vanish with the overlap.

    Raises
    ------
    InputError
        Laws that share nothing.

    Examples
    --------
    >>> loss = nla([0.5, 0.5], np.log([0.8, 0.2]))
    >>> float(loss.value.round(4)), loss.gradient.round(4)
    (0.3567, array([ 0.2286, -0.2286]))
    """
    p, q = target_and_draft(p, logits)
    alpha = np.asarray(np.minimum(p, q).sum(axis=-1))
    if (alpha == 0).any():
        raise InputError(f"logits{first_place(alpha == 0)} must share some mass with p for a logarithm of alpha")
    return Loss(-np.log(alpha), -overlap_gradient(p, q) / alpha[..., None])


def hybrid(p: ArrayLike, logits: ArrayLike, *, eta: float = 3.0) -> Loss:
    """KL(p || q) while little is accepted, then acceptance: lambda KL + (1 - lambda) TV with lambda = exp(-eta alpha).

    Parameters
    ----------
    p : array, shape (..., V)
        Target laws [1].
    logits : array, shape (..., V)
        The draft's logits.
    eta : float
        How soon it changes over; 0 is KL alone [1].

    Returns
    -------
    Loss
        The gradient takes lambda for a constant ("stop gradient"), so it is that of `mixed` and of no fixed function.

    Examples
    --------
    >>> loss = hybrid([0.5, 0.5], np.log([0.8, 0.2]))
    >>> float(loss.value.round(4)), loss.gradient.round(4)
    (0.2906, array([ 0.1771, -0.1771]))
    """
    alpha = 1 - tv(p, logits).value
    return mixed(p, logits, kl_share=np.exp(-checks.non_negative("eta", eta) * alpha))


def mixed(p: ArrayLike, logits: ArrayLike, *, kl_share: ArrayLike) -> Loss:
    """kl_share KL(p || q) + (1 - kl_share) TV, the share given, shape (...).

    Examples
    --------
    >>> float(mixed([0.5, 0.5], np.log([0.8, 0.2]), kl_share=0.0).value.round(12))
    0.3
    """
    share: FloatArray = checks.probabilities("kl_share", kl_share)
    divergence, variation = forward_kl(p, logits), tv(p, logits)
    value, gradient = (
        weight * kl + (1 - weight) * other
        for weight, kl, other in (
            (share, divergence.value, variation.value),
            (share[..., None], divergence.gradient, variation.gradient),
        )
    )
    return Loss(np.asarray(value), np.asarray(gradient))

"""Divergences as losses of a drafter, each with its gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr

from specsim import checks
from specsim.checks import FloatArray
from specsim.distributions.logits import checked_logits, exponentials, first_place
from specsim.errors import InputError


class Loss(NamedTuple):
    """A loss in each context."""

    value: FloatArray
    """Shape (...)."""
    gradient: FloatArray
    """With respect to the draft's logits, shape (..., V); each row sums to 0, since a shift of all changes nothing."""


LossFunction = Callable[[ArrayLike, ArrayLike], Loss]


def tv(p: ArrayLike, logits: ArrayLike) -> Loss:
    """Total variation, 1 - alpha: acceptance itself.

    Parameters
    ----------
    p : array, shape (..., V)
        Target laws [1].
    logits : array, shape (..., V)
        The draft's logits z, q = softmax(z); leading axes broadcast.

    Returns
    -------
    Loss
        Value in [0, 1] [1]; gradient q_j (mass of q where q < p, less 1 if q_j < p_j).

    Notes
    -----
    Exact where no q_j equals p_j; there it is one of the subgradients. The gradient of every token carries a factor
    q_j: where the overlap is small it all but vanishes, and training from scratch stalls.

    Examples
    --------
    >>> loss = tv([0.5, 0.5], np.log([0.8, 0.2]))
    >>> float(loss.value.round(12)), loss.gradient.round(12)
    (0.3, array([ 0.16, -0.16]))
    """
    p, q = target_and_draft(p, logits)
    return Loss(1 - np.minimum(p, q).sum(axis=-1), -overlap_gradient(p, q))


def forward_kl(p: ArrayLike, logits: ArrayLike) -> Loss:
    """KL(p || q): what cross entropy with the target's law as label minimises.

    Returns
    -------
    Loss
        Value [nat]; gradient q - p.

    Raises
    ------
    InputError
        The draft bans what the target allows: the loss is infinite and has no gradient.

    Examples
    --------
    >>> forward_kl([0.5, 0.5], [0.0, 0.0])
    Loss(value=array(0.), gradient=array([0., 0.]))
    """
    p, q = target_and_draft(p, logits)
    _finite("the draft", "the target", (p > 0) & (q == 0))
    return Loss(np.asarray(rel_entr(p, q).sum(axis=-1)), q - p)


def reverse_kl(p: ArrayLike, logits: ArrayLike) -> Loss:
    """KL(q || p): prefers a draft that covers few of the target's tokens well.

    Returns
    -------
    Loss
        Value [nat]; gradient q_j (log(q_j / p_j) - KL(q || p)).

    Raises
    ------
    InputError
        The target bans what the draft allows, as truncated targets do: the loss is infinite and has no gradient.

    Examples
    --------
    >>> reverse_kl([0.5, 0.5], [0.0, 0.0])
    Loss(value=array(0.), gradient=array([0., 0.]))
    """
    p, q = target_and_draft(p, logits)
    _finite("the target", "the draft", (q > 0) & (p == 0))
    each = rel_entr(q, p)
    value = np.asarray(each.sum(axis=-1))
    return Loss(value, each - q * value[..., None])


def target_and_draft(p: ArrayLike, logits: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Checked laws of the target and the draft, broadcast against each other."""
    target, rows = checks.distribution("p", p), checked_logits(logits)
    if target.shape[-1] != rows.shape[-1]:
        raise InputError(f"p and logits must have one vocabulary, got {target.shape[-1]} and {rows.shape[-1]} tokens")
    target, draft = np.broadcast_arrays(target, exponentials(rows, 1.0))
    return target, draft


def overlap_gradient(p: FloatArray, q: FloatArray) -> FloatArray:
    """Gradient of alpha: q_j (1[q_j < p_j] - mass of q where q < p)."""
    short = q < p
    return np.asarray(q * (short - np.where(short, q, 0).sum(axis=-1, keepdims=True)))


def _finite(banning: str, allowing: str, bad: NDArray[np.bool_]) -> None:
    if bad.any():
        place = first_place(bad.any(axis=-1))
        token = int(np.flatnonzero(bad[tuple(np.argwhere(bad.any(axis=-1))[0])])[0])
        raise InputError(
            f"logits{place} must give a finite divergence, but {banning} bans token {token}, which {allowing} allows"
        )

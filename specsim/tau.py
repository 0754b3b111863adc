"""The law of tokens per round, and what Leviathan et al. make of it.

`E_tokens` counts the bonus or correction token, `E_accepted` does not. End effects (the last round of a text is cut
by end-of-text or a length limit) are left out.

References
----------
.. [1] Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding", arXiv 2211.17192.
"""

from __future__ import annotations

import numpy as np

from specsim import checks
from specsim.acceptance import Acceptance
from specsim.checks import FloatArray


def accepted_pmf(acceptance: Acceptance, *, gamma: int) -> FloatArray:
    """Law of the accepted drafts of a round.

    Parameters
    ----------
    acceptance : Acceptance
        By depth.
    gamma : int
        Drafted tokens per round [1].

    Returns
    -------
    array, shape (G + 1,)
        P(accepted = 0..G) [1].

    Notes
    -----
    Exact: P(accepted = k) = s_k (1 - alpha_(k+1)), and s_G for k = G.

    Examples
    --------
    >>> accepted_pmf(Acceptance.constant(0.5), gamma=2)
    array([0.5 , 0.25, 0.25])
    """
    alphas = acceptance.conditional(gamma)
    reached = np.concatenate(([1.0], np.cumprod(alphas)))
    return np.asarray(reached * np.append(1 - alphas, 1.0))


def expected_accepted(acceptance: Acceptance, *, gamma: int) -> float:
    """Expected accepted drafts per round, E_accepted = sum of s_k [1].

    Examples
    --------
    >>> round(expected_accepted(Acceptance.constant(0.7), gamma=4), 4)
    1.7731
    """
    return float(acceptance.survival(gamma).sum())


def expected_tokens(acceptance: Acceptance, *, gamma: int) -> float:
    """Expected tokens per round with the bonus or correction token, E_tokens = 1 + E_accepted [1].

    Notes
    -----
    Exact for conditional acceptance. With a constant alpha it is (1 - alpha^(gamma+1)) / (1 - alpha), (1) of [1].
    Accepted over drafted is no alpha and must not be put in here.

    Examples
    --------
    >>> round(expected_tokens(Acceptance.constant(0.7), gamma=4), 4)
    2.7731
    """
    return 1 + expected_accepted(acceptance, gamma=gamma)


def variance_tokens(acceptance: Acceptance, *, gamma: int) -> float:
    """Variance of the tokens of a round, which is that of the accepted drafts [1].

    Examples
    --------
    >>> round(variance_tokens(Acceptance.constant(0.7), gamma=4), 8)
    2.42181639
    """
    pmf, accepted = accepted_pmf(acceptance, gamma=gamma), np.arange(gamma + 1)
    return float(pmf @ (accepted - pmf @ accepted) ** 2)


def token_sensitivity(acceptance: Acceptance, *, gamma: int) -> FloatArray:
    """What a little more acceptance at each depth is worth: the derivative of E_tokens by alpha_k.

    Parameters
    ----------
    acceptance : Acceptance
        By depth.
    gamma : int
        Drafted tokens per round [1].

    Returns
    -------
    array, shape (G,)
        s_(k-1) (1 + alpha_(k+1) + alpha_(k+1) alpha_(k+2) + ...), which is (s_k + ... + s_G) / alpha_k where that is
        not 0 / 0; the weight of depth k in a drafter's loss [1].

    Examples
    --------
    >>> token_sensitivity(Acceptance.by_depth([0.8, 0.5]), gamma=2)
    array([1.5, 0.8])
    """
    alphas = acceptance.conditional(gamma)
    reached = np.cumprod(np.concatenate(([1.0], alphas)))[:-1]
    beyond = np.ones(alphas.size)
    for depth in range(alphas.size - 2, -1, -1):
        beyond[depth] += alphas[depth + 1] * beyond[depth + 1]
    return np.asarray(reached * beyond)


def draft_utilisation(acceptance: Acceptance, *, gamma: int) -> float:
    """Accepted over drafted tokens; often published as "acceptance rate", and below alpha at any depth above 1 [1].

    Examples
    --------
    >>> round(draft_utilisation(Acceptance.constant(0.7), gamma=4), 4)
    0.4433
    """
    return expected_accepted(acceptance, gamma=checks.integer("gamma", gamma, low=1)) / gamma


def speedup_walltime(alpha: float, *, gamma: int, c: float) -> float:
    """Speedup over plain decoding, if scoring gamma + 1 tokens costs one plain step.

    Parameters
    ----------
    alpha : float
        Acceptance probability, the same for every draft [1].
    gamma : int
        Drafted tokens per round [1].
    c : float
        Seconds of one drafter step over seconds of one target step [1].

    Returns
    -------
    float
        (1 - alpha^(gamma+1)) / ((1 - alpha) (gamma c + 1)) [1].

    Notes
    -----
    Theorem 3.8 of [1]. An upper bound in practice: real scoring passes cost more than one step.

    Examples
    --------
    >>> round(speedup_walltime(0.7, gamma=4, c=0.1), 3), round(speedup_walltime(0.9, gamma=5, c=0.05), 3)
    (1.981, 3.748)
    """
    tokens = expected_tokens(Acceptance.constant(alpha), gamma=gamma)
    return tokens / (gamma * checks.non_negative("c", c) + 1)  # Theorem 3.8 of [1]


def operations_factor(alpha: float, *, gamma: int, c_hat: float) -> float:
    """Arithmetic per token over that of plain decoding.

    Parameters
    ----------
    alpha : float
        Acceptance probability, the same for every draft [1].
    gamma : int
        Drafted tokens per round [1].
    c_hat : float
        Operations per token of the drafter over those of the target [1].

    Returns
    -------
    float
        (1 - alpha) (gamma c_hat + gamma + 1) / (1 - alpha^(gamma+1)), at least 1 [1].

    Notes
    -----
    Theorem 3.11 of [1].

    Examples
    --------
    >>> round(operations_factor(0.8, gamma=5, c_hat=0.0), 2)
    1.63
    """
    tokens = expected_tokens(Acceptance.constant(alpha), gamma=gamma)
    return (gamma * checks.non_negative("c_hat", c_hat) + gamma + 1) / tokens  # Theorem 3.11 of [1]


def improvement_possible(alpha: float, *, c: float) -> bool:
    """Whether some gamma beats plain decoding under the assumptions of `speedup_walltime`.

    Notes
    -----
    Corollary 3.9 of [1]: alpha > c suffices, and gains (1 + alpha) / (1 + c) at least. It is also needed, since
    E_tokens is at most 1 + gamma alpha.

    Examples
    --------
    >>> improvement_possible(0.7, c=0.1), improvement_possible(0.1, c=0.1)
    (True, False)
    """
    return checks.probability("alpha", alpha) > checks.non_negative("c", c)


def best_gamma(acceptance: Acceptance, *, c: float, max_gamma: int = 64) -> int:
    """The gamma in 0..max_gamma of the largest E_tokens / (gamma c + 1); 0 is plain decoding, the least one wins ties.

    Raises
    ------
    InputError
        Acceptance is not known down to `max_gamma`: give a smaller one, or acceptance that holds beyond its last depth.

    Examples
    --------
    >>> best_gamma(Acceptance.constant(0.7), c=0.1), best_gamma(Acceptance.constant(0.5), c=0.5)
    (4, 0)
    """
    survival = acceptance.survival(checks.integer("max_gamma", max_gamma))
    tokens = np.concatenate(([1.0], 1 + np.cumsum(survival)))
    return int(np.argmax(tokens / (np.arange(tokens.size) * checks.non_negative("c", c) + 1)))

"""From what a model says to the law that a request asks for: processors applied again, outside the engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from specsim import checks
from specsim.checks import FloatArray
from specsim.conformance.parameters import Parameters
from specsim.distributions import History, Sampling
from specsim.errors import AdapterError
from specsim.stats.rows import BoolArray

ORDERS = ("min_p_last", "min_p_first")
"""Where engines put min-p: after top-k and top-p (transformers; llama.cpp as asked here) or before (vLLM)."""
_DROPPED = -math.inf


def full_laws(
    logits: FloatArray,
    *,
    prompt: Sequence[int],
    tokens: Sequence[int],
    parameters: Parameters,
    order: str = "min_p_last",
) -> FloatArray:
    """Log-probabilities of one output's tokens after all processors, from whole rows.

    Parameters
    ----------
    logits : array, shape (T, V)
        Logits before each token, without temperature or any processor; log-probabilities do as well unless there is a
        repetition penalty.
    prompt, tokens : sequences of int
        What stood before, and the T tokens.
    parameters : Parameters
        What the request asks for.
    order : str
        One of ORDERS.

    Examples
    --------
    >>> rows = np.log([[0.5, 0.3, 0.2]])
    >>> law = np.exp(full_laws(rows, prompt=[0], tokens=[1], parameters=Parameters(top_p=0.8, min_p=0.5)))
    >>> law.round(3).tolist()
    [[0.625, 0.375, 0.0]]
    """
    checks.one_of("order", order, ORDERS)
    rows = np.array(logits, copy=True)
    rows[: parameters.min_tokens, list(parameters.eos_ids)] = _DROPPED
    before = [prompt[-1], *tokens[:-1]]
    for token, following in dict(parameters.allowed_after).items():
        is_allowed = np.isin(np.arange(rows.shape[1]), following)
        rows[np.ix_(np.asarray(before) == token, ~is_allowed)] = _DROPPED
    history = History(prompt=prompt, output=(), draft=tokens)
    sampling = parameters.sampling
    if order == "min_p_first" and sampling.min_p and not sampling.is_greedy:
        laws = replace(sampling, top_k=None, top_p=None).probabilities(rows, history=history)
        sampling, rows = Sampling(top_k=sampling.top_k, top_p=sampling.top_p), _log(laws)
    return _log(sampling.probabilities(rows, history=history))


def listed_laws(log_p: FloatArray, *, parameters: Parameters, order: str = "min_p_last") -> FloatArray:
    """Log-probabilities after all processors, from the k likeliest tokens of each row; the rest is what they leave.

    Parameters
    ----------
    log_p : array, shape (T, k)
        Log-probabilities of the k likeliest tokens before temperature and processors, likeliest first.
    parameters : Parameters
        What the request asks for.
    order : str
        One of ORDERS.

    Raises
    ------
    AdapterError
        What was listed does not settle the law: temperature needs the whole row, unless top-k keeps no more than k;
        bias, bans and penalties may change tokens that are not listed; top-p and min-p may keep some.

    Examples
    --------
    >>> np.exp(listed_laws(np.log([[0.5, 0.25, 0.05]]), parameters=Parameters(top_p=0.7))).round(3).tolist()
    [[0.667, 0.333, 0.0]]
    """
    checks.one_of("order", order, ORDERS)
    mass = np.exp(np.asarray(log_p, dtype=np.float64))
    reason = unsettled(parameters, listed=mass.shape[1])
    if reason is not None:
        raise _refusal(reason)
    if parameters.temperature not in (0, 1):
        mass **= 1 / parameters.temperature
    top_k = _top_k(parameters)
    steps = [_first_k(top_k), _nucleus(parameters.top_p), _near_the_top(parameters.min_p)]
    if order == "min_p_first":  # whether top-k stands before or after it makes no difference
        steps = [steps[0], steps[2], steps[1]]
    is_whole = False
    for step in steps:
        if step is not None:
            mass, is_whole = _kept(mass, step(mass, is_whole)), True
    return _log(mass)


def unsettled(parameters: Parameters, *, listed: int | None) -> str | None:
    """Why log-probabilities cannot give the law of these parameters, whatever they are; None if they may.

    Parameters
    ----------
    parameters : Parameters
        What the request asks for.
    listed : int or None
        How many likeliest tokens there are of each row; None for whole rows [1].

    Notes
    -----
    A repetition penalty divides logits or multiplies them by their sign, and log-probabilities do not say where the
    zero of the logits was.
    """
    if parameters.repetition_penalty != 1:
        return "repetition_penalty acts on logits, which log-probabilities do not tell"
    if listed is None:
        return None
    is_used = {
        "logit_bias": bool(parameters.logit_bias),
        "banned_ids": bool(parameters.banned_ids),
        "allowed_after": bool(parameters.allowed_after),
        "min_tokens": bool(parameters.min_tokens and parameters.eos_ids),
        "presence and frequency penalty": parameters.sampling.needs_history,
    }
    top_k = _top_k(parameters)
    for name, flag in is_used.items():
        if flag:
            return f"{name} may change tokens that are not listed"
    if top_k is not None and top_k > listed:
        return f"top_k {top_k} keeps tokens that are not listed"
    if top_k is None and parameters.temperature != 1:
        return f"temperature {parameters.temperature:g} needs whole rows or top_k of at most {listed}"
    return None


def unsure(parameters: Parameters, *, listed: int | None) -> str | None:
    """Why log-probabilities may fail to give the law of these parameters; None if they are sure to give it.

    Unlike `unsettled`, it also holds against top-p and min-p that whether a list is long enough for them depends on the
    row. Plans go by this, so that no run breaks in the middle.
    """
    reason = unsettled(parameters, listed=listed)
    truncates = parameters.top_p not in (None, 1) or bool(parameters.min_p)
    if reason is None and listed is not None and _top_k(parameters) is None and truncates:
        return f"top_p and min_p may keep tokens that are not among the {listed} listed"
    return reason


def _top_k(parameters: Parameters) -> int | None:
    return 1 if parameters.temperature == 0 else parameters.top_k


Step = Callable[[FloatArray, bool], BoolArray]
"""From the mass of the tokens listed, and whether no other token has any, to which of them stay."""


def _first_k(top_k: int | None) -> Step | None:
    if top_k is None:
        return None
    return lambda mass, is_whole: np.broadcast_to(np.arange(mass.shape[1]) < top_k, mass.shape)


def _nucleus(top_p: float | None) -> Step | None:
    if top_p is None or top_p >= 1:
        return None

    def step(mass: FloatArray, is_whole: bool) -> BoolArray:
        reached = np.cumsum(mass, axis=1)
        if not is_whole and (reached[:, -1] < top_p).any():
            raise _refusal(f"top_p {top_p:g} keeps tokens that are not listed")
        return np.asarray(reached - mass < top_p)

    return step


def _near_the_top(min_p: float | None) -> Step | None:
    if not min_p:
        return None

    def step(mass: FloatArray, is_whole: bool) -> BoolArray:
        stays = mass >= min_p * mass[:, :1]
        if not is_whole and stays[:, -1].any():
            raise _refusal(f"min_p {min_p:g} may keep tokens that are not listed")
        return np.asarray(stays)

    return step


def _kept(mass: FloatArray, stays: BoolArray) -> FloatArray:
    left = np.where(stays, mass, 0.0)
    return np.asarray(left / left.sum(axis=1, keepdims=True))


def _refusal(reason: str) -> AdapterError:
    return AdapterError(f"the oracle does not settle the law: {reason}")


def _log(laws: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(laws))

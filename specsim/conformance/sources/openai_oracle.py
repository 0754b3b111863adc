"""The target's law from a server's log-probabilities of a prompt: no token is drawn, and no draft is there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.conformance.parameters import Parameters
from specsim.conformance.protocol import Output, Request, Rows
from specsim.conformance.sources.columns import stacked
from specsim.conformance.sources.http import Client
from specsim.conformance.sources.openai import NEUTRAL, PATH, only_choice
from specsim.conformance.sources.processing import full_laws, listed_laws, unsettled, unsure
from specsim.errors import AdapterError

FLOOR = -9000.0
"""Log-probabilities below this stand for zero: servers write -9999 for minus infinity."""
PROBE = (0.5, 2.0)
"""Temperatures that tell log-probabilities before temperature from those after it."""


class PromptOracle:
    """Laws of each token of prompt and output together, sent as one prompt.

    Parameters
    ----------
    client : Client
        Best a server without speculation: what the decoder under test says of itself hides faults of rows and caches.
    vocabulary : int
        V [1].
    model : str or None
        Its name there.
    top : int
        Likeliest tokens to ask for; at least V gives whole rows, and any parameters; a shorter list leaves the rest in
        one cell, and settles few parameters (see `processing.listed_laws`) [1].
    order : str
        See `processing.ORDERS`.
    workers : int
        Requests under way at once [1].

    Notes
    -----
    The token that stands in the prompt is listed by servers whether or not it is among the likeliest; it is left out
    if it is not, for a list must not depend on what was drawn.
    """

    def __init__(
        self,
        client: Client,
        *,
        vocabulary: int,
        model: str | None = None,
        top: int = 20,
        order: str = "min_p_first",
        workers: int = 8,
    ) -> None:
        self.client, self.model, self.order = client, model, order
        self.vocabulary = checks.integer("vocabulary", vocabulary, low=2)
        self.top = min(checks.integer("top", top, low=1), self.vocabulary)
        self.workers = checks.integer("workers", workers, low=1)

    def refuses(self, parameters: Parameters) -> str | None:
        """Why the law of such requests cannot be had from here; None if it can."""
        return unsure(parameters, listed=None if self.top == self.vocabulary else self.top)

    def score(self, requests: Sequence[Request], outputs: Sequence[Output]) -> Rows:
        """See `Oracle.score`."""
        with ThreadPoolExecutor(self.workers) as pool:
            return stacked(list(pool.map(self._rows, requests, outputs)))

    def _rows(self, request: Request, output: Output) -> Rows:
        text = [*request.prompt, *output.tokens]
        body = {
            **NEUTRAL,
            "prompt": text,
            "max_tokens": 1,
            "prompt_logprobs": self.top,
            "ignore_eos": True,
            "add_special_tokens": False,
        }
        choice = only_choice(self.client.post(PATH, body if self.model is None else {**body, "model": self.model}))
        listed = choice.get("prompt_logprobs")
        if not isinstance(listed, list) or len(listed) != len(text):
            raise AdapterError(
                f"the server must give prompt_logprobs for each of {len(text)} tokens of a prompt, got "
                f"{len(listed) if isinstance(listed, list) else listed!r}"
            )
        ids, log_p = _table(listed[len(request.prompt) :], output.tokens, top=self.top)
        return processed(ids, log_p, request=request, output=output, vocabulary=self.vocabulary, order=self.order)


def processed(
    ids: IntArray, log_p: FloatArray, *, request: Request, output: Output, vocabulary: int, order: str
) -> Rows:
    """Laws after a request's processors, from lists (T, k) of likeliest tokens, likeliest first."""
    whole = ids.shape[1] == vocabulary
    reason = unsettled(request.parameters, listed=None if whole else ids.shape[1])
    if reason is not None:
        raise AdapterError(f"the oracle does not settle the law: {reason}")
    if not whole:
        return Rows(ids=ids, log_p=listed_laws(log_p, parameters=request.parameters, order=order))
    rows = np.empty_like(log_p)
    np.put_along_axis(rows, ids, log_p, axis=1)
    return Rows(
        log_p=full_laws(rows, prompt=request.prompt, tokens=output.tokens, parameters=request.parameters, order=order)
    )


def reported_log_probabilities(client: Client, *, prompt: Sequence[int], model: str | None = None) -> str:
    """Whether a server's log-probabilities of new tokens are "before" or "after" temperature and bias.

    Parameters
    ----------
    client : Client
        To the server in question.
    prompt : sequence of int
        After which the law is neither flat nor certain.
    model : str or None
        Its name there.

    Raises
    ------
    AdapterError
        They fit neither.
    """
    lists = [_new_token(client, prompt, temperature, model=model) for temperature in (1.0, *PROBE)]
    shared = sorted(set.intersection(*(set(one) for one in lists)))
    plain, *scaled = (np.array([one[token] for token in shared]) for one in lists)
    if len(shared) < 2 or np.ptp(plain) < 1e-3:
        raise AdapterError("the prompt's law must have two tokens of different probability to tell by")
    if all(np.allclose(one, plain, atol=1e-3) for one in scaled):
        return "before"
    gaps = [np.diff(one) * temperature for one, temperature in zip(scaled, PROBE, strict=True)]
    if all(np.allclose(gap, np.diff(plain), atol=1e-2, rtol=1e-3) for gap in gaps):
        return "after"
    raise AdapterError("the server's log-probabilities fit neither the law before temperature nor the one after it")


def _new_token(client: Client, prompt: Sequence[int], temperature: float, *, model: str | None) -> dict[str, float]:
    body: dict[str, Any] = {
        **NEUTRAL,
        "prompt": list(prompt),
        "max_tokens": 1,
        "temperature": temperature,
        "seed": 0,
        "logprobs": 5,
        "ignore_eos": True,
        "return_tokens_as_token_ids": True,
    }
    choice = only_choice(client.post(PATH, body if model is None else {**body, "model": model}))
    top = ((choice.get("logprobs") or {}).get("top_logprobs") or [None])[0]
    if not isinstance(top, dict):
        raise AdapterError(f"the server must give logprobs of the likeliest tokens, got {str(top)[:80]}")
    return {name: float(value) for name, value in top.items()}


def _table(listed: Sequence[Any], tokens: Sequence[int], *, top: int) -> tuple[IntArray, FloatArray]:
    """Ids and log-probabilities, shape (T, top), likeliest first."""
    ids, log_p = np.empty((len(tokens), top), dtype=np.intp), np.empty((len(tokens), top))
    for row, (entries, token) in enumerate(zip(listed, tokens, strict=True)):
        ids[row], log_p[row] = _sorted(entries, token, top=top)
    return ids, log_p


def _sorted(entries: Any, token: int, *, top: int) -> tuple[list[int], list[float]]:
    if not isinstance(entries, Mapping):
        raise AdapterError(f"prompt_logprobs must list tokens at every place, got {str(entries)[:60]}")
    found = {int(name): _log_probability(value) for name, value in entries.items()}
    if len(found) == top + 1:
        del found[token]
    if len(found) != top:
        raise AdapterError(f"prompt_logprobs must list {top} tokens at every place, got {len(found)}")
    order = sorted(found, key=lambda one: (-found[one], one))
    return order, [found[one] for one in order]


def _log_probability(value: Any) -> float:
    number = value.get("logprob") if isinstance(value, Mapping) else value
    if not isinstance(number, (int, float)) or math.isnan(number) or number > 1e-3:
        raise AdapterError(f"log-probabilities must be numbers of at most 0, got {str(value)[:60]}")
    return -math.inf if number < FLOOR else min(float(number), 0.0)

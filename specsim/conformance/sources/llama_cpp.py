"""llama.cpp's server through its own `/completion`, which takes and returns token ids and can list whole rows.

Its defaults truncate (top-k 40, top-p 0.95, min-p 0.05), so everything is said in every request; and its samplers run
in the order asked for here, which is transformers'.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.conformance.parameters import Parameters
from specsim.conformance.protocol import Output, Request, Rows
from specsim.conformance.sources.answers import Answer, collected, one_by_one
from specsim.conformance.sources.columns import stacked
from specsim.conformance.sources.http import Client
from specsim.conformance.sources.openai_oracle import processed
from specsim.conformance.sources.processing import unsure
from specsim.errors import AdapterError

PATH = "/completion"
SAMPLERS = ("penalties", "temperature", "top_k", "top_p", "min_p")
SEEDS = 2**32 - 1
"""Seeds are below this, which itself asks for a random one."""
FLOOR = -1e30
"""Log-probabilities below this stand for zero: the server writes the lowest float."""
FORCING = 1e4
"""Bias that makes a token certain [nat]."""
_REASONS = {"eos": "stop", "word": "stop", "limit": "length"}


class LlamaCppDecoder:
    """The server's texts.

    Parameters
    ----------
    client : Client
    eog_ids : sequence of int
        All tokens that end a text in this model; the server ends there whatever is asked. Texts that must not end ban
        them.
    workers : int
        Requests under way at once: no more than the server has slots gain anything [1].
    reuse_cache : bool
        Whether the server may take up the cache of an earlier text with the same beginning.
    """

    order = "min_p_last"

    def __init__(self, client: Client, *, eog_ids: Sequence[int], workers: int = 1, reuse_cache: bool = True) -> None:
        self.client, self.workers, self.reuse_cache = client, workers, reuse_cache
        self.eog_ids = tuple(checks.integer("eog_ids", token) for token in eog_ids)

    def adapted(self, parameters: Parameters) -> Parameters:
        """The parameters with the ends that this server has."""
        return replace(parameters, eos_ids=self.eog_ids)

    def refuses(self, parameters: Parameters) -> str | None:
        """Why such requests cannot be put to this server; None if they can."""
        if set(parameters.eos_ids) != set(self.eog_ids):
            return f"texts end at the model's own tokens {list(self.eog_ids)}, whatever is asked"
        if parameters.min_tokens or parameters.stop_sequences or parameters.allowed_after:
            return "it has no min_tokens, and stops and grammars are text"
        if parameters.presence_penalty or parameters.frequency_penalty:
            return "its presence and frequency penalties count the prompt, too"
        return None

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """See `Decoder.generate`."""
        return collected(self.answers(requests), len(requests))

    def answers(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """See `Streaming.answers`."""
        return one_by_one(self._answer, requests, workers=self.workers)

    def _answer(self, request: Request) -> Output:
        problem = self.refuses(request.parameters)
        if problem:
            raise AdapterError(f"the server cannot be asked for these parameters: {problem}")
        body = self.client.post(PATH, completion_body(request, reuse_cache=self.reuse_cache))
        tokens, kind = body.get("tokens"), body.get("stop_type")
        if not isinstance(tokens, list) or not tokens:
            raise AdapterError(f"the server must return token ids (return_tokens), got {str(tokens)[:60]}")
        return Output(tokens=tuple(tokens), finish_reason=_REASONS.get(str(kind), str(kind)))


class LlamaCppOracle:
    """Laws from the rows that a server lists for one new token after every prefix of an output.

    Parameters
    ----------
    client : Client
        A server without speculation.
    vocabulary : int
        V [1].
    top : int or None
        Likeliest tokens to ask for; None asks for whole rows [1].
    workers : int
        Requests under way at once [1].
    reuse_cache : bool
        Whether the server may take up the cache of the prefix before; quicker, and rounds differently.

    Notes
    -----
    Rows are asked for before all samplers (`post_sampling_probs` false), and processors are applied again here.
    """

    order = "min_p_last"

    def __init__(
        self,
        client: Client,
        *,
        vocabulary: int,
        top: int | None = None,
        workers: int = 1,
        reuse_cache: bool = True,
    ) -> None:
        self.client, self.reuse_cache = client, reuse_cache
        self.vocabulary = checks.integer("vocabulary", vocabulary, low=2)
        self.top = self.vocabulary if top is None else min(checks.integer("top", top, low=1), self.vocabulary)
        self.workers = checks.integer("workers", workers, low=1)

    def refuses(self, parameters: Parameters) -> str | None:
        """Why the law of such requests cannot be had from here; None if it can."""
        return unsure(parameters, listed=None if self.top == self.vocabulary else self.top)

    def score(self, requests: Sequence[Request], outputs: Sequence[Output]) -> Rows:
        """See `Oracle.score`."""
        with ThreadPoolExecutor(self.workers) as pool:
            return stacked(list(pool.map(self._rows, requests, outputs)))

    def _rows(self, request: Request, output: Output) -> Rows:
        lists = [self._next([*request.prompt, *output.tokens[:count]]) for count in range(len(output.tokens))]
        ids, log_p = (np.stack(column) for column in zip(*lists, strict=True))
        return processed(ids, log_p, request=request, output=output, vocabulary=self.vocabulary, order=self.order)

    def _next(self, prefix: Sequence[int]) -> tuple[IntArray, FloatArray]:
        listed = self._listed(prefix, Parameters(max_tokens=1))
        if not listed:  # the token that was drawn ends within a character, and the server holds its row back
            listed = self._listed(prefix, Parameters(max_tokens=1, logit_bias={self._letter: FORCING}))
        if len(listed) != self.top:
            raise AdapterError(f"the server must list {self.top} tokens (n_probs), got {len(listed)}")
        return sorted_list(listed)

    def _listed(self, prefix: Sequence[int], parameters: Parameters) -> Sequence[Mapping[str, Any]]:
        body = completion_body(
            Request(id="", prompt=tuple(prefix), parameters=parameters), reuse_cache=self.reuse_cache
        )
        answer = self.client.post(PATH, {**body, "n_probs": self.top, "post_sampling_probs": False})
        places = answer.get("completion_probabilities")
        return (places[0].get("top_logprobs") or ()) if places else ()

    @functools.cached_property
    def _letter(self) -> int:
        """A token that is whole characters; forcing it leaves the row as it is, for rows are told before all bias."""
        tokens = self.client.post("/tokenize", {"content": "a"}).get("tokens")
        if not isinstance(tokens, list) or not tokens or not isinstance(tokens[0], int):
            raise AdapterError(f"the server must tell the tokens of a letter, got {str(tokens)[:60]}")
        return tokens[0]


def sorted_list(listed: Sequence[Mapping[str, Any]]) -> tuple[IntArray, FloatArray]:
    """Ids and log-probabilities of a list, likeliest first.

    Examples
    --------
    >>> ids, log_p = sorted_list([{"id": 4, "logprob": -2.0}, {"id": 7, "logprob": -0.5}])
    >>> ids.tolist(), log_p.tolist()
    ([7, 4], [-0.5, -2.0])
    """
    try:
        ids = np.array([int(one["id"]) for one in listed])
        log_p = np.array([float(one["logprob"]) for one in listed])
    except (KeyError, TypeError, ValueError):
        raise AdapterError(f"top_logprobs must hold id and logprob, got {str(listed[0])[:80]}") from None
    log_p[log_p < FLOOR] = -math.inf
    order = np.lexsort((ids, -log_p))
    return ids[order], log_p[order]


def completion_body(request: Request, *, reuse_cache: bool) -> dict[str, Any]:
    """The JSON object that asks for a request, with every truncation off that it does not ask for.

    Examples
    --------
    >>> body = completion_body(Request(id="a", prompt=(5,), seed=2**32), reuse_cache=False)
    >>> body["top_k"], body["top_p"], body["min_p"], body["seed"]
    (0, 1.0, 0.0, 1)
    """
    parameters = request.parameters
    bias: list[list[float | bool]] = [[token, value] for token, value in dict(parameters.logit_bias).items()]
    return {
        "prompt": list(request.prompt),
        "n_predict": parameters.max_tokens,
        "seed": request.seed % SEEDS,
        "samplers": list(SAMPLERS),
        "temperature": parameters.temperature,
        "top_k": parameters.top_k or 0,
        "top_p": 1.0 if parameters.top_p is None else parameters.top_p,
        "min_p": parameters.min_p or 0.0,
        "typical_p": 1.0,
        "repeat_penalty": parameters.repetition_penalty,
        "repeat_last_n": len(request.prompt) + parameters.max_tokens,  # -1, for all, is refused by newer servers
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "logit_bias": [*bias, *([token, False] for token in parameters.banned_ids)],
        "return_tokens": True,
        "cache_prompt": reuse_cache,
        "stream": False,
    }

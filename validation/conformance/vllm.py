"""vLLM's offline `LLM` as a decoder, and its prompt log-probabilities as an oracle.

vLLM is imported when it is used: it is no dependency of this project. Make the model under test with its
`speculative_config`, and the oracle's without one, both with `max_logprobs=-1`, so that whole rows may be asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.conformance.parameters import Parameters
from specsim.conformance.protocol import Output, Request, Rows
from specsim.conformance.sources.answers import Answer, collected
from specsim.conformance.sources.columns import stacked
from specsim.conformance.sources.openai import BAN
from specsim.conformance.sources.openai_oracle import processed
from specsim.conformance.sources.processing import unsure
from specsim.errors import AdapterError

WHOLE = -1
"""Asks vLLM for the log-probabilities of the whole vocabulary."""


class VLLMDecoder:
    """Texts of `LLM.generate`, the whole batch at once.

    Parameters
    ----------
    llm : vllm.LLM
        The engine under test.
    eos_id : int or None
        The model's own end-of-text token, which `min_tokens` bans whether or not a text may end there.
    is_speculative : bool
        Whether it speculates: it then takes no `min_p` and no bias, with which tokens are banned here.
    sampling_params : callable or None
        vLLM's `SamplingParams`; imported by default.
    """

    order = "min_p_first"

    def __init__(
        self, llm: Any, *, eos_id: int | None = None, is_speculative: bool = True, sampling_params: Any = None
    ) -> None:
        self.llm, self.eos_id, self.is_speculative = llm, eos_id, is_speculative
        self.sampling_params = sampling_params or _sampling_params()

    def refuses(self, parameters: Parameters) -> str | None:
        """Why such requests cannot be put to vLLM; None if they can."""
        if parameters.allowed_after:
            return "it has no grammar over token ids"
        if any(len(one) > 1 for one in parameters.stop_sequences):
            return "it stops at text, not at sequences of token ids"
        if parameters.min_tokens and (parameters.stop_sequences or self.eos_id not in (None, *parameters.eos_ids)):
            return "min_tokens also bans stop tokens and the model's own end of text there"
        if self.is_speculative and (parameters.min_p or parameters.logit_bias or parameters.banned_ids):
            return "with speculation it takes no min_p and no bias, with which tokens are banned"
        return None

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """See `Decoder.generate`."""
        return collected(self.answers(requests), len(requests))

    def answers(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """See `Streaming.answers`."""
        for request in requests:
            problem = self.refuses(request.parameters)
            if problem:
                raise AdapterError(f"request {request.id!r}: vLLM cannot be asked for these parameters: {problem}")
        settings = [self.sampling_params(**settings_of(request)) for request in requests]
        made = self.llm.generate(_prompts([request.prompt for request in requests]), settings, use_tqdm=False)
        for place, one in enumerate(made):
            (choice,) = one.outputs
            yield place, Output(tokens=tuple(choice.token_ids), finish_reason=str(choice.finish_reason))


class VLLMOracle:
    """Laws of each token of prompt and output together, from `prompt_logprobs`.

    Parameters
    ----------
    llm : vllm.LLM
        Without speculation.
    vocabulary : int
        V [1].
    top : int or None
        Likeliest tokens to ask for; None asks for whole rows, which `max_logprobs=-1` must allow [1].
    sampling_params : callable or None
        See `VLLMDecoder`.
    """

    def __init__(self, llm: Any, *, vocabulary: int, top: int | None = None, sampling_params: Any = None) -> None:
        self.llm = llm
        self.vocabulary = checks.integer("vocabulary", vocabulary, low=2)
        self.top = self.vocabulary if top is None else min(checks.integer("top", top, low=1), self.vocabulary)
        self.sampling_params = sampling_params or _sampling_params()

    def refuses(self, parameters: Parameters) -> str | None:
        """Why the law of such requests cannot be had from here; None if it can."""
        return unsure(parameters, listed=None if self.top == self.vocabulary else self.top)

    def score(self, requests: Sequence[Request], outputs: Sequence[Output]) -> Rows:
        """See `Oracle.score`."""
        asked = WHOLE if self.top == self.vocabulary else self.top
        settings = self.sampling_params(temperature=1.0, max_tokens=1, prompt_logprobs=asked, detokenize=False)
        texts = [(*request.prompt, *output.tokens) for request, output in zip(requests, outputs, strict=True)]
        made = self.llm.generate(_prompts(texts), settings, use_tqdm=False)
        return stacked(
            [self._rows(one.prompt_logprobs, *pair) for one, *pair in zip(made, requests, outputs, strict=True)]
        )

    def _rows(self, listed: Sequence[Any], request: Request, output: Output) -> Rows:
        if listed is None or len(listed) != len(request.prompt) + len(output.tokens):
            raise AdapterError(f"vLLM must give prompt_logprobs for every token of a prompt, got {listed!r:.60}")
        places = listed[len(request.prompt) :]
        lists = [self._list(entries, token) for entries, token in zip(places, output.tokens, strict=True)]
        ids, log_p = (np.stack(column) for column in zip(*lists, strict=True))
        return processed(
            ids, log_p, request=request, output=output, vocabulary=self.vocabulary, order=VLLMDecoder.order
        )

    def _list(self, entries: Mapping[int, Any], token: int) -> tuple[IntArray, FloatArray]:
        """Ids and log-probabilities, likeliest first, without a token that is listed only because it stands there."""
        found = {one: float(value.logprob) for one, value in entries.items()}
        if len(found) == self.top + 1:
            del found[token]
        if len(found) != self.top:
            raise AdapterError(f"vLLM must list {self.top} tokens at every place, got {len(found)} (max_logprobs)")
        ids, log_p = np.array(list(found)), np.array(list(found.values()))
        order = np.lexsort((ids, -log_p))
        return ids[order], log_p[order]


def settings_of(request: Request) -> dict[str, Any]:
    """Arguments of vLLM's `SamplingParams` for a request.

    Examples
    --------
    >>> made = settings_of(Request(id="a", prompt=(1,), parameters=Parameters(top_k=5, banned_ids=(3,)), seed=4))
    >>> made["top_k"], made["top_p"], made["logit_bias"], made["seed"], made["ignore_eos"]
    (5, 1.0, {3: -100.0}, 4, True)
    """
    parameters = request.parameters
    bias = {**dict(parameters.logit_bias), **dict.fromkeys(parameters.banned_ids, -math.inf)}
    return {
        "temperature": parameters.temperature,
        "top_k": parameters.top_k or 0,
        "top_p": 1.0 if parameters.top_p is None else parameters.top_p,
        "min_p": parameters.min_p or 0.0,
        "repetition_penalty": parameters.repetition_penalty,
        "presence_penalty": parameters.presence_penalty,
        "frequency_penalty": parameters.frequency_penalty,
        "logit_bias": {token: max(value, BAN) for token, value in bias.items()} or None,
        "max_tokens": parameters.max_tokens,
        "min_tokens": parameters.min_tokens,
        "ignore_eos": True,
        "stop_token_ids": [*parameters.eos_ids, *(one[0] for one in parameters.stop_sequences)],
        "seed": request.seed,
        "detokenize": False,
    }


def _prompts(texts: Sequence[Sequence[int]]) -> list[dict[str, list[int]]]:
    return [{"prompt_token_ids": list(text)} for text in texts]


def _sampling_params() -> Any:
    from vllm import SamplingParams

    return SamplingParams

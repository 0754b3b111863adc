"""Servers with OpenAI's `/v1/completions` that take and return token ids, as vLLM's does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from specsim.conformance.parameters import Parameters
from specsim.conformance.protocol import Output, Request
from specsim.conformance.sources.answers import Answer, collected, one_by_one
from specsim.conformance.sources.http import Client
from specsim.errors import AdapterError

PATH = "/v1/completions"
BAN = -100.0
"""Bias that stands for minus infinity, which JSON has not; servers clip to it. It leaves less than e^-100 of a mass."""
NEUTRAL: Mapping[str, Any] = {
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
"""Said in every request: servers take what is not said from files that come with the model."""
_ID = "token_id:"


class OpenAIDecoder:
    """A server's texts, as token ids.

    Parameters
    ----------
    client : Client
    model : str or None
        Its name there; None leaves it to the server.
    eos_id : int or None
        The model's own end-of-text token, which servers ban with `min_tokens` whether or not the text may end there.
    workers : int
        Requests under way at once: the server batches them [1].
    reports : str or None
        "after" if its log-probabilities are known to be those of the law that tokens are drawn from (see
        `reported_log_probabilities`): they are then part of the outputs, and judged.
    """

    order = "min_p_first"

    def __init__(
        self,
        client: Client,
        *,
        model: str | None = None,
        eos_id: int | None = None,
        workers: int = 8,
        reports: str | None = None,
    ) -> None:
        self.client, self.model, self.eos_id, self.workers, self.reports = client, model, eos_id, workers, reports

    def refuses(self, parameters: Parameters) -> str | None:
        """Why such requests cannot be put to this kind of server; None if they can."""
        if parameters.allowed_after:
            return "it has no grammar over token ids"
        if any(len(one) > 1 for one in parameters.stop_sequences):
            return "it stops at text, not at sequences of token ids"
        bans_too_much = parameters.stop_sequences or self.eos_id not in (None, *parameters.eos_ids)
        if parameters.min_tokens and bans_too_much:
            return "min_tokens also bans stop tokens and the model's own end of text there"
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
        body = completion_body(request, model=self.model)
        choice = only_choice(self.client.post(PATH, body))
        tokens = token_ids(choice)
        logs = (choice.get("logprobs") or {}).get("token_logprobs") if self.reports == "after" else None
        return Output(
            tokens=tokens,
            finish_reason=str(choice.get("finish_reason")),
            log_probabilities=None if logs is None else tuple(float(value) for value in logs),
        )


def completion_body(request: Request, *, model: str | None = None) -> dict[str, Any]:
    """The JSON object that asks for a request.

    Examples
    --------
    >>> body = completion_body(Request(id="a", prompt=(5, 6), parameters=Parameters(top_p=0.9), seed=3))
    >>> body["prompt"], body["top_p"], body["top_k"], body["seed"], body["return_token_ids"]
    ([5, 6], 0.9, 0, 3, True)
    """
    parameters = request.parameters
    bias = {**dict(parameters.logit_bias), **dict.fromkeys(parameters.banned_ids, -math.inf)}
    body: dict[str, Any] = {
        **NEUTRAL,
        "prompt": list(request.prompt),
        "max_tokens": parameters.max_tokens,
        "seed": request.seed,
        "temperature": parameters.temperature,
        "top_p": 1.0 if parameters.top_p is None else parameters.top_p,
        "top_k": parameters.top_k or 0,
        "min_p": parameters.min_p or 0.0,
        "repetition_penalty": parameters.repetition_penalty,
        "presence_penalty": parameters.presence_penalty,
        "frequency_penalty": parameters.frequency_penalty,
        "min_tokens": parameters.min_tokens,
        "ignore_eos": True,  # ends are those of the request: its own tokens, not the model's
        "stop_token_ids": [*parameters.eos_ids, *(one[0] for one in parameters.stop_sequences)],
        "logprobs": 0,
        "return_token_ids": True,
        "return_tokens_as_token_ids": True,
        "add_special_tokens": False,
        "skip_special_tokens": False,
    }
    if bias:
        body["logit_bias"] = {str(token): max(value, BAN) for token, value in bias.items()}
    return body if model is None else {**body, "model": model}


def only_choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The single choice of an answer."""
    choices = body.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        raise AdapterError(f"the server must answer with one choice, got {str(choices)[:80]}")
    choice: Mapping[str, Any] = choices[0]
    return choice


def token_ids(choice: Mapping[str, Any]) -> tuple[int, ...]:
    """New token ids of a choice: `token_ids`, else ids that stand for tokens in `logprobs`.

    Raises
    ------
    AdapterError
        The server returns text only: which tokens it drew cannot be told from that.

    Examples
    --------
    >>> token_ids({"logprobs": {"tokens": ["token_id:7", "token_id:2"]}})
    (7, 2)
    """
    ids = choice.get("token_ids")
    if ids is None:
        named = (choice.get("logprobs") or {}).get("tokens") or []
        ids = [name.removeprefix(_ID) for name in named if str(name).startswith(_ID)]
        if not ids or len(ids) != len(named):
            raise AdapterError("the server must return token ids (return_token_ids), got text only")
    try:
        return tuple(int(token) for token in ids)
    except (TypeError, ValueError):
        raise AdapterError(f"the server must return token ids, got {str(ids)[:80]}") from None

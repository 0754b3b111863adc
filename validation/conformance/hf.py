"""`generate` of transformers as a decoder, with assistant, lookup or early exit; and teacher forcing as an oracle."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from transformers import GenerationConfig
from transformers.generation.streamers import BaseStreamer

from specsim import checks
from specsim.checks import FloatArray
from specsim.conformance.parameters import Parameters
from specsim.conformance.protocol import Output, Request, Rows
from specsim.conformance.sources.answers import Answer, collected, one_by_one
from specsim.conformance.sources.processing import full_laws
from specsim.errors import AdapterError, InputError
from validation.decoder.pretrained import silence

SEEDS = 2**63 - 1


class TransformersDecoder:
    """Texts of `model.generate`, one request at a time: assisted generation takes no batches.

    Parameters
    ----------
    model : PreTrainedModel
        The target.
    assistant : PreTrainedModel or None
        The draft model.
    num_assistant_tokens : int
        Tokens that the assistant drafts in a round; it may stop earlier where it is unsure [1].
    assistant_confidence_threshold : float
        It stops after a token of less probability than this; 0 never stops [1].
    options : mapping
        More arguments of `generate`, such as `prompt_lookup_num_tokens` or `assistant_early_exit`.

    Notes
    -----
    What the model's own generation config says of sampling is not taken over: requests say all of it.
    """

    order = "min_p_last"
    is_seeded = True

    def __init__(
        self,
        model: Any,
        *,
        assistant: Any = None,
        num_assistant_tokens: int = 4,
        assistant_confidence_threshold: float = 0.0,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.model, self.assistant, self.options = model, assistant, dict(options or {})
        if assistant is not None:
            settings = assistant.generation_config
            settings.num_assistant_tokens = checks.integer("num_assistant_tokens", num_assistant_tokens, low=1)
            settings.num_assistant_tokens_schedule = "constant"
            settings.assistant_confidence_threshold = checks.probability(
                "assistant_confidence_threshold", assistant_confidence_threshold
            )
            self.options["assistant_model"] = assistant

    def refuses(self, parameters: Parameters) -> str | None:
        """Why `generate` cannot be asked for these parameters; None if it can."""
        if parameters.presence_penalty or parameters.frequency_penalty:
            return "transformers has no presence and frequency penalty"
        if parameters.stop_sequences:
            return "transformers stops at text, not at sequences of token ids"
        return None

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """See `Decoder.generate`."""
        return collected(self.answers(requests), len(requests))

    def answers(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """See `Streaming.answers`."""
        return one_by_one(self._answer, requests)

    def _answer(self, request: Request) -> Output:
        problem = self.refuses(request.parameters)
        if problem:
            raise AdapterError(f"generate cannot be asked for these parameters: {problem}")
        prompt = torch.tensor([request.prompt], device=self.model.device)
        rounds = _Rounds()
        with torch.random.fork_rng(), torch.no_grad(), warnings.catch_warnings(), silence():
            warnings.simplefilter("ignore")
            torch.manual_seed(request.seed % SEEDS)
            made = self.model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                generation_config=self._config(request.parameters),
                streamer=rounds,
                **_grammar(request.parameters, vocabulary=self.model.config.vocab_size),
                **self.options,
            )
        tokens = tuple(made[0, prompt.shape[1] :].tolist())
        end = request.parameters.end(tokens)
        blocks = tuple(rounds.sizes[1:])  # the first is the prompt
        return Output(
            tokens=tokens,
            finish_reason=end[1] if end else "stop",
            blocks=blocks if sum(blocks) == len(tokens) else None,
        )

    def _config(self, parameters: Parameters) -> GenerationConfig:
        sampled: dict[str, Any] = {}
        if parameters.temperature > 0:
            sampled = {
                "temperature": parameters.temperature,
                "top_k": parameters.top_k or 0,
                "top_p": 1.0 if parameters.top_p is None else parameters.top_p,
                "min_p": parameters.min_p,
            }
        return GenerationConfig(
            do_sample=parameters.temperature > 0,
            **sampled,
            max_new_tokens=parameters.max_tokens,
            min_new_tokens=parameters.min_tokens or None,
            repetition_penalty=parameters.repetition_penalty,
            sequence_bias={(token,): value for token, value in dict(parameters.logit_bias).items()} or None,
            suppress_tokens=list(parameters.banned_ids) or None,
            eos_token_id=list(parameters.eos_ids) or None,
            pad_token_id=0,
        )


class TeacherForcing:
    """Laws of a model's rows over prompt and output in one pass, without a cache, with processors applied again here.

    Parameters
    ----------
    model : PreTrainedModel
        The target.
    assistant : PreTrainedModel or None
        The draft model, whose laws sharpen the tests.
    batch : int
        Texts in one pass [1].
    """

    def __init__(self, model: Any, *, assistant: Any = None, batch: int = 32) -> None:
        self.model, self.assistant = model, assistant
        self.batch = checks.integer("batch", batch, low=1)

    def score(self, requests: Sequence[Request], outputs: Sequence[Output]) -> Rows:
        """See `Oracle.score`."""
        log_p = self._laws(self.model, requests, outputs)
        log_q = None if self.assistant is None else self._laws(self.assistant, requests, outputs)
        if log_q is not None and log_q.shape != log_p.shape:
            raise InputError(f"assistant must have the target's vocabulary {log_p.shape[1]}, got {log_q.shape[1]}")
        return Rows(log_p=log_p, log_q=log_q)

    def _laws(self, model: Any, requests: Sequence[Request], outputs: Sequence[Output]) -> FloatArray:
        found = []
        for start in range(0, len(requests), self.batch):
            some, made = requests[start : start + self.batch], outputs[start : start + self.batch]
            for request, output, logits in zip(some, made, _logits(model, some, made), strict=True):
                found.append(
                    full_laws(
                        logits,
                        prompt=request.prompt,
                        tokens=output.tokens,
                        parameters=request.parameters,
                        order=TransformersDecoder.order,
                    )
                )
        return np.concatenate(found)


class _Rounds(BaseStreamer):
    """How many tokens each round added."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def put(self, value: Any) -> None:
        self.sizes.append(int(value.numel()))

    def end(self) -> None:
        pass


def _logits(model: Any, requests: Sequence[Request], outputs: Sequence[Output]) -> list[FloatArray]:
    """Logits before each token of each output, float64; texts are padded on the right, which causal models ignore."""
    texts = [(*request.prompt, *output.tokens) for request, output in zip(requests, outputs, strict=True)]
    width = max(map(len, texts))
    ids = torch.tensor([[*text, *[0] * (width - len(text))] for text in texts], device=model.device)
    mask = torch.tensor([[1] * len(text) + [0] * (width - len(text)) for text in texts], device=model.device)
    with torch.no_grad():
        logits = model(ids, attention_mask=mask, use_cache=False).logits.double().cpu().numpy()
    return [logits[row, len(request.prompt) - 1 : len(texts[row]) - 1] for row, request in enumerate(requests)]


def _grammar(parameters: Parameters, *, vocabulary: int) -> dict[str, Any]:
    table = {token: list(following) for token, following in dict(parameters.allowed_after).items()}
    if not table:
        return {}
    every = list(range(vocabulary))
    return {"prefix_allowed_tokens_fn": lambda _, text: table.get(int(text[-1]), every)}

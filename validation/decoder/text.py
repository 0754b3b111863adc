"""Request and Text: what is asked of the decoder, and one text on its way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.distributions import History, Sampling
from specsim.errors import InputError
from specsim.verifiers import CoupledNoise
from validation.decoder.language_model import Logits

Detokenize = Callable[[Sequence[int]], str]
SEEDS = 2**63
_LAST = 64  # tokens; more than one round commits


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One text to decode.

    Parameters
    ----------
    prompt
        Token ids, at least one.
    name
        Goes into the records.
    max_tokens, min_tokens
        Most and least new tokens; before the least, tokens that end a text are banned [1].
    sampling
        Temperature, truncation, bias and penalties, applied to target and drafter alike; temperature 1 by default.
    eos_ids
        Tokens that end the text.
    stop
        Strings that end the text as soon as they stand in it; the token that completes one is the last.
    seed
        Seed of everything random in this text, whoever shares its batch; or a generator to go on with.
    """

    prompt: Sequence[int]
    name: str = "0"
    max_tokens: int = 128
    min_tokens: int = 0
    sampling: Sampling = field(default_factory=Sampling)
    eos_ids: frozenset[int] = frozenset()
    stop: tuple[str, ...] = ()
    seed: int | Generator = 0

    def __post_init__(self) -> None:
        checks.integer("prompt tokens", len(self.prompt), low=1)
        checks.integer("max_tokens", self.max_tokens, low=1)
        checks.integer("min_tokens", self.min_tokens, high=self.max_tokens)
        if any(not text for text in self.stop):
            raise InputError("stop strings must not be empty")


class Text:
    """A text being decoded: its tokens so far, and where it ends.

    Parameters
    ----------
    request
        What was asked.
    detokenize
        Token ids to text; needed where the request has stop strings.
    coupled
        Draw drafts and tokens with noise that belongs to the place in the text (Gumbel coupling).

    Examples
    --------
    >>> text = Text(Request(prompt=[5], max_tokens=4, eos_ids=frozenset({0})))
    >>> text.commit([3, 0, 7]), text.tokens, text.finish
    ([3, 0], [5, 3, 0], 'eos')
    """

    __slots__ = ("_detokenize", "finish", "noise", "request", "rng", "tokens")

    def __init__(
        self, request: Request, *, detokenize: Detokenize | None = None, coupled: bool | CoupledNoise = False
    ) -> None:
        if request.stop and detokenize is None:
            raise InputError("stop strings need a tokenizer: pass detokenize")
        self.request = request
        self.tokens = [int(token) for token in request.prompt]
        self.rng = np.random.default_rng(request.seed)
        self.noise = _noise(request.seed) if coupled is True else coupled or None
        self.finish: str | None = None
        self._detokenize = detokenize

    @property
    def sampling(self) -> Sampling:
        """The request's."""
        return self.request.sampling

    @property
    def output(self) -> list[int]:
        """New tokens so far."""
        return self.tokens[len(self.request.prompt) :]

    @property
    def left(self) -> int:
        """New tokens that may still come [1]."""
        return self.request.max_tokens + len(self.request.prompt) - len(self.tokens)

    @property
    def treats_tokens_alike(self) -> bool:
        """Whether the next laws depend on logits alone, not on which tokens they belong to."""
        return not (self.sampling.logit_bias or self.sampling.needs_history or self._is_early)

    @property
    def _is_early(self) -> bool:
        """Whether tokens that end the text are still banned."""
        return bool(self.request.eos_ids) and len(self.tokens) < len(self.request.prompt) + self.request.min_tokens

    def laws(self, logits: Logits, *, drafted: Sequence[Sequence[int]]) -> FloatArray:
        """The law that a token is drawn from, for each row of logits, shape (n, V) [1].

        Parameters
        ----------
        logits
            Rows (n, V) of target or drafter.
        drafted
            For each row, the drafted tokens between the text so far and the token in question.
        """
        return self.sampling.probabilities(self._allowed(logits, drafted), history=self._history(drafted))

    def argmax(self, logits: Logits, *, drafted: Sequence[Sequence[int]]) -> IntArray:
        """The most probable token of each row, shape (n,), without its law; parameters as of `laws`."""
        return self.sampling.argmax(self._allowed(logits, drafted), history=self._history(drafted))

    def commit(self, tokens: Sequence[int]) -> list[int]:
        """Append tokens up to where the text ends; those appended."""
        request, kept = self.request, list(tokens[: self.left])
        end = next((place for place, token in enumerate(kept, start=1) if token in request.eos_ids), None)
        kept = kept[:end]
        self.tokens += kept
        stopped = self._stopped(len(kept)) if request.stop else None
        if stopped is not None:
            del self.tokens[len(self.tokens) - len(kept) + stopped :]
            kept = kept[:stopped]
            self.finish = "stop"
        elif end is not None:
            self.finish = "eos"
        elif not self.left:
            self.finish = "length"
        return kept

    def _history(self, drafted: Sequence[Sequence[int]]) -> History | None:
        """What stands before each row, where a penalty asks for it."""
        if not self.sampling.needs_history:
            return None
        longest = max(map(len, drafted), default=0)
        output = [[*self.output, *row, *[-1] * (longest - len(row))] for row in drafted]
        prompt = list(self.request.prompt)
        return History(prompt=prompt, output=np.array(output, dtype=np.int64).reshape(len(output), -1))

    def _allowed(self, logits: Logits, drafted: Sequence[Sequence[int]]) -> Logits:
        """The rows without the tokens that end a text, where it is too early for them."""
        if not self._is_early:
            return logits
        early = [len(self.output) + len(row) < self.request.min_tokens for row in drafted]
        logits = logits.copy()
        logits[np.ix_(early, sorted(self.request.eos_ids))] = -np.inf
        return logits

    def _stopped(self, new: int) -> int | None:
        """After how many of the new tokens a stop string stands in the output; None if in none."""
        assert self._detokenize is not None
        output = self.output
        tail = max(0, len(output) - new - 4 * max(map(len, self.request.stop)))  # a character has at most 4 tokens
        for count in range(1, new + 1):
            shown = self._detokenize(output[tail : len(output) - new + count])
            if any(stop in shown for stop in self.request.stop):
                return count
        return None


def _noise(seed: int | Generator) -> CoupledNoise:
    return CoupledNoise(seed=int(seed.integers(SEEDS)) if isinstance(seed, Generator) else seed)


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """How many first tokens agree; the two differ near the end or not at all, so the rest is compared at once."""
    size = min(len(left), len(right))
    start = max(0, size - _LAST)
    start = start if left[:start] == right[:start] else 0
    return next((place for place in range(start, size) if left[place] != right[place]), size)

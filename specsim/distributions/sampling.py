"""From logits to the law that a token is drawn from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.distributions import truncation
from specsim.distributions.history import History, penalised
from specsim.distributions.law import one_hot
from specsim.distributions.logits import checked_logits, checked_temperature, exponentials
from specsim.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How logits become the law that a token is drawn from.

    In this order: logit bias, repetition, frequency and presence penalty, temperature, top-k, top-p, min-p. The greedy
    rule is the argmax after the penalties. Speculation is lossless with respect to this law, so target logits go
    through it before they are verified, and the draft law handed to a verifier is the one that the draft was drawn
    from, whatever warps made it.

    Parameters
    ----------
    temperature : float
        0 is the greedy rule; otherwise at least 1e-6 (a near-zero temperature is never read as greedy) [1].
    top_k : int or None
        Keep tokens whose logit is at least the k-th largest; ties with it are all kept.
    top_p : float or None
        Keep the fewest most probable tokens whose mass reaches `top_p`; of tokens tied at the cut the lower ids stay.
    min_p : float or None
        Keep tokens with at least `min_p` of the largest probability.
    logit_bias : mapping from token to float, or pairs
        Added to logits [nat]; minus infinity bans a token.
    repetition_penalty : float
        Above 0. Logits of tokens in the prompt or the output are divided by it if positive, else multiplied [1].
    presence_penalty : float
        Taken off the logits of tokens in the output [nat].
    frequency_penalty : float
        Taken off the logits of tokens in the output once for each time that they stand there [nat].

    Raises
    ------
    InputError
        A value outside its range.

    Notes
    -----
    The order and the number of tokens kept are those of Hugging Face transformers' `SequenceBiasLogitsProcessor`,
    `RepetitionPenaltyLogitsProcessor`, `TemperatureLogitsWarper`, `TopKLogitsWarper`, `TopPLogitsWarper` and
    `MinPLogitsWarper` in the order of `generate` (version 5.24), which leave the choice among tokens tied at the top-p
    cut to their sort. transformers has no presence and frequency penalty: these are those of vLLM (`SamplingParams`;
    `apply_penalties`: after the repetition penalty, which counts the prompt, where these two count the output alone)
    and of OpenAI's API. vLLM applies min-p before top-k and top-p: it keeps the same tokens unless top-p is used too,
    which then counts its mass among the tokens that min-p left.

    Examples
    --------
    >>> Sampling(temperature=1.0, top_k=2).probabilities([1.0, 1.0, 0.0])
    array([0.5, 0.5, 0. ])
    >>> rows = Sampling(frequency_penalty=1000.0).probabilities(
    ...     np.zeros((2, 3)), history=History(output=[0], draft=[2])
    ... )
    >>> rows
    array([[0. , 0.5, 0.5],
           [0. , 1. , 0. ]])
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    logit_bias: Mapping[int, float] | tuple[tuple[int, float], ...] = ()
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0

    def __post_init__(self) -> None:
        if checks.non_negative("temperature", self.temperature) != 0:
            checked_temperature(self.temperature)
        if self.top_k is not None:
            checks.integer("top_k", self.top_k, low=1)
        if self.top_p is not None:
            checks.number("top_p", self.top_p, low=0.0, high=1.0, open_low=True)
        if self.min_p is not None:
            checks.probability("min_p", self.min_p)
        object.__setattr__(self, "logit_bias", _pairs(self.logit_bias))  # so that a Sampling can be hashed
        checks.positive("repetition_penalty", self.repetition_penalty)
        checks.number("presence_penalty", self.presence_penalty)
        checks.number("frequency_penalty", self.frequency_penalty)

    @property
    def is_greedy(self) -> bool:
        """Whether every law is a one-hot at the first largest logit."""
        return self.temperature == 0

    @property
    def needs_history(self) -> bool:
        """Whether the law depends on the tokens before it through a penalty."""
        return self.repetition_penalty != 1 or self.presence_penalty != 0 or self.frequency_penalty != 0

    def probabilities(self, logits: ArrayLike, *, history: History | None = None) -> FloatArray:
        """The law of the next token for each row of logits.

        Parameters
        ----------
        logits : array, shape (..., V)
            Minus infinity bans a token. float32 gives float32, everything else float64.
        history : History or None
            The tokens before each row, drafted ones included; needed where there is a penalty, else not read.

        Returns
        -------
        array, shape (..., V)
            Rows that sum to 1 [1].

        Raises
        ------
        InputError
            A row that holds NaN or plus infinity, or that bans every token; the row is named. A penalty without a
            history. A token outside the vocabulary.
        """
        rows = self._checked(logits, history)
        if self.is_greedy:
            return one_hot(rows.argmax(axis=-1), vocabulary=rows.shape[-1], dtype=rows.dtype)
        if self.top_k is not None and self.top_k < rows.shape[-1]:
            rows = truncation.top_k(rows, self.top_k)
        law = exponentials(rows, self.temperature)
        if self.top_p is not None and self.top_p < 1:
            law = truncation.top_p(law, self.top_p)
        return truncation.min_p(law, self.min_p) if self.min_p else law

    def argmax(self, logits: ArrayLike, *, history: History | None = None) -> IntArray:
        """The first most probable token of each row, without its law; arguments and errors as of `probabilities`.

        Examples
        --------
        >>> Sampling(temperature=0.0, logit_bias={1: 3.0}).argmax([[1.0, 0.0], [9.0, 1.0]])
        array([1, 0])
        """
        return np.asarray(self._checked(logits, history).argmax(axis=-1))

    def _checked(self, logits: ArrayLike, history: History | None) -> FloatArray:
        """Rows after bias and penalties."""
        rows = checked_logits(logits)
        if not (self.logit_bias or self.needs_history):
            return rows
        return checked_logits(self._adjusted(rows, history), name="logits after bias and penalties")

    def _adjusted(self, rows: FloatArray, history: History | None) -> FloatArray:
        if self.logit_bias:
            tokens, biases = zip(*_pairs(self.logit_bias), strict=True)
            if max(tokens) >= rows.shape[-1]:
                raise InputError(f"logit_bias must name tokens in 0..{rows.shape[-1] - 1}, got {max(tokens)}")
            rows = rows.copy()
            rows[..., list(tokens)] += np.asarray(biases, dtype=rows.dtype)
        if not self.needs_history:
            return rows
        if history is None:
            raise InputError("history must be given with a penalty, got None")
        return penalised(
            rows,
            history,
            repetition=self.repetition_penalty,
            presence=self.presence_penalty,
            frequency=self.frequency_penalty,
        )


def _pairs(bias: Mapping[int, float] | tuple[tuple[int, float], ...]) -> tuple[tuple[int, float], ...]:
    pairs = sorted(dict(bias).items())
    return tuple((checks.integer("logit_bias token", token), _bias(token, value)) for token, value in pairs)


def _bias(token: int, value: float) -> float:
    return value if value == -math.inf else checks.number(f"logit_bias[{token}]", value)

"""What stood before a token, and the penalties on saying it again."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError

NONE = -1
"""In place of a token: there is none, so that texts of different lengths fit one array."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class History:
    """The tokens before each row of logits.

    Parameters
    ----------
    prompt, output : array of int, shape (..., N)
        Token ids, -1 for none; leading axes broadcast against those of the logits.
    draft : array of int, shape (..., G), or None
        Given, the logits have shape (..., R, V) with R at most G + 1, and row k comes after the first k drafts, which
        count as output. A chain whose law ignores its own drafts is another law than that of plain decoding.

    Raises
    ------
    InputError
        Anything but token ids.

    Examples
    --------
    >>> History(prompt=[5, 6], output=[7], draft=[8, 9]).rows((3,))[1].tolist()
    [[7, -1, -1], [7, 8, -1], [7, 8, 9]]
    """

    prompt: ArrayLike = ()
    output: ArrayLike = ()
    draft: ArrayLike | None = None

    def __post_init__(self) -> None:
        for name in ("prompt", "output", "draft"):
            tokens = getattr(self, name)
            if tokens is not None:
                object.__setattr__(self, name, _tokens(name, tokens))

    def rows(self, lead: tuple[int, ...]) -> tuple[IntArray, IntArray]:
        """Prompt and output before each row of logits of shape (*lead, V), drafts among the output.

        Raises
        ------
        InputError
            Leading axes that do not broadcast to `lead`, or more rows than drafts and one.
        """
        prompt, output = np.asarray(self.prompt), np.asarray(self.output)
        if self.draft is None:
            return _spread("prompt", prompt, lead), _spread("output", output, lead)
        draft = np.asarray(self.draft)
        if not lead or lead[-1] > draft.shape[-1] + 1:
            raise InputError(
                f"logits must have shape (..., R, V), R at most {draft.shape[-1] + 1} for {draft.shape[-1]} drafts, "
                f"got leading axes {lead}"
            )
        before = np.arange(draft.shape[-1]) < np.arange(lead[-1])[:, None]
        standing = _spread("draft", np.where(before, draft[..., None, :], NONE), lead)
        prompt, output = (
            _spread(name, side[..., None, :], lead) for name, side in (("prompt", prompt), ("output", output))
        )
        return prompt, np.concatenate((output, standing), axis=-1)


def penalised(
    rows: FloatArray, history: History, *, repetition: float, presence: float, frequency: float
) -> FloatArray:
    """Logits after the penalties on tokens in the history; see `Sampling`.

    Notes
    -----
    In time that grows with the history, not with the vocabulary, but for one copy of the rows.
    """
    prompt, output = history.rows(rows.shape[:-1])
    said, counts = np.unique(_places("output", output, rows.shape[-1]), return_counts=True)
    scores = rows.reshape(-1).copy()
    with np.errstate(over="ignore"):  # the lowest float is a common ban; it may become -inf here
        if repetition != 1:
            seen = np.union1d(said, _places("prompt", prompt, rows.shape[-1]))
            scores[seen] = np.where(scores[seen] < 0, scores[seen] * repetition, scores[seen] / repetition)
        scores[said] -= (frequency * counts + presence).astype(scores.dtype)
    return scores.reshape(rows.shape)


def _places(name: str, tokens: IntArray, vocabulary: int) -> IntArray:
    """Where each token stands in the flattened logits."""
    if tokens.size and tokens.max() >= vocabulary:
        raise InputError(f"{name} must hold tokens in 0..{vocabulary - 1}, or -1 for none, got {tokens.max()}")
    flat = tokens.reshape(math.prod(tokens.shape[:-1]), tokens.shape[-1])
    row, column = np.nonzero(flat != NONE)
    return np.asarray(row * vocabulary + flat[row, column])


def _tokens(name: str, tokens: ArrayLike) -> IntArray:
    ids = np.asarray(tokens)
    if ids.ndim == 0:
        raise InputError(f"{name} must have an axis of tokens, got {tokens!r}")
    return checks.integers(name, ids if ids.size else ids.astype(np.intp), low=NONE)


def _spread(name: str, tokens: IntArray, lead: tuple[int, ...]) -> IntArray:
    try:
        return np.broadcast_to(tokens, (*lead, tokens.shape[-1]))
    except ValueError:
        raise InputError(f"{name} must have leading axes that fit {lead}, got shape {tokens.shape}") from None

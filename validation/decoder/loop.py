"""decode: prompt in, tokens and one record per round out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.random import Generator

from specsim import checks
from specsim.distributions import Sampling
from specsim.errors import InputError
from specsim.records import RoundRecord
from specsim.verifiers import VERIFIERS
from specsim.verifiers.protocol import Verifier
from validation.decoder import round as rounds
from validation.decoder.proposers import NoProposer, Proposer
from validation.decoder.sequence import SequenceModel


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoding:
    """A decoded text.

    Parameters
    ----------
    tokens
        New tokens, without the prompt, with the end-of-text token when there was one.
    records
        One per round.
    finish
        "eos", or "length" when `max_tokens` or the context was used up.
    prefill_seconds
        Reading the prompt, target and proposer together; in no record [s].
    """

    tokens: tuple[int, ...]
    records: tuple[RoundRecord, ...]
    finish: str
    prefill_seconds: float


def decode(
    target: SequenceModel,
    proposer: Proposer | None,
    prompt_tokens: Sequence[int],
    *,
    gamma: int = 4,
    max_tokens: int = 128,
    sampling: Sampling | None = None,
    verifier: Verifier | None = None,
    eos_ids: Collection[int] = (),
    seed: int | Generator = 0,
    request: str = "0",
) -> Decoding:
    """Decode one text speculatively, or plainly when there is no proposer.

    Parameters
    ----------
    target
        The model whose law the text follows; its cache is emptied first.
    proposer
        Who drafts; None decodes plainly with the same loop.
    prompt_tokens
        At least one token, at most the target's context limit.
    gamma
        Most tokens drafted per round; fewer near `max_tokens` and near the context limit, so that no token is made
        that could not be kept [1].
    max_tokens
        Most new tokens [1].
    sampling
        Temperature and truncation, applied to target and drafter alike; temperature 1 by default.
    verifier
        By default "greedy" at temperature 0 and "rejection" otherwise.
    eos_ids
        Tokens that end the text.
    seed
        Seed, or a generator to go on with.
    request
        Name of the text in the records.

    Returns
    -------
    Decoding

    Raises
    ------
    InputError
        An empty prompt or one beyond the context, ids outside of the vocabulary, a proposer of another vocabulary,
        or logits that are not finite.

    Notes
    -----
    The text follows the target's law under `sampling` when the verifier is lossless, with the numerics of the
    verifying pass: a pass over several tokens may round differently from a pass over one.

    Examples
    --------
    >>> from validation.decoder.proposers import ModelProposer
    >>> from validation.decoder.table_model import TableModel
    >>> target = TableModel([[0, 1, 0], [0, 0, 1], [1, 0, 0]])  # 0 -> 1 -> 2 -> 0
    >>> decoding = decode(target, ModelProposer(TableModel(target.laws)), [0], gamma=2, max_tokens=5)
    >>> decoding.tokens, [record.committed for record in decoding.records], decoding.finish
    ((1, 2, 0, 1, 2), [3, 2], 'length')
    """
    sampling = sampling or Sampling()
    proposer = proposer or NoProposer()
    verifier = verifier or VERIFIERS["greedy" if sampling.is_greedy else "rejection"]
    gamma = checks.integer("gamma", gamma)
    checks.integer("max_tokens", max_tokens, low=1)
    tokens = _prompt(prompt_tokens, target=target, proposer=proposer)
    rng = np.random.default_rng(seed)
    started = perf_counter()
    _prefill(tokens, target=target, proposer=proposer, eos_ids=eos_ids)
    prefill_seconds = perf_counter() - started
    end = len(tokens) + max_tokens
    records: list[RoundRecord] = []
    while len(tokens) < min(end, target.context_limit + 1) and not (records and tokens[-1] in eos_ids):
        records.append(
            rounds.play(
                tokens,
                target=target,
                proposer=proposer,
                verifier=verifier,
                sampling=sampling,
                gamma=min(gamma, end - len(tokens) - 1, target.context_limit - len(tokens)),
                eos_ids=eos_ids,
                rng=rng,
                request=request,
                index=len(records),
            )
        )
    return Decoding(
        tokens=tuple(tokens[len(prompt_tokens) :]),
        records=tuple(records),
        finish="eos" if tokens[-1] in eos_ids else "length",
        prefill_seconds=prefill_seconds,
    )


def _prompt(tokens: Sequence[int], *, target: SequenceModel, proposer: Proposer) -> list[int]:
    """The prompt as a list of its own, checked against target and proposer."""
    if proposer.vocabulary_size not in (None, target.vocabulary_size):
        raise InputError(
            f"proposer {proposer.name} must have the target's vocabulary of {target.vocabulary_size} tokens, "
            f"got {proposer.vocabulary_size}"
        )
    checks.integer("prompt tokens", len(tokens), low=1, high=target.context_limit)
    checks.integer("smallest prompt token", min(tokens))
    checks.integer("largest prompt token", max(tokens), high=target.vocabulary_size - 1)
    return [int(token) for token in tokens]


def _prefill(tokens: list[int], *, target: SequenceModel, proposer: Proposer, eos_ids: Collection[int]) -> None:
    """Bring the prompt but for its last token into the target's cache, and show it to the proposer."""
    target.truncate(0)
    if len(tokens) > 1:
        target.score(tokens[:-1], keep=1)
    proposer.begin(tokens, eos_ids=eos_ids)

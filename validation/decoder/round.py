"""One round: draft, one pass of the target, verify, commit."""

from __future__ import annotations

from collections.abc import Collection
from time import perf_counter

import numpy as np
from numpy.random import Generator

from specsim.distributions import Sampling
from specsim.records import RoundRecord
from specsim.verifiers.protocol import Verifier, at_position
from validation.decoder.proposers.protocol import Proposer, up_to_eos
from validation.decoder.sequence import SequenceModel, check_logits


def play(
    tokens: list[int],
    *,
    target: SequenceModel,
    proposer: Proposer,
    verifier: Verifier,
    sampling: Sampling,
    gamma: int,
    eos_ids: Collection[int],
    rng: Generator,
    request: str,
    index: int,
) -> RoundRecord:
    """Play one round and append what it commits to `tokens`.

    Parameters
    ----------
    tokens
        The text so far; all but its last token are in the target's cache, before and after.
    target, proposer, verifier
        Who scores, who drafts, and the rule that judges.
    sampling
        Turns logits into the law of the text.
    gamma
        Tokens to draft at most; 0 is a step of plain decoding.
    eos_ids
        Tokens that end a text; nothing is committed after one.
    rng
        Source of the drafts and of the verdicts.
    request, index
        Go into the record.

    Returns
    -------
    RoundRecord
        Counts, and the round's seconds in disjoint parts.

    Raises
    ------
    InputError
        Logits that are not finite.
    """
    begun = perf_counter()
    draft = proposer.propose(tokens, gamma=gamma, sampling=sampling, rng=rng)
    drafted = perf_counter()
    logits = target.score([tokens[-1], *draft.tokens])  # row k: what follows the k-th draft
    scored = perf_counter()
    check_logits(logits, whose="target", position=len(tokens))
    verdict = at_position(verifier, len(tokens)).verify(
        sampling.probabilities(logits), np.array(draft.tokens, dtype=np.int64), q=draft.rows, rng=rng
    )
    accepted, token = int(verdict.accepted), int(verdict.token)
    judged = perf_counter()
    cached = len(tokens) - 1
    committed = up_to_eos([*draft.tokens[:accepted], token], eos_ids)
    tokens.extend(committed)
    target.truncate(len(tokens) - 1)  # the last token is scored in the next round
    done = perf_counter()
    return RoundRecord(
        request=request,
        round=index,
        proposer=proposer.name,
        verifier=verifier.name,
        gamma=gamma,
        drafted=len(draft.tokens),
        accepted=min(accepted, len(committed)),
        committed=len(committed),
        context_tokens=cached,
        draft_passes=draft.passes,
        draft_seconds=drafted - begun,
        verify_seconds=scored - drafted,
        sample_seconds=judged - scored,
        host_seconds=done - judged,
    )

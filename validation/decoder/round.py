"""One round of a batch: draft, one pass of the target, judge, commit."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

from specsim.records import RoundRecord
from validation.decoder.judge import Judgement, Rule, judge
from validation.decoder.language_model import LanguageModel, check_logits
from validation.decoder.proposers.protocol import Draft, Proposer
from validation.decoder.text import Text


class Played(NamedTuple):
    """What a round did to one text."""

    tokens: list[int]
    record: RoundRecord


def play(
    texts: Sequence[Text],
    *,
    target: LanguageModel,
    proposer: Proposer,
    rule: Rule | None,
    gammas: Sequence[int],
    index: int,
) -> list[Played]:
    """Play one round and commit what stands.

    Parameters
    ----------
    texts
        None of them finished; all but the last token of each are in the target's cache, before and after.
    target, proposer, rule
        Who scores, who drafts, and how drafts are judged; see `judge` for None.
    gammas
        How deep to draft for each text at most; 0 is a step of plain decoding.
    index
        Of the round, for the records.

    Returns
    -------
    list of Played
        For each text the tokens committed and the round's record. The seconds are those of the whole batch, in
        disjoint parts: drafting (riders and features absorbed among it), the target's pass, judging, and the rest.

    Raises
    ------
    InputError
        Logits that are not finite.
    """
    begun = perf_counter()
    proposed = proposer.propose(texts, gammas=gammas)
    drafted = perf_counter()
    proposed = [_fitting(text, draft, target.context_limit) for text, draft in zip(texts, proposed, strict=True)]
    reading = target.read(
        [[text.tokens[-1], *draft.tokens] for text, draft in zip(texts, proposed, strict=True)],
        trees=[draft.topology for draft in proposed],
        layers=proposer.feature_layers,
    )
    scored = perf_counter()
    drafts, judged = [draft.judged for draft in proposed], []
    for text, draft, logits in zip(texts, drafts, reading.logits, strict=True):
        check_logits(logits, whose="target", position=len(text.tokens))
        judged.append(judge(rule, text, draft, logits[: len(draft.tokens) + 1]))
    verified = perf_counter()
    proposer.ride(texts, [rows[len(draft.tokens) + 1 :] for rows, draft in zip(reading.logits, drafts, strict=True)])
    ridden = perf_counter()
    cached = [len(text.tokens) - 1 for text in texts]
    committed = [_commit(*turn) for turn in zip(texts, drafts, judged, strict=True)]
    # of what was read, the text's last token and the drafts that were kept; the newest token is read in the next round
    kept = [[0, *(node + 1 for node in found.nodes)][: len(new)] for found, new in zip(judged, committed, strict=True)]
    target.compact(kept)
    stored = perf_counter()
    features = reading.features
    proposer.absorb(
        texts, None if features is None else [rows[places] for rows, places in zip(features, kept, strict=True)]
    )
    done = perf_counter()
    return [
        Played(
            tokens=new,
            record=RoundRecord(
                request=text.request.name,
                round=index,
                proposer=proposer.name,
                verifier=found.rule,
                gamma=max(gamma, len(draft.tokens)),
                drafted=len(draft.tokens),
                accepted=min(len(found.nodes), len(new)),
                committed=len(new),
                batch=len(texts),
                context_tokens=context,
                draft_passes=draft.passes,
                draft_seconds=drafted - begun + ridden - verified + done - stored,
                verify_seconds=scored - drafted,
                sample_seconds=verified - scored,
                host_seconds=stored - ridden,
            ),
        )
        for text, draft, found, new, gamma, context in zip(
            texts, drafts, judged, committed, gammas, cached, strict=True
        )
    ]


def _fitting(text: Text, draft: Draft, limit: int) -> Draft:
    """The draft without riders where they would stand beyond the context."""
    deepest = draft.topology.depth if draft.riders and draft.topology else 0
    return draft if len(text.tokens) + deepest <= limit else draft.judged


def _commit(text: Text, draft: Draft, found: Judgement) -> list[int]:
    return text.commit([*(draft.tokens[node] for node in found.nodes), found.token])

"""Judging what was drafted: which rule, over which laws, and which drafts stand."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from specsim.distributions.draw import draw
from specsim.errors import InputError
from specsim.topology import chain
from specsim.verifiers import (
    TREE_VERIFIERS,
    VERIFIERS,
    Gumbel,
    LazyRows,
    TreeVerifier,
    Verifier,
    at_position,
    greedy_path,
)
from specsim.verifiers.chain import ChainRule
from validation.decoder.language_model import Logits
from validation.decoder.proposers.protocol import Draft
from validation.decoder.text import Text

Rule = Verifier | TreeVerifier


class Judgement(NamedTuple):
    """What stands of a draft."""

    nodes: tuple[int, ...]
    """Places of the accepted drafts, in the order of the text."""
    token: int
    """The one after them."""
    rule: str
    """Name of the rule that said so."""


def judge(rule: Rule | None, text: Text, draft: Draft, logits: Logits) -> Judgement:
    """Judge one text's draft.

    Parameters
    ----------
    rule
        None takes "greedy" at temperature 0, else "rejection" for chains, and for trees "top_k" or, where drafts were
        sampled, "recursive_without_replacement".
    text
        As it stands before the round.
    draft
        What was drafted.
    logits
        The target's (G + 1, V): row 0 after the text, row k + 1 after draft k.

    Raises
    ------
    InputError
        A rule for chains and a tree that is none.
    """
    before = drafted_before(draft)
    if rule is None and text.sampling.is_greedy:
        best = text.argmax(logits, drafted=before).tolist()
        return Judgement(*greedy_path(draft.tokens, best, topology=draft.topology), "greedy")
    if rule is None and not draft.tokens:  # what the usual rule comes to, without its checks
        law = text.laws(logits, drafted=before)[0]
        return Judgement((), int(draw(law, np.asarray(text.rng.random()))), _usual(draft).name)
    rule = rule or _usual(draft)
    tokens = np.array(draft.tokens, dtype=np.int64)
    if not is_for_trees(rule):
        if draft.topology is not None:
            raise InputError(f"rule {rule.name} judges chains, a tree was drafted; {known(TREE_VERIFIERS)}")
        stops_early = type(rule).verify is ChainRule.verify
        p = _lazy(text, before, logits) if stops_early else text.laws(logits, drafted=before)
        found = at_position(_coupled(rule, text), len(text.tokens)).verify(p, tokens, q=draft.q, rng=text.rng)
        return Judgement(tuple(range(int(found.accepted))), int(found.token), rule.name)
    topology = draft.topology or chain(len(draft.tokens))
    q = draft.q if draft.topology is not None or draft.q is None else np.concatenate((draft.q, draft.q[-1:]))
    verdict = rule.verify(topology, text.laws(logits, drafted=before), tokens, q=q, rng=text.rng)
    node = int(verdict.node)
    return Judgement(topology.paths[node] if node >= 0 else (), int(verdict.token), rule.name)


def drafted_before(draft: Draft) -> list[tuple[int, ...]]:
    """For each row of the target's logits, the drafts that stand before the token that it predicts."""
    if draft.topology is None:
        return [draft.tokens[:place] for place in range(len(draft.tokens) + 1)]
    return [(), *(tuple(draft.tokens[node] for node in path) for path in draft.topology.paths)]


def is_for_trees(rule: Rule) -> bool:
    """Whether the rule judges trees (and chains as such)."""
    return hasattr(rule, "node_law")


def known(rules: dict[str, TreeVerifier]) -> str:
    """The names, for a message."""
    return f"known for trees: {', '.join(rules)}"


def _lazy(text: Text, drafted: Sequence[Sequence[int]], logits: Logits) -> LazyRows:
    """The laws, each computed when it is asked for."""
    count, vocabulary = logits.shape
    return LazyRows(
        lambda row: text.laws(logits[row : row + 1], drafted=drafted[row : row + 1])[0],
        count=count,
        vocabulary=vocabulary,
    )


def _usual(draft: Draft) -> Rule:
    if draft.topology is None:
        return VERIFIERS["rejection"]
    return TREE_VERIFIERS["top_k" if draft.q is None else "recursive_without_replacement"]


def _coupled(rule: Verifier, text: Text) -> Verifier:
    """Gumbel coupling with the noise of this text."""
    if isinstance(rule, Gumbel) and text.noise is not None:
        return dataclasses.replace(rule, noise=text.noise)
    return rule

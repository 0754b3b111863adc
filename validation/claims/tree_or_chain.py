"""A tree of drafts against a chain of as many: accepted lengths foretold from the target's own probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from specsim import checks
from specsim.checks import FloatArray
from specsim.topology import Topology, chain, positional_length, sequoia, standing, target_length
from specsim.verifiers import MULTI_DRAFT, TREE_VERIFIERS
from validation.claims.drafting import HELD_OUT, Drafting, Texts, by_text, coins, open_drafting, watch
from validation.claims.places import reading
from validation.claims.protocol import ClaimResult, Settings
from validation.claims.statement import Sums, judged, state
from validation.decoder.proposers import Proposer

SHAPES = ("chain", "sequoia", "dynamic")


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeOrChain:
    """At equal drafted nodes, chain and trees stand as long as the target's probabilities of their nodes say.

    Parameters
    ----------
    texts, tokens : int
        Texts of either part, times the budget, and new tokens of each [1].
    nodes : int
        Drafted nodes per round, whatever the shape [1].

    Notes
    -----
    Drafts are the drafter's most probable tokens, certain given the text: a chain, the Sequoia tree for the acceptance
    by rank of texts that the target wrote alone, and EAGLE-2's tree, which differs from round to round. Stated is
    `specsim.topology.target_length` of the trees drafted on the calibration texts; rows show beside it what acceptance
    by rank alone foretells, which takes all places for alike. Measured is what stands on other texts. The fault adds
    the nodes' chances without multiplying them along the path.
    """

    texts: int = 28
    tokens: int = 14
    nodes: int = 4
    name: ClassVar[str] = "tree_or_chain"

    def __post_init__(self) -> None:
        checks.integer("texts", self.texts, low=2)
        checks.integer("nodes", self.nodes, low=2)
        checks.integer("tokens", self.tokens, low=self.nodes + 1)

    def run(self, settings: Settings) -> ClaimResult:
        """Draft and look, state, decode with every shape."""
        pair, count = open_drafting(settings), settings.scaled(self.texts, least=8)
        options = {"count": count, "tokens": self.tokens, "seed": settings.seed}
        ranks = np.concatenate([places.ranks for places in reading(pair, Texts(**options))[1.0, 1.0]]).mean(axis=0)
        shapes = {"chain": chain(self.nodes), "sequoia": sequoia(ranks, nodes=self.nodes)}
        statements, wrong = {}, {}
        for shape in SHAPES:
            known = trees(pair, Texts(**options), shape=shape, nodes=self.nodes, topology=shapes.get(shape))
            statements[shape] = state(
                known.expected, setting={"shape": shape, "nodes": self.nodes}, quantity="E_accepted", texts=count
            )
            wrong[shape] = known.not_multiplied
            settings.progress(len(statements) / 6)
        measured = {}
        for shape in SHAPES:
            found = trees(
                pair, Texts(part=HELD_OUT, **options), shape=shape, nodes=self.nodes, topology=shapes.get(shape)
            )
            measured[shape] = found.accepted.value
            settings.progress(0.5 + len(measured) / 6)
        return judged(
            self.name,
            [(statements[shape], measured[shape]) for shape in SHAPES],
            model=pair.name,
            settings=settings,
            faults={
                "chances not multiplied along the path": [
                    (statements[shape].instead(wrong[shape]), measured[shape]) for shape in SHAPES
                ]
            },
            figures={f"tree_over_chain_tokens_{shape}": _ratio(measured, shape) for shape in SHAPES[1:]},
            also=[
                {
                    "shape": shape,
                    "quantity": "E_accepted, by rank alone",
                    "predicted": positional_length(topology, acceptance=ranks).E_accepted,
                    "measured": measured[shape],
                }
                for shape, topology in shapes.items()
            ],
            note=f"tokens per round of the dynamic tree over the chain {_ratio(measured, 'dynamic') - 1:+.1%}",
        )


class Trees(NamedTuple):
    """Rounds that drafted trees: E_accepted as counted and as expected, and the sum of all chances [1]."""

    accepted: Sums
    expected: Sums
    not_multiplied: float


@lru_cache(maxsize=8)
def trees(pair: Drafting, texts: Texts, *, shape: str, nodes: int, topology: Topology | None) -> Trees:
    """Decode texts with trees of certain drafts, and look at the target's probabilities of their nodes."""
    proposer = _proposer(pair, shape, nodes=nodes, topology=topology)
    found = watch(pair, proposer, texts, gamma=nodes, rule=TREE_VERIFIERS["top_k"], look=_look)
    places = np.array([one.place for one in found])
    seen = np.array([(one.step.record.accepted, 1, one.seen.length, one.seen.chances) for one in found])
    accepted, rounds, expected, chances = by_text(seen, places, texts.count).T
    survival = np.mean([one.seen.survival for one in found], axis=0)
    return Trees(
        accepted=Sums(top=accepted, bottom=rounds),
        expected=Sums(top=expected, bottom=rounds, coins=coins(survival)),
        not_multiplied=float(chances.sum() / rounds.sum()),
    )


class _Seen(NamedTuple):
    """Of one tree: its expected length, the sum of its nodes' chances, and survival by depth up to its nodes [1]."""

    length: float
    chances: float
    survival: FloatArray


def _look(asked: Mapping[str, Any]) -> _Seen:
    topology, tokens = asked["topology"], np.asarray(asked["tokens"])
    chances = asked["p"][np.array(topology.parents, dtype=int) + 1, tokens]
    depths = np.array(topology.depths, dtype=int) - 1
    return _Seen(
        length=target_length(topology, chances=chances).E_accepted,
        chances=float(chances.sum()),
        survival=np.bincount(depths, weights=standing(topology, chances), minlength=len(tokens)),
    )


def _proposer(pair: Drafting, shape: str, *, nodes: int, topology: Topology | None) -> Proposer:
    from validation.decoder.proposers.dynamic_tree import DynamicTreeProposer
    from validation.decoder.proposers.sampled_tree import SampledTreeProposer

    if shape == "chain":
        return pair.proposer(argmax=True)
    if topology is None:
        return DynamicTreeProposer(pair.draft, nodes=nodes)
    return SampledTreeProposer(pair.draft, topology=topology, rule=MULTI_DRAFT["top_k"])


def _ratio(measured: Mapping[str, float], shape: str) -> float:
    return (1 + measured[shape]) / (1 + measured["chain"])

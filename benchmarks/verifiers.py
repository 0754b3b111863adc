"""Time of each verifier over that of the softmax that made the target's laws: `python -m benchmarks.verifiers`.

A current vocabulary, one round of a batch in float32, and no loop over vocabulary or batch anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
import numpy as np

from benchmarks.timing import Ratio, interleaved, options, ratio, report
from specsim.checks import FloatArray, IntArray
from specsim.distributions import sample, softmax
from specsim.topology import Topology
from specsim.verifiers import MULTI_DRAFT, TREE_VERIFIERS, VERIFIERS, CoupledNoise, Gumbel
from specsim.verifiers.multi_draft.drawing import without_replacement

VOCABULARY = 152_064
GAMMA = 8
CANDIDATES = 4
TREE = Topology(parents=(-1, -1, 0, 0, 1, 1, 2, 3))
NOTES = (
    f"vocabulary {VOCABULARY}; 'softmax' made the target's laws, float32, of all rows that the verifier is given",
    f"chains: {GAMMA} drafts; candidates: {CANDIDATES} for one token; trees: {TREE.nodes} nodes, depth 3",
)


def laws(batch: int, rows: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Logits of the target, and laws of target and draft, shape (batch, rows, VOCABULARY), made row by row."""
    rng = np.random.default_rng(0)
    logits, p, q = (np.empty((batch, rows, VOCABULARY), dtype=np.float32) for _ in range(3))
    for row in np.ndindex(batch, rows):
        logits[row] = rng.normal(scale=3.0, size=VOCABULARY)
        p[row] = softmax(logits[row])
        q[row] = softmax(logits[row] + rng.standard_normal(VOCABULARY, dtype=np.float32))
    return logits, p, q


def chain(q: FloatArray, rng: np.random.Generator) -> IntArray:
    """One draft from every law, shape (batch, rows)."""
    return np.array([[sample(law, rng.random()) for law in rows] for rows in q])


def tree(q: FloatArray, rng: np.random.Generator) -> IntArray:
    """Siblings drawn without replacement, shape (batch, nodes)."""
    tokens = np.empty((len(q), TREE.nodes), dtype=np.intp)
    for parent in sorted(set(TREE.parents)):
        children = [node for node, other in enumerate(TREE.parents) if other == parent]
        tokens[:, children] = without_replacement(q[:, parent + 1], candidates=len(children), rng=rng)
    return tokens


def timed(rules: Iterable[tuple[str, Callable[[], object]]], logits: FloatArray, *, repeats: int) -> list[Ratio]:
    """Each rule over the softmax of these logits."""
    tasks = {"softmax": lambda: softmax(logits), **dict(rules)}
    seconds = interleaved(tasks, repeats=repeats)
    return [ratio(seconds, name=name, over="softmax") for name in tasks]


@click.command()
@click.option("--batch", type=click.IntRange(min=1), default=64, show_default=True)
@click.option("--only", type=click.Choice(["chains", "candidates", "trees"]), help="One kind of rules; default all.")
@options
def main(batch: int, only: str | None, repeats: int, as_json: bool) -> None:
    """Time of each verifier over that of a softmax."""
    rng = np.random.default_rng(1)
    logits, p, q = laws(batch, GAMMA + 1)
    drafts, noise = q[:, :GAMMA], Gumbel(noise=CoupledNoise(seed=np.arange(batch))).at(np.full(batch, 1000))
    ratios: list[Ratio] = []
    if only in (None, "chains"):
        tokens = chain(drafts, rng)
        rules = {f"chain: {name}": rule for name, rule in VERIFIERS.items()} | {"chain: gumbel, shared noise": noise}
        tasks = [(name, lambda rule=rule: rule.verify(p, tokens, q=drafts, rng=rng)) for name, rule in rules.items()]
        ratios += timed(tasks, logits, repeats=repeats)
    if only in (None, "candidates"):
        first, law = p[:, 0], q[:, 0]
        drawn = {name: rule.draw(law, candidates=CANDIDATES, rng=rng) for name, rule in MULTI_DRAFT.items()}
        tasks = [
            (f"candidates: {name}", lambda name=name, rule=rule: rule.verify(first, drawn[name], q=law, rng=rng))
            for name, rule in MULTI_DRAFT.items()
        ]
        ratios += timed(tasks, logits[:, 0], repeats=repeats)
    if only in (None, "trees"):
        nodes = tree(q, rng)
        tasks = [
            (f"tree: {name}", lambda rule=rule: rule.verify(TREE, p, nodes, q=q, rng=rng))
            for name, rule in TREE_VERIFIERS.items()
        ]
        ratios += timed(tasks, logits, repeats=repeats)
    inputs = {"batch": batch, "vocabulary": VOCABULARY, "gamma": GAMMA, "repeats": repeats, "only": only}
    report("benchmarks.verifiers", ratios, inputs=inputs, notes=NOTES, as_json=as_json)


if __name__ == "__main__":
    main()

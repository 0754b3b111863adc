"""The goldens of multi-draft rules and trees: each row's expected values again, from `exact_trees` in fractions.

`python -m tests.reference.golden_trees` rewrites golden_trees.json from its own cases; a test compares.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.reference import exact, exact_trees
from tests.reference.golden_spine import tables

PATH = Path(__file__).with_name("golden_trees.json")


def rows(kind: str | None = None) -> list[dict[str, Any]]:
    """The golden rows, of one kind or all."""
    return [row for row in json.loads(PATH.read_text()) if kind in (None, row["kind"])]


def expected(kind: str, case: dict[str, Any]) -> dict[str, Any]:
    """What a row of `kind` should say about `case`."""
    answer: dict[str, Any] = _text(EXPECTED[kind](case))
    return answer


def law(values: list[str]) -> exact.Law:
    """Fractions from text."""
    return tuple(Fraction(value) for value in values)


def _single_step(case: dict[str, Any]) -> dict[str, Any]:
    p, q, count = law(case["p"]), law(case["q"]), case["k"]
    steps = {
        judge.__name__: exact_trees.step_law(p, q, judge, draws, count=count)
        for judge, draws in (
            (exact_trees.recursive_with_replacement, exact_trees.independent),
            (exact_trees.recursive_without_replacement, exact_trees.distinct),
            (exact_trees.top_k, exact_trees.likeliest),
            (exact_trees.k_seq, exact_trees.independent),
        )
    }
    by_place = {name: exact_trees.acceptance(step, count) for name, step in steps.items()}
    (tokens, _), *_ = exact_trees.likeliest(q, count)
    residual = exact_trees.k_seq(p, q, (0,) * count)[1]
    return {
        "recursive_with_replacement": by_place["recursive_with_replacement"],
        "recursive_without_replacement": by_place["recursive_without_replacement"],
        "optimum_with_replacement": exact_trees.optimum(p, q, exact_trees.independent, count=count),
        "optimum_without_replacement": exact_trees.optimum(p, q, exact_trees.distinct, count=count),
        "top_k_tokens": list(tokens),
        "top_k": sum(by_place["top_k"]),
        "k_seq_rho": float(exact_trees.k_seq_rho(p, q, count)),
        "k_seq": float(sum(by_place["k_seq"])),
        "k_seq_residual": [float(share) for share in residual],
        "emits_p": all(exact_trees.emitted(step, len(p)) == p for step in steps.values()),
    }


def _tree(case: dict[str, Any]) -> dict[str, Any]:
    p, q = tables(case)
    parents = exact_trees.branching(*case["branching"])
    return {
        name: exact_trees.accepted_pmf(p, q, parents, rule)
        for name, rule in (
            ("recursive_without_replacement", exact_trees.stepwise(exact_trees.recursive_without_replacement)),
            ("traversal", exact_trees.traversal),
        )
    }


def _optimum(case: dict[str, Any]) -> dict[str, Any]:
    p, q, count = law(case["p"]), law(case["q"]), case["k"]
    return {
        "with_replacement": exact_trees.optimum(p, q, exact_trees.independent, count=count),
        "without_replacement": exact_trees.optimum(p, q, exact_trees.distinct, count=count),
    }


def _sequoia(case: dict[str, Any]) -> dict[str, Any]:
    vector, nodes = law(case["acceptance"]), case["nodes"]
    depth = case.get("max_depth", nodes)
    answer: dict[str, Any] = {"E_tokens": exact_trees.most_tokens(vector, nodes=nodes, depth=depth)}
    if "max_depth" not in case:
        answer["chain_E_tokens"] = exact_trees.tree_tokens([(0,) * k for k in range(1, nodes + 1)], vector)
        answer["rank_paths"] = _best_first(vector, nodes=nodes)
    return answer


def _best_first(vector: exact.Law, *, nodes: int) -> list[list[int]]:
    """The most probable nodes one by one; ties to the shallower, then to better ranks."""
    taken: list[exact.Text] = []
    for _ in range(nodes):
        open_nodes = [
            (*parent, rank)
            for parent in [(), *taken]
            for rank in range(len(vector))
            if (*parent, rank) not in taken and (rank == 0 or (*parent, rank - 1) in taken)
        ]
        taken.append(
            min(open_nodes, key=lambda ranks: (1 - exact_trees.tree_tokens([ranks], vector), len(ranks), ranks))
        )
    return [list(ranks) for ranks in taken]


def _eagle2(case: dict[str, Any]) -> dict[str, Any]:
    p, q = tables(case)
    chosen = exact_trees.expand_and_rerank(q, nodes=case["nodes"], top=case["top_k"], depth=case["depth"])
    return {
        "paths": [list(text) for text, _ in chosen],
        "values": [value for _, value in chosen],
        "draft_passes": case["depth"],
        "E_accepted": sum(exact_trees.path_probability(p, text) for text, _ in chosen),
        "surrogate_E_accepted": sum(value for _, value in chosen),
    }


EXPECTED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "multi_draft_single_step": _single_step,
    "tree_verification": _tree,
    "optimal_multi_draft_fast": _optimum,
    "sequoia_optimal_tree": _sequoia,
    "sequoia_optimal_tree_depth_limited": _sequoia,
    "eagle2_dynamic_tree": _eagle2,
}


def _text(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _text(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_text(item) for item in value]
    return str(value) if isinstance(value, (Fraction, float)) else value


def main() -> None:
    """Rewrite the expected values."""
    new = [{**row, "expected": expected(row["kind"], row["case"])} for row in rows()]
    PATH.write_text("[\n" + ",\n".join(json.dumps(row) for row in new) + "\n]\n")


if __name__ == "__main__":
    main()

"""The goldens of the analytic spine: each row's expected values again, from `exact` in fractions.

`python -m tests.reference.golden_spine` rewrites golden_spine.json from its own cases; a test compares.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tests.reference import exact

PATH = Path(__file__).with_name("golden_spine.json")


def rows(kind: str | None = None) -> list[dict[str, Any]]:
    """The golden rows, of one kind or all."""
    return [row for row in json.loads(PATH.read_text()) if kind in (None, row["kind"])]


def numbers(values: list[str]) -> list[float]:
    """Fractions as floats."""
    return [float(Fraction(value)) for value in values]


def tables(case: dict[str, Any]) -> tuple[exact.Table, exact.Table]:
    """The two tables of a case: one law each, or one for every prefix."""
    if "p" in case:
        return exact.iid(_law(case["p"])), exact.iid(_law(case["q"]))
    laws = {
        tuple(map(int, prefix.split(","))) if prefix else (): (_law(pair["p"]), _law(pair["q"]))
        for prefix, pair in case["prefix_tables"].items()
    }
    return (lambda text: laws[text][0]), (lambda text: laws[text][1])


def arrays(case: dict[str, Any], *, one_hot: bool = False) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The prefix tables of a case as specsim takes them; with `one_hot`, the draft is its argmax."""
    p, q = tables(case)
    gamma = case["gamma"]
    return prefix_arrays(p, depths=gamma + 1), prefix_arrays(exact.greedy_table(q) if one_hot else q, depths=gamma)


def prefix_arrays(table: exact.Table, *, depths: int) -> list[np.ndarray]:
    """A table as one array for each prefix length, shape (V,) * k + (V,)."""
    size = len(table(()))
    return [
        np.array([[float(x) for x in table(text)] for text in itertools.product(range(size), repeat=k)]).reshape(
            (size,) * (k + 1)
        )
        for k in range(depths)
    ]


def expected(kind: str, case: dict[str, Any]) -> dict[str, Any]:
    """What a row of `kind` should say about `case`."""
    return {name: _text(value) for name, value in EXPECTED[kind](case).items()}


def _iid_length(case: dict[str, Any]) -> dict[str, Any]:
    alpha = Fraction(case["alpha"])
    pmf = exact.survival_pmf(exact.running_products([alpha] * case["gamma"]))
    accepted, variance = exact.moments(pmf)
    return {"pmf_accepted": pmf, "E_tokens": 1 + accepted, "Var_tokens": variance}


def _walltime(case: dict[str, Any]) -> dict[str, Any]:
    tokens = _iid_length(case)["E_tokens"]
    return {"E_tokens": tokens, "speedup": tokens / (1 + case["gamma"] * Fraction(case["c"]))}


def _optimal_gamma(case: dict[str, Any]) -> dict[str, Any]:
    alpha, c = Fraction(case["alpha"]), Fraction(case["c"])
    tokens = itertools.accumulate(alpha**k for k in range(case["max_gamma"] + 1))
    speedups = [expected / (1 + gamma * c) for gamma, expected in enumerate(tokens)]
    return {"gamma": speedups.index(max(speedups)), "speedup": max(speedups)}


def _beta(case: dict[str, Any]) -> dict[str, Any]:
    a, b = Fraction(case["a"]), Fraction(case["b"])
    alphas = [(a + k) / (a + b + k) for k in range(case["gamma"])]
    same_mean = {"alpha": a / (a + b), "gamma": case["gamma"]}
    return {
        "E_tokens": 1 + sum(exact.running_products(alphas)),
        "iid_same_mean_E_tokens": _iid_length(same_mean)["E_tokens"],
        "position_alpha": alphas,
    }


def _by_position(case: dict[str, Any]) -> dict[str, Any]:
    survival = exact.running_products(_law(case["alpha_k"]))
    pooled = sum(survival) / len(survival)
    return {
        "survival": survival,
        "E_tokens": 1 + sum(survival),
        "accepted_over_drafted": pooled,
        "E_tokens_if_taken_for_alpha": _iid_length({"alpha": pooled, "gamma": len(survival)})["E_tokens"],
    }


def _single(case: dict[str, Any]) -> dict[str, Any]:
    p, q = _law(case["p"]), _law(case["q"])
    shared = [min(a, b) for a, b in zip(p, q, strict=True)]
    left = [a - b for a, b in zip(p, shared, strict=True)]
    alpha = sum(shared)
    return {
        "alpha": alpha,
        "TV": sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2,
        "accepted_token_distribution": [x / alpha for x in shared] if alpha else None,
        "residual": [x / sum(left) for x in left] if sum(left) else None,
    }


def _chain(case: dict[str, Any], rule: exact.Rule = exact.rejection) -> dict[str, Any]:
    p, q = tables(case)
    pmf = exact.accepted_pmf(p, q, rule, gamma=case["gamma"])
    accepted, variance = exact.moments(pmf)
    return {"pmf_accepted": pmf, "E_accepted": accepted, "Var_accepted": variance}


def _one_hot(case: dict[str, Any]) -> dict[str, Any]:
    p, q = tables(case)
    pmf = exact.accepted_pmf(p, exact.greedy_table(q), exact.lookup, gamma=case["gamma"])
    return {"pmf_accepted": pmf, "E_accepted": exact.moments(pmf)[0]}


EXPECTED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "iid_length": _iid_length,
    "walltime_thm3.8": _walltime,
    "optimal_gamma": _optimal_gamma,
    "beta_binomial_mixture": _beta,
    "position_dependent_alpha": _by_position,
    "single_step": _single,
    "chain_verification": _chain,
    "one_hot_draft_chain": _one_hot,
}


def _law(values: list[str]) -> exact.Law:
    return tuple(Fraction(value) for value in values)


def _text(value: Any) -> Any:
    if isinstance(value, list):
        return [str(item) for item in value]
    return value if value is None or isinstance(value, int) else str(value)


def main() -> None:
    """Rewrite the expected values."""
    new = [{**row, "expected": expected(row["kind"], row["case"])} for row in rows()]
    PATH.write_text("[\n" + ",\n".join(json.dumps(row) for row in new) + "\n]\n")


if __name__ == "__main__":
    main()

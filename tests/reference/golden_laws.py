"""The goldens of accepted-length laws, batches and published formulas: expected values again, in fractions.

`python -m tests.reference.golden_laws` rewrites golden_laws.json from its own cases; a test compares.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.reference import exact_laws

PATH = Path(__file__).with_name("golden_laws.json")
Case = dict[str, Any]


def rows(kind: str | None = None) -> list[dict[str, Any]]:
    """The golden rows, of one kind or all."""
    return [row for row in json.loads(PATH.read_text()) if kind in (None, row["kind"])]


def expected(kind: str, case: Case) -> dict[str, Any]:
    """What a row of `kind` should say about `case`."""
    return {name: _text(value) for name, value in EXPECTED[kind](_read(case)).items()}


def _markov(case: Case) -> dict[str, Any]:
    survival = exact_laws.markov(**case)
    return {"survival": survival, "E_tokens": 1 + sum(survival)}


def _batch(case: Case) -> dict[str, Any]:
    row = exact_laws.lengths(exact_laws.by_depth([case["alpha"]] * case["gamma"]))
    ends = [1 + exact_laws.mean(exact_laws.extreme(row, batch=case["batch"], of=of)) for of in (min, max)]
    tokens = 1 + exact_laws.mean(row)
    return {
        "E_tokens_ragged": tokens,
        "E_tokens_slowest": ends[0],
        "E_tokens_fastest": ends[1],
        "padding_efficiency": tokens / ends[1],
    }


def _cycle(case: Case) -> dict[str, Any]:
    cycle = exact_laws.cycle(draft=case["draft"], verify=case["verify"], hit_rate=case["hit_rate"])
    return {"cycle": cycle, "speedup": case["E_tokens"] / cycle}


def _experts(case: Case) -> dict[str, Any]:
    return {"E_distinct_experts": exact_laws.distinct_experts(case["experts"], case["active"], case["tokens"])}


def _published(case: Case) -> dict[str, Any]:
    gamma = case["gamma"]
    tokens = 1 + sum(exact_laws.by_depth([case["alpha"]] * gamma))
    operations = {"operations": (gamma * case["c_hat"] + gamma + 1) / tokens} if "c_hat" in case else {}
    return {"speedup": tokens / (1 + gamma * case["c"]), **operations}


def _roofline(case: Case) -> dict[str, Any]:
    read, computed = case["weight_bytes"] / case["bandwidth"], case["flop_per_token"] / case["flop_per_second"]
    return {
        "read_seconds": read,
        "tokens_per_second": 1 / read,
        "token_seconds": computed,
        "ridge_tokens": read / computed,
    }


def _sensitivity(case: Case) -> dict[str, Any]:
    alphas = case["alpha_k"]
    return {"sensitivity": exact_laws.sensitivity(alphas), "mean_conditional": sum(alphas) / len(alphas)}


EXPECTED: dict[str, Callable[[Case], dict[str, Any]]] = {
    "markov_modulated": _markov,
    "synchronous_batch": _batch,
    "parallel_drafting_cycle": _cycle,
    "moe_expert_activation": _experts,
    "published_formula_check": _published,
    "roofline": _roofline,
    "position_dependent_alpha": _sensitivity,
}


def _read(case: Case) -> Case:
    """Fractions from text; whole numbers stay, and so does what a paper prints."""
    return {name: _parsed(value) for name, value in case.items() if not name.startswith("paper_")}


def _parsed(value: Any) -> Any:
    if isinstance(value, list):
        return [Fraction(item) for item in value]
    return Fraction(value) if isinstance(value, str) else value


def _text(value: Any) -> Any:
    return [str(item) for item in value] if isinstance(value, list) else str(value)


def main() -> None:
    """Rewrite the expected values."""
    new = [{**row, "expected": expected(row["kind"], row["case"])} for row in rows()]
    PATH.write_text("[\n" + ",\n".join(json.dumps(row) for row in new) + "\n]\n")


if __name__ == "__main__":
    main()

"""The goldens of warps and objectives: each row's expected values again, from `exact_objectives`.

`python -m tests.reference.golden_objectives` rewrites golden_objectives.json from its own cases; a test compares.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from mpmath import mpf

from tests.reference import exact_objectives as exact

PATH = Path(__file__).with_name("golden_objectives.json")


def rows(kind: str | None = None) -> list[dict[str, Any]]:
    """The golden rows, of one kind or all."""
    return [row for row in json.loads(PATH.read_text()) if kind in (None, row["kind"])]


def expected(kind: str, case: dict[str, Any]) -> dict[str, Any]:
    """What a row of `kind` should say about `case`."""
    return EXPECTED[kind](case)


def _temperature_alpha(case: dict[str, Any]) -> dict[str, float]:
    sides = (case["target_logits"], case["draft_logits"])
    return {
        temperature: float(exact.alpha(*(exact.softmax(logits, temperature) for logits in sides)))
        for temperature in case["temperatures"]
    }


def _top_k(case: dict[str, Any]) -> dict[str, Any]:
    p, q = (tuple(map(Fraction, case[name])) for name in ("p", "q"))
    short_p, short_q = exact.top_k(p, case["k"]), exact.top_k(q, case["k"])
    return {
        "alpha_no_trunc": str(exact.alpha(p, q)),
        "alpha_trunc_target_only": str(exact.alpha(short_p, q)),
        "alpha_trunc_both": str(exact.alpha(short_p, short_q)),
        "p_trunc": [str(x) for x in short_p],
        "q_trunc": [str(x) for x in short_q],
    }


def _kl_vs_alpha(case: dict[str, Any]) -> dict[str, Any]:
    return exact.family_optima(case["p"], low=case["low"], high=case["high"], steps=case["steps"])


def _single_step(case: dict[str, Any]) -> dict[str, Any]:
    """Divergences and the bounds on alpha that follow from the first; None where it is infinite."""
    p, q = (tuple(map(Fraction, case[name])) for name in ("p", "q"))
    forward, reverse = (
        exact.kl(one, other) if all(b for a, b in zip(one, other, strict=True) if a) else None
        for one, other in ((p, q), (q, p))
    )
    values = {"KL_p_q": forward, "KL_q_p": reverse} | (
        exact.bounds(forward) if forward is not None else dict.fromkeys(exact.bounds(mpf(0)))
    )
    return {name: None if value is None else float(value) for name, value in values.items()}


EXPECTED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "single_step": _single_step,
    "temperature_alpha": _temperature_alpha,
    "top_k": _top_k,
    "kl_vs_alpha": _kl_vs_alpha,
}


def main() -> None:
    """Rewrite the expected values."""
    new = [{**row, "expected": expected(row["kind"], row["case"])} for row in rows()]
    PATH.write_text("[\n" + ",\n".join(json.dumps(row) for row in new) + "\n]\n")


if __name__ == "__main__":
    main()

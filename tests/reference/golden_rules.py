"""The goldens of chain rules and draft-length decisions: each row's expected values again, from `exact_rules`.

`python -m tests.reference.golden_rules` rewrites golden_rules.json from its own cases; a test compares.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.reference import exact, exact_rules
from tests.reference.exact import ZERO

PATH = Path(__file__).with_name("golden_rules.json")
MUTANTS: dict[str, exact.Rule] = {
    "bv_early_exit": exact_rules.early_exit,
    "bv_unscaled_residual": exact_rules.unscaled_residual,
    "bv_no_h": exact_rules.no_h,
    "naive_chain_branches": exact.residual_is_p,
}
SPS: dict[str, Callable[[int], Fraction]] = {
    "1/(10+0.01B)": lambda tokens: 1 / (10 + Fraction(tokens, 100)),
    "1/(1+0.5B)": lambda tokens: 1 / (1 + Fraction(tokens, 2)),
    "1/max(5,0.8B)": lambda tokens: 1 / max(Fraction(5), Fraction(4 * tokens, 5)),
}


def rows(kind: str | None = None) -> list[dict[str, Any]]:
    """The golden rows, of one kind or all."""
    return [row for row in json.loads(PATH.read_text()) if kind in (None, row["kind"])]


def law(values: list[str]) -> exact.Law:
    return tuple(Fraction(value) for value in values)


def prefix_table(entries: dict[str, dict[str, list[str]]], side: str) -> exact.Table:
    laws = {tuple(map(int, prefix.split(","))) if prefix else (): law(pair[side]) for prefix, pair in entries.items()}
    return lambda text: laws[text]


def tables(case: dict[str, Any]) -> tuple[exact.Table, exact.Table]:
    """The two tables of a case: one law each, or one for every prefix."""
    if "prefix_tables" in case:
        return prefix_table(case["prefix_tables"], "p"), prefix_table(case["prefix_tables"], "q")
    return exact.iid(law(case["p"])), exact.iid(law(case["q"]))


def requests(case: dict[str, Any]) -> list[tuple[exact.Table, exact.Table]]:
    """The requests of a batch."""
    return [(prefix_table(entries, "p"), prefix_table(entries, "q")) for entries in case["tables"]]


def confidences(drafts: tuple[exact.Text, ...]) -> list[list[Fraction]]:
    """Of both requests of a batch: of the first draft, and of the second given the first."""
    first, second = drafts
    return [
        [Fraction(9, 10), Fraction(9, 10) if first[0] == 0 else Fraction(1, 10)],
        [Fraction(8, 10), Fraction(95, 100) if second[0] == 1 else Fraction(2, 10)],
    ]


def stop(q: exact.Table, *, threshold: Fraction, drop: bool) -> exact_rules.Lengths:
    """Stop at the first draft whose q(x) is below the threshold, with it or without."""

    def length(draft: exact.Text) -> int:
        low = next((k for k, x in enumerate(draft) if q(draft[:k])[x] < threshold), None)
        return len(draft) if low is None else low + (not drop)

    return length


def retrospective(rate: dict[str, float]) -> Callable[[tuple[exact.Text, ...]], list[int]]:
    """Planted fault: the budget is the best one for what was just drafted."""

    def lengths(drafts: tuple[exact.Text, ...]) -> list[int]:
        seen = confidences(drafts)
        thetas = exact_rules.throughputs(seen, lambda tokens: Fraction(str(rate[str(tokens)])))
        return exact_rules.likeliest(seen, budget=thetas.index(max(thetas)))

    return lengths


def distance(law: dict[Any, Fraction], target: dict[Any, Fraction]) -> Fraction:
    return exact.total_variation(law, target)


def expected(kind: str, case: dict[str, Any]) -> Any:
    """What a row of `kind` should say about `case`."""
    return _text(EXPECTED[kind](case))


def _chain(case: dict[str, Any]) -> dict[str, Any]:
    (p, q), gamma = tables(case), case["gamma"]
    target = exact.target_law(p, length=gamma + 1)
    found: dict[str, Any] = {}
    for name, rule in (("token", exact.rejection), ("block", exact_rules.block)):
        pmf = exact.accepted_pmf(p, q, rule, gamma=gamma)
        mean, variance = exact.moments(pmf)
        found[name] = {
            "pmf_accepted": pmf,
            "E_accepted": mean,
            "Var_accepted": variance,
            "E_tokens_per_round": mean + 1,
            "lossless_exact": exact_rules.round_text(p, q, rule, gamma=gamma) == target,
        }
    best = exact_rules.best_expected_accepted(p, q, gamma=gamma)
    found["block"]["lp_optimum_matches"] = abs(best - float(found["block"]["E_accepted"])) < 1e-9
    naive = distance(exact_rules.round_text(p, q, exact.residual_is_p, gamma=gamma), target)
    return found | {
        "full_information_upper_bound_E_accepted": sum(exact_rules.full_information(p, q, gamma=gamma)),
        "naive_resample_from_p": {
            "E_accepted": exact.moments(exact.accepted_pmf(p, q, exact.residual_is_p, gamma=gamma))[0],
            "TV_of_output_block": naive,
            "lossless_exact": not naive,
        },
    }


def _mutants(case: dict[str, Any]) -> dict[str, Any]:
    (p, q), gamma = tables(case), case["gamma"]
    target, first = exact.target_law(p, length=gamma + 1), exact.target_law(p, length=1)
    means = {
        name: exact.moments(exact.accepted_pmf(p, q, rule, gamma=gamma))[0]
        for name, rule in (MUTANTS | {"token": exact.rejection, "block": exact_rules.block}).items()
    }
    mutants = {}
    for name, rule in MUTANTS.items():
        text = exact_rules.round_text(p, q, rule, gamma=gamma)
        begins = {(x,): sum((share for s, share in text.items() if s[0] == x), ZERO) for (x,) in first}
        mutants[name] = {
            "TV_output_block": distance(text, target),
            "TV_first_token": distance(begins, first),
            "E_accepted": means[name],
            "lossless_exact": text == target,
        }
    block = {"E_accepted": means["block"], "token_E_accepted": means["token"]}
    lossless = exact_rules.round_text(p, q, exact_rules.block, gamma=gamma) == target
    return {"correct": block | {"lossless_exact": lossless}, "mutants": mutants}


def _internals(case: dict[str, Any]) -> dict[str, Any]:
    path = tuple(case["path"])
    p, q = [law(case["p"])] * (len(path) + 1), [law(case["q"])] * len(path)
    return {"p_i": exact_rules.reaches(p, q, path), "h_i": exact_rules.chances(p, q, path)}


def _one_hot(case: dict[str, Any]) -> dict[str, Any]:
    (p, q), gamma = tables(case), case["gamma"]
    certain = exact.greedy_table(q)
    pmf = exact.accepted_pmf(p, certain, exact.rejection, gamma=gamma)
    return {
        "E_accepted": exact.moments(pmf)[0],
        "pmf_accepted": pmf,
        "block_equals_token": pmf == exact.accepted_pmf(p, certain, exact_rules.block, gamma=gamma),
        "lossless_exact": exact_rules.round_text(p, certain, exact_rules.block, gamma=gamma)
        == exact.target_law(p, length=gamma + 1),
    }


def _single(case: dict[str, Any]) -> dict[str, Any]:
    p, q = law(case["p"]), law(case["q"])
    pairs = list(zip(p, q, strict=True))
    shared = [min(a, b) for a, b in pairs]
    alpha = sum(shared)
    return {
        "alpha": alpha,
        "TV": sum(abs(a - b) for a, b in pairs) / 2,
        "gumbel_match": exact_rules.gumbel_match(p, q),
        "weighted_minhash_match": alpha / sum(max(a, b) for a, b in pairs),
        "independent_match": sum(a * b for a, b in pairs),
        "accepted_token_distribution": [x / alpha for x in shared] if alpha else None,
        "residual": list(exact.residual(p, q)) if p != q else None,
    }


def _lenience(case: dict[str, Any]) -> dict[str, Any]:
    p, q, factor = law(case["p"]), law(case["q"]), Fraction(case["l"])
    found: dict[str, Any] = {"alpha": sum(min(a / factor, b) for a, b in zip(p, q, strict=True))}
    for name, scaled in (("unscaled", False), ("scaled", True)):
        rule = exact_rules.lenient(factor, scaled=scaled)
        text = exact.round_law(exact.iid(p), exact.iid(q), rule, gamma=1)
        output = [sum((share for s, share in text.items() if s[0] == x), ZERO) for x in range(len(p))]
        found[f"output_residual_{name}_q"] = output
        found[f"TV_{name}"] = sum(abs(a - b) for a, b in zip(output, p, strict=True)) / 2
        found[f"guarantee_out_le_p_over_l_{name}"] = all(a <= b / factor for a, b in zip(output, p, strict=True))
    return found


def _typical(case: dict[str, Any]) -> dict[str, Any]:
    p = law(case["p"])
    least = exact_rules.typical_threshold(p, epsilon=case["epsilon"], delta=case["delta"])
    return {"accepted": p[case["draft_token"]] > least, "threshold": least}


def _early_stop(case: dict[str, Any]) -> dict[str, Any]:
    (p, q), gamma = tables(case), case["gamma_max"]
    lengths = stop(q, threshold=Fraction(case["threshold_on_q_of_sampled_token"]), drop=case["drop_low_conf_token"])
    text = exact_rules.round_text(p, q, exact.rejection, gamma=gamma, lengths=lengths)
    far = distance(text, exact.target_law(p, length=gamma + 1))
    return {
        "lossless_exact": not far,
        "E_accepted": exact_rules.round_accepted(p, q, exact.rejection, gamma=gamma, lengths=lengths),
        "TV_output_block": far,
    }


def _budget(case: dict[str, Any]) -> dict[str, Any]:
    batch, gamma = requests(case), case["gamma"]
    target = exact_rules.joint_target(batch, length=gamma + 1)
    if "K" in case:
        text = exact_rules.joint_text(
            batch,
            exact.rejection,
            gamma=gamma,
            lengths=lambda drafts: exact_rules.likeliest(confidences(drafts), budget=case["K"]),
        )
        return {"joint_lossless_exact": not distance(text, target)}
    text = exact_rules.joint_text(batch, exact.rejection, gamma=gamma, lengths=retrospective(case["SPS"]))
    return {"joint_lossless_exact": text == target, "TV_joint": distance(text, target)}


def _scheduler(case: dict[str, Any]) -> dict[str, Any]:
    chances = [[Fraction(str(c)) for c in row] for row in case["confidences"]]
    thetas = exact_rules.throughputs(chances, SPS[case["SPS_formula"]])
    admitted = exact_rules.early_stop(thetas)
    return {
        "lengths": exact_rules.likeliest(chances, budget=admitted),
        "theta_best": float(thetas[admitted]),
        "theta_trace": [float(theta) for theta in thetas[: admitted + 2]],
    }


def _violation(case: dict[str, Any]) -> dict[str, Any]:
    p, q = law(case["p"]), law(case["q"])
    rate = {int(tokens): Fraction(str(sps)) for tokens, sps in case["SPS"].items()}
    first = Fraction(str(case["a1"]))
    seconds = {int(x): Fraction(str(c)) for x, c in case["c2_if_x1"].items()}
    thetas = {x: exact_rules.throughputs([[first, c]], rate.__getitem__) for x, c in seconds.items()}
    lengths = {x: found.index(max(found)) for x, found in thetas.items()}  # the fault: the best of the whole trace
    text = exact_rules.round_text(
        exact.iid(p), exact.iid(q), exact.rejection, gamma=2, lengths=lambda draft: lengths[draft[0]]
    )
    output = [sum((share for s, share in text.items() if s[0] == x), ZERO) for x in range(len(p))]
    (stopped,) = {exact_rules.early_stop(found) for found in thetas.values()}
    return {
        "output": output,
        "target": list(p),
        "TV": sum(abs(a - b) for a, b in zip(output, p, strict=True)) / 2,
        "theta": {
            "len0": float(thetas[0][0]),
            "len1": float(thetas[0][1]),
            "len2_if_A": float(thetas[0][2]),
            "len2_if_B": float(thetas[1][2]),
        },
        "early_stopping_length": stopped,
    }


def _mismatch(case: dict[str, Any]) -> dict[str, Any]:
    p = law(case["p"])
    if "q" in case:
        used = law(case["q"])
        drawn = exact.one_hot(exact.argmax(used), len(used))
    else:
        drawn, used = law(case["q_sampled"]), law(case["q_used_by_verifier"])
    text = exact.round_law(
        exact.iid(p), exact.iid(drawn), lambda p_rows, _, draft: exact.rejection(p_rows, [used], draft), gamma=1
    )
    output = [sum((share for s, share in text.items() if s[0] == x), ZERO) for x in range(len(p))]
    return {"output": output, "TV": sum(abs(a - b) for a, b in zip(output, p, strict=True)) / 2}


EXPECTED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "chain_verification": _chain,
    "block_verification_mutants": _mutants,
    "block_verification_internals": _internals,
    "one_hot_draft_chain": _one_hot,
    "single_step": _single,
    "lenience": _lenience,
    "typical_acceptance": _typical,
    "confidence_early_stop": _early_stop,
    "batched_budget": _budget,
    "dspark_prefix_scheduler": _scheduler,
    "non_anticipating_violation": _violation,
    "draft_distribution_mismatch": _mismatch,
}


def _text(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _text(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_text(item) for item in value]
    return str(value) if isinstance(value, Fraction) else value


def main() -> None:
    """Rewrite the expected values."""
    new = [{**row, "expected": expected(row["kind"], row["case"])} for row in rows()]
    PATH.write_text("[\n" + ",\n".join(json.dumps(row) for row in new) + "\n]\n")


if __name__ == "__main__":
    main()

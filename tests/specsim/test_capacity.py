"""Plans: every drafter has a row, limits filter, remedies are real, intervals cover, settings follow."""

import json
import re
import shlex
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.acceptance import Acceptance
from specsim.capacity import (
    OBJECTIVES,
    PLAIN,
    Assumed,
    Variant,
    Workload,
    assumed_acceptance,
    engine_settings,
    gamma_schedule,
    plan,
    sensitivities,
    speedup_interval,
    variants,
)
from specsim.catalog import hardware, model, published_acceptance, rank_vector
from specsim.drafters import METHODS, Eagle3, NGram
from specsim.engines import ENGINES, OFFERED, Asked
from specsim.errors import InfeasibleError, InputError
from specsim.placement import Placement
from specsim.roofline import Efficiency
from specsim.stats import exact_binomial

GPU = hardware("H100-SXM")
DENSE, LARGE, MIXTURE = model("Llama-3.1-8B"), model("Llama-3.1-70B"), model("Qwen3-30B-A3B")
IDEAL, ASSUMED = Efficiency.ideal(), Efficiency.assumed(GPU)
TARGETS = {"dense 8B": (DENSE, 1), "dense 70B on 4": (LARGE, 4), "mixture": (MIXTURE, 1)}
WORK = Workload(batch=8, context=2048)
FEW = ["eagle3", "ngram", "model"]


def planned(target=DENSE, gpu=GPU, work=WORK, **change):
    asked = {"methods": FEW, "tensor_parallel": [1], "efficiency": ASSUMED} | change
    return plan(target, gpu, work, **asked)


def names(found):
    return [candidate.name for candidate in found.candidates]


# --- ranking ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", TARGETS)
def test_every_method_has_a_row(place):
    target, devices = TARGETS[place]
    found = planned(target, methods=None, tensor_parallel=[devices])
    assert set(names(found)) == {*METHODS, PLAIN}
    assert found.rejected == {}
    frame = found.frame().set_index("method")
    drafted = frame.drop(index=PLAIN)
    assert (drafted["gamma"] >= 1).all()
    assert (drafted["E_tokens"] > 1).all()
    assert (drafted["speedup"] > 0).all()
    assert ((drafted["speedup_low"] < drafted["speedup"]) & (drafted["speedup"] < drafted["speedup_high"])).all()
    assert (frame["max_batch"] >= WORK.batch).all()
    assert frame.loc[PLAIN, ["speedup", "gamma", "nodes", "E_tokens"]].tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_best_is_first(objective):
    found = planned(methods=None, objective=objective)
    column = {"device": "device_tokens_per_second", "user": "user_tokens_per_second"}[objective]
    assert found.frame()[column].is_monotonic_decreasing
    assert found.best is found.candidates[0]


def test_the_cheapest_takes_fewer_accelerators_than_the_fastest():
    cheap, quick = (planned(objective=objective, tensor_parallel=None) for objective in ("device", "user"))
    assert cheap.best.place.tensor_parallel == 1
    assert quick.best.place.tensor_parallel > 1
    assert quick.best.user_tokens_per_second > cheap.best.user_tokens_per_second
    assert quick.best.device_tokens_per_second < cheap.best.device_tokens_per_second


@pytest.mark.parametrize("name", ["eagle3", "medusa", "ngram", "layer_skip"])
def test_no_depth_and_no_tree_is_better(name):
    (candidate,) = (one for one in planned(methods=[name]).candidates if one.name == name)
    for variant in variants(name, DENSE, assumed_acceptance(name, {}, task=None)):
        found = candidate.place.rates(
            variant.method, acceptance=variant.acceptance, gamma=variant.gammas, batch=8, context=2048
        )
        assert found.user_tokens_per_second.max() <= candidate.user_tokens_per_second
    assert candidate.speedup == pytest.approx(
        candidate.user_tokens_per_second * float(candidate.found.plain_seconds), rel=1e-12
    )


def test_a_drafter_that_is_always_wrong_is_behind_plain_decoding():
    found = planned(methods=["eagle3"], acceptance={"eagle3": 0.0})
    assert names(found) == [PLAIN, "eagle3"]
    assert found.best.interval is None
    assert found.best.crossover_batch is None
    assert found.candidates[1].crossover_batch == 0


def test_a_method_without_a_drafter_is_rejected_and_the_others_are_not():
    found = planned(model("DeepSeek-V3"), hardware("H200-SXM"), tensor_parallel=[8], methods=["model", "mtp"])
    assert names(found) == ["mtp", PLAIN]
    assert found.rejected == {"model": "no smaller model of the catalogue has the 129280 tokens of DeepSeek-V3"}


def test_derived_columns_by_hand():
    found = planned(gpu=replace(GPU, price_per_hour=2.0), methods=["eagle3"], acceptance={"eagle3": 0.7})
    row = found.frame().iloc[0]
    one = found.best
    assert row["nodes"] == int(one.method.target_tokens(one.gamma)) - 1
    assert row["device_tokens_per_second"] == pytest.approx(8 * row["user_tokens_per_second"])
    assert row["price_per_million"] == pytest.approx(2.0 / 3600 / row["device_tokens_per_second"] * 1e6)
    assert row["alpha"] == 0.7
    target = one.place.cost(DENSE)
    counts = {"tokens": int(row["nodes"]) + 1, "context": 2048}
    assert row["compute_bound_batch"] == target.compute_bound_batch(**counts)
    assert row["bound"] == target.bound(**counts, batch=8)
    assert row["max_batch"] == one.place.memory(one.method, batch=8, context=2048, gamma=one.gamma).max_batch


# --- memory and latency ----------------------------------------------------------------------------------------------


@given(gigabytes=st.floats(20, 400), more=st.floats(1, 2))
@settings(max_examples=30)
def test_more_memory_is_never_worse(gigabytes, more):
    """What fits still fits, with room for no fewer; nothing else of a plan knows of memory."""
    work = Workload(batch=64, context=4096)
    plans = []
    for size in (gigabytes, more * gigabytes):
        try:
            plans.append(planned(gpu=replace(GPU, memory_bytes=size * 1e9), work=work))
        except InfeasibleError:
            plans.append(None)
    small, large = plans
    if small is None:
        return
    assert large is not None
    assert set(names(small)) <= set(names(large))
    assert large.best.device_tokens_per_second >= small.best.device_tokens_per_second
    room = {one.name: one.memory.max_batch for one in large.candidates}
    assert all(room[one.name] >= one.memory.max_batch for one in small.candidates)


def test_a_drafter_that_leaves_no_room_is_rejected():
    """Room for the target and 16 sequences to the byte: what adds weights or caches does not fit."""
    use = Placement(target=DENSE, hardware=GPU, efficiency=ASSUMED).memory(NGram(), batch=16, context=2048, gamma=16)
    gpu = replace(GPU, memory_bytes=(use.bytes - use.reserved_bytes) / 0.9 * (1 + 1e-12))
    found = planned(gpu=gpu, work=Workload(batch=16, context=2048))
    assert set(names(found)) == {"ngram", PLAIN}
    assert set(found.rejected) == {"eagle3", "model"}
    assert all(re.match(r"out of memory: room for \d+ sequences of 16", reason) for reason in found.rejected.values())


def test_a_chain_that_fits_is_taken_before_a_tree_that_does_not():
    """Short sequences, many of them: the nodes of the faster tree are what does not fit."""
    asked = {"methods": ["eagle3"], "acceptance": {"eagle3": 0.6}, "efficiency": IDEAL}
    work = Workload(batch=16, context=0)
    tree = planned(**asked, work=work).best
    assert tree.method.tree_nodes
    chain = Placement(target=DENSE, hardware=GPU, efficiency=IDEAL).memory(Eagle3(), batch=16, context=0, gamma=8)
    assert chain.bytes < tree.memory.bytes
    gpu = replace(GPU, memory_bytes=(chain.bytes - chain.reserved_bytes) / 0.9 * (1 + 1e-12))
    found = planned(**asked, work=work, gpu=gpu)
    assert found.rejected == {}
    (candidate,) = (one for one in found.candidates if one.name == "eagle3")
    assert candidate.memory.fits
    assert candidate.nodes < tree.nodes


def test_a_latency_target_filters():
    free = planned(methods=None)
    speeds = {one.name: one.user_tokens_per_second for one in free.candidates}
    target = float(np.median(list(speeds.values())))
    found = planned(methods=None, work=replace(WORK, user_tokens_per_second=target))
    assert set(names(found)) == {name for name, speed in speeds.items() if speed >= target}
    assert set(found.rejected) == {name for name, speed in speeds.items() if speed < target}
    for name, reason in found.rejected.items():
        assert reason == f"too slow: {speeds[name]:.1f} tokens/s for each user at best"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": LARGE, "tensor_parallel": None}, "memory: fewer than 4 accelerators do not hold it"),
        (
            {"tensor_parallel": [1, 2], "work": Workload(batch=8, context=2048, user_tokens_per_second=520.0)},
            "latency: fewer than 2 accelerators are slower than the target",
        ),
        ({"work": Workload(batch=100, context=4096)}, "memory: room for "),
        ({}, "memory: what the target's pass waits for"),
        ({"work": Workload(batch=200, context=100)}, "compute: what the target's pass waits for"),
    ],
)
def test_what_keeps_the_best_from_being_better(change, message):
    assert planned(**change).constraint.startswith(message)


REMEDIES = {
    "batch": lambda asked, value: asked | {"work": replace(asked["work"], batch=value)},
    "context": lambda asked, value: asked | {"work": replace(asked["work"], context=value)},
    "weights of": lambda asked, value: asked | {"target": asked["target"].quantised(value)},
    "tensor parallelism over": lambda asked, value: asked | {"tensor_parallel": [value]},
}


def remedies(message):
    """(kind, number) of all that a message says would be feasible."""
    said = message.split("feasible with ")[1]
    return [re.match(r"(.*?) (\d+)", way).groups() for way in said.split(" or ")]


@pytest.mark.parametrize(
    ("asked", "kinds"),
    [
        ({"target": DENSE, "work": Workload(batch=300, context=4096)}, ["batch", "context", "tensor parallelism over"]),
        ({"target": LARGE, "work": WORK}, ["weights of", "tensor parallelism over"]),
        ({"target": LARGE, "work": WORK, "tensor_parallel": [2]}, None),
        ({"target": model("Qwen3-32B"), "work": Workload(batch=4, context=20_000)}, list(REMEDIES)),
        ({"target": MIXTURE, "work": Workload(batch=64, context=30_000)}, None),
    ],
)
def test_every_remedy_for_memory_is_one_and_the_largest(asked, kinds):
    asked = {"tensor_parallel": [1]} | asked
    try:
        planned(**asked)
    except InfeasibleError as refused:
        found = remedies(str(refused))
    else:
        assert kinds is None
        return
    if kinds is not None:
        assert [kind for kind, _ in found] == kinds
    for kind, number in found:
        assert planned(**REMEDIES[kind](asked, int(number))).candidates
        if kind in ("batch", "context"):
            with pytest.raises(InfeasibleError):
                planned(**REMEDIES[kind](asked, int(number) + 1))


def test_where_no_change_alone_is_enough_it_says_so():
    alone = replace(GPU, memory_bytes=10e9, link_bytes_per_second=0.0, devices_per_node=1)
    with pytest.raises(InfeasibleError) as refused:
        planned(LARGE, gpu=alone)
    assert str(refused.value).endswith("no change of batch, context, bits or accelerators alone is enough")
    assert "Llama-3.1-70B with 8 sequences of 2048 tokens needs" in str(refused.value)
    assert "which has 10.0 GB (9.00 GB to use)" in str(refused.value)


@pytest.mark.parametrize("methods", [FEW, ["rest"]], ids=["a drafter is fastest", "plain decoding is fastest"])
@pytest.mark.parametrize("speed", [350.0, 1e5])
def test_every_remedy_for_latency_is_one(methods, speed):
    asked = {"methods": methods, "work": Workload(batch=64, context=2048, user_tokens_per_second=speed)}
    with pytest.raises(InfeasibleError) as refused:
        planned(**asked)
    told = str(refused.value)
    assert told.startswith(f"no way gives each user {speed:g} tokens/s at batch 64: the fastest is ")
    target = float(re.search(r"a target of ([\d.]+)", told)[1])
    slower = planned(**asked | {"work": replace(asked["work"], user_tokens_per_second=target)})
    assert slower.candidates
    fastest = max(one.user_tokens_per_second for one in slower.candidates)
    assert target <= fastest < target * 1.01
    batch = re.search(r" or batch (\d+)$", told)
    assert (batch is None) == (speed == 1e5 or methods == ["rest"])
    if batch:
        assert planned(**asked | {"work": replace(asked["work"], batch=int(batch[1]))}).candidates


# --- how sure --------------------------------------------------------------------------------------------------------


def one_variant(name, *, is_tree=False, assumed=None):
    assumed = assumed or assumed_acceptance(name, {}, task=None)
    return list(variants(name, DENSE, assumed))[-1 if is_tree else 0], assumed


def reached(kernel_error, overhead_error):
    return replace(ASSUMED, kernel_error=kernel_error, overhead_error=overhead_error, all_reduce_seconds=0.0)


def interval(efficiency, variant, assumed, *, gamma=3, work=WORK):
    place = Placement(target=DENSE, hardware=GPU, efficiency=efficiency)
    point = place.rates(
        variant.method, acceptance=variant.acceptance, gamma=gamma, batch=work.batch, context=work.context
    ).speedup
    return speedup_interval(place, variant, assumed, work, gamma=gamma), float(point)


def test_an_intervals_ends_are_the_quantiles_of_its_one_uncertain_input():
    """Speedup rises with alpha and falls with the overhead, so that 95 % of either are 95 % of it.

    Null: each end is the speedup at 1.96 standard deviations; 4000 draws put it between 1.75 and 2.17, false-alarm rate
    1e-6.
    """
    variant, assumed = one_variant("eagle3")
    logit = np.log(assumed.alpha / (1 - assumed.alpha))
    spread = 0.05 / (assumed.alpha * (1 - assumed.alpha))

    def by_alpha(z):
        return replace(variant, acceptance=Acceptance.constant(1 / (1 + np.exp(-logit - z * spread)))), reached(
            0.0, 0.0
        )

    def by_overhead(z):
        paid = np.exp(-0.5 * z) * ASSUMED.overhead_seconds
        return variant, replace(reached(0.0, 0.0), overhead_seconds=paid)

    known = replace(assumed, error=0.0)
    for at, efficiency, source in (
        (by_alpha, reached(0.0, 0.0), replace(assumed, error=0.05)),
        (by_overhead, reached(0.0, 0.5), known),
    ):
        bounds, _ = interval(efficiency, variant, source)
        low_far, low_near, high_near, high_far = (
            interval(at(z)[1], at(z)[0], known)[1] for z in (-2.17, -1.75, 1.75, 2.17)
        )
        assert low_far < bounds.low < low_near < high_near < bounds.high < high_far


CASES = [(name, False) for name in METHODS] + [("eagle1", True), ("eagle3", True), ("medusa", True)]


@pytest.mark.parametrize(("name", "is_tree"), CASES)
def test_an_interval_contains_the_point_and_shrinks_to_it(name, is_tree):
    variant, assumed = one_variant(name, is_tree=is_tree)
    known = replace(assumed, error=0.0)
    exact, point = interval(reached(0.0, 0.0), variant, known)
    assert (exact.low, exact.high) == pytest.approx((point, point), rel=1e-9)
    bounds, _ = interval(reached(0.1, 0.3), variant, assumed)
    assert bounds.low < point < bounds.high
    assert bounds.level == 0.95


@given(
    kernel=st.floats(0, 0.3),
    overhead=st.floats(0, 0.5),
    alpha=st.floats(0, 0.1),
    field=st.sampled_from("koa"),
    more=st.floats(1.2, 3),
)
@settings(max_examples=20)
@pytest.mark.parametrize(("name", "is_tree"), [("eagle3", True), ("model", False)])
def test_an_interval_widens_with_each_error(name, is_tree, kernel, overhead, alpha, field, more):
    """The draws are the same ones, scaled; some slack, for draws of two parts are not quite uncorrelated."""
    variant, assumed = one_variant(name, is_tree=is_tree)
    errors = {"k": kernel, "o": overhead, "a": alpha}
    larger = errors | {field: errors[field] * more + 0.02}
    widths = []
    for error in (errors, larger):
        bounds, _ = interval(reached(error["k"], error["o"]), variant, replace(assumed, error=error["a"]))
        widths.append(np.log(bounds.high / bounds.low))
    assert widths[1] > widths[0] * 0.95


@pytest.mark.parametrize(("name", "is_tree"), [("eagle3", True), ("model", False), ("layer_skip", False)])
@pytest.mark.parametrize("fault", [1.0, 2.0])
def test_an_interval_covers_what_it_says_and_a_fault_would_show(name, is_tree, fault):
    """Inputs are perturbed by the stated errors, and the speedup of the perturbed inputs is counted inside.

    Null: coverage is at least 0.92 and at most 0.98, the interval's own 4000 draws apart; n = 300; false-alarm rate
    1e-6 in all. Planted: errors twice as large as stated.
    """
    rng = np.random.default_rng(7)
    variant, assumed = one_variant(name, is_tree=is_tree)
    stated = replace(ASSUMED, kernel_error=0.15, overhead_error=0.5)
    place, gamma = Placement(target=DENSE, hardware=GPU, efficiency=stated), 3
    bounds = speedup_interval(place, variant, assumed, WORK, gamma=gamma)
    asked = {"gamma": gamma, "batch": WORK.batch, "context": WORK.context}
    logit = np.log(assumed.alpha / (1 - assumed.alpha))
    spread = assumed.error / (assumed.alpha * (1 - assumed.alpha))
    inside, n = 0, 300
    for _ in range(n):
        common, verify, draft = np.exp(fault * 0.15 * rng.standard_normal(3))
        overhead = np.exp(fault * 0.5 * rng.standard_normal())
        alpha = 1 / (1 + np.exp(-logit - fault * spread * rng.standard_normal()))
        slower = replace(
            GPU,
            bandwidth_bytes_per_second=GPU.bandwidth_bytes_per_second / common,
            flop_per_second={dtype: peak / common for dtype, peak in GPU.flop_per_second.items()},
        )
        nodes = variant.method.tree_nodes
        law = Acceptance.tree(rank_vector(alpha), nodes=nodes) if nodes else Acceptance.constant(alpha)
        bare, whole = (
            Placement(
                target=DENSE,
                hardware=slower,
                efficiency=replace(stated, overhead_seconds=paid * stated.overhead_seconds),
            ).rates(variant.method, acceptance=law, **asked)
            for paid in (0.0, overhead)
        )
        round_seconds = whole.round_seconds + (verify - 1) * bare.verify_seconds + (draft - 1) * bare.draft_seconds
        inside += bounds.low <= float(whole.E_tokens * whole.plain_seconds / round_seconds) <= bounds.high
    low = exact_binomial(inside, n, probability=0.92, alternative="less")
    high = exact_binomial(inside, n, probability=0.98, alternative="greater")
    assert (min(low.pvalue, high.pvalue) > 5e-7) == (fault == 1)


# --- what moves it ---------------------------------------------------------------------------------------------------


def rows_of(target=DENSE, devices=1, work=WORK, name="eagle3", gamma=4):
    assumed = assumed_acceptance(name, {}, task=None)
    variant = next(variants(name, target, assumed))
    place = Placement(target=target, hardware=GPU, efficiency=ASSUMED, tensor_parallel=devices)
    return sensitivities(place, variant, assumed, work, gamma=gamma)


def test_sensitivities_are_sorted_and_point_the_right_way():
    rows = {row.name: row for row in rows_of()}
    assert [row.swing for row in rows.values()] == sorted((row.swing for row in rows.values()), reverse=True)
    assert rows["acceptance"].low < rows["acceptance"].high
    assert rows["drafter's seconds"].low > rows["drafter's seconds"].high
    crowded = {row.name: row for row in rows_of(work=Workload(batch=128, context=128))}
    assert crowded["batch"].low > crowded["batch"].high
    assert rows["peak FLOP/s"].low < rows["peak FLOP/s"].high  # verifying waits for compute before plain steps do
    assert rows["cache reads per scored token"].low > rows["cache reads per scored token"].high
    assert (rows["batch"].low_input, rows["batch"].high_input) == ("4", "16")
    assert {"links", "skew of routing"}.isdisjoint(rows)


def test_a_sensitivity_is_the_speedup_of_the_changed_input():
    (row,) = (row for row in rows_of() if row.name == "acceptance")
    alpha, error = published_acceptance("eagle3").alpha, assumed_acceptance("eagle3", {}, task=None).error
    place = Placement(target=DENSE, hardware=GPU, efficiency=ASSUMED)
    ends = [min(1.0, alpha + sign * error) for sign in (-1, 1)]
    by_hand = [float(place.rates(Eagle3(), acceptance=end, gamma=4, batch=8, context=2048).speedup) for end in ends]
    assert [row.low, row.high] == pytest.approx(by_hand, rel=1e-12)


def test_inputs_are_those_that_the_plan_has():
    assert "links" in {row.name for row in rows_of(LARGE, 4)}
    assert "skew of routing" in {row.name for row in rows_of(MIXTURE)}
    assert "context" not in {row.name for row in rows_of(work=Workload(batch=1, context=0))}


@pytest.mark.parametrize("name", METHODS)
def test_more_acceptance_is_faster_for_every_method(name):
    (row,) = (row for row in rows_of(name=name, gamma=2) if row.name == "acceptance")
    assert row.low < row.high


# --- acceptance ------------------------------------------------------------------------------------------------------


def test_a_users_own_acceptance_comes_first_and_has_no_error():
    own = Acceptance.by_depth([0.9, 0.5], beyond="hold", source="our server")
    assert assumed_acceptance("eagle3", {"eagle3": own}, task=None) == Assumed(
        acceptance=own, error=0.0, source="our server"
    )
    found = planned(methods=["eagle3"], acceptance={"eagle3": own})
    assert found.best.assumed.alpha == 0.9
    assert "eagle3: acceptance our server" in found.assumptions


def test_published_acceptance_says_what_it_is_of():
    chat, any_task = (assumed_acceptance("eagle3", {}, task=task) for task in ("code", "translation"))
    assert chat.acceptance != any_task.acceptance  # nobody published EAGLE-3 on translation: the default
    assert any_task.acceptance == published_acceptance("eagle3").acceptance
    assert re.match(r"published: arXiv 2503.01840, Table 1 \(Llama-3.1-8B-Instruct, MT-bench\)", any_task.source)
    assert any_task.error >= 0.03
    assert "assumed: assumed" in assumed_acceptance("quantised", {}, task=None).source


@pytest.mark.parametrize("name", METHODS)
def test_variants_are_the_default_and_its_trees(name):
    assumed = assumed_acceptance(name, {}, task=None)
    first, *trees = variants(name, DENSE, assumed)
    assert first.method == METHODS[name].default(DENSE)
    assert [tree.method for tree in trees] == list(first.method.with_trees())
    for variant in (first, *trees):
        nodes = variant.method.tree_nodes
        law = assumed.acceptance
        if nodes:
            law = Acceptance.tree(rank_vector(assumed.alpha), nodes=nodes, source=assumed.source)
        assert variant.acceptance == law
        assert variant.gammas.tolist() == list(range(1, (variant.method.max_gamma or 16) + 1))[:16]


def test_lookups_that_do_not_always_find_have_that_in_their_interval():
    variant = Variant(method=NGram(proposed=(0.5,)), acceptance=Acceptance.constant(0.6))
    known = Assumed(acceptance=variant.acceptance, error=0.0, source="test")
    exact, point = interval(reached(0.0, 0.0), variant, known)
    assert (exact.low, exact.high) == pytest.approx((point, point), rel=1e-9)
    bounds, _ = interval(reached(0.0, 0.0), variant, replace(known, error=0.05))
    assert bounds.low < point < bounds.high


# --- crossover, schedule, settings -----------------------------------------------------------------------------------


def test_a_crossover_is_the_last_gain_up_to_1024():
    for candidate in planned(methods=["ngram", "eagle1", "rest", "mtp"]).candidates:
        if candidate.variant is None:
            continue
        found = candidate.place.rates(
            candidate.method,
            acceptance=candidate.variant.acceptance,
            gamma=candidate.gamma,
            batch=np.arange(1, 1025),
            context=2048,
        )
        gains = np.flatnonzero(found.speedup >= 1) + 1
        last = int(gains[-1]) if len(gains) else 0
        assert candidate.crossover_batch == (None if last == 1024 else last)


@pytest.mark.parametrize("max_batch", [1, 2, 3, 100, 513])
@pytest.mark.parametrize("name", ["eagle3", "ngram", "medusa"])
def test_a_schedule_covers_every_batch_once(name, max_batch):
    candidate = planned(methods=[name]).candidates[0]
    rows = gamma_schedule(candidate, max_batch=max_batch)
    covered = [batch for first, last, _ in rows for batch in range(first, last + 1)]
    assert covered == list(range(1, max_batch + 1))
    assert all(0 <= gamma <= candidate.gamma for *_, gamma in rows)
    assert all(before[2] != after[2] for before, after in pairwise(rows))
    Asked(method="ngram", target="t", gamma=candidate.gamma, max_batch=max_batch, max_context=1, schedule=rows)


def test_a_schedule_drafts_less_where_batches_are_large():
    candidate = planned(methods=["ngram"], acceptance={"ngram": 0.5}).best
    depths = [gamma for *_, gamma in gamma_schedule(candidate, max_batch=1024)]
    assert depths == sorted(depths, reverse=True)
    assert depths[-1] == 0
    (plain,) = (one for one in planned().candidates if one.name == PLAIN)
    assert gamma_schedule(plain, max_batch=64) == ((1, 64, 0),)
    with pytest.raises(InputError, match="max_batch must be at least 1, got 0"):
        gamma_schedule(plain, max_batch=0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", METHODS)
def test_settings_of_every_engine_say_what_the_plan_says(engine, name):
    found = planned(methods=[name], acceptance={name: 0.8}, work=Workload(batch=1, context=4000))
    if name not in OFFERED[engine] or found.best.variant is None:
        with pytest.raises(InfeasibleError, match=f"{engine} runs none of the plan's methods: "):
            engine_settings(found, engine)
        return
    pasted = engine_settings(found, engine, with_schedule=True, rehearse=True)
    assert pasted.candidate.name == name
    words = shlex.split(pasted.settings.command)
    assert "Llama-3.1-8B" in words
    text = json.dumps(dict(pasted.settings.config))
    assert ("PATH/TO/DRAFTER" in text) == (name not in ("ngram", "suffix"))
    if engine == "vllm":
        config = json.loads(words[words.index("--speculative-config") + 1])
        assert config == pasted.settings.config
        assert config["num_speculative_tokens"] == pasted.candidate.gamma
        law = pasted.candidate.variant.acceptance
        assert config["synthetic_acceptance_rates"] == pytest.approx(law.survival(pasted.candidate.gamma), abs=1e-9)
        first, last, _ = config["num_speculative_tokens_per_batch_size"][0]
        assert first == 1
        assert last >= 1


def test_a_tree_is_pasted_as_a_chain_where_the_engine_has_none():
    found = planned(
        methods=["eagle3"], acceptance={"eagle3": 0.6}, work=Workload(batch=1, context=100), efficiency=IDEAL
    )
    assert found.best.method.tree_nodes
    chain, tree = (engine_settings(found, engine) for engine in ("vllm", "sglang"))
    assert not chain.candidate.method.tree_nodes
    assert chain.settings.config["num_speculative_tokens"] == chain.candidate.gamma
    assert tree.candidate is found.best
    assert tree.settings.config["speculative_num_draft_tokens"] == found.best.nodes + 1
    assert tree.settings.config["speculative_num_steps"] == found.best.gamma
    assert tree.settings.config["speculative_eagle_topk"] == found.best.method.tree.top_k


def test_settings_take_names_and_limits():
    found = planned(LARGE, methods=["eagle3"], tensor_parallel=[4], work=Workload(batch=3, context=1000))
    config = engine_settings(found, "sglang", target="who/t", draft_model="who/d", max_context=9000).settings.config
    assert (config["model_path"], config["speculative_draft_model_path"]) == ("who/t", "who/d")
    assert (config["tp_size"], config["context_length"], config["max_running_requests"]) == (4, 9000, 6)


def test_the_best_that_an_engine_runs_is_not_always_the_best():
    found = planned(methods=["hydra", "ngram"])
    assert found.best.name == "hydra"
    assert engine_settings(found, "vllm").candidate.name == "ngram"


def test_an_engine_is_told_when_plain_decoding_is_best():
    found = planned(methods=["eagle3"], acceptance={"eagle3": 0.0})
    with pytest.raises(InfeasibleError, match="vllm runs none of the plan's methods: plain decoding is best"):
        engine_settings(found, "vllm")
    with pytest.raises(InputError, match="engine 'tgi' is unknown; known: llama_cpp, sglang, vllm"):
        engine_settings(found, "tgi")


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methods": ["eagle4"]}, r"method 'eagle4' is unknown; did you mean eagle\d\? known: dflash, draft_verify"),
        ({"objective": "cheap"}, "objective 'cheap' is unknown; known: device, user"),
        ({"acceptance": {"eagle4": 0.5}}, r"method of acceptance 'eagle4' is unknown; did you mean eagle\d"),
        ({"work": Workload(batch=1, context=1, task="poetry")}, "task 'poetry' is unknown; known: books, chat, code"),
        ({"tensor_parallel": []}, "tensor_parallel must have at least one degree"),
        ({"tensor_parallel": [0]}, "tensor_parallel must be at least 1, got 0"),
        ({"tensor_parallel": [3]}, "heads must be a multiple of tensor_parallel 3, got 32"),
    ],
)
def test_a_plan_refuses(change, message):
    with pytest.raises(InputError, match=message):
        planned(**change)


def test_acceptance_that_is_none_is_told_with_its_method():
    found = planned(acceptance={"eagle3": 1.2})
    assert found.rejected == {"eagle3": "acceptance of eagle3 must be in [0, 1], got 1.2"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": 0}, "batch must be at least 1, got 0"),
        ({"batch": 1.5}, "batch must be a whole number, got 1.5"),
        ({"context": -1}, "context must be at least 0, got -1"),
        ({"user_tokens_per_second": 0.0}, "user_tokens_per_second must be above 0, got 0"),
    ],
)
def test_a_workload_refuses(change, message):
    with pytest.raises(InputError, match=message):
        Workload(**{"batch": 1, "context": 0} | change)

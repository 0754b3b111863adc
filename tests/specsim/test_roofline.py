"""The roofline against hand-made sums, and its laws; the staircase."""

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import catalog
from specsim.errors import InputError
from specsim.roofline import (
    ASSUMED,
    Efficiency,
    PassCost,
    Roofline,
    Staircase,
    cache_work,
    expected_distinct_experts,
    pass_bytes,
    pass_flop,
    ridge_tokens,
    soft_maximum,
    step_seconds,
    token_work,
    weight_read_seconds,
)
from specsim.roofline.distinct import by_distinct
from specsim.roofline.experts import routing_chances

GPU = catalog.hardware("H100-SXM")
MODEL = catalog.model("Llama-3.1-8B")
IDEAL = Efficiency.ideal()
REAL = Efficiency(bandwidth_fraction=0.8, flop_fraction=0.6, overhead_seconds=2e-4, knee=4.0, source="test")
STAIRS = Staircase(tokens=(1, 2, 3, 4, 8), seconds=(0.057, 0.096, 0.107, 0.083, 0.096), source="float32, two cores")
counts = st.integers(1, 300)


def test_one_pass_by_hand():
    tokens, batch, context = 5, 32, 1000
    norms = 4096 * (2 * 32 + 1)
    matrices = 8_030_261_248 - 128_256 * 4096 - norms
    weights = 2 * matrices / 3.35e12, batch * tokens * 2 * matrices / 989e12
    cache = batch * context * 131_072 / 3.35e12, batch * tokens * 4 * 32 * 32 * 128 * context / 989e12
    where = {"tokens": tokens, "batch": batch, "context": context}
    by_hand = max(weights) + max(cache) + 2 * norms / 3.35e12
    assert step_seconds(MODEL, GPU, IDEAL, **where) == pytest.approx(by_hand, rel=1e-12)
    softened = sum(((read / 0.8) ** 4 + (computed / 0.6) ** 4) ** 0.25 for read, computed in (weights, cache))
    by_hand = softened + 2 * norms / 3.35e12 / 0.8 + 2e-4
    assert step_seconds(MODEL, GPU, REAL, **where) == pytest.approx(by_hand, rel=1e-12)


def test_published_round_numbers():
    seconds = weight_read_seconds(GPU, weight_bytes=16e9)
    assert f"{1e3 * seconds:.3f}" == "4.776"
    assert f"{1 / seconds:.1f}" == "209.4"
    assert f"{ridge_tokens(GPU):.1f}" == "295.2"
    # float8 weights with bfloat16 arithmetic halve it; with float8 arithmetic it stays.
    assert ridge_tokens(GPU, bytes_per_weight=1) == pytest.approx(ridge_tokens(GPU) / 2)
    assert ridge_tokens(GPU, bytes_per_weight=1, dtype="float8") == pytest.approx(ridge_tokens(GPU), rel=1e-3)


def test_the_ridge_is_where_the_ideal_pass_turns():
    ridge = ridge_tokens(GPU)
    below, above = (step_seconds(MODEL, GPU, IDEAL, tokens=n) for n in (math.floor(ridge), math.ceil(ridge)))
    assert below == step_seconds(MODEL, GPU, IDEAL, tokens=1)
    assert above > below


def test_the_cache_is_read_once_per_sequence_not_per_token():
    one, nine = (step_seconds(MODEL, GPU, IDEAL, tokens=n, batch=4, context=8000) for n in (1, 9))
    assert one == nine
    assert one > step_seconds(MODEL, GPU, IDEAL, tokens=1, batch=1, context=8000)


@given(tokens=counts, batch=counts, context=st.integers(0, 100_000), factor=st.floats(1.1, 10))
def test_laws_of_a_pass(tokens, batch, context, factor):
    def seconds(gpu=GPU, efficiency=IDEAL, **change):
        return step_seconds(MODEL, gpu, efficiency, **{"tokens": tokens, "batch": batch, "context": context} | change)

    assert seconds(efficiency=REAL) > seconds()
    assert seconds(tokens=tokens + 1) >= seconds()
    assert seconds(batch=batch + 1) >= seconds()
    wider = replace(GPU, bandwidth_bytes_per_second=factor * GPU.bandwidth_bytes_per_second)
    quicker = replace(GPU, flop_per_second={"bfloat16": factor * GPU.peak("bfloat16")})
    assert seconds() / factor * (1 - 1e-12) <= seconds(gpu=wider) <= seconds() * (1 + 1e-12)
    assert seconds() / factor * (1 - 1e-12) <= seconds(gpu=quicker) <= seconds() * (1 + 1e-12)
    both = replace(wider, flop_per_second=quicker.flop_per_second)
    assert seconds(gpu=both) == pytest.approx(seconds() / factor, rel=1e-12)


@given(tokens=counts, context=st.integers(0, 100_000), factor=st.floats(1.1, 10))
def test_the_limiting_cases_scale_with_one_peak_alone(tokens, context, factor):
    wider = replace(GPU, bandwidth_bytes_per_second=factor * GPU.bandwidth_bytes_per_second)
    one = step_seconds(MODEL, GPU, IDEAL, tokens=1, context=context)  # every kernel is bound by memory
    assert step_seconds(MODEL, wider, IDEAL, tokens=1, context=context) == pytest.approx(one / factor, rel=1e-9)
    quicker = replace(GPU, flop_per_second={"bfloat16": factor * GPU.peak("bfloat16")})
    many = {"tokens": 200 * tokens + 20_000}  # no cache, no experts: every matrix is bound by compute
    norms = 2 * 4096 * 65 / GPU.bandwidth_bytes_per_second
    slow, fast = (step_seconds(MODEL, gpu, IDEAL, **many) - norms for gpu in (GPU, quicker))
    assert fast == pytest.approx(slow / factor, rel=1e-9)


@given(a=st.floats(0, 1e3), b=st.floats(0, 1e3), knee=st.floats(1, 50))
def test_the_soft_maximum_lies_between_maximum_and_sum(a, b, knee):
    soft = float(soft_maximum(np.array(a), np.array(b), knee=knee))
    assert max(a, b) * (1 - 1e-12) <= soft <= (a + b) * (1 + 1e-12)
    assert float(soft_maximum(np.array(a), np.array(b), knee=math.inf)) == max(a, b)


def test_arrays_are_answered_element_by_element():
    tokens = np.array([1, 4, 400])
    roofline = Roofline(model=MODEL, hardware=GPU, efficiency=REAL)
    assert roofline.pass_seconds(tokens=tokens).tolist() == [roofline.pass_seconds(tokens=int(n)) for n in tokens]
    assert STAIRS.pass_seconds(tokens=np.array([1, 4])).tolist() == [0.057, 0.083]


@pytest.mark.parametrize("context", [0, 2000, 20_000])
def test_compute_bound_batch_is_the_first(context):
    roofline = Roofline(model=MODEL, hardware=GPU, efficiency=IDEAL)
    first = roofline.compute_bound_batch(tokens=8, context=context)
    if first is None:
        assert roofline.bound(tokens=8, batch=100_000, context=context) == "memory"
    else:
        assert roofline.bound(tokens=8, batch=first, context=context) == "compute"
        assert roofline.bound(tokens=8, batch=first - 1, context=context) == "memory"


def test_tiny_passes_are_bound_by_overhead():
    small = Roofline(model=catalog.model("SmolLM2-135M"), hardware=GPU, efficiency=REAL)
    assert small.bound(tokens=1) == "overhead"


# --- work, padding, several devices, experts ------------------------------------------------------------------------

MIXTURE, HYBRID = catalog.model("Qwen3-30B-A3B"), catalog.model("Qwen3-Next-80B-A3B")
SIZES = (1, 2, 4, 8, 16, 32, 64, 96, 128, 256)
LOSSES = replace(
    REAL,
    layer_seconds=1e-6,
    activation_vectors=10.0,
    kv_reread=0.3,
    expert_skew=0.5,
    graph_sizes=SIZES,
    all_reduce_seconds=5e-6,
    link_fraction=0.7,
)
PLACES = [(MODEL, 1), (MODEL, 4), (MIXTURE, 1), (MIXTURE, 2), (HYBRID, 2), (catalog.model("DeepSeek-V3"), 8)]


def on(model=MODEL, efficiency=IDEAL, devices=1):
    return Roofline(model=model, hardware=GPU, efficiency=efficiency, tensor_parallel=devices)


@given(tokens=st.integers(1, 40), batch=counts, context=st.integers(0, 50_000))
@pytest.mark.parametrize(("model", "devices"), PLACES)
def test_parts_are_not_negative_and_sum_to_the_pass(model, devices, tokens, batch, context):
    for efficiency in (IDEAL, LOSSES):
        where = {"tokens": tokens, "batch": batch, "context": context}
        parts = on(model, efficiency, devices).parts(**where)
        assert min(parts.values()) >= 0
        assert sum(parts.values()) == pytest.approx(on(model, efficiency, devices).pass_seconds(**where), rel=1e-12)


@given(tokens=st.integers(1, 300), batch=counts, context=st.integers(0, 50_000))
def test_an_ideal_pass_lies_between_its_longest_limit_and_their_sum(tokens, batch, context):
    where = {"tokens": tokens, "batch": batch, "context": context}
    limits = {name: float(seconds) for name, seconds in on().limits(**where).items()}
    seconds = on().pass_seconds(**where)
    assert max(limits.values()) * (1 - 1e-12) <= seconds <= sum(limits.values()) * (1 + 1e-12)
    assert limits[on().bound(**where)] == max(limits.values())
    assert limits["communication"] == limits["overhead"] == 0


@pytest.mark.parametrize("scored", [2, 5, 9])
def test_verifying_reads_the_cache_once_unless_it_is_said_to_be_read_again(scored):
    """The error of others: attention's bytes times gamma + 1. Here that is `kv_reread=1`, exactly, and 0 by default."""
    assert IDEAL.kv_reread == Efficiency.assumed(GPU).kv_reread == 0
    asked = {"batch": np.asarray(8), "context": np.asarray(20_000)}
    one = cache_work(MODEL, tokens=np.asarray(1), **asked)
    for reread, factor in ((0.0, 1), (0.5, (1 + scored) / 2), (1.0, scored)):
        work = cache_work(MODEL, tokens=np.asarray(scored), **asked, kv_reread=reread)
        assert work.read_bytes == factor * one.read_bytes
        assert work.flop == scored * one.flop
    assert one.read_bytes == 8 * 20_000 * 131_072
    again = replace(IDEAL, kv_reread=1.0)
    counts = {"batch": 8, "context": 20_000}
    single, several = (on(efficiency=again).parts(tokens=n, **counts)["attention"] for n in (1, scored))
    assert several == pytest.approx(scored * single, rel=1e-12)


@pytest.mark.parametrize(
    ("in_flight", "paid"), [(121, 128), (128, 128), (129, 256), (1, 1), (3, 4), (256, 256), (257, 257)]
)
def test_graphs_pad_to_the_next_captured_size(in_flight, paid):
    """121 tokens pay 128; beyond the largest graph there is none to pad to."""
    padded, exact = replace(REAL, graph_sizes=SIZES), REAL
    assert on(efficiency=padded).pass_seconds(tokens=in_flight) == on(efficiency=exact).pass_seconds(tokens=paid)
    together = on(efficiency=padded).pass_seconds(tokens=1, batch=in_flight, context=100)
    alone = on(efficiency=exact)
    attention = alone.parts(tokens=1, batch=in_flight, context=100)["attention"]  # of those that are there
    assert together == pytest.approx(alone.pass_seconds(tokens=paid) + attention, rel=1e-12)


@pytest.mark.parametrize("devices", [2, 4, 8])
def test_devices_share_bytes_and_pay_all_reduces(devices):
    single, shared = (token_work(MODEL, in_flight=np.asarray(7), tensor_parallel=count) for count in (1, devices))
    for part in ("attention_projections", "mlp", "lm_head"):
        assert shared[part].read_bytes == single[part].read_bytes / devices
        assert shared[part].flop == single[part].flop / devices
    assert shared["small_kernels"].read_bytes == single["small_kernels"].read_bytes
    reached = replace(IDEAL, all_reduce_seconds=6e-6, link_fraction=0.5)
    message = 7 * 4096 * 2
    once = 6e-6 + 2 * (devices - 1) / devices * message / (0.5 * 450e9)
    assert on(efficiency=reached, devices=devices).parts(tokens=7)["all_reduce"] == pytest.approx(2 * 32 * once)
    assert on(efficiency=reached).parts(tokens=7)["all_reduce"] == 0
    slow = replace(reached, all_reduce_seconds=1.0)
    assert on(efficiency=slow, devices=devices).bound(tokens=1) == "communication"


def test_fixed_costs_are_paid_once_a_pass_and_once_a_layer():
    paying = replace(IDEAL, overhead_seconds=1e-3, layer_seconds=1e-5)
    extra = on(efficiency=paying).pass_seconds(tokens=3) - on().pass_seconds(tokens=3)
    assert extra == pytest.approx(1e-3 + 32 * 1e-5, rel=1e-9)
    moving = replace(IDEAL, activation_vectors=6.0)
    extra = on(efficiency=moving).pass_seconds(tokens=3) - on().pass_seconds(tokens=3)
    assert extra == pytest.approx(3 * 32 * 6 * 4096 * 2 / 3.35e12, rel=1e-6)


def test_a_states_bytes_are_read_and_written_for_every_sequence():
    work = cache_work(HYBRID, tokens=np.asarray(1), batch=np.asarray(5), context=np.asarray(0))
    assert work.read_bytes == 2 * 5 * HYBRID.state_bytes_per_sequence > 0


def test_a_pass_over_a_mixture_by_hand():
    """Experts: those that 6 tokens wake are read, those that each is routed to are computed."""
    work = token_work(MIXTURE, in_flight=np.asarray(6))["experts"]
    assert work.read_bytes == pytest.approx(128 * (1 - (1 - 8 / 128) ** 6) * MIXTURE.expert_bytes, rel=1e-12)
    assert work.flop == 2 * 6 * 8 * sum(matrix.parameters for matrix in MIXTURE.expert_matrices)
    assert pass_bytes(MIXTURE, tokens=1) == pytest.approx(
        MIXTURE.pass_weight_bytes + 8 * MIXTURE.expert_bytes, rel=1e-12
    )
    assert pass_flop(MIXTURE, tokens=3) == 3 * MIXTURE.flop_per_token


@given(experts=st.integers(1, 64), share=st.floats(0, 1), tokens=st.integers(1, 200), skew=st.floats(0, 3))
def test_distinct_experts_between_those_of_one_token_and_all(experts, share, tokens, skew):
    active = max(1, round(share * experts))
    chances = routing_chances(experts=experts, active=active, skew=skew)
    assert chances.sum() == pytest.approx(active)
    assert (np.diff(chances) <= 1e-12).all()
    assert chances.max() <= 1 + 1e-12
    kind = {"experts": experts, "active": active, "skew": skew}
    found = expected_distinct_experts(tokens=np.array([1, tokens, tokens + 1]), **kind)
    assert found[0] == pytest.approx(active)
    assert active * (1 - 1e-12) <= found[1] <= found[2] * (1 + 1e-12) <= experts * (1 + 1e-9)
    balanced = expected_distinct_experts(experts=experts, active=active, tokens=tokens)
    assert balanced == pytest.approx(experts * (1 - (1 - active / experts) ** tokens))
    assert found[1] <= balanced * (1 + 1e-9)


@pytest.mark.parametrize("skew", [0.0, 1.0])
def test_distinct_experts_by_enumeration(skew):
    """Four experts, one of them per token, three tokens: all 64 ways."""
    chances = routing_chances(experts=4, active=1, skew=skew)
    by_hand = sum(
        math.prod(float(chances[expert]) for expert in routed) * len(set(routed))
        for routed in itertools.product(range(4), repeat=3)
    )
    assert expected_distinct_experts(experts=4, active=1, tokens=3, skew=skew) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"experts": 0}, "experts must be at least 1, got 0"),
        ({"active": 9}, r"active must be in 1\.\.8, got 9"),
        ({"tokens": -1}, "tokens must be at least 0, got -1"),
        ({"skew": -1.0}, "skew must be at least 0, got -1"),
    ],
)
def test_experts_refuse(change, message):
    with pytest.raises(InputError, match=message):
        expected_distinct_experts(**{"experts": 8, "active": 2, "tokens": 1} | change)


@given(values=st.lists(st.integers(0, 10_000), min_size=1, max_size=30), is_small=st.booleans())
def test_a_function_is_asked_for_every_different_count_once(values, is_small):
    asked = []

    def function(different):
        asked.extend(different.tolist())
        return np.sqrt(different)

    given_counts = np.array(values).reshape(1, -1) % (40 if is_small else 20_000)
    found = by_distinct(function, given_counts)
    assert found.tolist() == np.sqrt(given_counts).tolist()
    assert asked == sorted(set(given_counts.ravel().tolist()))


class Counting:
    """A law that takes a second for whatever it is told of, and remembers it."""

    kernels = frozenset({"bfloat16"})

    def __init__(self):
        self.asked = []

    def seconds(self, *where, **told):
        self.asked.append(told)
        return np.ones(np.broadcast_shapes(*(np.shape(value) for value in told.values())))


def test_fitted_laws_are_asked_for_each_kernel_and_how_often_it_runs():
    """One second a kernel: a pass counts them. Counts of a layer: two matrices of attention, two of the MLP."""
    laws = SimpleNamespace(
        gemm={"bfloat16": Counting()}, attention=Counting(), experts=Counting(), all_reduce=Counting()
    )
    fitted = replace(IDEAL, kernels=laws)
    layers, devices = MIXTURE.layers, 2
    parts = on(MIXTURE, fitted, devices).parts(tokens=4, batch=3, context=500)
    assert parts["attention_projections"] == 2 * layers
    assert parts["router"] == parts["experts"] == parts["attention"] == layers
    assert parts["lm_head"] == 1
    assert parts["all_reduce"] == 2 * layers
    assert laws.experts.asked[0]["tokens"] == 12
    assert laws.experts.asked[0]["tensor_parallel"] == devices
    assert laws.attention.asked[0]["heads"] == MIXTURE.heads / devices
    assert laws.attention.asked[0]["context"] == 500
    assert {asked["m"].item() for asked in laws.gemm["bfloat16"].asked} == {12}
    dense = on(MODEL, fitted).parts(tokens=1)
    assert dense["mlp"] == 2 * MODEL.layers
    assert "experts" not in dense


def test_experts_without_a_law_are_not_free():
    laws = SimpleNamespace(gemm={"bfloat16": Counting()}, attention=Counting(), experts=None, all_reduce=None)
    fitted = replace(IDEAL, kernels=laws)
    assert on(MIXTURE, fitted).parts(tokens=3)["experts"] == on(MIXTURE).parts(tokens=3)["experts"] > 0


def test_a_number_format_without_a_law_lists_those_with():
    laws = SimpleNamespace(gemm={"bfloat16": Counting()}, attention=Counting(), experts=None, all_reduce=None)
    rapid = Roofline(model=MODEL, hardware=GPU, efficiency=replace(IDEAL, kernels=laws), dtype="float8")
    with pytest.raises(InputError, match=r"dtype with fitted kernels 'float8' is unknown; .*known: bfloat16, float16"):
        rapid.pass_seconds(tokens=1)


@pytest.mark.parametrize("knee", [1.0, 2.0, 4.0, 7.5])
def test_the_knee_is_a_norm(knee):
    high, low = np.array([3.0, 0.0, 5.0]), np.array([4.0, 0.0, 0.0])
    assert soft_maximum(high, low, knee=knee) == pytest.approx((high**knee + low**knee) ** (1 / knee), rel=1e-12)


@pytest.mark.parametrize(
    ("devices", "change", "message"),
    [
        (3, {}, "heads must be a multiple of tensor_parallel 3, got 32"),
        (0, {}, "tensor_parallel must be at least 1, got 0"),
        (2, {"link_bytes_per_second": 0.0, "devices_per_node": 1}, "tensor_parallel must be 1 on H100-SXM"),
    ],
)
def test_devices_that_cannot_share_are_refused(devices, change, message):
    with pytest.raises(InputError, match=message):
        step_seconds(MODEL, replace(GPU, **change), IDEAL, tokens=1, tensor_parallel=devices)


@pytest.mark.parametrize("name", catalog.hardware_names())
def test_every_gpu_has_an_assumption_that_says_so(name):
    assumed = Efficiency.assumed(catalog.hardware(name))
    assert assumed.source.startswith("assumed")
    assert 0 < assumed.flop_fraction < 1
    assert 0 < assumed.bandwidth_fraction < 1


def test_a_generation_without_assumption_lists_those_with():
    with pytest.raises(InputError, match=", ".join(sorted(ASSUMED))):
        Efficiency.assumed(replace(GPU, generation="Rubin"))


@pytest.mark.parametrize(
    "change",
    [
        {"bandwidth_fraction": 0.0},
        {"flop_fraction": 2.1},
        {"overhead_seconds": -1e-9},
        {"knee": 0.9},
        {"knee": math.nan},
        {"source": ""},
        {"kv_reread": 1.1},
        {"layer_seconds": -1e-9},
        {"expert_skew": -0.1},
        {"link_fraction": 0.0},
        {"graph_sizes": (4, 2)},
        {"graph_sizes": (0, 2)},
        {"graph_sizes": (2, 2)},
        {"kernel_error": math.nan},
        {"overhead_error": -0.1},
    ],
)
def test_efficiency_refuses(change):
    with pytest.raises(InputError):
        replace(REAL, **change)


@pytest.mark.parametrize(
    "change",
    [{"tokens": 0}, {"tokens": 1.0}, {"batch": 0}, {"context": -1}, {"dtype": "float4"}, {"tokens": np.array([1, 0])}],
)
def test_passes_refuse(change):
    with pytest.raises(InputError):
        step_seconds(MODEL, GPU, IDEAL, **{"tokens": 1} | change)


def test_stairs_are_exact_at_measured_points_and_linear_between():
    assert [STAIRS.pass_seconds(tokens=n) for n in STAIRS.tokens] == list(STAIRS.seconds)
    assert STAIRS.pass_seconds(tokens=6) == pytest.approx((0.083 + 0.096) / 2)
    assert replace(STAIRS, scale=1.1).pass_seconds(tokens=2) == pytest.approx(0.1056)
    assert isinstance(STAIRS, PassCost)


@pytest.mark.parametrize("change", [{"tokens": 9}, {"tokens": 0}, {"batch": 2}, {"context": -1}])
def test_stairs_are_silent_outside(change):
    with pytest.raises(InputError):
        STAIRS.pass_seconds(**{"tokens": 1} | change)


@pytest.mark.parametrize(
    "change",
    [
        {"tokens": (1, 1, 3, 4, 8)},
        {"tokens": (1, 2)},
        {"tokens": (), "seconds": ()},
        {"seconds": (0.1, 0.1, 0.0, 0.1, 0.1)},
        {"scale": 0.0},
        {"source": ""},
        {"batch": 0},
    ],
)
def test_stairs_refuse(change):
    with pytest.raises(InputError):
        replace(STAIRS, **change)

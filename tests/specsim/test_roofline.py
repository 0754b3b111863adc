"""The roofline against hand-made sums, and its laws; the staircase."""

import math
from dataclasses import replace

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
    ridge_tokens,
    soft_maximum,
    step_seconds,
    weight_read_seconds,
)

GPU = catalog.hardware("H100-SXM")
MODEL = catalog.model("Llama-3.1-8B")
IDEAL = Efficiency.ideal()
REAL = Efficiency(bandwidth_fraction=0.8, flop_fraction=0.6, overhead_seconds=2e-4, knee=4.0, source="test")
STAIRS = Staircase(tokens=(1, 2, 3, 4, 8), seconds=(0.057, 0.096, 0.107, 0.083, 0.096), source="float32, two cores")
counts = st.integers(1, 300)


def test_one_pass_by_hand():
    tokens, batch, context = 5, 32, 1000
    parameters = 8_030_261_248 - 128_256 * 4096
    read = (2 * parameters + batch * context * 131_072) / 3.35e12
    computed = batch * tokens * (2 * parameters + 4 * 32 * 32 * 128 * context) / 989e12
    where = {"tokens": tokens, "batch": batch, "context": context}
    assert step_seconds(MODEL, GPU, IDEAL, **where) == pytest.approx(max(read, computed), rel=1e-12)
    softened = ((read / 0.8) ** 4 + (computed / 0.6) ** 4) ** 0.25 + 2e-4
    assert step_seconds(MODEL, GPU, REAL, **where) == pytest.approx(softened, rel=1e-12)


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
    faster = replace(GPU, bandwidth_bytes_per_second=factor * GPU.bandwidth_bytes_per_second)
    bound = Roofline(model=MODEL, hardware=faster, efficiency=IDEAL).bound(tokens=tokens, batch=batch, context=context)
    if bound == "memory":
        assert seconds(gpu=faster) == pytest.approx(seconds() / factor, rel=1e-12)


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

"""Placement: targets and drafters on several accelerators, and what tokens cost there."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.catalog import hardware, model
from specsim.drafters import METHODS, DynamicTree, Eagle3, Independent, Lookahead, NGram
from specsim.errors import InputError
from specsim.memory import memory
from specsim.placement import Placement, token_price
from specsim.rates import rates
from specsim.roofline import Efficiency
from specsim.roofline.work import BYTES_PER_ACTIVATION

GPU = hardware("H100-SXM")
DENSE, LARGE, MIXTURE = model("Llama-3.1-8B"), model("Llama-3.1-70B"), model("Qwen3-30B-A3B")
IDEAL = Efficiency.ideal()


def placed(target=DENSE, devices=1, efficiency=IDEAL, **change):
    return Placement(target=target, hardware=replace(GPU, **change), efficiency=efficiency, tensor_parallel=devices)


def test_it_is_the_sum_of_its_parts():
    place, counts = placed(), {"acceptance": 0.7, "gamma": 3, "batch": 4, "context": 500}
    found = place.rates(Eagle3(), **counts)
    by_hand = rates(place.cost(DENSE), place.drafter(Eagle3()), **counts)
    assert found.speedup == by_hand.speedup


@pytest.mark.parametrize("devices", [2, 4, 8])
def test_tensor_parallelism_halves_bytes_and_adds_all_reduces(devices):
    """Memory-bound and ideal: all matrices and caches divide; an all-reduce moves 2 (d - 1) / d of a message."""
    one, many = (placed(devices=count).cost(DENSE).parts(tokens=1, context=4096) for count in (1, devices))
    for part in ("attention_projections", "mlp", "attention"):
        assert many[part] == pytest.approx(one[part] / devices, rel=1e-12)
    assert many["lm_head"] == pytest.approx(one["lm_head"] / devices, rel=1e-12)
    assert many["small_kernels"] == one["small_kernels"]
    message = DENSE.hidden * BYTES_PER_ACTIVATION
    moved = 2 * (devices - 1) / devices * message / GPU.link_bytes_per_second
    assert one["all_reduce"] == 0
    assert many["all_reduce"] == pytest.approx(2 * DENSE.layers * moved, rel=1e-12)


def test_latency_of_all_reduces_is_paid_by_each():
    reached = replace(IDEAL, all_reduce_seconds=5e-6)
    quick, slow = (placed(devices=4, efficiency=kind).cost(DENSE).pass_seconds(tokens=1) for kind in (IDEAL, reached))
    assert slow - quick == pytest.approx(2 * 32 * 5e-6, rel=1e-9)


def test_a_drafter_whose_heads_do_not_divide_is_whole_on_each_accelerator():
    """Qwen3-0.6B has 16 heads and 8 cached; a shape of 14 heads cannot be split by 4."""
    place = placed(LARGE, 4)
    small = Independent.default(LARGE).draft
    assert place.draft_tensor_parallel(small) == 4
    odd = replace(small, heads=14, kv_heads=2, head_dim=64)
    assert place.draft_tensor_parallel(odd) == 1
    assert place.draft_cost(odd).tensor_parallel == 1
    assert place.draft_cost(odd).parts(tokens=1)["all_reduce"] == 0
    use = place.memory(Independent(draft=odd), batch=1, context=0)
    assert use.draft_weight_bytes == odd.weight_bytes
    assert place.memory(Independent(draft=small), batch=1, context=0).draft_weight_bytes == small.weight_bytes / 4


@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_placed_on_four(name):
    method = METHODS[name].default(LARGE)
    found = placed(LARGE, 4).rates(method, acceptance=0.7, gamma=np.array([0, 3]), batch=8, context=1000)
    assert found.speedup[0] == 1
    assert 0.1 < found.speedup[1] < 4


@given(
    gamma=st.integers(0, 4),
    batch=st.integers(1, 400),
    context=st.integers(0, 100_000),
    devices=st.sampled_from([1, 2, 4]),
)
@pytest.mark.parametrize("method", [Eagle3(), Eagle3(tree=DynamicTree()), Lookahead(), Independent.default(LARGE)])
def test_many_scenarios_fit_as_each_does_alone(method, gamma, batch, context, devices):
    place = placed(LARGE, devices)
    together = place.fits(method, gamma=np.array([gamma, 0]), batch=np.array([[batch], [1]]), context=context)
    assert together.shape == (2, 2)
    assert together[0, 0] == place.memory(method, gamma=gamma, batch=batch, context=context).fits
    assert together[1, 1] == place.memory(method, gamma=0, batch=1, context=context).fits


@pytest.mark.parametrize("method", [Eagle3(), Eagle3(tree=DynamicTree()), Lookahead()], ids=["chain", "tree", "window"])
def test_the_last_batch_that_fits_is_that_of_memory(method):
    """A short context, so that what is verified decides."""
    asked = {"gamma": 4, "context": 10}
    last = placed().memory(method, **asked, batch=1).max_batch
    assert placed().fits(method, **asked, batch=np.array([last, last + 1])).tolist() == [True, False]


def test_memory_is_that_of_its_devices():
    place = placed(LARGE, 4)
    asked = {"batch": 2, "context": 100}
    assert place.memory(NGram(), **asked, gamma=3) == memory(
        LARGE, NGram(), hardware=GPU, **asked, gamma=3, tensor_parallel=4, draft_tensor_parallel=4
    )
    assert place.memory(**asked).draft_weight_bytes == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"devices": 3}, "heads must be a multiple of tensor_parallel 3, got 32"),
        ({"devices": 0}, "tensor_parallel must be at least 1, got 0"),
        ({"devices": 64}, "heads must be a multiple of tensor_parallel 64, got 32"),
        (
            {"devices": 2, "link_bytes_per_second": 0.0, "devices_per_node": 1},
            "tensor_parallel must be 1 on H100-SXM, which has no link, got 2",
        ),
    ],
)
def test_a_placement_refuses(change, message):
    with pytest.raises(InputError, match=message):
        placed(**change)


def test_tokens_have_a_price_where_the_hour_has():
    priced = replace(GPU, price_per_hour=3.6)
    assert float(token_price(priced, device_tokens_per_second=1000.0)) == pytest.approx(1.0)
    assert token_price(priced, device_tokens_per_second=np.array([500.0, 2000.0])) == pytest.approx([2.0, 0.5])
    assert float(token_price(replace(GPU, price_per_hour=0.0), device_tokens_per_second=1.0)) == 0
    with pytest.raises(InputError, match="price_per_hour of H100-SXM must be set to price tokens, got none"):
        token_price(GPU, device_tokens_per_second=1.0)

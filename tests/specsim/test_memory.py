"""Memory against hand-made sums: what a drafter takes is missing for sequences, byte by byte."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.catalog import hardware, model
from specsim.drafters import METHODS, DynamicTree, Eagle3, Independent, LayerSkip, Lookahead, Medusa, NGram, Rest
from specsim.errors import InputError
from specsim.memory import RESERVED_FRACTION, Memory, memory, sequence_bytes

GPU = hardware("H100-SXM")
DENSE, LARGE = model("Llama-3.1-8B"), model("Llama-3.1-70B")


def test_one_device_by_hand():
    use = memory(DENSE, hardware=GPU, batch=10, context=999)
    weights, sequence = 2 * 8_030_261_248, 1000 * 2 * 32 * 8 * 128 * 2
    assert use.weight_bytes == weights
    assert use.sequence_bytes == sequence
    assert (use.draft_weight_bytes, use.draft_sequence_bytes) == (0, 0)
    assert use.reserved_bytes == RESERVED_FRACTION * 80e9
    assert use.bytes == weights + 10 * sequence + 8e9
    assert use.max_batch == int((72e9 - weights) // sequence)
    assert use.fits


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("target", [DENSE, model("Qwen3-30B-A3B")], ids=["dense", "mixture"])
def test_a_drafter_shrinks_the_batch_by_exactly_its_bytes(name, target):
    method = METHODS[name].default(target)
    gamma, context = 3, 5000
    plain = memory(target, hardware=GPU, context=context)
    use = memory(target, method, hardware=GPU, context=context, gamma=gamma)
    tokens = context + int(method.target_tokens(gamma))
    assert use.draft_weight_bytes == method.extra_bytes(target)
    assert use.draft_sequence_bytes == method.kv_bytes_per_token(target) * tokens
    assert use.weight_bytes == plain.weight_bytes
    free = GPU.memory_bytes * (1 - RESERVED_FRACTION) - target.weight_bytes - method.extra_bytes(target)
    each = tokens * (target.kv_bytes_per_token + method.kv_bytes_per_token(target))
    assert use.max_batch == max(0, int(free // each))
    assert use.max_batch <= plain.max_batch


@pytest.mark.parametrize(
    ("method", "gamma", "scored"),
    [
        (Eagle3(), 5, 6),
        (Eagle3(tree=DynamicTree(nodes=60)), 5, 61),
        (Medusa(heads=4, nodes=63), 4, 64),
        (Lookahead(), 4, 57),
        (Rest(), 3, 65),
        (NGram(), 0, 1),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_all_that_is_verified_takes_cache(method, gamma, scored):
    use = memory(DENSE, method, hardware=GPU, context=100, gamma=gamma)
    assert use.sequence_bytes == (100 + scored) * DENSE.kv_bytes_per_token


def test_the_targets_own_layers_cost_nothing():
    plain, skip = (memory(DENSE, method, hardware=GPU, context=4096) for method in (None, LayerSkip()))
    assert plain == skip


@given(
    gigabytes=st.floats(18, 1000),
    batch=st.integers(1, 3000),
    context=st.integers(0, 200_000),
    gamma=st.integers(0, 16),
    more=st.floats(1, 3),
)
def test_what_fits_is_what_the_largest_batch_says(gigabytes, batch, context, gamma, more):
    gpu, larger = (replace(GPU, memory_bytes=size * 1e9) for size in (gigabytes, more * gigabytes))
    use = memory(DENSE, Eagle3(), hardware=gpu, batch=batch, context=context, gamma=gamma)
    assert use.fits == (batch <= use.max_batch)
    assert replace(use, batch=max(1, use.max_batch)).fits == (use.max_batch > 0)
    assert not replace(use, batch=use.max_batch + 1).fits
    assert memory(DENSE, Eagle3(), hardware=larger, context=context, gamma=gamma).max_batch >= use.max_batch
    longer = memory(DENSE, Eagle3(), hardware=gpu, context=context + 1000, gamma=gamma)
    assert longer.max_batch <= use.max_batch


def test_devices_share_weights_and_heads():
    one, four = (memory(LARGE, hardware=GPU, context=2047, tensor_parallel=devices) for devices in (1, 4))
    assert four.weight_bytes == one.weight_bytes / 4
    assert four.sequence_bytes == one.sequence_bytes / 4
    assert not one.fits
    assert one.max_batch == 0
    assert four.fits
    copied = memory(LARGE, hardware=GPU, context=2047, tensor_parallel=16)  # 8 cached heads: each is held twice
    assert copied.sequence_bytes == one.sequence_bytes / 8


def test_a_drafter_that_is_not_split_is_copied_to_every_device():
    method = Independent.default(LARGE)
    asked = {"hardware": GPU, "context": 1000, "tensor_parallel": 4}
    split, copied = (memory(LARGE, method, **asked, draft_tensor_parallel=devices) for devices in (4, 1))
    assert copied.draft_weight_bytes == method.draft.weight_bytes == 4 * split.draft_weight_bytes
    assert copied.draft_sequence_bytes == 4 * split.draft_sequence_bytes


def test_a_latent_is_copied_and_a_state_does_not_grow():
    deepseek, hybrid = model("DeepSeek-V3"), model("Qwen3-Next-80B-A3B")
    assert sequence_bytes(deepseek, tokens=1000, tensor_parallel=8) == sequence_bytes(deepseek, tokens=1000)
    assert sequence_bytes(hybrid, tokens=0) == hybrid.state_bytes_per_sequence > 0
    gained = sequence_bytes(hybrid, tokens=1000) - sequence_bytes(hybrid, tokens=0)
    assert gained == pytest.approx(1000 * hybrid.kv_bytes_per_token)


def test_a_window_stops_a_cache():
    gemma = model("Gemma-3-4B")
    grown = np.diff(sequence_bytes(gemma, tokens=np.array([0, 1000, 2000, 3000])))
    assert grown[0] == 1000 * gemma.kv_bytes_per_token
    assert grown[2] == pytest.approx(1000 * gemma.kv_bytes_per_token * (1 - gemma.window_layers / gemma.layers))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": 0}, "batch must be at least 1, got 0"),
        ({"context": -1}, "context must be at least 0, got -1"),
        ({"gamma": -1}, "gamma must be at least 0, got -1"),
        ({"tensor_parallel": 0}, "tensor_parallel must be at least 1, got 0"),
        ({"tensor_parallel": 3}, "heads must be a multiple of tensor_parallel 3, got 32"),
        ({"tensor_parallel": 2, "draft_tensor_parallel": 4}, r"draft_tensor_parallel must be in 1\.\.2, got 4"),
        ({"reserved_fraction": 1.5}, r"reserved_fraction must be in \[0, 1\], got 1.5"),
        ({"method": Medusa(heads=2), "gamma": 3}, "gamma must be at most 2 for medusa, got 3"),
    ],
)
def test_memory_refuses(change, message):
    asked = {"target": DENSE, "hardware": GPU} | change
    with pytest.raises(InputError, match=message):
        memory(**asked)


def test_nothing_fits_where_weights_do_not():
    tiny = memory(DENSE, hardware=replace(GPU, memory_bytes=10e9))
    assert isinstance(tiny, Memory)
    assert (tiny.fits, tiny.max_batch) == (False, 0)

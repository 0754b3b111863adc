"""Weights of few bits, as they are and packed: what rounding explains, and nothing of a pass's neighbours."""

import numpy as np
import pytest
import torch

from specsim.errors import InputError
from validation.decoder.load import Loaded
from validation.decoder.model import CachedModel
from validation.decoder.packed import PackedLinear
from validation.decoder.proposers import PROPOSERS
from validation.decoder.quantised import GROUP, LAYERS, EightBitLinear, FourBitLinear, quantise
from validation.decoder.tiny import tiny_model

PROMPTS = [list(b"a rose is a rose is a rose")]


@pytest.fixture(scope="module")
def tiny():
    return Loaded(model=tiny_model()[0], tokenizer=None, name="tiny", is_real=False)


@pytest.mark.parametrize("outputs", [16, 48, 50])  # of which torch's kernel takes multiples of 16
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("is_packed", [False, True])
def test_four_bits_miss_a_weight_by_half_a_level_at_most(outputs, bias, is_packed):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(outputs)
        linear = torch.nn.Linear(4 * GROUP, outputs, bias=bias)
    layer = FourBitLinear(linear)
    assert layer.can_be_laid_out == (outputs % 16 == 0)
    has_kernel = is_packed and layer.can_be_laid_out
    layer = PackedLinear(layer) if has_kernel else layer
    with torch.inference_mode():
        zero = layer(torch.zeros(1, 2, 4 * GROUP))
        weights = (layer(torch.eye(4 * GROUP)[None]) - zero[:, :1])[0].T
        np.testing.assert_allclose(zero[0, 0], linear.bias if bias else torch.zeros(outputs), atol=1e-6)
        groups = linear.weight.unflatten(1, (-1, GROUP))
        level = (groups.amax(-1) - groups.amin(-1)) / 15
        missed = (weights - linear.weight).abs().unflatten(1, (-1, GROUP)).amax(-1)
    assert (missed < (0.5 + 0.15 * has_kernel) * level + 1e-6).all()  # the kernel rounds to bfloat16 as well
    assert missed.max() > 0.3 * level.min()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("is_packed", [False, True])
def test_eight_bits_miss_a_product_by_what_rounding_explains(bias, is_packed):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        linear, inputs = torch.nn.Linear(96, 50, bias=bias), torch.randn(3, 2, 96)
    layer = EightBitLinear(linear)
    with torch.inference_mode():
        missed = ((PackedLinear(layer) if is_packed else layer)(inputs) - linear(inputs)).abs()
        bound = inputs.abs().sum(-1, keepdim=True) * linear.weight.abs().amax(1) / 254
        if is_packed:  # inputs, scales and sums are rounded to bfloat16
            bound = bound + 2**-8 * (inputs.abs() @ linear.weight.abs().T + linear(inputs).abs())
    assert (missed < bound + 1e-5).all()
    assert missed.max() > 1e-3


@pytest.mark.parametrize("kind", LAYERS.values())
@pytest.mark.parametrize("is_packed", [False, True])
def test_products_of_few_bits_do_not_depend_on_the_neighbours(kind, is_packed):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer, inputs = kind(torch.nn.Linear(64, 16)), torch.randn(5, 64)
    layer = PackedLinear(layer) if is_packed else layer
    with torch.inference_mode():
        before = layer(inputs)
        inputs[1:] *= 100
        torch.testing.assert_close(layer(inputs)[:1], before[:1], rtol=0, atol=0)


@pytest.mark.parametrize(("bits", "most"), [(8, 0.1), (4, 0.6)])
def test_a_quantised_copy_says_nearly_the_same(tiny, bits, most):
    before = CachedModel(tiny.model).score(PROMPTS[0])
    found = CachedModel(quantise(tiny.model, bits=bits), pack=True).score(PROMPTS[0])
    assert 0 < np.abs(found - before).std() < most * before.std()
    np.testing.assert_array_equal(CachedModel(tiny.model).score(PROMPTS[0]), before)


def test_other_bits_are_refused(tiny):
    with pytest.raises(InputError, match="bits must be 4 or 8, got 3"):
        PROPOSERS["quantised"](tiny, bits=3)

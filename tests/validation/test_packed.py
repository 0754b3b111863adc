"""Twins of models that read packed weights: the same logits by either layout, and what may not be packed."""

import copy

import numpy as np
import pytest
import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from specsim.distributions import Sampling
from specsim.errors import InputError
from specsim.topology import Topology
from validation.decoder import packed as packing
from validation.decoder import products
from validation.decoder.layers import early_exit
from validation.decoder.loop import decode
from validation.decoder.model import CachedModel
from validation.decoder.packed import PackedDecoder, PackedLayer, packed
from validation.decoder.products import Mkl, OneDnn, filled
from validation.decoder.proposers import ModelProposer
from validation.decoder.quantised import LAYERS, EightBitLinear, quantise
from validation.decoder.tiny import tiny_model

GREEDY = Sampling(temperature=0.0)
PROMPT = list(b"to be or not to be, that is the question: to be or")
needs_mkl = pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="this torch has no MKL")


@pytest.fixture(params=["OneDnn", pytest.param("Mkl", marks=needs_mkl)], autouse=True)
def layout(request, monkeypatch):
    """Either maker's layout, whoever made the processor; MKL's is for float32 alone."""
    monkeypatch.setattr(products, "_prefers_mkl", lambda dtype: request.param == "Mkl" and dtype is torch.float32)
    return request.param


@pytest.fixture
def tiny():
    return tiny_model()[0]


@pytest.mark.parametrize("rows", [1, 2, 3, 8, 31, 33, 300])
@pytest.mark.parametrize(("bias", "added"), [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(("outputs", "inputs"), [(40, 24), (24, 40), (1600, 576), (576, 1536)])
def test_products_are_those_of_the_plain_weight(layout, rows, bias, added, outputs, inputs):
    generator = torch.Generator().manual_seed(rows)
    weight, given = (torch.randn(shape, generator=generator) for shape in ((outputs, inputs), (1, rows, inputs)))
    offset = torch.randn(outputs, generator=generator) if bias else None
    more = torch.randn(1, rows, outputs, generator=generator) if added else None
    before = None if more is None else more.clone()
    found = {"OneDnn": OneDnn, "Mkl": Mkl}[layout](weight).product(given, offset, more)
    expected = torch.nn.functional.linear(given, weight, offset) + (0.0 if more is None else more)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6 * inputs)
    assert more is None or torch.equal(more, before)  # what is added belongs to the caller


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_packed_weights_give_the_same_logits_up_to_rounding(dtype):
    model = tiny_model()[0].to(dtype)
    ids = torch.tensor([PROMPT[:7]])
    found, expected = packed(model)(ids).logits.float(), model(ids).logits.float()
    scale = expected.abs().max().item()
    torch.testing.assert_close(found, expected, rtol=0, atol=scale * (1e-5 if dtype is torch.float32 else 3e-2))
    assert packed(model) is packed(model)
    assert type(model.lm_head) is torch.nn.Linear  # the model itself is left alone


def test_a_packed_model_speculates_like_the_plain_one(tiny):
    plain = decode(CachedModel(tiny), None, PROMPT, max_tokens=32, sampling=GREEDY)
    proposer = ModelProposer(CachedModel(early_exit(tiny, layers=3), pack=True))
    fast = decode(CachedModel(tiny, pack=True), proposer, PROMPT, gamma=3, max_tokens=32, sampling=GREEDY)
    assert fast.tokens == plain.tokens


@pytest.mark.parametrize("bias", [False, True])
def test_packed_passes_over_ragged_batches_and_trees_are_the_plain_ones(bias):
    """Grouped heads, masks of every row, biases of joined products: the same logits as the model's own layers."""
    config = LlamaConfig(**tiny_model()[0].config.to_dict() | {"attention_bias": bias, "mlp_bias": bias})
    torch.manual_seed(5)
    model = LlamaForCausalLM(config)
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    tree = Topology(parents=(-1, -1, 0, 1))
    found = []
    for pack in (False, True):
        reader = CachedModel(model, pack=pack)
        reader.begin(2)
        first = reader.read([PROMPT[:5], PROMPT[:3]])
        second = reader.read([[1, 2, 3, 4, 5], [6, 7]], trees=[tree, None])
        found.append([*first.logits, *second.logits])
    for plain, fast in zip(*found, strict=True):
        np.testing.assert_allclose(fast, plain, rtol=0, atol=2e-4 * np.abs(plain).max())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_only_passes_that_come_out_even_are_filled_up_and_none_for_mkl(layout, dtype):
    shapes = [(rows, span) for rows in range(1, 9) for span in range(1, 10)]
    spans = {(rows, span): filled(span, rows=rows, dtype=dtype) for rows, span in shapes}
    more = {(rows, span): rows * wider for (rows, span), wider in spans.items() if wider != span}
    plain = layout == "Mkl" and dtype is torch.float32
    assert more == ({} if plain else {(1, 2): 4, (1, 3): 4, (1, 7): 8, (2, 1): 4})


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_norms_are_llamas(dtype, size):
    generator = torch.Generator().manual_seed(3)
    norm = LlamaRMSNorm(24, eps=1e-5).to(dtype)
    norm.weight.data = torch.randn(24, generator=generator).to(dtype)
    states = (size * torch.randn(2, 3, 24, generator=generator)).to(dtype)
    torch.testing.assert_close(
        packed(norm)(states), norm(states), rtol=1e-5 if dtype is torch.float32 else 8e-3, atol=0
    )


@pytest.mark.parametrize(
    "counts", [[[2], [3], [7], [1], [3]], [[1, 1], [2, 1], [1, 1]], [[1, 1, 1], [2, 0, 1], [1, 1, 1]]]
)
def test_tokens_that_fill_up_a_packed_pass_are_never_seen(tiny, counts):
    """Passes of 2, 3 and 7 tokens are read with some more; logits, lengths and later passes are the plain ones."""
    found = []
    for pack in (False, True):
        reader = CachedModel(tiny, pack=pack)
        reader.begin(len(counts[0]))
        logits = []
        for turn, each in enumerate(counts):
            given = [[(3 * turn + 5 * row + place) % 200 for place in range(count)] for row, count in enumerate(each)]
            logits += reader.read(given, keep=2 if turn % 2 else None).logits
        assert list(reader.lengths) == np.sum(counts, axis=0).tolist()
        found.append(logits)
    for plain, fast in zip(*found, strict=True):
        assert fast.shape == plain.shape
        np.testing.assert_allclose(fast, plain, rtol=0, atol=1e-4)


def test_a_packed_pass_is_filled_up_at_the_end_of_the_context_too(tiny):
    plain, fast = (CachedModel(tiny, pack=pack, context_limit=10) for pack in (False, True))
    for reader in (plain, fast):
        reader.score(PROMPT[:7])
    np.testing.assert_allclose(fast.score([1, 2, 3]), plain.score([1, 2, 3]), rtol=0, atol=1e-4)
    assert fast.length == 10
    with pytest.raises(InputError, match=r"context must be in 0\.\.10, got 11"):
        fast.score([4])


def test_models_that_share_layers_share_packed_copies(tiny):
    whole, first = packed(tiny), packed(early_exit(tiny, layers=2))
    assert whole.model.layers[1].self_attn is first.model.layers[1].self_attn


def test_packed_features_are_those_of_the_model_whoever_was_asked_first():
    """A model gets hooks when hidden states are first asked for; a twin made before must not get them twice."""
    model = tiny_model()[0]
    fast = CachedModel(model, pack=True)
    states = model(torch.tensor([PROMPT[:5]]), output_hidden_states=True).hidden_states
    found = fast.read([PROMPT[:5]], layers=(0, 2, 4)).features[0]
    expected = torch.cat([states[layer][0] for layer in (0, 2, 4)], dim=-1)
    torch.testing.assert_close(found, expected.detach(), rtol=0, atol=1e-4)


SMALL = {
    "vocab_size": 257, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 128, "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip
OTHERS = {
    "Llama": lambda: LlamaForCausalLM(LlamaConfig(**SMALL)),
    "Llama, wide heads": lambda: LlamaForCausalLM(LlamaConfig(**SMALL | {"head_dim": 20})),
    "Llama, no groups": lambda: LlamaForCausalLM(LlamaConfig(**SMALL | {"num_key_value_heads": 4})),
    "Llama, eager": lambda: LlamaForCausalLM._from_config(LlamaConfig(**SMALL), attn_implementation="eager"),
    "Llama, one layer eager": lambda: _one_layer_eager(LlamaForCausalLM(LlamaConfig(**SMALL))),
    "Mistral": lambda: MistralForCausalLM(MistralConfig(**SMALL | {"sliding_window": 4})),
    "Qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**SMALL)),
}


def _one_layer_eager(model):
    attention = model.model.layers[1].self_attn
    attention.config = copy.deepcopy(attention.config)
    attention.config._attn_implementation = "eager"
    return model


@pytest.mark.parametrize("name", OTHERS)
def test_other_models_give_their_own_logits_and_features(name):
    torch.manual_seed(2)
    model = OTHERS[name]()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    found = []
    for pack in (True, False):
        reader = CachedModel(model, pack=pack)
        reader.begin(2)
        first = reader.read([PROMPT[:6], PROMPT[:3]], layers=(0, 2, 3))
        second = reader.read([[1], [2, 3, 4, 5]], layers=(0, 2, 3))
        found.append([*first.logits, *second.logits, *(each.numpy() for each in (*first.features, *second.features))])
    for fast, plain in zip(*found, strict=True):
        np.testing.assert_allclose(fast, plain, rtol=0, atol=3e-4 * np.abs(plain).max())


def test_masks_of_tokens_are_refused(tiny):
    ids = torch.tensor([PROMPT[:3]])
    with pytest.raises(InputError, match="attention_mask must have 4 axes, got 2"):
        packed(tiny)(ids, attention_mask=torch.ones_like(ids))


def test_nothing_of_a_pass_outlives_it(tiny):
    reader = CachedModel(tiny, pack=True)
    reader.begin(2)
    reader.read([PROMPT[:6], PROMPT[:3]])
    assert not packing._made_of


def test_what_is_made_of_a_mask_is_not_taken_for_that_of_another():
    first, second = torch.zeros(1, 1, 2, 3), torch.ones(1, 1, 2, 3)  # both alive, as when two models take turns
    for mask, group in ((first, 2), (second, 2), (first, 2), (first, 3)):
        found = packing._of_pass(mask, packing._repeated, group)
        assert torch.equal(found, mask.repeat(1, 1, group, 1))


@pytest.mark.parametrize("bits", LAYERS)
@pytest.mark.parametrize(("dtype", "most"), [(torch.float32, 0.03), (torch.bfloat16, 0.05)])
def test_quantised_copies_say_the_same_when_packed(tiny, dtype, most, bits):
    """Up to bfloat16, in which packed products are computed, and which is what the model may be of."""
    model = quantise(copy.deepcopy(tiny).to(dtype), bits=bits)
    ids = torch.tensor([PROMPT[:7], PROMPT[1:8]])
    twin = packed(model)
    assert type(twin.model) is PackedDecoder
    found, expected = (some(ids, logits_to_keep=2).logits.float() for some in (twin, model))
    assert found.shape == (2, 2, 257)
    assert (found - expected).std() < most * expected.std()


def test_quantised_copies_are_packed_where_plain_weights_cannot_be(tiny, monkeypatch):
    monkeypatch.setattr(packing, "can_lay_out", lambda device, dtype: False)
    model = quantise(tiny, bits=8)
    assert type(packed(model).model.layers[0]) is PackedLayer
    assert packed(tiny_model()[0].eval()).lm_head.__class__ is torch.nn.Linear


@pytest.mark.parametrize("bits", LAYERS)
def test_quantised_passes_are_not_filled_up(tiny, bits, monkeypatch):
    """Their products take longer with every row."""
    model = CachedModel(quantise(tiny, bits=bits), pack=True)
    monkeypatch.setattr("validation.decoder.model.filled", None)
    assert model.score(PROMPT[:3]).shape[0] == 3


def test_a_layer_of_several_kinds_of_products_is_called_as_it_is(tiny):
    model = quantise(tiny, bits=4)
    model.model.layers[0].mlp.up_proj = EightBitLinear(tiny.model.layers[0].mlp.up_proj)
    ids = torch.tensor([PROMPT[:7]])
    twin = packed(model)
    kinds = [type(layer) is PackedLayer for layer in twin.model.layers]
    assert kinds == [False] + [True] * (len(kinds) - 1)
    assert (twin(ids).logits - model(ids).logits).float().std() < 0.02 * model(ids).logits.float().std()


def test_weights_of_several_kinds_are_left_as_they_are():
    model = tiny_model()[0]
    model.lm_head.to(torch.float64)
    assert packed(model) is model

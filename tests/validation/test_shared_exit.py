"""An exit that drafts into its target's cache: the drafts of one with a cache of its own, and no token read twice."""

import gc
from weakref import ref

import numpy as np
import pytest
import torch
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    GraniteConfig,
    GraniteForCausalLM,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from specsim.distributions import Sampling
from specsim.errors import InputError
from specsim.topology import Topology
from validation.claims import LeftOutError, Settings, SharedExit
from validation.claims.workbench import open_workbench
from validation.decoder.layers import early_exit
from validation.decoder.load import Loaded
from validation.decoder.loop import decode, decode_all
from validation.decoder.model import CachedModel
from validation.decoder.proposers import PROPOSERS, ModelProposer, NgramProposer
from validation.decoder.proposers.layer_skip import LayerSkipProposer
from validation.decoder.quantised import quantise
from validation.decoder.table_model import TableModel
from validation.decoder.text import Request, Text
from validation.decoder.tiny import tiny_model

PROMPTS = [list(text) for text in (b"a rose is a rose is a rose", b"x", b"to be or not to be, that is")]
SMALL = {
    "vocab_size": 50,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "initializer_range": 0.2,
}
WINDOWED = ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]
KINDS = {
    "llama": lambda: tiny_model()[0],
    "one window": lambda: MistralForCausalLM(MistralConfig(**SMALL, sliding_window=5)),
    "windows": lambda: Qwen2ForCausalLM(
        Qwen2Config(**SMALL, layer_types=WINDOWED, sliding_window=5, use_sliding_window=True)
    ),
    "gemma": lambda: Gemma2ForCausalLM(Gemma2Config(**SMALL, head_dim=8, sliding_window=5)),
    "bfloat16": lambda: tiny_model()[0].to(torch.bfloat16),
}


@pytest.fixture
def tiny():
    return tiny_model()[0]


def made(kind):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return KINDS[kind]().eval()


def asked(vocabulary, **options):
    return [
        Request(
            prompt=[token % vocabulary for token in prompt], name=str(place), max_tokens=tokens, seed=place, **options
        )
        for place, (prompt, tokens) in enumerate(zip(PROMPTS, (10, 24, 7), strict=True))
    ]


def rounds(texts):
    return [(text.tokens, [(record.drafted, record.accepted) for record in text.records]) for text in texts]


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "bfloat16"])
def test_rounds_are_those_of_an_exit_with_a_cache_of_its_own(kind, temperature, pack):
    model = made(kind)
    requests = asked(model.config.vocab_size, sampling=Sampling(temperature=temperature))
    own = ModelProposer(CachedModel(early_exit(model, layers=2), pack=pack))
    expected = decode_all(CachedModel(model, pack=pack), own, requests, gamma=3)
    found = decode_all(CachedModel(model, pack=pack), LayerSkipProposer(layers=2), requests, gamma=3)
    assert rounds(found) == rounds(expected)
    assert sum(record.accepted for text in found for record in text.records) > 3
    assert {record.draft_passes for text in found for record in text.records} <= {0, 1, 2, 3}


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_those_of_the_model(kind, pack):
    """Rows read ahead by different numbers of tokens, of which some are then read and others not."""
    model = made(kind)
    target, plain = CachedModel(model, pack=pack), CachedModel(model, pack=pack)
    exit_ = target.exit_after(2)
    found, expected = [], []
    for reader in (target, plain):
        reader.begin(3)
        reader.read([[1, 2, 3, 4, 5, 6, 7], [8, 9], [10]])
    exit_.read([[11], [12], []])
    exit_.read([[13], [14], [15]])
    assert (exit_.ahead, list(target.lengths)) == ([2, 2, 1], [7, 2, 1])
    then = [[11, 13, 16], [12, 17], [18, 19]]
    found += target.read(then).logits
    expected += plain.read(then).logits
    assert exit_.ahead == [0, 0, 0]
    for reader, logits in ((target, found), (plain, expected)):
        reader.compact([[0, 1], [0], [0, 1]])
        assert list(reader.lengths) == [9, 3, 3]
        logits += reader.read([[20], [21, 22], [23]]).logits
    scale = max(np.abs(rows).max() for rows in expected)
    for rows, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(rows, right, rtol=0, atol=scale * (3e-2 if kind == "bfloat16" else 1e-4))


def test_each_layer_reads_each_token_once(tiny):
    """Of a text whose drafts are all judged: the first layers read what an exit of its own would read twice."""
    read = dict.fromkeys(range(4), 0)
    for place, layer in enumerate(tiny.model.layers):

        def counted(module, given, place=place):
            read[place] += given[0].shape[1]

        layer.register_forward_pre_hook(counted)
    proposer = LayerSkipProposer(layers=2)
    target = CachedModel(tiny)
    proposer.meet(target)
    read.update(dict.fromkeys(read, 0))  # what making it took
    found = decode(target, proposer, PROMPTS[0], gamma=3, max_tokens=30, sampling=Sampling(temperature=0.0))
    judged = len(PROMPTS[0]) - 1 + sum(record.drafted + 1 for record in found.records)
    assert sum(record.drafted for record in found.records) > 3 * sum(record.accepted for record in found.records) > 0
    assert read == dict.fromkeys(range(4), judged)


@pytest.mark.parametrize("doing", ["other tokens", "tree", "features", "cut", "select", "begin", "forget"])
def test_whatever_else_the_target_does_forgets_what_was_read_ahead(tiny, doing):
    target, plain = CachedModel(tiny), CachedModel(tiny)
    exit_ = target.exit_after(3)
    for reader in (target, plain):
        reader.begin(2)
        reader.read([[1, 2, 3, 4], [5, 6]])
    exit_.read([[7], [8]])
    exit_.read([[9], [10]])
    does = {
        "other tokens": lambda reader: reader.read([[30, 9], [31]]).logits,
        "tree": lambda reader: reader.read([[7, 9, 9], [8]], trees=[Topology(parents=(-1, -1)), None]).logits,
        "features": lambda reader: [rows.numpy() for rows in reader.read([[7], [8]], layers=(1,)).features],
        "cut": lambda reader: reader.cut([3, 2]),
        "select": lambda reader: reader.select([1, 0]),
        "begin": lambda reader: reader.begin(2),
        "forget": lambda reader: exit_.forget(),
    }[doing]
    outcomes = [does(target), does(plain)]
    assert exit_.ahead == [0, 0]
    assert list(target.lengths) == list(plain.lengths)
    then = [reader.read([[40], [41]]).logits for reader in (target, plain)]
    outcomes = [[*(some or []), *others] for some, others in zip(outcomes, then, strict=True)]
    for rows, right in zip(*outcomes, strict=True):
        np.testing.assert_allclose(rows, right, rtol=0, atol=1e-3)


def test_other_drafters_go_on_with_the_same_target(tiny):
    greedy = {"gamma": 3, "max_tokens": 20, "sampling": Sampling(temperature=0.0)}
    plain = decode(CachedModel(tiny), None, PROMPTS[0], **greedy).tokens
    target = CachedModel(tiny)
    for proposer in (LayerSkipProposer(layers=1), NgramProposer(), LayerSkipProposer(layers=3), None):
        assert decode(target, proposer, PROMPTS[0], **greedy).tokens == plain


def test_weights_are_packed_once(tiny):
    """A packed target with exits holds its own layers, whichever part reads them."""
    target = CachedModel(tiny, pack=True)
    exit_ = target.exit_after(2)
    whole = list(target._model.model.layers)
    assert [*exit_._first.model.layers, *exit_.rest.model.layers] == whole
    assert {type(part.model).__name__ for part in (exit_._first, exit_.rest)} == {"PackedDecoder"}
    assert target.exit_after(2) is exit_
    assert target.exit_after(3) is not exit_


def test_a_text_may_be_drafted_for_twice(tiny):
    target, text = CachedModel(tiny), Text(Request(prompt=PROMPTS[0], sampling=Sampling(temperature=0.0)))
    proposer = LayerSkipProposer(layers=2)
    proposer.meet(target)
    target.read([text.tokens[:-1]])
    first, second = (proposer.propose([text], gammas=[4])[0].tokens for _ in range(2))
    assert first == second
    assert proposer.propose([text], gammas=[0])[0].tokens == ()


def test_an_exit_that_was_left_holds_no_cache(tiny):
    target = CachedModel(tiny)
    left = LayerSkipProposer(layers=1)
    for proposer in (left, LayerSkipProposer(layers=2)):
        decode(target, proposer, PROMPTS[0], gamma=2, max_tokens=6)
        held = ref(target.cache)
    target.begin(1)
    gc.collect()
    assert held() is None


@pytest.mark.parametrize("bits", [4, 8])
def test_a_packed_copy_outlives_its_model_and_cannot_be_cut_then(tiny, bits):
    copied = quantise(tiny, bits=bits)
    held, target = ref(copied), CachedModel(copied, pack=True)
    del copied
    gc.collect()
    assert held() is None
    assert target.score(PROMPTS[0]).shape == (len(PROMPTS[0]), 257)
    with pytest.raises(InputError, match="model must still be held to be cut at an exit"):
        target.exit_after(2)


def test_a_compiled_target_runs_its_parts_as_they_are(tiny, monkeypatch):
    """Slots of a compiled target are all in sight and written by index; prompts of one token, gamma 0 at the end."""
    monkeypatch.setattr(torch, "compile", lambda forward, **options: forward)
    requests = asked(257, sampling=Sampling(temperature=0.0))
    expected = decode_all(CachedModel(tiny), LayerSkipProposer(layers=2), requests, gamma=3)
    target = CachedModel(tiny, compiled=True)
    found = decode_all(target, LayerSkipProposer(layers=2), requests, gamma=3)
    assert rounds(found) == rounds(expected)
    assert target.passes_compiled > 0


# --- what cannot be


def test_a_default_exit_leaves_a_layer(tiny):
    loaded = Loaded(model=tiny, tokenizer=None, name="tiny", is_real=False)
    assert decode(CachedModel(tiny), PROPOSERS["layer_skip"](loaded), PROMPTS[0], max_tokens=5).tokens
    two = Loaded(model=tiny_model(layers=2)[0], tokenizer=None, name="tiny", is_real=False)
    assert decode(CachedModel(two.model), PROPOSERS["layer_skip"](two), PROMPTS[0], max_tokens=5).tokens
    one = Loaded(model=tiny_model(layers=1)[0], tokenizer=None, name="tiny", is_real=False)
    with pytest.raises(InputError, match="layers of the target must be at least 2, got 1"):
        decode(CachedModel(one.model), PROPOSERS["layer_skip"](one), PROMPTS[0])


@pytest.mark.parametrize("layers", [0, 4])
def test_an_exit_lies_between_layers(tiny, layers):
    with pytest.raises(InputError, match=rf"layers must be in 1\.\.3, got {layers}"):
        CachedModel(tiny).exit_after(layers)


@pytest.mark.parametrize("banned", [False, True])
def test_models_that_do_more_than_run_layers_are_refused(banned):
    """Also where a token is banned by a logit that dwarfs the others."""
    granite = GraniteForCausalLM(GraniteConfig(**SMALL, embedding_multiplier=12.0, logits_scaling=1.0)).eval()
    if banned:
        granite.lm_head = Banning(granite.lm_head)
    with pytest.raises(InputError, match="GraniteForCausalLM must pass states from layer to layer as they are"):
        CachedModel(granite).exit_after(2)
    gpt = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=32, n_layer=4, n_head=4, n_positions=64)).eval()
    with pytest.raises(InputError, match="GPT2LMHeadModel must end its layers in a module named norm"):
        CachedModel(gpt, context_limit=64).exit_after(2)


class Banning(torch.nn.Module):
    """A head that bans the last token."""

    def __init__(self, head):
        super().__init__()
        self.head = head

    def forward(self, states):
        return torch.cat((self.head(states)[..., :-1], torch.full((*states.shape[:-1], 1), -torch.inf)), dim=-1)


def test_layers_that_fail_on_their_own_are_refused(tiny, monkeypatch):
    """Such as layers that look up what belongs to them by their number of all."""
    target = CachedModel(tiny)
    monkeypatch.setattr(LlamaForCausalLM, "forward", fails_from_states(LlamaForCausalLM.forward))
    with pytest.raises(InputError, match="LlamaForCausalLM must pass states from layer to layer as they are"):
        target.exit_after(2)


def fails_from_states(forward):
    def given(self, *arguments, inputs_embeds=None, **options):
        if inputs_embeds is not None:
            raise RuntimeError("shape '[1, 3, 2, 4]' is invalid")
        return forward(self, *arguments, **options)

    return given


def test_claims_put_the_shared_exit_to_the_test(tiny):
    loaded = Loaded(model=tiny, tokenizer=tiny_model()[1], name="tiny", is_real=False)
    bench = open_workbench(Settings(loaded=loaded), draft_layers=2)
    assert [proposer.name for proposer in bench.proposers()] == ["early exit", "ngram", "layer skip"]
    assert [proposer.name for proposer in open_workbench(Settings(loaded=loaded), draft_layers=4).proposers()] == [
        "early exit",
        "ngram",
    ]


def test_the_claim_is_left_out_for_a_target_that_cannot_share():
    granite = GraniteForCausalLM(GraniteConfig(**SMALL | {"vocab_size": 257}, embedding_multiplier=12.0)).eval()
    loaded = Loaded(model=granite, tokenizer=tiny_model()[1], name="granite", is_real=False)
    with pytest.raises(LeftOutError, match="GraniteForCausalLM must pass states"):
        SharedExit().run(Settings(loaded=loaded))
    assert len(open_workbench(Settings(loaded=loaded)).proposers()) == 2


def test_a_target_without_layers_is_refused():
    target = TableModel.random(3, seed=0)
    with pytest.raises(InputError, match="layer skip must have a target with layers, got TableModel"):
        decode(target, LayerSkipProposer(layers=1), [0])


def test_logits_that_are_not_finite_are_named(tiny):
    with torch.no_grad():
        tiny.model.norm.weight[3] = torch.nan
    with pytest.raises(InputError, match=r"proposer layer skip logits must be finite, got nan in row 0"):
        decode(CachedModel(tiny), LayerSkipProposer(layers=2), PROMPTS[0])

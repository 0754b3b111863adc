"""Ways of drafting: what they read, score and keep, against published sizes and limiting cases."""

import importlib
import inspect
import pkgutil
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import drafters
from specsim.acceptance import Acceptance
from specsim.catalog import ModelShape, hardware, model
from specsim.cost import round_cost
from specsim.drafters import (
    METHODS,
    DFlash,
    DraftMethod,
    DraftVerify,
    DSpark,
    DynamicTree,
    Eagle1,
    Eagle2,
    Eagle3,
    Gloeckle,
    Hydra,
    Independent,
    LayerSkip,
    Lookahead,
    Medusa,
    MultiTokenPrediction,
    NGram,
    ParallelEagle,
    Pard,
    PlacedDrafter,
    Quantised,
    Rest,
    SparseKV,
    SuffixTree,
    Traits,
)
from specsim.errors import InputError
from specsim.roofline import Efficiency, Roofline
from specsim.scenario import Scenario
from specsim.speedup import speedup

GPU = hardware("H100-SXM")
DENSE, LARGE, MIXTURE = model("Llama-3.1-8B"), model("Llama-3.1-70B"), model("Qwen3-30B-A3B")
TARGETS = {"dense 8B": (DENSE, 1), "dense 70B on 4": (LARGE, 4), "mixture": (MIXTURE, 1)}
COPIED = ("ngram", "suffix", "rest", "lookahead")
IN_ONE_PASS = ("medusa", "gloeckle", "pard", "p_eagle", "dflash", "dspark")
ONE_BY_ONE = tuple(sorted(set(METHODS) - set(COPIED) - set(IN_ONE_PASS)))
NO_WEIGHTS = (*COPIED, "draft_verify", "layer_skip", "sparse_kv")


@dataclass
class Linear:
    """A pass whose seconds are the bytes it reads, plus what tokens, batch and context add."""

    shape: ModelShape
    per_token: float = 1e-6

    def pass_seconds(self, *, tokens, batch=1, context=0):
        grown = self.per_token * np.asarray(tokens) * np.asarray(batch) + 1e-9 * np.asarray(context)
        return np.asarray(1e-12 * self.shape.pass_weight_bytes + grown)


def flat(shape):
    return Linear(shape, per_token=0.0)


def placed(method, target=DENSE, cost_of=Linear):
    return PlacedDrafter(method=method, target=target, cost_of=cost_of)


def default(name, target=DENSE):
    return METHODS[name].default(target)


def depths(method, most=5):
    return np.arange(min(most, method.max_gamma or most) + 1)


def llama_2(layers, hidden, heads, kv_heads, intermediate):
    return ModelShape(
        name=f"Llama-2, {layers} layers",
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=128,
        intermediate=intermediate,
        vocabulary=32_000,
        tied_embeddings=False,
        source="https://huggingface.co/meta-llama",
    )


LLAMA_2 = {
    "7B": llama_2(32, 4096, 32, 32, 11008),
    "13B": llama_2(40, 5120, 40, 40, 13824),
    "70B": llama_2(80, 8192, 64, 8, 28672),
}


# --- the family ------------------------------------------------------------------------------------------------------


def test_every_way_of_drafting_is_listed():
    for module in pkgutil.iter_modules(drafters.__path__):
        importlib.import_module(f"specsim.drafters.{module.name}")

    def concrete(kind):  # by name: a class with slots replaces one of the same name, which lingers
        below = set().union(*map(concrete, kind.__subclasses__()))
        return below if inspect.isabstract(kind) else below | {kind.__qualname__}

    assert concrete(DraftMethod) == {kind.__qualname__ for kind in METHODS.values()}
    assert set(COPIED) | set(IN_ONE_PASS) | set(ONE_BY_ONE) == set(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_what_it_is(name):
    method = default(name)
    assert method.name == {"quantised": "model 4 bit"}.get(name, name)
    assert isinstance(method.traits, Traits)
    assert method.traits.dependence == ("copied" if name in COPIED else method.traits.dependence)
    assert inspect.getdoc(type(method))


@pytest.mark.parametrize("place", TARGETS)
@pytest.mark.parametrize("name", METHODS)
def test_every_method_costs_something_finite_on_every_target(name, place):
    target, devices = TARGETS[place]

    def cost(shape):
        return Roofline(model=shape, hardware=GPU, efficiency=Efficiency.assumed(GPU), tensor_parallel=devices)

    method = default(name, target)
    drafter = placed(method, target, cost)
    gammas = depths(method)
    for batch, context in ((1, 0), (32, 4096)):
        seconds = drafter.draft_seconds(gammas, batch=batch, context=context)
        assert np.isfinite(seconds).all()
        assert seconds[0] == 0
        assert (seconds[1:] > 0).all() or name == "lookahead"
        assert (np.diff(drafter.target_tokens(gammas)) >= 0).all()
    scenario = Scenario(
        target=cost(target), drafter=drafter, acceptance=Acceptance.constant(0.7), gamma=3, batch=8, context=1024
    )
    assert 0.1 < speedup(scenario) < 4
    for bytes_ in (method.extra_bytes(target), method.kv_bytes_per_token(target), method.datastore_bytes):
        assert np.isfinite(bytes_)
        assert bytes_ >= 0
    assert (method.extra_bytes(target) == 0) is (name in NO_WEIGHTS)


@pytest.mark.parametrize("name", METHODS)
def test_nothing_is_drafted_at_gamma_0(name):
    method = default(name)
    assert (method.passes(0), method.target_tokens(0), placed(method).draft_seconds(0, batch=9)) == (0, 1, 0)
    assert method.proposed_survival(0).shape == (0,)


@pytest.mark.parametrize("name", METHODS)
def test_arrays_are_many_single_questions(name):
    method = default(name)
    gammas = depths(method)
    for count in (method.passes, method.pass_tokens, method.first_pass_tokens, method.target_tokens):
        assert count(gammas).tolist() == [int(count(int(gamma))) for gamma in gammas]
    together = placed(method).draft_seconds(gammas[:, None], batch=np.array([1, 4]), context=100)
    assert together.shape == (gammas.size, 2)
    for row, gamma in enumerate(gammas):
        for column, batch in enumerate((1, 4)):
            alone = placed(method).draft_seconds(int(gamma), batch=batch, context=100)
            assert together[row, column] == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize("name", METHODS)
@given(gamma=st.integers(1, 3), batch=st.integers(1, 200), context=st.integers(0, 100_000), more=st.integers(1, 100))
def test_more_work_never_takes_less_time(name, gamma, batch, context, more):
    method = default(name)
    drafter = placed(method)
    seconds = drafter.draft_seconds(gamma, batch=batch, context=context)
    assert drafter.draft_seconds(min(gamma + more, method.max_gamma or 99), batch=batch, context=context) >= seconds
    assert drafter.draft_seconds(gamma, batch=batch + more, context=context) >= seconds
    assert drafter.draft_seconds(gamma, batch=batch, context=context + more) >= seconds


@pytest.mark.parametrize("name", METHODS)
def test_what_it_cannot_draft_is_refused(name):
    method = default(name)
    for bad in (-1, 1.5):
        with pytest.raises(InputError, match="gamma must be"):
            method.passes(bad)
    if method.max_gamma is not None:
        with pytest.raises(InputError, match=f"gamma must be at most {method.max_gamma} for {name}, got 99"):
            placed(method).draft_seconds(99)


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_one_pass_a_draft_grows_linearly(name):
    seconds = placed(default(name), cost_of=flat).draft_seconds(np.arange(5) if name == "hydra" else np.arange(9))
    assert seconds == pytest.approx(seconds[1] * np.arange(seconds.size))
    assert seconds[1] > 0


@pytest.mark.parametrize("name", sorted(set(IN_ONE_PASS) - {"dspark"}))
def test_one_pass_for_all_drafts_does_not_grow(name):
    method = default(name)
    seconds = placed(method, cost_of=flat).draft_seconds(depths(method, 15))
    assert method.passes(depths(method, 15)).tolist() == [0] + [1] * (seconds.size - 1)
    assert seconds[1:] == pytest.approx(seconds[1])
    assert seconds[1] > 0


# --- sizes, against what was published -------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "billions"), [("7B", 0.24), ("13B", 0.37), ("70B", 0.99)])
def test_eagle_1_has_the_published_parameters(size, billions):
    """README of SafeAILab/EAGLE, table of weights, rounded to two places."""
    own = Eagle1().model(LLAMA_2[size])
    assert round(own.parameters / 1e9, 2) == billions
    assert Eagle2().model(LLAMA_2[size]).parameters == own.parameters


def test_eagle_1_reads_the_targets_head_and_does_not_store_it():
    own = Eagle1().model(DENSE)
    head = DENSE.vocabulary * DENSE.hidden
    assert {"embedding", "lm_head"} == set(own.shared)
    assert own.parameters < 0.6 * head
    assert own.pass_parameters - own.parameters == pytest.approx(head, rel=1e-9)
    assert Eagle1().extra_bytes(DENSE) == 2 * own.parameters


def test_eagle_3_by_hand():
    """ArXiv 2503.01840; the sizes of a head for Llama-3.1-8B: 3 d to d, attention from 2 d, MLP, 32000 tokens."""
    d, kv, wide, words = 4096, 1024, 14336, 32_000
    matrices = 3 * d * d + (d + 2 * kv) * 2 * d + d * d + 3 * d * wide + d * words
    own = Eagle3().model(DENSE)
    assert sum(matrix.parameters for matrix in own.matrices) == matrices
    assert own.parameters == pytest.approx(matrices, rel=1e-4)  # norms besides
    assert own.pass_parameters == own.parameters  # nothing is read of the target's matrices
    larger = Eagle3(vocabulary=128_256).model(DENSE)
    assert larger.parameters - own.parameters == (128_256 - words) * d


def test_an_eagle_3_head_drafts_from_no_more_tokens_than_there_are():
    assert Eagle3.default(replace(DENSE, vocabulary=1000)).vocabulary == 1000
    with pytest.raises(InputError, match="vocabulary of eagle3 must be at most the target's 128256, got 200000"):
        Eagle3(vocabulary=200_000).model(DENSE)


@pytest.mark.parametrize("heads", [1, 5])
def test_medusa_has_k_times_d_squared_and_d_v(heads):
    d, words = DENSE.hidden, DENSE.vocabulary
    own = Medusa(heads=heads).model(DENSE)
    assert sum(matrix.parameters for matrix in own.matrices) == heads * (d * d + d * words)
    assert own.kv_bytes_per_token == 0
    assert own.parameters == pytest.approx(heads * (d * d + d * words), rel=1e-4)


def test_hydra_heads_by_hand():
    """Head k has two matrices d x (k + 1) d and V x d."""
    d, words, heads = DENSE.hidden, DENSE.vocabulary, 4
    by_hand = sum(2 * d * (k + 1) * d + d * words for k in range(1, heads + 1))
    own = Hydra(heads=heads).model(DENSE)
    assert heads * sum(matrix.parameters for matrix in own.matrices) == by_hand
    assert Hydra(heads=heads).extra_bytes(DENSE) == pytest.approx(2 * by_hand, rel=1e-4)


def test_the_module_of_deepseek_v3_has_the_published_parameters():
    """README_WEIGHTS of deepseek-ai/DeepSeek-V3: 11.5 billion of its own, besides the shared embedding and head.

    It is the layer without the matrix that joins hidden state and embedding.
    """
    target = model("DeepSeek-V3")
    own = MultiTokenPrediction().model(target)
    joining = 2 * target.hidden**2
    assert (own.parameters - joining) / 1e9 == pytest.approx(11.5, abs=0.05)
    shared = 2 * target.vocabulary * target.hidden
    assert (own.parameters + shared) / 1e9 == pytest.approx(685 - 671, abs=1)  # 685 are published with, 671 without
    assert own.experts.layers == own.layers == 1
    assert own.attention[0].kv_heads == target.attention[0].kv_heads


def test_a_module_of_a_hybrid_attends_in_full():
    own = MultiTokenPrediction().model(model("Qwen3-Next-80B-A3B"))
    assert own.state_bytes_per_sequence == 0
    assert own.kv_bytes_per_token > 0


def test_dflash_by_hand():
    target = model("Qwen3-8B")
    d, heads, kv, wide = 4096, 32 * 128, 8 * 128, 12288
    layer = d * (heads + 2 * kv) + heads * d + 3 * d * wide
    own = DFlash().model(target)
    assert own.parameters == pytest.approx(5 * layer + 5 * d * d, rel=1e-4)
    assert DFlash(layers=8).model(target).layers == 8
    assert DFlash().max_gamma == 15


def test_dspark_adds_a_markov_head_to_dflash():
    target = model("Qwen3-8B")
    words, d, rank = target.vocabulary, target.hidden, 256
    added = DSpark().extra_bytes(target) - DFlash().extra_bytes(target)
    assert added == pytest.approx(2 * (2 * words * rank + d + rank), rel=1e-3)
    drafter = placed(DSpark(), target, flat)
    serial = float(flat(DSpark().serial_model(target)).pass_seconds(tokens=1))
    steps = drafter.draft_seconds(np.arange(8))
    assert np.diff(steps[1:]) == pytest.approx(serial)
    assert steps[1] == pytest.approx(float(flat(DSpark().model(target)).pass_seconds(tokens=1)) + serial)


def test_heads_of_mixtures_are_dense_and_as_wide_as_the_active_experts():
    for name in ("Qwen3-30B-A3B", "DeepSeek-V3"):
        target = model(name)
        own = Eagle1().model(target)
        assert own.experts is None
        wide = target.experts.active * target.experts.intermediate + target.experts.shared_intermediate
        assert own.intermediate == wide
    deepseek = Eagle1().model(model("DeepSeek-V3"))
    assert (deepseek.heads, deepseek.kv_heads, deepseek.head_dim) == (56, 8, 128)


def test_gloeckle_has_a_layer_a_head():
    own = Gloeckle(heads=7).model(DENSE)
    assert own.layers == 7
    assert own.kv_bytes_per_token == 7 / 32 * DENSE.kv_bytes_per_token


# --- the target's own layers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [LayerSkip(), DraftVerify()])
def test_own_layers_take_no_memory_and_read_their_share(method):
    assert method.extra_bytes(DENSE) == 0
    assert method.kv_bytes_per_token(DENSE) == 0
    head = 2 * DENSE.vocabulary * DENSE.hidden
    own = method.model(DENSE)
    assert own.weight_bytes == 0
    assert own.pass_weight_bytes - head == pytest.approx(method.share * (DENSE.pass_weight_bytes - head), rel=1e-4)


def test_layer_skip_verifies_with_the_layers_behind_the_exit():
    assert LayerSkip(share=0.25).verify_share(DENSE) == 0.75
    assert LayerSkip(share=0.001).verify_share(DENSE) == 31 / 32  # one layer at least
    assert DraftVerify().verify_share(DENSE) == 1
    target = Linear(DENSE)
    whole = round_cost(target, placed(DraftVerify()), gamma=3).verify_seconds
    plain = float(target.pass_seconds(tokens=1))
    assert plain < whole
    skipping = round_cost(target, placed(LayerSkip()), gamma=3).verify_seconds
    assert skipping == pytest.approx(0.75 * whole + 0.25 * plain)  # the last draft has not been through the exit
    assert round_cost(target, placed(LayerSkip()), gamma=0).verify_seconds == pytest.approx(plain)


@pytest.mark.parametrize("share", [0.0, 1.1, float("nan")])
def test_a_share_is_a_share(share):
    with pytest.raises(InputError, match="share must be in"):
        LayerSkip(share=share)


# --- the whole target with few cached tokens -------------------------------------------------------------------------


def ideal(shape):
    return Roofline(model=shape, hardware=GPU, efficiency=Efficiency.ideal())


@given(batch=st.integers(1, 250), context=st.integers(0, 200_000), budget=st.integers(1, 4096), gamma=st.integers(1, 8))
def test_a_sparse_draft_costs_the_weights_and_the_budget(batch, context, budget, gamma):
    """T_D / T_T = (W + B K kv) / (W + B L kv) where both passes are bound by memory."""
    weights, kv = DENSE.pass_weight_bytes, DENSE.kv_bytes_per_token
    draft = placed(SparseKV(budget=budget), cost_of=ideal).draft_seconds(gamma, batch=batch, context=context)
    plain = ideal(DENSE).pass_seconds(tokens=1, batch=batch, context=context)
    by_hand = (weights + batch * min(budget, context) * kv) / (weights + batch * context * kv)
    assert draft / plain == pytest.approx(gamma * by_hand, rel=1e-12)


@pytest.mark.parametrize(("context", "is_long"), [(600, False), (100_000, True)])
def test_sparse_drafts_gain_with_the_batch_above_a_critical_context(context, is_long):
    """ArXiv 2408.11049: a larger batch is better where caches outweigh weights, and worse where compute binds."""
    target = ideal(DENSE)
    scenario = Scenario(
        target=target,
        drafter=placed(SparseKV(), cost_of=ideal),
        acceptance=Acceptance.constant(0.8),
        gamma=3,
        context=context,
    )
    speeds = [speedup(replace(scenario, batch=batch)) for batch in (1, 4, 16, 64, 256, 1024)]
    assert (np.diff(speeds) > 0).all() == is_long
    assert (speeds[-1] > 2) == is_long
    assert (speeds[-1] < speeds[0]) != is_long


def test_a_sparse_draft_is_the_target_where_the_budget_holds_all():
    short = {"batch": 8, "context": 512}
    draft = placed(SparseKV(), cost_of=ideal).draft_seconds(1, **short)
    assert draft == ideal(DENSE).pass_seconds(tokens=1, **short)
    assert draft < ideal(DENSE).pass_seconds(tokens=1, batch=8, context=513)


@pytest.mark.parametrize("name", ["Llama-3.1-8B", "Gemma-3-4B", "gpt-oss-20b", "DeepSeek-V3", "Qwen3-Next-80B-A3B"])
def test_a_sparse_draft_of_any_attention_reads_its_budget(name):
    """Layers with a window keep the smaller of both; what has no cache reads its states."""
    target = model(name)
    for budget in (64, 512, 4096):
        own = SparseKV(budget=budget).model(target)
        per_layer = target.kv_bytes_per_token / target.full_layers
        full = target.full_layers - target.window_layers
        by_hand = per_layer * (full * budget + target.window_layers * min(budget, target.window))
        # The mean of two caps is rounded to whole tokens of all layers.
        assert float(own.kv_bytes(10**6)) == pytest.approx(by_hand, abs=0.5 * target.kv_bytes_per_token)
        assert own.weight_bytes == 0
        assert own.pass_weight_bytes == target.pass_weight_bytes
        assert own.state_bytes_per_sequence == target.state_bytes_per_sequence
        assert SparseKV(budget=budget).extra_bytes(target) == 0
        assert SparseKV(budget=budget).kv_bytes_per_token(target) == 0


def test_a_budget_is_a_number_of_tokens():
    with pytest.raises(InputError, match="budget must be at least 1, got 0"):
        SparseKV(budget=0)


# --- catching up, trees and windows ----------------------------------------------------------------------------------


def test_a_model_catches_up_on_one_token_and_an_eagle_on_the_round():
    small = Independent.default(DENSE)
    assert (small.first_pass_tokens(5) - small.pass_tokens(5)) == 1
    for head in (Eagle1(), Eagle2(), Eagle3(), MultiTokenPrediction()):
        assert (head.first_pass_tokens(5), head.pass_tokens(5)) == (6, 1)
    one, two = (float(Linear(small.draft).pass_seconds(tokens=tokens)) for tokens in (1, 2))
    assert placed(small).draft_seconds(5) == pytest.approx(two + 4 * one)


def test_one_pass_takes_in_the_committed_tokens_and_the_masks():
    assert Pard.default(DENSE).pass_tokens(8) == ParallelEagle().pass_tokens(8) == (8 + 1) + (8 - 1)
    assert DFlash().pass_tokens(15) == 16
    assert DSpark().pass_tokens(7) == 7
    assert Gloeckle().pass_tokens(3) == 4
    assert Medusa().pass_tokens(5) == 1


def test_eagle_1s_tree_is_the_published_one():
    tree = Eagle1(tree=True)
    assert tree.target_tokens(np.arange(6)).tolist() == [1, 5, 13, 21, 24, 26]
    assert tree.pass_tokens(5) == 4
    assert tree.passes(5) == 5
    assert tree.max_gamma == 5


@pytest.mark.parametrize("kind", [Eagle2, Eagle3])
def test_a_dynamic_tree_takes_a_pass_a_level_and_its_nodes(kind):
    tree = kind(tree=DynamicTree(nodes=60, top_k=10))
    assert tree.passes(7) == 7
    assert tree.pass_tokens(7) == 10
    assert tree.target_tokens(np.array([0, 1, 2, 7])).tolist() == [1, 11, 61, 61]
    assert tree.first_pass_tokens(7) == 8
    chain = kind(tree=DynamicTree(nodes=99, top_k=1))
    assert chain.target_tokens(np.arange(5)).tolist() == kind().target_tokens(np.arange(5)).tolist()


@pytest.mark.parametrize("change", [{"nodes": 0}, {"top_k": 0}, {"nodes": 1.5}])
def test_a_tree_has_nodes(change):
    with pytest.raises(InputError):
        DynamicTree(**change)


def test_static_trees_of_heads():
    medusa = Medusa(heads=4, nodes=63)
    assert medusa.target_tokens(np.array([0, 4])).tolist() == [1, 64]
    assert Medusa(heads=4).target_tokens(4) == 5
    assert Hydra(heads=4, nodes=63).pass_tokens(4) == 16
    with pytest.raises(InputError, match="heads must be at least 1"):
        Medusa(heads=0)


def test_lookahead_scores_window_and_guesses_in_the_targets_pass():
    assert Lookahead().target_tokens(4) == 7 * 4 + 7 * 4 + 1
    assert Lookahead(window=5, guesses=3, ngram=4).target_tokens(2) == 5 * 3 + 3 * 2 + 1
    assert Lookahead().target_tokens(0) == 1
    assert Lookahead().max_gamma == 4
    drafter = placed(Lookahead())
    assert drafter.draft_seconds(4) == 0
    wide = round_cost(Linear(DENSE), drafter, gamma=4).verify_seconds
    assert wide == pytest.approx(float(Linear(DENSE).pass_seconds(tokens=57)))
    with pytest.raises(InputError, match="ngram must be at least 2"):
        Lookahead(ngram=1)


# --- lookups ---------------------------------------------------------------------------------------------------------


def test_lookups_take_the_host_for_each_sequence():
    lookup = placed(NGram(seconds_per_sequence=2e-5, proposed=(0.6, 0.5)))
    assert lookup.draft_seconds(np.array([0, 1, 9]), batch=16).tolist() == pytest.approx([0, 3.2e-4, 3.2e-4])
    assert lookup.proposed_survival(3).tolist() == [0.6, 0.5, 0.5]
    assert NGram().proposed_survival(2).tolist() == [1, 1]
    assert (NGram().datastore_bytes, SuffixTree(tree_bytes=5.0).datastore_bytes, Rest().datastore_bytes) == (0, 5, 12e9)
    assert Rest().target_tokens(np.array([0, 3, 99])).tolist() == [1, 65, 100]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"proposed": (0.5, 0.6)}, "proposed must never rise"),
        ({"proposed": (1.2,)}, r"proposed\[0\] must be in"),
        ({"seconds_per_sequence": -1.0}, "seconds_per_sequence must be at least 0"),
    ],
)
def test_a_lookup_refuses(change, message):
    with pytest.raises(InputError, match=message):
        NGram(**change)


# --- vocabularies, placing, quantising -------------------------------------------------------------------------------


def test_a_small_model_is_the_smallest_of_the_family():
    assert Independent.default(LARGE).draft.name == "Llama-3.2-1B"
    assert Independent.default(MIXTURE).draft.name == "Qwen3-0.6B"
    with pytest.raises(InputError, match="no smaller model of the catalogue has the 129280 tokens of DeepSeek-V3"):
        Independent.default(model("DeepSeek-V3"))


@pytest.mark.parametrize("kind", [Independent, Pard])
def test_another_vocabulary_is_refused(kind):
    with pytest.raises(
        InputError, match=r"^draft Qwen3-0\.6B must have the 128256 tokens of Llama-3\.1-8B, got 151936$"
    ):
        placed(kind(draft=model("Qwen3-0.6B")))


def test_a_drafter_is_placed_from_its_parts():
    assert placed(Eagle1()) == placed(Eagle1())
    assert placed(Eagle1()).name == "eagle1"
    with pytest.raises(InputError, match="method must be of type DraftMethod"):
        placed("eagle1")
    with pytest.raises(InputError, match="target must be of type ModelShape"):
        placed(Eagle1(), target="Llama")


def test_the_cost_is_asked_once():
    asked = []

    def cost(shape):
        asked.append(shape.name)
        return Linear(shape)

    drafter = placed(DSpark(), model("Qwen3-8B"), cost)
    for gamma in range(5):
        drafter.draft_seconds(gamma)
    assert asked == ["dspark of Qwen3-8B", "Markov head dspark of Qwen3-8B"]


@pytest.mark.parametrize("name", sorted(set(METHODS) - {*NO_WEIGHTS, "quantised"}))
def test_a_quantised_drafter_reads_less_and_works_alike(name):
    method = default(name)
    small = Quantised(method=method, bits=4)
    gammas = depths(method)
    assert small.extra_bytes(DENSE) < method.extra_bytes(DENSE)
    assert small.model(DENSE).pass_weight_bytes < method.model(DENSE).pass_weight_bytes
    assert small.name == f"{name} 4 bit"
    assert small.traits == method.traits
    assert small.max_gamma == method.max_gamma
    for count in ("passes", "pass_tokens", "first_pass_tokens", "target_tokens"):
        assert getattr(small, count)(gammas).tolist() == getattr(method, count)(gammas).tolist()
    assert (
        placed(small, cost_of=flat).draft_seconds(gammas)[1:] < placed(method, cost_of=flat).draft_seconds(gammas)[1:]
    ).all()


def test_sixteen_bits_are_what_it_was():
    alike = Quantised(method=Eagle1(), bits=16, group_size=10**9)
    assert alike.extra_bytes(DENSE) == pytest.approx(Eagle1().extra_bytes(DENSE), rel=1e-6)


@pytest.mark.parametrize("method", [NGram(), LayerSkip(), Lookahead()])
def test_what_has_no_weights_cannot_be_quantised(method):
    with pytest.raises(InputError, match=f"^{method.name} must have weights of its own to be quantised$"):
        placed(Quantised(method=method))


@pytest.mark.parametrize("change", [{"q": "sure"}, {"dependence": "none"}, {"runs_on": "moon"}])
def test_traits_are_known_words(change):
    traits = {"q": "full", "dependence": "parallel", "runs_on": "host", "trained": False}
    with pytest.raises(InputError, match="is unknown"):
        Traits(**traits | change)

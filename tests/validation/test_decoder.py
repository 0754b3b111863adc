"""The decoder: greedy text is the target's own, sampled text follows its law, and the rows add up."""

import dataclasses
import time

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

from specsim.distributions import Sampling, sample
from specsim.errors import InputError
from specsim.stats.chi_square import goodness_of_fit
from specsim.verifiers import VERIFIERS, CoupledNoise, Gumbel, Rejection, Verification
from validation.decoder.layers import early_exit
from validation.decoder.loop import decode
from validation.decoder.model import CachedModel
from validation.decoder.proposers import ModelProposer, NgramProposer
from validation.decoder.table_model import TableModel
from validation.decoder.text import Text
from validation.decoder.tiny import tiny_model

GREEDY = Sampling(temperature=0.0)
FALSE_ALARM = 1e-6
TEXTS = 5000
PROMPT = list(b"to be or not to be, that is the question: to be or")


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def tiny():
    return tiny_model()[0]


@pytest.fixture(scope="module")
def proposers(tiny):
    return {
        "ngram": NgramProposer(),
        "independent": ModelProposer(CachedModel(tiny_model(layers=2, seed=1)[0])),
        "exit after 1": ModelProposer(CachedModel(early_exit(tiny, layers=1))),
        "exit after 3": ModelProposer(CachedModel(early_exit(tiny, layers=3))),
        "itself": ModelProposer(CachedModel(tiny)),
    }


NAMES = ("ngram", "independent", "exit after 1", "exit after 3", "itself")


# --- greedy: the text of plain decoding, token for token


def test_plain_greedy_text_is_that_of_transformers(tiny):
    expected = tiny.generate(torch.tensor([PROMPT]), max_new_tokens=40, do_sample=False, eos_token_id=None)
    decoding = decode(CachedModel(tiny), None, PROMPT, max_tokens=40, sampling=GREEDY)
    assert [*PROMPT, *decoding.tokens] == expected[0].tolist()


@pytest.mark.parametrize("gamma", [1, 2, 5, 8])
@pytest.mark.parametrize("name", NAMES)
def test_greedy_speculation_gives_the_plain_text(tiny, proposers, name, gamma):
    target = CachedModel(tiny)
    plain = decode(target, None, PROMPT, max_tokens=48, sampling=GREEDY)
    fast = decode(target, proposers[name], PROMPT, gamma=gamma, max_tokens=48, sampling=GREEDY)
    assert fast.tokens == plain.tokens
    assert {record.verifier for record in fast.records} == {"greedy"}


def test_a_verifier_that_accepts_too_much_changes_the_greedy_text(tiny, proposers):
    """The partner of the test above: it can fail."""

    class AcceptsAll(Rejection):
        def verify(self, p, draft, *, q, rng, drafted=None):
            return Verification(accepted=np.array(len(draft)), token=p[-1].argmax())

    plain = decode(CachedModel(tiny), None, PROMPT, max_tokens=48, sampling=GREEDY)
    options = {"max_tokens": 48, "sampling": GREEDY, "verifier": AcceptsAll()}
    assert decode(CachedModel(tiny), proposers["independent"], PROMPT, **options).tokens != plain.tokens


# --- sampled: the law of the target, up to chance


def joint_test(target, proposer, *, sampling, verifier=None, steps=3):
    """Chi-square of the first three tokens of many texts against their exact joint law."""
    rng = np.random.default_rng(20)
    counts = np.zeros((target.vocabulary_size,) * steps, dtype=int)
    for _ in range(TEXTS):
        options = {"gamma": 2, "max_tokens": steps + 1, "sampling": sampling, "verifier": verifier, "seed": rng}
        counts[decode(target, proposer, [1, 0, 1], **options).tokens[:steps]] += 1
    target.truncate(0)
    target.score([1, 0, 1])
    expected = target.law(steps=steps, sampling=sampling)
    return goodness_of_fit(counts.ravel(), expected.ravel(), min_expected=20)


TARGET, DRAFTER = TableModel.random(3, order=1, seed=8), TableModel.random(3, order=2, seed=9)


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.6, top_k=2)], ids=["T=1", "T=0.6, top-2"])
@pytest.mark.parametrize(
    "proposer",
    [None, ModelProposer(DRAFTER), ModelProposer(DRAFTER, argmax=True), NgramProposer()],
    ids=["plain", "sampled", "argmax", "ngram"],
)
def test_sampled_text_follows_the_law_of_the_target(proposer, sampling):
    """Null: joint law of three tokens over a round boundary; n = 5,000 texts; false-alarm rate 1e-6."""
    assert joint_test(TARGET, proposer, sampling=sampling).passed(FALSE_ALARM)


class ResamplesFromTarget(Rejection):
    """The planted fault: after a rejection the token comes from p, not from the residual."""

    def verify(self, p, draft, *, q, rng, drafted=None):
        right = super().verify(p, draft, q=q, rng=rng, drafted=drafted)
        token = right.token if right.accepted == len(draft) else sample(p[right.accepted], rng.random())
        return Verification(accepted=right.accepted, token=token)


@pytest.mark.parametrize("argmax", [False, True], ids=["sampled", "argmax"])
def test_a_residual_that_is_p_is_caught(argmax):
    """Power of the test above: the fault shifts the joint law by far more than 5,000 texts hide."""
    proposer = ModelProposer(DRAFTER, argmax=argmax)
    assert not joint_test(TARGET, proposer, sampling=Sampling(), verifier=ResamplesFromTarget()).passed(FALSE_ALARM)


def test_a_draft_law_that_was_not_sampled_is_caught():
    """Argmax drafts judged as if they were samples: the second classic fault."""

    class Mislabels(ModelProposer):
        def propose(self, texts, *, gammas):
            return [self._mislabelled(draft) for draft in super().propose(texts, gammas=gammas)]

        def _mislabelled(self, draft):
            if draft.q is None:
                return draft
            certain = tuple(int(token) for token in draft.q.argmax(axis=-1))
            return dataclasses.replace(draft, tokens=certain)

    assert not joint_test(TARGET, Mislabels(DRAFTER), sampling=Sampling()).passed(FALSE_ALARM)


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides_the_text(tiny, proposers, name):
    texts = [decode(CachedModel(tiny), proposers[name], PROMPT, max_tokens=64, seed=s).tokens for s in (1, 1, 2)]
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


# --- where a text ends


@pytest.mark.parametrize("gamma", [0, 1, 3, 8])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_follows_an_end_of_text_token(tiny, proposers, name, gamma):
    free = decode(CachedModel(tiny), None, PROMPT, max_tokens=24, sampling=GREEDY).tokens
    end = next(token for place, token in enumerate(free) if place > 4 and token not in free[:place])
    options = {"gamma": gamma, "max_tokens": 24, "sampling": GREEDY, "eos_ids": {end}}
    decoding = decode(CachedModel(tiny), proposers[name], PROMPT, **options)
    assert decoding.tokens == free[: free.index(end) + 1]
    assert decoding.finish == "eos"


def test_an_accepted_end_of_text_token_earns_no_bonus():
    target = TableModel(np.roll(np.eye(6), 1, axis=1))
    decoding = decode(target, ModelProposer(TableModel(target.laws)), [0], gamma=4, max_tokens=9, eos_ids={3})
    (record,) = decoding.records
    assert decoding.tokens == (1, 2, 3)
    assert (record.drafted, record.accepted, record.committed) == (3, 3, 3)


def test_a_proposer_that_drafts_past_the_end_changes_nothing():
    class Runaway(ModelProposer):
        def propose(self, texts, *, gammas):
            endless = [Text(dataclasses.replace(text.request, eos_ids=frozenset())) for text in texts]
            return super().propose(endless, gammas=gammas)

    target = TableModel(np.roll(np.eye(6), 1, axis=1))
    decoding = decode(target, Runaway(TableModel(target.laws)), [0], gamma=5, max_tokens=9, eos_ids={3})
    assert decoding.tokens == (1, 2, 3)
    assert (decoding.records[0].accepted, decoding.records[0].committed) == (3, 3)


def test_a_prompt_may_end_with_an_end_of_text_token():
    target = TableModel(np.roll(np.eye(4), 1, axis=1))
    assert decode(target, None, [3], max_tokens=9, eos_ids={3}).tokens == (0, 1, 2, 3)


@pytest.mark.parametrize("gamma", [0, 1, 3, 7])
@pytest.mark.parametrize("max_tokens", [1, 2, 7])
def test_no_token_is_drafted_that_could_not_be_kept(gamma, max_tokens):
    target = TableModel(np.roll(np.eye(5), 1, axis=1))
    proposer = ModelProposer(TableModel(target.laws))
    decoding = decode(target, proposer, [0], gamma=gamma, max_tokens=max_tokens)
    assert len(decoding.tokens) == max_tokens
    assert decoding.finish == "length"
    assert sum(record.accepted + 1 for record in decoding.records) == max_tokens


def test_the_context_limit_ends_the_text():
    target = TableModel(np.roll(np.eye(5), 1, axis=1), context_limit=8)
    decoding = decode(target, ModelProposer(TableModel(target.laws)), [0, 1, 2], gamma=4, max_tokens=50)
    assert decoding.tokens == (3, 4, 0, 1, 2, 3)  # the last one is predicted by a full cache
    assert decoding.finish == "length"
    assert [record.gamma for record in decoding.records] == [4, 0]


def test_a_prompt_may_fill_the_context():
    target = TableModel(np.roll(np.eye(5), 1, axis=1), context_limit=2)
    assert decode(target, None, [0, 1], max_tokens=5).tokens == (2,)


# --- rows


@pytest.mark.parametrize("name", [None, *NAMES])
def test_rows_add_up(tiny, proposers, name):
    started = time.perf_counter()
    proposer = proposers[name] if name else None
    decoding = decode(CachedModel(tiny), proposer, PROMPT, gamma=3, max_tokens=40, seed=4, request="r7")
    wall = time.perf_counter() - started
    records = decoding.records
    assert sum(record.committed for record in records) == len(decoding.tokens) == 40
    assert [record.round for record in records] == list(range(len(records)))
    context = len(PROMPT) - 1 + np.cumsum([0, *(record.committed for record in records[:-1])])
    assert [record.context_tokens for record in records] == context.tolist()
    assert {(record.request, record.verifier, record.batch) for record in records} == {("r7", "rejection", 1)}
    assert {record.proposer for record in records} == {proposer.name if proposer else "none"}
    passes = [record.drafted if isinstance(proposer, ModelProposer) else 0 for record in records]
    assert [record.draft_passes for record in records] == passes
    assert 0 < sum(record.seconds for record in records) + decoding.prefill_seconds <= wall


def test_seconds_go_to_the_part_that_took_them(monkeypatch):
    """On a clock that stands still but for the named delays."""
    now = [0.0]

    def takes(seconds, function):
        def delayed(*arguments, **options):
            now[0] += seconds
            return function(*arguments, **options)

        return delayed

    target, drafter, rule = TableModel.random(3, seed=1), TableModel.random(3, seed=2), Rejection()
    monkeypatch.setattr("validation.decoder.round.perf_counter", lambda: now[0])
    for owner, method, seconds in (
        (drafter, "read", 1.0),
        (target, "read", 10.0),
        (rule, "verify", 100.0),
        (target, "compact", 1000.0),
    ):
        monkeypatch.setattr(owner, method, takes(seconds, getattr(owner, method)))
    first = decode(target, ModelProposer(drafter), [0, 1], gamma=3, max_tokens=4, verifier=rule).records[0]
    parts = (first.draft_seconds, first.verify_seconds, first.sample_seconds, first.host_seconds)
    assert parts == (3.0, 10.0, 100.0, 1000.0)


# --- models and their caches


def sliding_window_model():
    config = MistralConfig(
        vocab_size=50, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=128, sliding_window=4, initializer_range=0.2,
    )  # fmt: skip
    return MistralForCausalLM(config).eval()


@pytest.mark.parametrize("kind", ["full", "sliding window"])
def test_a_truncated_cache_scores_like_a_fresh_one(tiny, kind):
    torch.manual_seed(0)
    hf_model = tiny if kind == "full" else sliding_window_model()
    text = np.random.default_rng(0).integers(50, size=24).tolist()
    used = CachedModel(hf_model)
    used.score(text[:5])
    for length in (3, 15, 9):
        used.truncate(min(length, used.length))
        used.score([7, 8, 9, 10, 11, 12])
        used.truncate(3)
        used.score(text[3:12])
    expected = hf_model(torch.tensor([text])).logits[0, 12:].detach().numpy()
    np.testing.assert_allclose(used.score(text[12:]), expected, rtol=1e-4, atol=1e-4)
    used.truncate(0)
    np.testing.assert_allclose(used.score(text, keep=12), expected, rtol=1e-4, atol=1e-4)
    assert used.length == 24


def test_a_cache_that_is_not_truncated_is_noticed(tiny):
    """The partner: leftover tokens move the logits by far more than rounding."""
    used, fresh = CachedModel(tiny), CachedModel(tiny)
    used.score(PROMPT)
    fresh.score(PROMPT[:10])
    assert np.abs(used.score([1]) - fresh.score([1])).max() > 0.1


def test_logits_come_as_float32_also_from_bfloat16():
    model = CachedModel(tiny_model()[0].to(torch.bfloat16))
    rows = model.score([1, 2, 3])
    assert (rows.dtype, rows.shape) == (np.dtype(np.float32), (3, model.vocabulary_size))


def test_early_exit_after_all_layers_is_the_model(tiny):
    whole = CachedModel(early_exit(tiny, layers=4))
    np.testing.assert_array_equal(whole.score(PROMPT), CachedModel(tiny).score(PROMPT))


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_early_exit_reads_the_hidden_state_after_its_layers(tiny, layers):
    ids = torch.tensor([PROMPT])
    hidden = tiny(ids, output_hidden_states=True).hidden_states[layers]
    expected = tiny.lm_head(tiny.model.norm(hidden))[0].detach().numpy()
    rows = CachedModel(early_exit(tiny, layers=layers)).score(PROMPT)
    np.testing.assert_allclose(rows, expected, rtol=1e-4, atol=1e-4)


def test_early_exit_shares_weights_and_leaves_its_target_alone(tiny):
    before = CachedModel(tiny).score(PROMPT)
    exit_ = early_exit(tiny, layers=2)
    own = {weight.data_ptr() for weight in tiny.parameters()}
    assert {weight.data_ptr() for weight in exit_.parameters()} < own
    assert (tiny.config.num_hidden_layers, len(tiny.model.layers)) == (4, 4)
    np.testing.assert_array_equal(CachedModel(tiny).score(PROMPT), before)


def test_early_exit_of_a_model_with_layer_types():
    torch.manual_seed(0)
    model = sliding_window_model()
    hidden = model(torch.tensor([[1, 2, 3]]), output_hidden_states=True).hidden_states[1]
    expected = model.lm_head(model.model.norm(hidden))[0].detach().numpy()
    rows = CachedModel(early_exit(model, layers=1)).score([1, 2, 3])
    np.testing.assert_allclose(rows, expected, rtol=1e-4, atol=1e-4)


# --- bad input


def test_early_exit_needs_layers(tiny):
    for layers in (0, 5):
        with pytest.raises(InputError, match=r"layers must be in 1\.\.4"):
            early_exit(tiny, layers=layers)


@pytest.mark.parametrize(
    ("prompt", "options", "message"),
    [
        ([], {}, "prompt tokens must be at least 1, got 0"),
        ([0] * 9, {}, "prompt tokens must be in 1..8, got 9"),
        ([0, 3], {}, "largest prompt token must be in 0..2, got 3"),
        ([-1, 0], {}, "smallest prompt token must be at least 0, got -1"),
        ([0], {"gamma": -1}, "gamma must be at least 0, got -1"),
        ([0], {"gamma": 2.0}, "gamma must be a whole number"),
        ([0], {"max_tokens": 0}, "max_tokens must be at least 1, got 0"),
    ],
)
def test_bad_requests_are_refused(prompt, options, message):
    target = TableModel.random(3, seed=0, context_limit=8)
    with pytest.raises(InputError) as caught:
        decode(target, None, prompt, **options)
    assert message in str(caught.value)


def test_a_proposer_must_have_the_vocabulary_of_the_target():
    proposer = ModelProposer(TableModel.random(4, seed=0), name="other")
    with pytest.raises(InputError, match="proposer other must have the target's vocabulary of 3 tokens, got 4"):
        decode(TableModel.random(3, seed=0), proposer, [0])


def test_logits_that_are_not_numbers_are_refused_with_their_place():
    class Broken(TableModel):
        def read(self, tokens, **options):
            reading = super().read(tokens, **options)
            reading.logits[0][-1] = np.nan if len(tokens[0]) == 3 else reading.logits[0][-1]
            return reading

    proposer = ModelProposer(TableModel.random(3, seed=0))
    with pytest.raises(InputError, match=r"target logits must be finite, got nan in row 2 \(text position 3\)"):
        decode(Broken(TableModel.random(3, seed=0).laws), proposer, [0], gamma=2)


def test_models_guard_their_context():
    model = CachedModel(tiny_model()[0], context_limit=4)
    model.score([1, 2, 3])
    with pytest.raises(InputError, match=r"context must be in 0\.\.4, got 5"):
        model.score([4, 5])
    with pytest.raises(InputError, match=r"lengths\[0\] must be in 0\.\.3, got 4"):
        model.truncate(4)


def test_models_without_a_cache_that_can_be_cut_are_refused():
    config = LlamaConfig(num_hidden_layers=2, hidden_size=8, intermediate_size=8, num_attention_heads=1)
    model = LlamaForCausalLM(config)
    model.config.layer_types = ["full_attention", "linear_attention"]
    with pytest.raises(InputError, match="model must have attention layers only, got linear_attention"):
        CachedModel(model)


@pytest.mark.weights
def test_real_weights_speculate_losslessly():
    """Greedy text of the real model; n-gram and early exit, 32 tokens each."""
    from validation.decoder.load import load

    loaded = load()
    if not loaded.is_real:
        pytest.skip(loaded.notice)
    target = CachedModel(loaded.model)
    prompt = loaded.prompt_tokens("Repeat after me: one two three four. One two three four.")
    options = {"max_tokens": 32, "sampling": GREEDY, "eos_ids": loaded.eos_ids}
    plain = decode(target, None, prompt, **options)
    for proposer in (NgramProposer(), ModelProposer(CachedModel(early_exit(loaded.model, layers=20)))):
        assert decode(target, proposer, prompt, gamma=3, **options).tokens == plain.tokens


def test_with_coupled_noise_the_text_does_not_depend_on_drafter_and_gamma():
    """Gumbel coupling: same seed, same text, whoever drafts and however many tokens; another seed, another text."""
    target = TableModel.random(6, order=2, seed=0)

    def text(proposer, *, gamma, seed):
        verifier = Gumbel(noise=CoupledNoise(seed=seed))
        decoding = decode(target, proposer, [0, 1], gamma=gamma, max_tokens=80, verifier=verifier)
        return decoding.tokens, max(record.accepted for record in decoding.records)

    for seed in (3, 4):
        good, bad = TableModel(0.8 * target.laws + 0.2 / 6), TableModel.random(6, order=1, seed=9)
        plain, _ = text(None, gamma=0, seed=seed)
        for draft in (good, bad):
            for gamma in (1, 3):
                tokens, deepest = text(ModelProposer(draft), gamma=gamma, seed=seed)
                assert tokens == plain
                assert deepest == gamma
        assert text(NgramProposer(), gamma=3, seed=seed)[0] == plain
        assert text(ModelProposer(good), gamma=3, seed=seed + 10)[0] != plain


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_usual_rule_that_is_named_gives_the_text_of_none(tiny, temperature):
    """Rounds without drafts, whose token is drawn without the rule, among them."""
    name = "rejection" if temperature else "greedy"
    texts = [
        decode(
            CachedModel(tiny), NgramProposer(), PROMPT, gamma=2, max_tokens=40, seed=3, verifier=rule,
            sampling=Sampling(temperature=temperature),
        )
        for rule in (None, VERIFIERS[name])
    ]  # fmt: skip
    assert texts[0].tokens == texts[1].tokens
    assert {record.verifier for text in texts for record in text.records} == {name}
    assert {record.drafted for record in texts[0].records} > {0}

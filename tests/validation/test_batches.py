"""Texts side by side and trees: each text is the one that it would be alone, whatever its neighbours do."""

import dataclasses
import shutil

import numpy as np
import pytest
import torch

from specsim.distributions import Sampling
from specsim.errors import InputError
from specsim.stats.chi_square import goodness_of_fit
from specsim.topology import Topology
from specsim.verifiers import TREE_VERIFIERS, VERIFIERS, Gumbel
from validation.decoder.layers import early_exit
from validation.decoder.loop import decode, decode_all, stream
from validation.decoder.masks import layout, windowed
from validation.decoder.model import CachedModel
from validation.decoder.proposers import Draft, ModelProposer, NgramProposer, Proposer
from validation.decoder.proposers.layer_skip import LayerSkipProposer
from validation.decoder.table_model import TableModel
from validation.decoder.text import Request
from validation.decoder.tiny import tiny_model

GREEDY = Sampling(temperature=0.0)
FALSE_ALARM = 1e-6
PROMPTS = [list(text) for text in (b"to be or not to be", b"ab", b"x", b"a longer prompt that says nothing new, new")]


@pytest.fixture(scope="module")
def tiny():
    return tiny_model()[0]


def proposers(tiny):
    return {
        "plain": None,
        "ngram": NgramProposer(),
        "independent": ModelProposer(CachedModel(tiny_model(layers=2, seed=1)[0])),
        "early exit": ModelProposer(CachedModel(early_exit(tiny, layers=3))),
        "layer skip": LayerSkipProposer(layers=2),
        "tree": RandomTrees(257, seed=3),
    }


class RandomTrees(Proposer):
    """Certain drafts in trees of another shape for each text and round; some nodes say what others say elsewhere."""

    name = "random trees"

    def __init__(self, vocabulary_size, *, seed):
        self.vocabulary_size, self._seed = vocabulary_size, seed

    def propose(self, texts, *, gammas):
        return [self._tree(text, gamma) for text, gamma in zip(texts, gammas, strict=True)]

    def _tree(self, text, gamma):
        rng = np.random.default_rng([self._seed, len(text.tokens), text.tokens[-1]])  # a function of the text alone
        shapes = [(-1,), (-1, -1), (-1, -1, 0), (-1, -1, 0, 1, 2), (-1, 0, -1, 1, 2, 3)]
        fitting = [shape for shape in shapes if Topology(parents=shape).depth <= gamma]
        if not fitting:
            return Draft()
        topology = Topology(parents=fitting[int(rng.integers(len(fitting)))])
        tokens = []
        for node in range(topology.nodes):
            taken = {tokens[other] for other in range(node) if topology.parents[other] == topology.parents[node]}
            tokens.append(int(rng.choice([token for token in range(self.vocabulary_size) if token not in taken])))
        return Draft(tokens=tuple(tokens), topology=topology, passes=1)


class TellsTheTruth(RandomTrees):
    """Trees whose last path is the text that greedy decoding writes, so that whole paths are accepted."""

    def __init__(self, vocabulary_size, *, truth, seed=0):
        super().__init__(vocabulary_size, seed=seed)
        self._truth = truth

    def propose(self, texts, *, gammas):
        drafts = super().propose(texts, gammas=gammas)
        return [self._corrected(text, draft) for text, draft in zip(texts, drafts, strict=True)]

    def _corrected(self, text, draft):
        if draft.topology is None:
            return draft
        tokens, coming = list(draft.tokens), self._truth[text.request.name][len(text.output) :]
        path = max(draft.topology.paths, key=lambda nodes: (len(nodes), nodes))
        for node, token in zip(path, coming, strict=False):
            siblings = [v for v, up in enumerate(draft.topology.parents) if up == draft.topology.parents[node]]
            for other in siblings:
                if tokens[other] == token:
                    tokens[other] = tokens[node]
            tokens[node] = token
        return dataclasses.replace(draft, tokens=tuple(tokens))


def asked(**options):
    lengths = [17, 5, 30, 11]
    return [
        Request(prompt=prompt, name=str(place), max_tokens=lengths[place], seed=place, **options)
        for place, prompt in enumerate(PROMPTS)
    ]


# --- batches


@pytest.mark.parametrize("sampling", [GREEDY, Sampling(temperature=0.8)], ids=["greedy", "sampled"])
@pytest.mark.parametrize("name", ["plain", "ngram", "independent", "early exit", "layer skip", "tree"])
def test_a_text_in_a_batch_is_the_text_alone(tiny, name, sampling):
    """fp32; rows end at different times, and accept different numbers of drafts."""
    requests = asked(sampling=sampling)
    alone = [decode_all(CachedModel(tiny), proposers(tiny)[name], [one], gamma=3)[0] for one in requests]
    together = decode_all(CachedModel(tiny), proposers(tiny)[name], requests, gamma=3)
    assert [text.tokens for text in together] == [text.tokens for text in alone]
    assert [len(text.records) for text in together] == [len(text.records) for text in alone]
    assert max(record.batch for text in together for record in text.records) == 4


def test_batches_follow_one_another(tiny):
    requests = asked(sampling=GREEDY)
    whole = decode_all(CachedModel(tiny), NgramProposer(), requests, gamma=3)
    for batch in (1, 3):
        parts = decode_all(CachedModel(tiny), NgramProposer(), requests, gamma=3, batch=batch)
        assert [text.tokens for text in parts] == [text.tokens for text in whole]
        assert {record.batch for text in parts for record in text.records} <= set(range(1, batch + 1))


def test_a_cache_whose_rows_are_mixed_up_changes_the_texts(tiny):
    """The partner of the tests above: they can fail."""

    class Mixed(CachedModel):
        def select(self, rows):
            super().select(list(reversed(rows)))

    requests = asked(sampling=GREEDY)
    right = decode_all(CachedModel(tiny), None, requests)
    assert [text.tokens for text in decode_all(Mixed(tiny), None, requests)] != [text.tokens for text in right]


def test_streaming_gives_every_token_once_and_says_why_a_text_ends(tiny):
    requests = asked(sampling=GREEDY)
    whole = decode_all(CachedModel(tiny), NgramProposer(), requests)
    texts, ends = {}, {}
    for step in stream(CachedModel(tiny), NgramProposer(), requests):
        assert step.place not in ends
        texts.setdefault(step.place, []).extend(step.tokens)
        if step.finish:
            ends[step.place] = step.finish
    assert [tuple(texts[place]) for place in range(4)] == [text.tokens for text in whole]
    assert ends == dict.fromkeys(range(4), "length")


# --- trees


@pytest.mark.parametrize("truthful", [False, True])
def test_trees_keep_the_greedy_text(tiny, truthful):
    requests = asked(sampling=GREEDY)
    plain = decode_all(CachedModel(tiny), None, requests)
    truth = {request.name: text.tokens for request, text in zip(requests, plain, strict=True)}
    proposer = TellsTheTruth(257, truth=truth) if truthful else RandomTrees(257, seed=1)
    found = decode_all(CachedModel(tiny), proposer, requests, gamma=4)
    assert [text.tokens for text in found] == [text.tokens for text in plain]
    accepted = sum(record.accepted for text in found for record in text.records)
    assert (accepted > 30) == truthful  # of 63 tokens
    assert {record.verifier for text in found for record in text.records if record.drafted} == {"greedy"}


def test_a_sampled_text_with_trees_follows_the_law():
    """Null: joint law of three tokens over round boundaries; n = 6,000 texts in batches of 50; false alarms 1e-6."""
    target = TableModel.random(3, order=2, seed=8)
    requests = [Request(prompt=[1, 0], max_tokens=5, seed=seed) for seed in range(6000)]
    found = decode_all(target, RandomTrees(3, seed=5), requests, gamma=3, batch=50)
    counts = np.zeros((3, 3, 3), dtype=int)
    for text in found:
        counts[text.tokens[:3]] += 1
    target.begin(1)
    target.score([1, 0])
    assert goodness_of_fit(counts.ravel(), target.law(steps=3).ravel(), min_expected=20).passed(FALSE_ALARM)
    wrong = TableModel.random(3, order=2, seed=9)
    wrong.score([1, 0])
    assert not goodness_of_fit(counts.ravel(), wrong.law(steps=3).ravel(), min_expected=20).passed(FALSE_ALARM)


def test_a_tree_is_scored_as_each_of_its_paths_alone(tiny):
    tree = Topology(parents=(-1, -1, 0, 2, 1))
    text, nodes = [1, 2, 3, 4], [10, 11, 12, 13, 14]
    model = CachedModel(tiny)
    model.begin(2)
    model.read([text[:3], text[:1]])
    rows = model.read([[text[3], *nodes], [7, 8]], trees=[tree, None], layers=(1, -1))
    for node, path in enumerate(tree.paths):
        alone = CachedModel(tiny).score([*text, *(nodes[place] for place in path)])[-1]
        np.testing.assert_allclose(rows.logits[0][node + 1], alone, rtol=1e-4, atol=1e-4)
    assert [tuple(part.shape) for part in rows.features] == [(6, 128), (2, 128)]
    model.compact([[0, 1, 3], [0]])  # the path to node 2
    assert list(model.lengths) == [6, 2]
    after = model.read([[20], [21]]).logits
    np.testing.assert_allclose(after[0], CachedModel(tiny).score([*text, 10, 12, 20])[-1:], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(after[1], CachedModel(tiny).score([1, 7, 21])[-1:], rtol=1e-4, atol=1e-4)


def test_features_are_the_hidden_states_of_transformers(tiny):
    text = [5, 6, 7, 8]
    states = tiny(torch.tensor([text]), output_hidden_states=True).hidden_states
    model = CachedModel(tiny)
    model.read([text[:1]])
    found = model.read([text[1:]], layers=(0, 2, -1)).features[0]
    expected = torch.cat([states[0], states[2], states[-1]], dim=-1)[0, 1:]
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_a_window_counts_places_in_the_text_not_slots():
    tree = Topology(parents=(-1, -1, 1))
    found = layout([4], span=4, trees=[tree])
    near = windowed(found, starts=[4], window=2)[0].int().tolist()
    # root at place 4, nodes at 5, 5, 6: each sees its own place and the one before on its path
    assert near == [
        [0, 0, 0, 1, 1, 0, 0, 0],
        [0, 0, 0, 0, 1, 1, 0, 0],
        [0, 0, 0, 0, 1, 0, 1, 0],
        [0, 0, 0, 0, 0, 0, 1, 1],
    ]


# --- what a request can ask


def test_stop_strings_end_a_text_inside_of_a_block():
    target = TableModel(np.roll(np.eye(6), 1, axis=1))  # 0 1 2 3 4 5 0 ...
    request = Request(prompt=[0], max_tokens=20, stop=("34", "51"))
    found = decode_all(
        target,
        ModelProposer(TableModel(target.laws)),
        [request],
        gamma=5,
        detokenize=lambda tokens: "".join(map(str, tokens)),
    )[0]
    assert (found.tokens, found.finish) == ((1, 2, 3, 4), "stop")
    assert [(record.accepted, record.committed) for record in found.records] == [(4, 4)]


def test_a_text_does_not_end_before_its_least_length():
    """Token 2 ends a text; it is banned for four tokens, in target and drafter alike, and then certain."""
    laws = [[0.1, 0.1, 0.8]] * 3
    for gamma in (0, 1, 3):
        request = Request(prompt=[0], max_tokens=9, min_tokens=4, eos_ids=frozenset({2}), sampling=GREEDY)
        found = decode_all(TableModel(laws), ModelProposer(TableModel(laws)), [request], gamma=gamma)[0]
        assert (found.tokens, found.finish) == ((0, 0, 0, 0, 2), "eos")


@pytest.mark.parametrize("gamma", [1, 3])
@pytest.mark.parametrize("make", [lambda m: ModelProposer(m), lambda m: RandomTrees(5, seed=2)], ids=["chain", "tree"])
def test_penalties_count_drafts_as_history(make, gamma):
    laws = TableModel.random(5, order=1, seed=4).laws
    sampling = Sampling(temperature=0.0, repetition_penalty=1.3, frequency_penalty=2.0, presence_penalty=0.5)
    request = Request(prompt=[0, 3], max_tokens=25, sampling=sampling)
    plain = decode_all(TableModel(laws), None, [request])[0]
    assert decode_all(TableModel(laws), make(TableModel(laws)), [request], gamma=gamma)[0].tokens == plain.tokens
    free = decode_all(TableModel(laws), None, [dataclasses.replace(request, sampling=GREEDY)])[0]
    assert free.tokens != plain.tokens


def test_a_seed_gives_one_coupled_text_whoever_drafts():
    target = TableModel.random(6, order=2, seed=0)
    good, bad = TableModel(0.8 * target.laws + 0.2 / 6), TableModel.random(6, order=1, seed=9)
    requests = [Request(prompt=[0, 1], max_tokens=40, seed=seed) for seed in (3, 4, 3)]
    texts = [
        [text.tokens for text in decode_all(target, proposer, requests, gamma=gamma, verifier=Gumbel())]
        for proposer, gamma in ((None, 0), (ModelProposer(good), 3), (ModelProposer(bad), 2), (NgramProposer(), 4))
    ]
    assert all(found == texts[0] for found in texts)
    assert texts[0][0] == texts[0][2] != texts[0][1]


@pytest.mark.parametrize("rule", ["traversal", "recursive_without_replacement", "k_seq", "top_k"])
def test_chains_may_be_judged_by_tree_rules(rule):
    target = TableModel.random(4, order=1, seed=1)
    argmax = rule == "top_k"
    proposer = ModelProposer(TableModel.random(4, order=1, seed=2), argmax=argmax)
    found = decode(target, proposer, [0], gamma=3, max_tokens=30, verifier=TREE_VERIFIERS[rule])
    assert {record.verifier for record in found.records} == {rule}
    assert found.is_lossless


# --- what is refused


def test_lossy_rules_have_to_be_allowed_and_are_named():
    target = TableModel.random(4, order=1, seed=1)
    proposer = ModelProposer(TableModel.random(4, seed=2))
    with pytest.raises(InputError, match="rule typical does not keep the target's law"):
        decode(target, proposer, [0], verifier=VERIFIERS["typical"])
    found = decode(target, proposer, [0], verifier=VERIFIERS["typical"], allow_lossy=True, max_tokens=9)
    assert not found.is_lossless
    assert {record.verifier for record in found.records} == {"typical"}


def test_a_rule_for_chains_does_not_judge_trees():
    with pytest.raises(InputError, match="rule rejection judges chains, a tree was drafted; known for trees: "):
        decode(TableModel.random(5, seed=0), RandomTrees(5, seed=0), [0], verifier=VERIFIERS["rejection"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_tokens": 9, "max_tokens": 8}, "min_tokens must be in 0..8, got 9"),
        ({"stop": ("",)}, "stop strings must not be empty"),
        ({"stop": ("a",)}, "stop strings need a tokenizer"),
    ],
)
def test_impossible_requests_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        decode_all(TableModel.random(3, seed=0), None, [Request(prompt=[0], **options)])


def test_nothing_asked_is_refused():
    with pytest.raises(InputError, match="number of requests must be at least 1, got 0"):
        decode_all(TableModel.random(3, seed=0), None, [])


def test_places_that_a_row_was_not_given_cannot_be_kept(tiny):
    model = CachedModel(tiny)
    model.read([[1, 2, 3]])
    for places in ([0, 3], [1, 0]):
        with pytest.raises(InputError, match=r"kept\[0\] must be rising places below 3"):
            model.compact([places])


# --- compiled passes


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inductor uses what torch deprecates
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_a_compiled_model_writes_the_same_text():
    """Chains of several lengths, two rows of different lengths."""
    tiny = tiny_model(layers=1)[0]
    requests = [Request(prompt=PROMPTS[place], name=str(place), max_tokens=40, sampling=GREEDY) for place in (0, 3)]
    plain = decode_all(CachedModel(tiny), NgramProposer(), requests, gamma=3)
    compiled = CachedModel(tiny, compiled=True)
    found = decode_all(compiled, NgramProposer(), requests, gamma=3)
    assert [text.tokens for text in found] == [text.tokens for text in plain]
    assert compiled.passes_compiled > 10

"""Every drafter that needs no training: greedy and sampled texts stay the target's, whoever shares the batch."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from specsim.distributions import Sampling
from specsim.errors import InputError
from specsim.stats.chi_square import goodness_of_fit
from specsim.topology import Topology, eagle2
from specsim.verifiers import MULTI_DRAFT, TREE_VERIFIERS
from validation.decoder.datastore import Datastore, read_token_files
from validation.decoder.layers import early_exit, skip_layers
from validation.decoder.load import Loaded
from validation.decoder.loop import decode, decode_all
from validation.decoder.model import CachedModel
from validation.decoder.proposers import PROPOSERS, Proposer
from validation.decoder.proposers.draft_verify import evenly, search
from validation.decoder.proposers.dynamic_tree import DynamicTreeProposer
from validation.decoder.proposers.jacobi import JacobiProposer
from validation.decoder.proposers.lookahead import LookaheadProposer
from validation.decoder.proposers.rest import RestProposer
from validation.decoder.proposers.sampled_tree import SampledTreeProposer
from validation.decoder.proposers.suffix import SuffixProposer
from validation.decoder.quantised import GROUP
from validation.decoder.suffix_automaton import ROOT, Match, SuffixAutomaton
from validation.decoder.table_model import TableModel
from validation.decoder.text import Request, Text
from validation.decoder.tiny import tiny_model

GREEDY, SAMPLED = Sampling(temperature=0.0), Sampling(temperature=0.8)
FALSE_ALARM = 1e-6
PROMPTS = [list(text) for text in (b"a rose is a rose is a rose", b"x", b"to be or not to be, that is")]
LENGTHS = (10, 24, 7)
NAMES = {
    "ngram": {},
    "suffix": {"least": 0.0},
    "suffix tree": {"least": 0.0, "nodes": 6},
    "rest": {},
    "lookahead": {"window": 3, "ngram": 3},
    "jacobi": {},
    "early_exit": {"layers": 3},
    "layer_skip": {"layers": 3},
    "draft_verify": {"skip": [2]},
    "quantised": {"bits": 8},
    "quantised to 4 bits": {"bits": 4},
    "independent": {},
    "dynamic_tree": {"nodes": 7, "top_k": 3},
    "sampled_tree": {"branching": (3, 2, 1)},
}
"""Drafters, by the first word of the name, and their options besides those in `made`."""


@pytest.fixture(scope="module")
def tiny():
    return named(tiny_model()[0])


@pytest.fixture(scope="module")
def near(tiny):
    """A drafter that often agrees: the target with a little noise on its weights."""
    model, _ = tiny_model()
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        for weights in model.parameters():
            weights += 0.01 * torch.randn_like(weights)
    return named(model)


@pytest.fixture(scope="module")
def plain(tiny):
    return decode_all(CachedModel(tiny.model), None, asked(sampling=GREEDY))


def named(model):
    return Loaded(model=model, tokenizer=None, name="tiny", is_real=False)


def asked(**options):
    return [
        Request(prompt=prompt, name=str(place), max_tokens=LENGTHS[place], seed=place, **options)
        for place, prompt in enumerate(PROMPTS)
    ]


@pytest.fixture(scope="module")
def made(tiny, near, plain):
    """Builds a drafter by its name."""
    written = [[*prompt, *text.tokens] for prompt, text in zip(PROMPTS, plain, strict=True)]
    store = Datastore.build([*written, *PROMPTS], vocabulary_size=257)

    def make(name, loaded=tiny):
        first = name.split()[0]
        options = dict(NAMES[name])
        if first == "rest":
            options["datastore"] = store
        if first in ("independent", "dynamic_tree", "sampled_tree"):
            options["drafter"] = near
        return PROPOSERS[first](loaded, **options)

    return make


class Watched(Proposer):
    """Passes on what another proposer does, and checks what it drafts."""

    def __init__(self, proposer):
        self._proposer = proposer
        self.name, self.vocabulary_size = proposer.name, proposer.vocabulary_size
        self.meet, self.begin, self.keep, self.ride = proposer.meet, proposer.begin, proposer.keep, proposer.ride

    def propose(self, texts, *, gammas):
        drafts = self._proposer.propose(texts, gammas=gammas)
        for text, draft, gamma in zip(texts, [draft.judged for draft in drafts], gammas, strict=True):
            parents = range(-1, len(draft.tokens) - 1) if draft.topology is None else draft.topology.parents
            siblings = list(zip(parents, draft.tokens, strict=True))
            assert draft.depth <= gamma
            assert len(set(siblings)) == len(siblings)
            assert not any(up >= 0 and draft.tokens[up] in text.request.eos_ids for up in parents)
            if draft.q is not None:
                rows = np.array(parents, dtype=int) + (draft.topology is not None)
                assert (draft.q[rows if draft.topology else range(len(draft.tokens)), list(draft.tokens)] > 0).all()
        return drafts


ALONE = [name for name in NAMES if name != "layer_skip"]
"""Those that draft without a target."""


def propose(proposer, tokens, *, gamma=4, sampling=GREEDY, seed=0, eos_ids=()):
    """What is drafted after tokens that nobody has seen before."""
    text = Text(Request(prompt=tokens, sampling=sampling, seed=seed, eos_ids=frozenset(eos_ids)))
    proposer.begin([text], None)
    return proposer.propose([text], gammas=[gamma])[0]


def accepted(texts):
    return sum(record.accepted for text in texts for record in text.records)


def cycle(size=4):
    """Token i is followed by i + 1."""
    return np.roll(np.eye(size), 1, axis=1)


# --- all of them


def test_every_drafter_has_a_line():
    assert {name.split()[0] for name in NAMES} <= set(PROPOSERS)


@pytest.mark.parametrize("gamma", [1, 4])
@pytest.mark.parametrize("name", NAMES)
def test_greedy_text_is_the_plain_greedy_text_and_drafts_are_accepted(tiny, made, plain, name, gamma):
    found = decode_all(CachedModel(tiny.model), Watched(made(name)), asked(sampling=GREEDY), gamma=gamma)
    assert [text.tokens for text in found] == [text.tokens for text in plain]
    assert accepted(found) > 0
    assert all(record.gamma <= gamma or record.drafted > gamma for text in found for record in text.records)


@pytest.mark.parametrize("name", NAMES)
def test_a_sampled_text_in_a_batch_is_the_text_alone(tiny, made, name):
    requests = asked(sampling=SAMPLED)
    alone = [decode_all(CachedModel(tiny.model), made(name), [one], gamma=3)[0] for one in requests]
    together = decode_all(CachedModel(tiny.model), Watched(made(name)), requests, gamma=3)
    assert [text.tokens for text in together] == [text.tokens for text in alone]


@pytest.mark.parametrize("name", NAMES)
def test_drafts_end_where_texts_end(tiny, made, plain, name):
    """Every token of the greedy texts that is not in their first half ends a text."""
    early = {token for text in plain for token in text.tokens[: len(text.tokens) // 2]}
    ends = frozenset(token for text in plain for token in text.tokens) - early
    requests = asked(sampling=GREEDY, eos_ids=ends or frozenset({plain[0].tokens[-1]}))
    expected = decode_all(CachedModel(tiny.model), None, requests)
    found = decode_all(CachedModel(tiny.model), Watched(made(name)), requests, gamma=4)
    assert [(text.tokens, text.finish) for text in found] == [(text.tokens, text.finish) for text in expected]
    assert "eos" in {text.finish for text in found}


@pytest.mark.parametrize("name", NAMES)
def test_drafters_keep_within_the_context(tiny, made, name):
    short = named(early_exit(tiny.model, layers=4))  # the same weights
    short.model.config.max_position_embeddings = 34
    requests = [dataclasses.replace(request, max_tokens=99) for request in asked(sampling=GREEDY)]
    expected = decode_all(CachedModel(short.model), None, requests)
    found = decode_all(CachedModel(short.model), Watched(made(name, short)), requests, gamma=6)
    assert [text.tokens for text in found] == [text.tokens for text in expected]
    assert [len(text.tokens) + len(prompt) for text, prompt in zip(found, PROMPTS, strict=True)] == [35] * 3


@pytest.mark.parametrize("name", ALONE)
def test_nothing_is_drafted_where_nothing_is_asked(made, name):
    draft = propose(made(name), PROMPTS[0], gamma=0)
    assert (draft.tokens, draft.q, draft.topology, draft.passes) == ((), None, None, 0)


@pytest.mark.parametrize("name", ["early_exit", "draft_verify", "quantised", "lookahead", "jacobi", "dynamic_tree"])
def test_rows_may_be_asked_for_nothing(made, name):
    texts = [Text(request) for request in asked(sampling=GREEDY)]
    proposer = made(name)
    proposer.begin(texts, None)
    alone = [propose(made(name), prompt, gamma=gamma).tokens for prompt, gamma in zip(PROMPTS, (0, 3, 1), strict=True)]
    assert [draft.tokens for draft in proposer.propose(texts, gammas=[0, 3, 1])] == alone


# --- the law


def table_proposers():
    target = TableModel.random(3, order=2, seed=8)
    draft = TableModel(0.5 * target.laws + 0.5 * TableModel.random(3, order=2, seed=2).laws)
    rng = np.random.default_rng(0)
    store = Datastore.build(rng.integers(3, size=(9, 20)), vocabulary_size=3)
    fixed = Topology.branching(2, 2)
    by_rule = {
        f"sampled tree, {rule}": (SampledTreeProposer(draft, topology=fixed, rule=MULTI_DRAFT[drawn]), rule)
        for rule, drawn in (
            ("recursive_without_replacement", "recursive_without_replacement"),
            ("traversal", "recursive_without_replacement"),
            ("recursive_with_replacement", "recursive_with_replacement"),
        )
    }
    others = {
        "suffix": SuffixProposer(least=0.0),
        "rest": RestProposer(store, nodes=5),
        "lookahead": LookaheadProposer(window=2, ngram=3),
        "jacobi": JacobiProposer(TableModel(target.laws), iterations=2),
        "dynamic tree": DynamicTreeProposer(draft, nodes=5, top_k=2),
    }
    return target, by_rule | {name: (proposer, None) for name, proposer in others.items()}


@pytest.mark.parametrize("name", table_proposers()[1])
def test_a_sampled_text_follows_the_law(name):
    """Null: joint law of three tokens over round boundaries; n = 600 texts in batches of 200; false alarms 1e-6."""
    target, proposers = table_proposers()
    proposer, rule = proposers[name]
    requests = [Request(prompt=[1, 0, 1, 0], max_tokens=4, seed=seed) for seed in range(600)]
    verifier = TREE_VERIFIERS[rule] if rule else None
    found = decode_all(target, proposer, requests, gamma=2, batch=200, verifier=verifier)
    follows(found, target.laws[1, 0][:, None, None] * joint(target.laws))
    assert accepted(found) > 0


def joint(laws):
    """Law of the second and third token after tokens 1 and 0 and each first one, shape (V, V, V)."""
    return np.array([laws[0, first][:, None] * laws[first] for first in range(3)])


@pytest.mark.parametrize("name", ["early_exit", "layer_skip", "draft_verify", "quantised", "quantised to 4 bits"])
def test_a_text_of_a_model_of_three_tokens_follows_its_law(name):
    """Null: joint law of two tokens; n = 600 texts in batches of 300; false alarms 1e-6."""
    config = LlamaConfig(
        vocab_size=3,
        hidden_size=GROUP,
        intermediate_size=GROUP,
        num_hidden_layers=4,
        num_attention_heads=2,
        initializer_range=0.2,
        bos_token_id=None,
        eos_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        loaded = named(LlamaForCausalLM(config).eval())
    requests = [Request(prompt=[1, 0, 2], max_tokens=3, seed=seed) for seed in range(600)]
    proposer = PROPOSERS[name.split()[0]](loaded, **NAMES[name])
    found = decode_all(CachedModel(loaded.model), proposer, requests, gamma=2, batch=300)
    model = CachedModel(loaded.model)
    model.begin(3)
    rows = [np.exp(row.astype(float)) for row in model.read([[1, 0, 2, token] for token in range(3)]).logits]
    laws = [row / row.sum(axis=-1, keepdims=True) for row in rows]
    follows(found, np.array([laws[0][2, first] * laws[first][3] for first in range(3)]))
    assert 0 < accepted(found) < 1200


def follows(texts, law):
    """The first tokens are drawn from the law, and not from one whose tokens are mixed up."""
    counts = np.zeros(law.shape, dtype=int)
    for text in texts:
        counts[text.tokens[: law.ndim]] += 1
    assert goodness_of_fit(counts.ravel(), law.ravel(), min_expected=20).passed(FALSE_ALARM)
    assert not goodness_of_fit(counts.ravel(), np.roll(law.ravel(), 1), min_expected=20).passed(FALSE_ALARM)


# --- suffix decoding


def test_an_automaton_counts_every_substring():
    rng = np.random.default_rng(0)
    for size in (1, 2, 3):
        texts = [rng.integers(size, size=length).tolist() for length in (12, 1, 25, 7)]
        automaton, ends = SuffixAutomaton(), [ROOT] * 4
        for place in range(25):  # texts side by side
            for row, text in enumerate(texts):
                if place < len(text):
                    ends[row] = automaton.append(ends[row], text[place])
        for length, text in itertools.product(range(1, 6), texts):
            for start in range(len(text) - length + 1):
                wanted, match = text[start : start + length], Match()
                for token in wanted:
                    match = automaton.follow(match, token)
                places = [(t, s) for t in texts for s in range(len(t)) if t[s : s + length] == wanted]
                assert match.length == length
                assert automaton.counts[match.state] == len(places)
                following = [t[s + length] for t, s in places if s + length < len(t)]
                for token, share, _ in automaton.after(match.state, most=9):
                    assert share == following.count(token) / len(following)
        assert len(automaton.steps) <= 2 * sum(map(len, texts))


def test_an_automaton_follows_the_longest_end_that_stands_in_it():
    automaton, last = SuffixAutomaton(), ROOT
    for token in [1, 2, 3, 4, 2, 3]:
        last = automaton.append(last, token)
    match, lengths = Match(), []
    for token in [1, 2, 3, 2, 3, 4, 9, 4]:
        match = automaton.follow(match, token)
        lengths.append(match.length)
    assert lengths == [1, 2, 3, 1, 2, 3, 0, 1]


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ([1, 2, 3, 4, 5, 6, 1, 2], {}, (3, 4)),  # two tokens match, so two are drafted
        ([1, 2, 3, 4, 5, 6, 1, 2], {"factor": 0.5}, (3,)),
        ([1, 2, 3, 4, 5, 6, 1, 2], {"factor": 2}, (3, 4, 5, 6)),
        ([7, 1, 5, 7, 2, 5, 7, 3, 9, 7], {}, ()),  # what follows is worth less than 0.4
        ([7, 1, 5, 7, 1, 5, 7, 3, 9, 7], {}, (1,)),
        ([7, 1, 5, 7, 1, 5, 7, 3, 9, 7], {"nodes": 9}, (1,)),
        ([1, 2, 3], {}, ()),
        ([1], {}, ()),
    ],
)
def test_suffix_decoding_drafts_as_far_as_the_match_carries(text, options, expected):
    assert propose(SuffixProposer(least=0.4, **options), text).tokens == expected


def test_a_suffix_tree_holds_the_alternatives():
    draft = propose(SuffixProposer(nodes=4, factor=4, least=0.0), [7, 1, 5, 7, 1, 5, 7, 3, 9, 7], gamma=2)
    assert draft.tokens == (1, 5, 3, 9)
    assert draft.topology == Topology(parents=(-1, 0, -1, 2))


def test_suffix_decoding_remembers_earlier_batches_and_no_neighbours():
    target = TableModel(cycle(9))
    proposer = SuffixProposer(factor=9)
    requests = [Request(prompt=[0], max_tokens=8)] * 2
    first = decode_all(target, proposer, requests, gamma=4)
    assert accepted(first) == 0  # a text of nine different tokens, written twice side by side
    assert accepted(decode_all(target, proposer, requests, gamma=4)) > 8
    assert accepted(decode_all(target, SuffixProposer(factor=9, remember=0), requests * 2, gamma=4, batch=2)) == 0


def test_suffix_decoding_forgets_the_oldest_texts():
    proposer = SuffixProposer(remember=10)
    for text in ([1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]):
        proposer.learn(text)
    assert [propose(proposer, [token]).tokens for token in (1, 5, 9)] == [(), (), (10,)]


def test_suffix_decoding_reads_another_text_anew():
    proposer = SuffixProposer()
    proposer.begin([Text(Request(prompt=[1, 2, 1]))], None)
    other = Text(Request(prompt=[4, 5, 6, 4, 5]))
    assert proposer.propose([other], gammas=[2])[0].tokens == (6, 4)


@pytest.mark.parametrize("options", [{"nodes": 0}, {"factor": 0}, {"least": 2}, {"remember": -1}])
def test_suffix_decoding_refuses_impossible_options(options):
    with pytest.raises(InputError, match=f"{next(iter(options))} must be"):
        SuffixProposer(**options)


# --- retrieval


def test_a_datastore_finds_every_occurrence():
    rng = np.random.default_rng(1)
    texts = [rng.integers(3, size=size).tolist() for size in (30, 1, 17)]
    store = Datastore.build([*texts, []], vocabulary_size=3, order=5)
    joined = list(itertools.chain.from_iterable([*text, -1] for text in texts))
    for size in range(1, 6):
        for pattern in itertools.product(range(3), repeat=size):
            places = [end for end in range(size, len(joined) + 1) if tuple(joined[end - size : end]) == pattern]
            assert sorted(store.after(pattern).tolist()) == places


def test_a_datastore_is_what_was_saved(tmp_path):
    store = Datastore.build([[1, 2, 3], [1, 2, 4]], vocabulary_size=5, order=3)
    store.save(tmp_path / "store")
    read = Datastore.load(tmp_path / "store")
    assert (read.order, read.vocabulary_size) == (3, 5)
    for made in (store, read):
        draft = propose(RestProposer(made, longest=3), [1, 2], gamma=1)
        assert (draft.tokens, draft.topology) == ((3, 4), Topology(parents=(-1, -1)))


@pytest.mark.parametrize("name", ["tokens.npy", "index.npy", "about.json"])
@pytest.mark.parametrize("damage", ["missing", "cut off", "empty"])
def test_a_damaged_datastore_is_refused(tmp_path, name, damage):
    Datastore.build([[1, 2, 3]], vocabulary_size=5).save(tmp_path)
    file = tmp_path / name
    whole = file.read_bytes()
    file.unlink()
    if damage != "missing":
        file.write_bytes(whole[: len(whole) - 9 if damage == "cut off" else 0])
    with pytest.raises(InputError, match="cannot load datastore"):
        Datastore.load(tmp_path)


def test_halves_of_two_datastores_are_refused(tmp_path):
    Datastore.build([[1, 2, 3]], vocabulary_size=5).save(tmp_path)
    np.save(tmp_path / "index.npy", np.arange(9))
    with pytest.raises(InputError, match=r"tokens\.npy and index\.npy do not go together"):
        Datastore.load(tmp_path)


def test_token_files_are_read(tmp_path):
    np.save(tmp_path / "one.npy", np.array([1, 2, 3]))
    (tmp_path / "more.json").write_text('[{"tokens": [4, 5], "prompt": 1}, {"tokens": [6]}]')
    texts = read_token_files([tmp_path / "one.npy", tmp_path / "more.json"])
    assert Datastore.build(texts, vocabulary_size=7).tokens.tolist() == [1, 2, 3, -1, 4, 5, -1, 6, -1]
    (tmp_path / "bad.json").write_text('[{"text": "abc"}]')
    for name in ("bad.json", "none.npy"):
        with pytest.raises(InputError, match=f"cannot read tokens from .*{name}"):
            list(read_token_files([tmp_path / name]))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "texts must hold a token at least"),
        ([[5]], r"largest token of the texts must be in 0\.\.4, got 5"),
        ([[1, -1]], r"texts\[0\]\(1,\) must be at least 0|texts\[0\].* must be at least 0, got -1"),
        ([[0.5]], r"texts\[0\] must be whole numbers"),
    ],
)
def test_texts_that_cannot_be_indexed_are_refused(texts, message):
    with pytest.raises(InputError, match=message):
        Datastore.build(texts, vocabulary_size=5)


def test_retrieval_looks_at_evenly_spaced_occurrences_of_many():
    texts = [[1, 2]] * 40 + [[1, 3]] * 20
    store = Datastore.build(texts, vocabulary_size=5)
    assert propose(RestProposer(store, most=6, nodes=1), [1], gamma=1).tokens == (2,)
    assert propose(RestProposer(store, nodes=None), [1], gamma=5).tokens == (2,)
    assert propose(RestProposer(store), [4, 4]).tokens == ()


def test_retrieval_needs_a_store_of_the_targets_vocabulary(tiny):
    store = Datastore.build([[1, 2]], vocabulary_size=5, order=4)
    with pytest.raises(InputError, match="proposer rest must have the target's vocabulary of 257 tokens, got 5"):
        decode(CachedModel(tiny.model), RestProposer(store, longest=4), [1])
    with pytest.raises(InputError, match=r"longest must be in 1\.\.4, got 16"):
        RestProposer(store)


# --- trees of a model


def test_the_dynamic_tree_is_that_of_specsim():
    model = TableModel.random(7, order=2, seed=4)
    for prompt, depth in itertools.product(([3], [0, 5], [6, 6, 1]), (1, 2, 4)):
        expected = eagle2(
            lambda paths, prompt=prompt: [model.laws[tuple([0, *prompt, *path][-2:])] for path in paths],
            nodes=9,
            top_k=3,
            depth=depth,
        )
        draft = propose(DynamicTreeProposer(TableModel(model.laws), nodes=9, top_k=3), prompt, gamma=depth)
        assert draft.tokens == expected.choices
        assert draft.topology == expected.topology
        assert draft.passes == expected.draft_passes == depth


def test_the_dynamic_tree_ends_with_the_text():
    model = TableModel([0.1, 0.2, 0.7])
    draft = propose(DynamicTreeProposer(model, nodes=9, top_k=2), [0], gamma=3, eos_ids={2})
    assert (draft.tokens[:2], draft.topology.children(0)) == ((2, 1), ())
    only = propose(DynamicTreeProposer(model, nodes=9, top_k=1), [0], gamma=3, eos_ids={2})
    assert (only.tokens, only.passes) == ((2,), 1)


def test_a_sampled_tree_hands_over_the_laws_of_its_nodes():
    model = TableModel.random(5, order=1, seed=3)
    sampling = Sampling(temperature=0.7)
    tree = Topology.branching(3, 2)
    draft = propose(SampledTreeProposer(TableModel(model.laws), topology=tree), [2], sampling=sampling)
    assert draft.topology == tree
    rows = [2, *draft.tokens[:3]]
    np.testing.assert_allclose(draft.q[:4], sampling.probabilities(np.log(model.laws))[rows], atol=1e-6)
    assert (draft.q[4:] == 0).all()
    assert draft.passes == 2


def test_a_sampled_tree_leaves_out_what_a_law_cannot_give():
    """After 0 there are two tokens, after 1 one; nothing follows token 2, which ends the text."""
    model = TableModel([[0, 0.5, 0.5], [1, 0, 0], [0.3, 0.3, 0.4]])
    tree = Topology.branching(3, 2, 1)
    draft = propose(SampledTreeProposer(model, topology=tree), [0], sampling=Sampling(), eos_ids={2})
    one = draft.tokens.index(1)
    assert sorted(draft.tokens[:2]) == [1, 2]
    assert draft.topology.parents[:3] == (-1, -1, one)
    assert draft.tokens[2] == 0
    assert len(draft.tokens) == 4


def test_at_temperature_0_a_sampled_tree_is_of_the_most_probable_tokens():
    model = TableModel([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.3, 0.6, 0.1]])
    draft = propose(SampledTreeProposer(model, topology=Topology.branching(2, 1)), [0])
    assert (draft.tokens, draft.q) == ((2, 1, 1, 0), None)


def test_logits_that_are_not_finite_are_refused():
    model = TableModel([0.5, 0.5])
    model.log_laws = np.full((1, 2), np.nan, dtype=np.float32)
    with pytest.raises(InputError, match="proposer dynamic tree logits must be finite, got nan in row 0"):
        propose(DynamicTreeProposer(model), [0])


# --- the target's own weights


@pytest.mark.parametrize("iterations", [1, 2, 3])
def test_jacobi_iteration_finds_a_token_a_pass(iterations):
    target = TableModel.random(9, order=2, seed=1)
    greedy = decode(target, None, [4, 4], max_tokens=6, sampling=GREEDY).tokens
    draft = propose(JacobiProposer(TableModel(target.laws), iterations=iterations), [4, 4], gamma=6)
    assert (draft.tokens[:iterations], draft.passes) == (greedy[:iterations], iterations)
    assert len(draft.tokens) == 6


def test_jacobi_iteration_goes_on_from_its_last_guess():
    target = TableModel(cycle(50))
    found = decode(target, JacobiProposer(TableModel(target.laws)), [0], gamma=6, max_tokens=40)
    assert found.records[0].accepted == 1
    assert decode(target, JacobiProposer(TableModel(target.laws), iterations=6), [0], gamma=6).records[0].accepted == 6


def test_lookahead_drafts_the_ngrams_that_its_window_met():
    target = TableModel(cycle(3))
    found = decode(target, LookaheadProposer(ngram=4), [0], gamma=3, max_tokens=40)
    assert [record.accepted for record in found.records[:3]] == [0, 0, 0]  # the window is not full yet
    assert {record.accepted for record in found.records[3:-1]} == {3}
    assert {record.draft_passes for record in found.records} == {0}


def test_lookahead_rides_in_the_pass_that_verifies():
    """A pass has the last token, at most `guesses` n-grams and the window's levels, which are no drafts."""
    sizes = []

    class Counted(TableModel):
        def read(self, tokens, **options):
            sizes.append(len(tokens[0]))
            return super().read(tokens, **options)

    target = Counted(TableModel.random(5, order=1, seed=0).laws)
    proposer = LookaheadProposer(window=4, ngram=4, guesses=2)
    found = decode(target, proposer, [0, 3], gamma=3, max_tokens=30, sampling=GREEDY)
    plain = decode(TableModel(target.laws), None, [0, 3], max_tokens=30, sampling=GREEDY)
    assert found.tokens == plain.tokens
    passes = sizes[1:]  # behind the prompt
    assert len(passes) == len(found.records)
    assert passes[0] == 1 + 4
    for turn, (size, record) in enumerate(zip(passes[:-1], found.records, strict=False)):
        assert record.drafted <= 2 * 3
        assert size <= 1 + record.drafted + 4 * min(1 + turn, 3)  # guesses that agree are read once
    assert sum(record.accepted for record in found.records) > 5


def test_riders_that_do_not_fit_stay_behind():
    """With 12 tokens of context the window of the last rounds would stand beyond it; the text goes on to the end."""
    target = TableModel(cycle(3), context_limit=12)
    found = decode(target, LookaheadProposer(window=5, ngram=4), [0], gamma=3, max_tokens=40)
    plain = decode(target, None, [0], max_tokens=40)
    assert (found.tokens, found.finish) == (plain.tokens, "length")


@pytest.mark.parametrize("options", [{"window": 0}, {"ngram": 1}, {"guesses": 0}])
def test_lookahead_refuses_impossible_windows(options):
    with pytest.raises(InputError, match=f"{next(iter(options))} must be at least"):
        LookaheadProposer(**options)


def test_jacobi_iteration_needs_an_iteration():
    with pytest.raises(InputError, match="iterations must be at least 1, got 0"):
        JacobiProposer(TableModel.random(3, seed=0), iterations=0)


def test_skipped_layers_are_left_out(tiny):
    """Against the layers that stay, run by hand; leaving out the last ones is an early exit."""
    model, tokens = tiny.model, torch.tensor([PROMPTS[0]])
    skipped = CachedModel(skip_layers(model, skip=[0, 2])).score(PROMPTS[0])
    states, places = model.model.embed_tokens(tokens), torch.arange(tokens.shape[1])[None]
    angles = model.model.rotary_emb(states, places)
    with torch.inference_mode():
        for layer in (1, 3):
            states = model.model.layers[layer](states, position_embeddings=angles, attention_mask=None)
        expected = model.lm_head(model.model.norm(states))[0].numpy()
    np.testing.assert_allclose(skipped, expected, rtol=1e-3, atol=1e-3)
    last = CachedModel(skip_layers(model, skip=[2, 3])).score(PROMPTS[0])
    np.testing.assert_array_equal(last, CachedModel(early_exit(model, layers=2)).score(PROMPTS[0]))
    assert len(model.model.layers) == model.config.num_hidden_layers == 4


@pytest.mark.parametrize(
    ("skip", "message"),
    [([4], r"skip must be in 0\.\.3, got 4"), (range(4), "skip must leave one of the 4 layers, got all of them")],
)
def test_layers_that_cannot_be_skipped_are_refused(tiny, skip, message):
    with pytest.raises(InputError, match=message):
        skip_layers(tiny.model, skip=skip)


def test_a_search_leaves_out_the_layers_that_matter_least():
    """Layers 1 and 3 add nothing to the residual stream."""
    model, _ = tiny_model(layers=5)
    with torch.no_grad():
        for place in (1, 3):
            model.model.layers[place].self_attn.o_proj.weight.zero_()
            model.model.layers[place].mlp.down_proj.weight.zero_()
    assert search(model, PROMPTS[0], count=2) == [1, 3]
    assert not {1, 3} & set(search(model, PROMPTS[0], count=3)[2:])
    with pytest.raises(InputError, match=r"count must be in 0\.\.4, got 5"):
        search(model, PROMPTS[0], count=5)


@pytest.mark.parametrize("total", [1, 2, 3, 30])
def test_first_and_last_layers_stay(total):
    spread = evenly(total)
    assert len(set(spread)) == len(spread) == min(round(0.2 * total), max(0, total - 2))
    assert not {0, total - 1} & set(spread)

"""Heads that draft: chains and trees keep the text, alone and in batches, and draft what the head says."""

import numpy as np
import pytest
import torch

from specsim.distributions import Sampling
from specsim.errors import InputError
from specsim.stats.chi_square import goodness_of_fit
from specsim.topology import Topology
from validation.decoder.loop import _prefill, decode, decode_all
from validation.decoder.model import CachedModel
from validation.decoder.proposers.head import HeadProposer
from validation.decoder.proposers.head_sampled_tree import SampledHeadTreeProposer
from validation.decoder.proposers.head_tree import HeadTreeProposer
from validation.decoder.text import Request, Text
from validation.decoder.tiny import tiny_model
from validation.heads import HEADS, Setup
from validation.heads.parts import Sizes

GREEDY = Sampling(temperature=0.0)
PROMPTS = [list(text) for text in (b"to be or not to be", b"a", b"something else")]
NAMES = sorted(HEADS)
KINDS = {"chain": HeadProposer, "tree": HeadTreeProposer, "sampled tree": SampledHeadTreeProposer}


@pytest.fixture(scope="module")
def tiny():
    return tiny_model(layers=2)[0]


def made(name, tiny, *, drafts=200, depth=4, seed=1):
    """A seeded head with random weights: wrong drafts, but drafts; its vocabulary leaves some tokens out."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = HEADS[name](Setup(sizes=Sizes.of(tiny.config), drafts=drafts, depth=depth))
        for parameter in head.parameters():
            torch.nn.init.normal_(parameter, std=0.15)
        head.vocabulary.copy_(torch.randperm(257)[:drafts].sort().values)
    return head.attach(tiny).eval()


def asked(**options):
    return [
        Request(prompt=prompt, name=str(place), max_tokens=8 + 5 * place, seed=place, **options)
        for place, prompt in enumerate(PROMPTS)
    ]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_greedy_text_is_the_plain_text_in_a_batch(tiny, name, kind):
    requests = asked(sampling=GREEDY)
    plain = decode_all(CachedModel(tiny), None, requests)
    found = decode_all(CachedModel(tiny), kind(made(name, tiny)), requests, gamma=3)
    assert [text.tokens for text in found] == [text.tokens for text in plain]
    assert sum(record.drafted for text in found for record in text.records) > 20


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_drafts_what_each_text_drafts_alone(tiny, name):
    for proposer in KINDS.values():
        requests = asked()
        together = decode_all(CachedModel(tiny), proposer(made(name, tiny)), requests, gamma=3)
        for request, text in zip(requests, together, strict=True):
            alone = decode_all(CachedModel(tiny), proposer(made(name, tiny)), [request], gamma=3)[0]
            assert text.tokens == alone.tokens
            drafted = [record.drafted for record in alone.records]
            assert [record.drafted for record in text.records] == drafted


def test_prompts_are_read_before_the_first_round(tiny):
    proposer = HeadProposer(made("eagle", tiny))
    _prefill([Text(request) for request in asked()], target=CachedModel(tiny), proposer=proposer)
    assert proposer._read == [len(prompt) - 1 for prompt in PROMPTS]
    assert not any(proposer._fresh)


@pytest.mark.parametrize("name", NAMES)
def test_a_tree_of_one_path_is_the_greedy_chain(tiny, name):
    chain, tree = HeadProposer(made(name, tiny)), HeadTreeProposer(made(name, tiny), nodes=3, top_k=1)
    texts = [
        decode(CachedModel(tiny), one, PROMPTS[0], gamma=3, max_tokens=12, sampling=GREEDY) for one in (chain, tree)
    ]
    assert [record.accepted for record in texts[0].records] == [record.accepted for record in texts[1].records]
    assert [record.drafted for record in texts[0].records] == [record.drafted for record in texts[1].records]


@pytest.mark.parametrize(
    ("name", "kind"), [("dspark", "chain"), ("eagle3", "chain"), ("eagle", "sampled tree"), ("medusa", "sampled tree")]
)
def test_sampled_text_follows_the_law(name, kind):
    """Null: law of two tokens, pooled; n = 800 texts in batches of 100; false-alarm rate 1e-6."""
    tiny = tiny_model(layers=1, seed=3)[0]
    sampling = Sampling(temperature=0.7, top_k=6)
    requests = [Request(prompt=list(b"ab"), max_tokens=4, seed=seed, sampling=sampling) for seed in range(800)]
    found = decode_all(CachedModel(tiny), KINDS[kind](made(name, tiny, drafts=250)), requests, gamma=2, batch=100)
    first = sampling.probabilities(CachedModel(tiny).score(list(b"ab"))[-1])
    law = {}
    for token in np.flatnonzero(first):
        second = sampling.probabilities(CachedModel(tiny).score([*b"ab", int(token)])[-1])
        law |= {(int(token), int(other)): first[token] * second[other] for other in np.flatnonzero(second)}
    pairs = [text.tokens[:2] for text in found]
    assert set(pairs) <= set(law)
    counts = [pairs.count(pair) for pair in law]
    assert goodness_of_fit(np.array(counts), np.array(list(law.values())), min_expected=5).passed(1e-6)
    assert sum(record.accepted for text in found for record in text.records) > 0


def test_nothing_is_drafted_behind_a_sure_end_of_text(tiny):
    """The end is next with a probability near 1, so that its children outweigh every other node."""
    head = made("eagle", tiny)
    end = int(head.vocabulary[7])
    logits = torch.zeros(200)
    logits[7] = 30.0
    head.logits = lambda state: logits.expand(*state.tokens.shape, 200)
    asked_for = Request(prompt=PROMPTS[0], max_tokens=30, sampling=GREEDY, eos_ids=frozenset({end}))
    found = decode_all(CachedModel(tiny), HeadTreeProposer(head, nodes=8), [asked_for], gamma=4)[0]
    plain = decode_all(CachedModel(tiny), None, [asked_for])[0]
    assert found.tokens == plain.tokens
    assert max(record.drafted for record in found.records) > 0


def test_sampled_trees_draw_siblings_from_the_laws_that_they_hand_over(tiny):
    """Distinct siblings, each possible under the row of its parent, and none beyond the draft vocabulary."""
    head, text = made("eagle", tiny, drafts=60), Text(Request(prompt=PROMPTS[0]))
    proposer = SampledHeadTreeProposer(head, topology=Topology.branching(3, 2))
    target = CachedModel(tiny)
    target.begin(1)
    proposer.begin([text], target.read([PROMPTS[0][:-1]], layers=proposer.feature_layers).features)
    draft = proposer.propose([text], gammas=[2])[0]
    assert draft.topology.parents == (-1, -1, -1, 0, 0, 1, 1, 2, 2)
    assert set(draft.tokens) <= set(head.vocabulary.tolist())
    for parent in (-1, 0, 1, 2):
        siblings = [draft.tokens[node] for node in draft.topology.children(parent)]
        assert len(set(siblings)) == len(siblings)
        assert (draft.q[parent + 1, siblings] > 0).all()
        np.testing.assert_allclose(draft.q[parent + 1].sum(), 1, rtol=1e-5)
    assert draft.passes == 2
    chain = HeadProposer(head)
    target.begin(1)
    chain.begin([text], target.read([PROMPTS[0][:-1]], layers=chain.feature_layers).features)
    np.testing.assert_allclose(draft.q[0], chain.propose([text], gammas=[1])[0].q[0], atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_sampled_tree_of_one_path_draws_what_the_head_says(tiny, name):
    """With the most probable token alone in every law, a path drawn is the chain of temperature 0."""
    path = SampledHeadTreeProposer(made(name, tiny), topology=Topology.branching(1, 1, 1))
    only = Sampling(top_k=1)
    drawn = decode(CachedModel(tiny), path, PROMPTS[0], gamma=3, max_tokens=12, sampling=only)
    chain = decode(
        CachedModel(tiny), HeadProposer(made(name, tiny)), PROMPTS[0], gamma=3, max_tokens=12, sampling=GREEDY
    )
    assert drawn.tokens == chain.tokens
    assert [record.accepted for record in drawn.records] == [record.accepted for record in chain.records]


def test_only_the_draft_vocabulary_is_drafted(tiny):
    head = made("eagle", tiny, drafts=5)
    proposer = HeadProposer(head)
    rows = proposer.everywhere(np.zeros((2, 5), dtype=np.float32))
    assert np.isfinite(rows).sum() == 10
    assert np.flatnonzero(np.isfinite(rows[0])).tolist() == head.vocabulary.tolist()


def test_parallel_heads_draft_no_deeper_than_they_were_made(tiny):
    for name, deepest in (("medusa", 4), ("dflash", 4), ("eagle", 7)):
        found = decode(CachedModel(tiny), HeadProposer(made(name, tiny)), PROMPTS[0], gamma=7, max_tokens=30)
        assert max(record.drafted for record in found.records) == deepest


def test_confidence_stops_a_draft_before_its_token_is_drawn(tiny):
    head = made("dspark", tiny)
    whole, none = (
        decode(CachedModel(tiny), HeadProposer(head, min_confidence=least), PROMPTS[0], gamma=4, max_tokens=20)
        for least in (0.0, 1.0)
    )
    some = decode(CachedModel(tiny), HeadProposer(head, min_confidence=0.2), PROMPTS[0], gamma=4, max_tokens=20)
    drafted = [sum(record.drafted for record in text.records) for text in (whole, some, none)]
    assert drafted[0] > drafted[1] > drafted[2] == 0


def test_confidence_is_asked_of_heads_that_have_one(tiny):
    with pytest.raises(InputError, match="min_confidence needs a head with a confidence, dspark, got eagle"):
        HeadProposer(made("eagle", tiny), min_confidence=0.5)

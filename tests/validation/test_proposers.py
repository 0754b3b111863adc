"""Proposers: what they draft, what they hand over, and how they keep up with the text."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.distributions import Sampling
from specsim.errors import InputError
from validation.decoder.proposers import ModelProposer, NgramProposer, NoProposer
from validation.decoder.table_model import TableModel
from validation.decoder.text import Request, Text

GREEDY, SAMPLED = Sampling(temperature=0.0), Sampling()


def asked(tokens, *, sampling=SAMPLED, seed=0, eos_ids=()):
    return Text(Request(prompt=tokens, sampling=sampling, seed=seed, eos_ids=frozenset(eos_ids)))


def begun(proposer, tokens):
    proposer.begin([asked(tokens)], None)
    return proposer


def propose(proposer, tokens, *, gamma=3, **options):
    """What is drafted after `tokens`, whatever the proposer has seen before."""
    return proposer.propose([asked(tokens, **options)], gammas=[gamma])[0]


class Recorder(TableModel):
    """A table model that writes down what it is given."""

    def __init__(self, laws, **options):
        super().__init__(laws, **options)
        self.fed = []

    def read(self, tokens, **options):
        self.fed.append(list(tokens[0]))
        return super().read(tokens, **options)


def cycle(size=4):
    """Token i is followed by i + 1."""
    return np.roll(np.eye(size), 1, axis=1)


def test_nobody_drafts_nothing():
    draft = propose(NoProposer(), [1])
    assert (draft.tokens, draft.q, draft.passes) == ((), None, 0)


@pytest.mark.parametrize(
    ("text", "gamma", "expected"),
    [
        ([1, 2, 3, 4, 5, 1, 2, 3], 2, (4, 5)),
        ([7, 3, 8, 1, 2, 3, 9, 5, 1, 2, 3], 1, (9,)),  # three tokens match better than one
        ([3, 8, 0, 3, 9, 0, 4, 3], 2, (9, 0)),  # the most recent of two matches
        ([3, 8, 6, 4, 3, 9, 3], 3, (8, 6, 4)),  # ... that is followed by gamma tokens
        ([5, 5], 4, (5,)),  # none is: the earliest has the most to copy
        ([6, 6, 6, 6], 3, (6,)),
        ([1, 2, 3], 3, ()),
        ([1], 3, ()),
        ([1, 2, 1], 0, ()),
    ],
)
def test_ngram_copies_what_followed(text, gamma, expected):
    draft = propose(NgramProposer(), text, gamma=gamma)
    assert (draft.tokens, draft.q, draft.passes) == (expected, None, 0)


def test_ngram_looks_for_the_lengths_it_was_given():
    text = [3, 8, 0, 3]
    assert propose(NgramProposer(shortest=2), text).tokens == ()
    assert propose(NgramProposer(longest=1), text).tokens == (8, 0, 3)


@settings(max_examples=300)
@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=24),
    st.integers(0, 5),
    st.tuples(st.integers(1, 4), st.integers(1, 4)).map(sorted),
)
def test_ngram_finds_what_a_search_of_every_place_finds(text, gamma, lengths):
    shortest, longest = lengths
    expected = ()
    for size in range(min(longest, len(text) - 1), shortest - 1, -1):
        ends = [end for end in range(size, len(text)) if text[end - size : end] == text[-size:]]
        if ends:
            full = [end for end in ends if end + gamma <= len(text)]
            start = full[-1] if full else ends[0]
            expected = tuple(text[start : start + gamma])
            break
    proposer = NgramProposer(longest=longest, shortest=shortest)
    assert proposer.propose([Text(Request(prompt=text))], gammas=[gamma])[0].tokens == expected


@pytest.mark.parametrize("options", [{"longest": 0}, {"longest": 2, "shortest": 3}, {"shortest": 0}])
def test_ngram_refuses_impossible_lengths(options):
    with pytest.raises(InputError, match="must be"):
        NgramProposer(**options)


def test_nothing_is_drafted_after_an_end_of_text_token():
    lookup, model = NgramProposer(), ModelProposer(TableModel(cycle()))
    for proposer in (lookup, model):
        begun(proposer, [0, 1, 2, 3, 0, 1])
        assert propose(proposer, [0, 1, 2, 3, 0, 1], gamma=4, eos_ids={3}).tokens == (2, 3)


def test_model_hands_over_the_laws_that_it_sampled():
    model, twin = (TableModel.random(5, order=2, seed=1) for _ in range(2))
    sampling = Sampling(temperature=0.7, top_k=3)
    draft = propose(begun(ModelProposer(model), [1]), [1, 4], gamma=4, sampling=sampling)
    expected = sampling.probabilities(twin.score([1, 4, *draft.tokens])[1:-1])
    np.testing.assert_array_equal(draft.q, expected)
    assert draft.passes == len(draft.tokens) == 4
    assert all(draft.q[place, token] > 0 for place, token in enumerate(draft.tokens))


@pytest.mark.parametrize(("sampling", "argmax"), [(GREEDY, False), (SAMPLED, True)])
def test_certain_drafts_come_without_laws(sampling, argmax):
    model = TableModel([[0.4, 0.6, 0.0], [0.1, 0.2, 0.7], [0.6, 0.3, 0.1]])
    draft = propose(begun(ModelProposer(model, argmax=argmax), [0]), [0], sampling=sampling)
    assert (draft.tokens, draft.q, draft.passes) == ((1, 2, 0), None, 3)


def test_model_feeds_only_what_the_cache_lacks():
    model = Recorder(cycle(8))
    proposer = ModelProposer(model)
    begun(proposer, [0, 1, 2])
    propose(proposer, [0, 1, 2])  # drafts 3 4 5
    propose(proposer, [0, 1, 2, 3, 4, 5, 6])  # all accepted, bonus 6
    propose(proposer, [0, 1, 2, 3, 4, 5, 6, 7, 5])  # 0 rejected for 5
    assert model.fed == [[0, 1], [2], [3], [4], [5, 6], [7], [0], [5], [6], [7]]
    assert model.length == 11


def test_model_that_falls_out_of_step_drafts_as_if_it_read_the_text_anew():
    rng = np.random.default_rng(0)
    laws = rng.dirichlet(np.ones(6), size=(6, 6))
    proposer = begun(ModelProposer(TableModel(laws)), [0])
    for length in (1, 200, 150, 3, 90):
        text = rng.integers(6, size=length).tolist()
        fresh = begun(ModelProposer(TableModel(laws)), [0])
        kept, anew = propose(proposer, text, seed=length), propose(fresh, text, seed=length)
        assert kept.tokens == anew.tokens
        np.testing.assert_array_equal(kept.q, anew.q)


def test_model_drafts_less_near_its_context_limit():
    proposer = begun(ModelProposer(TableModel(cycle(), context_limit=4)), [0])
    assert propose(proposer, [0, 1, 2]).tokens == (3, 0)
    assert propose(proposer, [0, 1, 2, 3]).tokens == (0,)
    assert propose(proposer, [0, 1, 2, 3, 0]).tokens == ()


def test_a_prompt_beyond_the_drafters_context_is_not_read():
    proposer = ModelProposer(TableModel(cycle(), context_limit=2))
    begun(proposer, [0, 1, 2])
    assert propose(proposer, [0, 1, 2]).tokens == ()


@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED])
def test_drafter_logits_must_be_finite(sampling):
    model = TableModel([0.5, 0.5])
    model.log_laws = np.full((1, 2), np.nan, dtype=np.float32)
    with pytest.raises(InputError, match=r"proposer bad logits must be finite, got nan in row 0 \(text position 2\)"):
        propose(begun(ModelProposer(model, name="bad"), [0]), [0, 1], sampling=sampling)

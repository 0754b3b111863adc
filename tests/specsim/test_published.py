"""Published acceptance: every method has a default, and every alpha gives its figure back."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import topology
from specsim.acceptance import Acceptance
from specsim.catalog import PublishedAcceptance, published_acceptance, published_rows, rank_vector
from specsim.drafters import METHODS
from specsim.errors import InputError

ROWS = published_rows()
CHAIN = PublishedAcceptance(
    method="ngram", target="T", dataset="D", task="chat", source="here", confidence="published", tau=2.0, gamma=4
)


def names(row):
    return f"{row.method} {row.dataset} {row.temperature} {row.tau}"


def test_every_method_has_a_default_and_no_figure_is_of_an_unknown_one():
    assert {row.method for row in ROWS} == set(METHODS)
    for method in METHODS:
        assert published_acceptance(method) == next(row for row in ROWS if row.method == method)


@pytest.mark.parametrize("row", ROWS, ids=names)
def test_alpha_gives_the_figure_back(row):
    if row.stated_alpha is not None:
        assert row.alpha == row.stated_alpha
    elif row.utilisation is not None:
        accepted = row.acceptance.survival(row.gamma).sum()
        assert accepted / row.gamma == pytest.approx(row.utilisation, rel=1e-9)
    elif row.gamma:
        assert 1 + row.acceptance.survival(row.gamma).sum() == pytest.approx(row.tau, rel=1e-9)
    elif row.tree:
        assert topology.positional_length(topology.eagle1(), acceptance=row.ranks).E_tokens == pytest.approx(row.tau)
    else:
        best = topology.sequoia(row.ranks, nodes=row.nodes, max_depth=row.depth)  # the tree itself, not the recursion
        assert topology.positional_length(best, acceptance=row.ranks).E_tokens == pytest.approx(row.tau)


@pytest.mark.parametrize("row", ROWS, ids=names)
def test_every_row_is_usable(row):
    assert 0 < row.alpha < 1
    assert row.ranks[0] == row.alpha
    assert (np.diff(row.ranks) <= 0).all()
    assert row.ranks.sum() <= 1
    assert isinstance(row.acceptance, Acceptance)
    assert row.source in row.acceptance.source
    assert row.confidence in row.acceptance.source
    assert row.derivation
    assert (row.confidence == "assumed") == row.source.startswith("assumed")


def test_the_decay_is_what_two_trees_of_one_drafter_give():
    """Independent of the fit: with the decay, alpha from 16 nodes predicts the 60 nodes, and a wrong decay does not."""
    small, large = (row for row in ROWS if row.dataset == "mean of seven")
    assert small.alpha == pytest.approx(large.alpha, abs=0.001)

    def predicted(decay):
        chances = np.linspace(0.4, 0.75, 3501)
        tokens = [
            topology.optimal_tokens(rank_vector(alpha, decay=decay), nodes=16, max_depth=7)[-1, -1]
            for alpha in chances[::50]
        ]
        alpha = np.interp(small.tau, tokens, chances[::50])
        return topology.optimal_tokens(rank_vector(alpha, decay=decay), nodes=60, max_depth=7)[-1, -1]

    assert predicted(0.22) == pytest.approx(large.tau, abs=0.01)
    assert abs(predicted(0.4) - large.tau) > 0.1


@pytest.mark.parametrize("task", ["chat", "code", "math", "summarization"])
def test_one_head_in_two_trees_has_one_alpha(task):
    """EAGLE-2 changes the tree alone: its static predecessor's alpha, from another tree, must be the same."""
    first, second = (published_acceptance(method, task=task, temperature=0.0) for method in ("eagle1", "eagle2"))
    assert first.tau != second.tau
    assert first.alpha == pytest.approx(second.alpha, abs=0.012)


def test_utilisation_is_not_alpha():
    skip = published_acceptance("layer_skip")
    assert skip.alpha > skip.utilisation + 0.2


def test_a_task_and_a_temperature_choose():
    assert published_acceptance("eagle3").tau == 6.13
    assert published_acceptance("eagle3", task="chat", temperature=1.0).tau == 2.66
    assert published_acceptance("dspark", task="math").tau == 6.17
    assert published_acceptance("eagle1", temperature=1.0).dataset == "MT-bench"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"method": "eagle4"}, r"method 'eagle4' is unknown; did you mean eagle\d\?"),
        ({"method": "medusa", "task": "poetry"}, "task of medusa 'poetry' is unknown; known: chat, code, math"),
        ({"method": "dspark", "temperature": 0.0}, "temperature of dspark must be a published one, got 0; known: 1"),
        ({"method": "suffix", "temperature": 0.0}, "known: none"),
    ],
)
def test_what_is_not_published_is_named(asked, message):
    with pytest.raises(InputError, match=message):
        published_acceptance(**asked)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confidence": "sure"}, "confidence 'sure' is unknown"),
        ({"tau": None}, "exactly one of tau, utilisation and alpha"),
        ({"stated_alpha": 0.5}, "exactly one of tau, utilisation and alpha"),
        ({"gamma": 0}, "must state tau of one chain or tree"),
        ({"tree": "eagle1"}, "must state tau of one chain or tree"),
        ({"gamma": 0, "nodes": 9}, "must state tau of one chain or tree"),
        ({"tau": None, "utilisation": 0.5, "gamma": 0, "nodes": 9, "depth": 3}, "utilisation of a chain"),
        ({"tau": 5.1}, r"tau must be in \(1, 5\]"),
        ({"tau": 1.0}, r"tau must be in \(1, 5\]"),
        ({"tau": None, "utilisation": 1.2}, "utilisation must be in"),
        ({"tau": None, "gamma": 0, "stated_alpha": 1.2}, "alpha must be in"),
    ],
)
def test_a_figure_without_sense_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(CHAIN, **change)


@given(alpha=st.floats(0, 1), decay=st.floats(0, 1))
def test_a_rank_vector_is_one_for_trees(alpha, decay):
    ranks = rank_vector(alpha, decay=decay)
    assert ranks.shape == (10,)
    assert ranks[0] == alpha
    assert (np.diff(ranks) <= 1e-15).all()
    assert ranks.sum() <= 1 + 1e-12


def test_the_file_holds_no_row_twice():
    keys = [(row.method, row.target, row.dataset, row.temperature, row.tau, row.gamma, row.nodes) for row in ROWS]
    assert len(keys) == len(set(keys))

"""The table model says exactly what its table says."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from specsim.distributions import Sampling
from specsim.errors import InputError
from validation.decoder.table_model import TableModel


@pytest.mark.parametrize("order", [0, 1, 2])
def test_scores_are_the_log_laws_of_the_last_tokens(order):
    model = TableModel.random(3, order=order, seed=1)
    text = [0, 2, 1, 1, 0, 2]
    rows = np.exp(model.score(text))
    padded = [0] * order + text
    expected = [model.laws[tuple(padded[place + 1 : place + 1 + order])] for place in range(len(text))]
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, expected, rtol=1e-6)


def test_scoring_in_pieces_and_after_a_truncation_equals_scoring_at_once():
    model, fresh = (TableModel.random(4, order=2, seed=3) for _ in range(2))
    model.score([1, 2])
    model.score([3, 3, 0], keep=1)
    model.truncate(2)
    np.testing.assert_array_equal(model.score([0, 1]), fresh.score([1, 2, 0, 1])[2:])
    assert model.length == fresh.length == 4


def test_keep_returns_the_last_rows():
    model, fresh = (TableModel.random(4, seed=3) for _ in range(2))
    np.testing.assert_array_equal(model.score([1, 2, 3], keep=2), fresh.score([1, 2, 3])[1:])


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("sampling", [None, Sampling(temperature=0.5, top_k=2)])
def test_law_is_the_chain_rule_over_scored_rows(order, sampling):
    model = TableModel.random(3, order=order, seed=5)
    model.score([1, 2])
    joint = model.law(steps=3, sampling=sampling)
    assert joint.shape == (3, 3, 3)
    assert joint.sum() == pytest.approx(1)
    rule = sampling or Sampling()
    for text in itertools.product(range(3), repeat=3):
        model.truncate(1)
        rows = rule.probabilities(model.score([2, *text[:-1]]).astype(float))
        assert joint[text] == pytest.approx(np.prod(rows[np.arange(3), text]), rel=1e-5)


def test_a_forbidden_token_stays_forbidden():
    model = TableModel([[0.0, 1.0], [0.5, 0.5]])
    assert model.score([0])[0, 0] == -np.inf
    assert model.law(steps=1).tolist() == [0.0, 1.0]


def test_random_tables_come_from_their_seed():
    same, other = (TableModel.random(3, seed=seed).laws for seed in (1, 2))
    np.testing.assert_array_equal(same, TableModel.random(3, seed=1).laws)
    assert not np.array_equal(same, other)


@pytest.mark.parametrize(
    ("laws", "message"),
    [
        ([0.5, 0.6], "laws must sum to 1"),
        ([[0.5, 0.5]], "laws must have equal axes"),
        ([0.5, np.nan], "laws.1. must be finite"),
        (1.0, "laws must have a vocabulary axis"),
    ],
)
def test_bad_laws_are_refused(laws, message):
    with pytest.raises(InputError, match=message):
        TableModel(laws)


def test_context_and_truncation_have_limits():
    model = TableModel([0.5, 0.5], context_limit=3)
    model.score([0, 1, 0])
    with pytest.raises(InputError, match="context must be at most 3 tokens, got 4"):
        model.score([1])
    with pytest.raises(InputError, match=r"lengths\[0\] must be in 0\.\.3, got 4"):
        model.truncate(4)


def test_decoding_tables_needs_no_torch():
    code = "import sys, validation.decoder.loop, validation.decoder.table_model; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)

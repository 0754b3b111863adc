"""Processors applied again outside the engine: against the table oracle, and against whole rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.conformance import Output, Parameters, Request, TableModels, TableOracle, parameter_matrix, plan
from specsim.conformance.sources.processing import full_laws, listed_laws, unsure
from specsim.errors import AdapterError, InputError

MODELS = TableModels.random(seed=3)


@pytest.mark.parametrize("cell", parameter_matrix(8, eos_id=7), ids=lambda cell: cell.name)
def test_whole_rows_give_the_table_oracles_laws(cell) -> None:  # type: ignore[no-untyped-def]
    """Twin: two codes for the same law, from raw rows here, from tables there."""
    rng = np.random.default_rng(0)
    request = Request(id="a", prompt=(3, 5, 1), parameters=cell.parameters)
    tokens = tuple(rng.integers(8, size=12).tolist())
    raw = MODELS.logits("target", MODELS.states([[*request.prompt, *tokens]])[0, 2:-1])
    found = full_laws(raw, prompt=request.prompt, tokens=tokens, parameters=cell.parameters)
    expected = TableOracle(MODELS).score([request], [Output(tokens=tokens, finish_reason="length")])
    np.testing.assert_allclose(np.exp(found), np.exp(np.asarray(expected.log_p)), atol=1e-12)


def test_the_order_of_min_p_matters_and_is_that_of_the_engine() -> None:
    """P = (.4, .3, .2, .1): nucleus of .65 keeps two; without the last one (min-p .5 of .4) it keeps two of three."""
    rows = np.log([[0.4, 0.3, 0.2, 0.1]])
    asked = Parameters(top_p=0.72, min_p=0.5)
    last = np.exp(full_laws(rows, prompt=[0], tokens=[0], parameters=asked, order="min_p_last"))
    first = np.exp(full_laws(rows, prompt=[0], tokens=[0], parameters=asked, order="min_p_first"))
    np.testing.assert_allclose(last, [[4 / 9, 3 / 9, 2 / 9, 0]])  # nucleus (.4 .3 .2), and .2 is half of .4
    np.testing.assert_allclose(first, [[4 / 7, 3 / 7, 0, 0]])  # (.4 .3 .2) / .9: two of them reach .72
    with pytest.raises(InputError, match=r"order 'min_p' is unknown"):
        full_laws(rows, prompt=[0], tokens=[0], parameters=asked, order="min_p")


def listed_enough(listed, min_p, top_p, order, temperature) -> bool:  # type: ignore[no-untyped-def]
    """Whether min-p surely drops all that is not listed."""
    is_cut_before = temperature == 0 or (top_p is not None and order == "min_p_last")
    return bool(is_cut_before or (listed[:, -1] < listed[:, 0] + np.log(min_p)).all())


@given(
    seed=st.integers(0, 2**32),
    top_k=st.none() | st.integers(1, 6),
    top_p=st.none() | st.floats(0.05, 0.6),
    min_p=st.none() | st.floats(0.3, 0.9),
    temperature=st.sampled_from([0.0, 0.5, 1.0, 1.7]),
    order=st.sampled_from(["min_p_last", "min_p_first"]),
)
def test_lists_give_the_laws_of_whole_rows_or_say_why_not(  # type: ignore[no-untyped-def]
    seed, top_k, top_p, min_p, temperature, order
) -> None:
    parameters = Parameters(top_k=top_k, top_p=top_p, min_p=min_p, temperature=temperature)
    law = np.random.default_rng(seed).dirichlet(np.ones(12) * 0.5, size=2)
    best = np.argsort(-law, axis=1)[:, :6]
    listed = np.log(np.take_along_axis(law, best, axis=1))
    whole = np.exp(full_laws(np.log(law), prompt=[0], tokens=[0, 0], parameters=parameters, order=order))
    if top_k is None:  # top-k of at most six settles anything
        known = temperature in (0, 1) and (top_p is None or np.exp(listed).sum(axis=1).min() >= top_p)
        if (temperature != 0 and not known) or (min_p and not listed_enough(listed, min_p, top_p, order, temperature)):
            return
    found = np.exp(listed_laws(listed, parameters=parameters, order=order))
    np.testing.assert_allclose(found, np.take_along_axis(whole, best, axis=1), atol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        (Parameters(temperature=0.7), r"temperature 0.7 needs whole rows or top_k of at most 3"),
        (Parameters(top_k=4), r"top_k 4 keeps tokens that are not listed"),
        (Parameters(top_p=0.95), r"top_p 0.95 keeps tokens that are not listed"),
        (Parameters(min_p=0.1), r"min_p 0.1 may keep tokens that are not listed"),
        (Parameters(logit_bias={1: 1.0}), r"logit_bias may change tokens that are not listed"),
        (Parameters(banned_ids=(1,)), r"banned_ids may change"),
        (Parameters(repetition_penalty=1.2), r"repetition_penalty acts on logits"),
        (Parameters(presence_penalty=0.2), r"presence and frequency penalty may change"),
        (Parameters(allowed_after={1: (2,)}), r"allowed_after may change"),
        (Parameters(min_tokens=2, eos_ids=(1,)), r"min_tokens may change"),
    ],
)
def test_lists_that_do_not_settle_the_law_are_refused(parameters: Parameters, reason: str) -> None:
    with pytest.raises(AdapterError, match=reason):
        listed_laws(np.log([[0.5, 0.3, 0.1]]), parameters=parameters)


def test_plans_leave_out_what_a_list_may_not_settle() -> None:
    assert unsure(Parameters(top_p=0.8), listed=None) is None
    assert unsure(Parameters(top_p=0.8, top_k=5), listed=20) is None
    assert unsure(Parameters(), listed=20) is None
    for parameters in (Parameters(top_p=0.8), Parameters(min_p=0.1)):
        assert unsure(parameters, listed=20) == "top_p and min_p may keep tokens that are not among the 20 listed"


def test_every_parameter_of_the_matrix_is_either_settled_or_refused() -> None:
    asked = plan(tokens=1000, vocabulary=40, eos_id=7)
    settled = []
    for cell, top in itertools.product(asked.cells, (20, 39)):
        law = np.sort(np.random.default_rng(1).dirichlet(np.ones(40)))[::-1][None, :top]
        try:
            assert np.exp(listed_laws(np.log(law), parameters=cell.parameters)).sum() <= 1 + 1e-9
            settled.append((cell.name, top))
        except AdapterError:
            pass
    assert {("top-k", 20), ("bans", 20), ("top-p", 39)} & set(settled) == {("top-k", 20), ("top-p", 39)}

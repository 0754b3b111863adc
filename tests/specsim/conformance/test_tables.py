"""Table models and their oracle: against a twin that goes token by token."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.conformance import Output, Parameters, Request, TableModels, TableOracle, parameter_matrix
from specsim.distributions import History, overlap, softmax
from specsim.errors import InputError

MODELS = TableModels.random(vocabulary=8, seed=4)
KINDS = [cell.parameters for cell in parameter_matrix(8, eos_id=7)]
TEXTS = st.lists(st.integers(0, 7), min_size=1, max_size=6)


def naive_law(side: str, prompt: list[int], before: list[int], parameters: Parameters) -> np.ndarray:
    """The law of the next token from its definition: the last two tokens and the first, then every processor."""
    text = [0, *prompt, *before]
    logits = getattr(MODELS, side)[prompt[0], text[-2], text[-1]].copy()
    for token, following in parameters.allowed_after:
        if text[-1] == token:
            logits[[x for x in range(8) if x not in following]] = -np.inf
    if len(before) < parameters.min_tokens:
        logits[list(parameters.eos_ids)] = -np.inf
    return parameters.sampling.probabilities(logits, history=History(prompt=prompt, output=before))


@settings(max_examples=60)
@given(st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from(KINDS)), min_size=1, max_size=5))
def test_the_oracle_is_the_twin_for_every_token(texts: list[tuple[list[int], list[int], Parameters]]) -> None:
    requests = [Request(id=str(i), prompt=tuple(prompt), parameters=kind) for i, (prompt, _, kind) in enumerate(texts)]
    outputs = [Output(tokens=tuple(tokens), finish_reason="length") for _, tokens, _ in texts]
    rows = TableOracle(MODELS).score(requests, outputs)
    for side, logs in (("target", rows.log_p), ("draft", rows.log_q)):
        expected = [
            naive_law(side, prompt, tokens[:place], kind)
            for prompt, tokens, kind in texts
            for place in range(len(tokens))
        ]
        np.testing.assert_allclose(np.exp(logs), expected, atol=1e-12)


def test_an_oracle_may_keep_the_draft_to_itself() -> None:
    pair = [Request(id="a", prompt=(1,))], [Output(tokens=(2,), finish_reason="length")]
    assert TableOracle(MODELS, with_draft=False).score(*pair).log_q is None


@given(TEXTS)
def test_states_are_the_first_token_and_the_last_two(text: list[int]) -> None:
    states = MODELS.states([text])[0]
    for place, state in enumerate(states.tolist()):
        first, but_one, last = text[0], ([0, *text])[place], text[place]
        assert state == first * 64 + but_one * 8 + last
        assert MODELS.last(np.array(state)) == last


@pytest.mark.parametrize(("kind", "low", "high"), [("good", 0.66, 0.76), ("bad", 0.15, 0.26), ("flat", 0.4, 0.7)])
def test_drafts_are_as_good_as_they_say(kind: str, low: float, high: float) -> None:
    """The mean of 512 overlaps with standard deviation below 0.2: six standard errors of room on each side."""
    models = TableModels.random(seed=5, draft=kind)
    shared = overlap(softmax(models.target), softmax(models.draft)).mean()
    assert low < shared < high


def test_mixed_tables_hold_all_three_and_a_bonus_makes_ends_likely() -> None:
    mixed = TableModels.random(seed=6)
    assert np.array_equal(mixed.draft[4:6], -mixed.target[4:6])
    assert np.array_equal(mixed.draft[6:], 0.3 * mixed.target[6:])
    heavy = TableModels.random(seed=6, eos_id=7, eos_bonus=2.0)
    np.testing.assert_allclose((heavy.target - mixed.target)[..., 7], 2.0)
    np.testing.assert_allclose((heavy.draft - mixed.draft)[..., :7], 0.0)


def test_tables_of_other_shapes_are_refused() -> None:
    with pytest.raises(InputError, match=r"target must have shape \(V, V, V, V\)"):
        TableModels(target=np.zeros((2, 2, 2, 3)), draft=np.zeros((2, 2, 2, 3)))
    with pytest.raises(InputError, match=r"draft must have shape"):
        TableModels(target=np.zeros((2,) * 4), draft=np.zeros((3,) * 4))
    with pytest.raises(InputError, match="draft 'best' is unknown"):
        TableModels.random(seed=0, draft="best")

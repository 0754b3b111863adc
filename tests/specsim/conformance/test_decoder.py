"""The table decoder: the rule of the library, a cache that is the text, one text whatever the batch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.checks import IntArray
from specsim.conformance import Request, TableDecoder, TableModels, TableOracle, plan
from specsim.conformance.batch import Batch, Turn
from specsim.conformance.lookalikes import LOOKALIKES, Coins, Reporting
from specsim.verifiers import Rejection

MODELS = TableModels.random(seed=1)
PLAN = plan(tokens=1000, vocabulary=8, eos_id=7, seed=1)
SEEDED = {name: decoder for name, decoder in LOOKALIKES.items() if decoder.is_seeded}


class Twin(TableDecoder):
    """Judges every round by the library's own rule, too, with the same coins."""

    def verify(self, batch: Batch, turn: Turn) -> tuple[IntArray, IntArray]:
        accepted, token = super().verify(batch, turn)
        right = Rejection().verify(turn.p, turn.draft, q=turn.q, rng=Coins(turn.coins), drafted=turn.drafted)  # type: ignore[arg-type]
        assert accepted.tolist() == right.accepted.tolist()
        assert token.tolist() == right.token.tolist()
        return accepted, token


class Watched(TableDecoder):
    """Compares draft's state and target's cache with the text after every round."""

    def commit(self, batch: Batch, turn: Turn, accepted: IntArray, token: IntArray) -> None:
        super().commit(batch, turn, accepted, token)
        for row in turn.rows.tolist():
            text = [*batch.requests[row].prompt, *batch.output[row, : batch.count[row]].tolist()]
            states = self.models.states([text])[0]
            assert batch.state[row] == states[-1]
            assert batch.last[row] == text[-1]
            assert batch.cache[row, : batch.cached[row]].tolist() == states[:-1].tolist()


@pytest.mark.parametrize("decoder", [Twin, Watched])
def test_every_round_is_right(decoder: type[TableDecoder]) -> None:
    assert decoder(MODELS).generate(PLAN.requests(0, 120))


@pytest.mark.parametrize("name", sorted(SEEDED))
@settings(max_examples=10)
@given(data=st.data())
def test_a_text_does_not_depend_on_the_batch(name: str, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, 500))
    requests = PLAN.requests(first, 12)
    decoder = SEEDED[name](MODELS)
    together = decoder.generate(requests)
    chosen = data.draw(st.permutations(range(12)))[:3]
    assert decoder.generate([requests[i] for i in chosen]) == [together[i] for i in chosen]


def test_outputs_are_whole() -> None:
    requests = PLAN.requests(0, 300)
    for request, output in zip(requests, TableDecoder(MODELS).generate(requests), strict=True):
        assert output.blocks is not None
        assert output.drafted is not None
        assert sum(output.blocks) == len(output.tokens)
        assert all(1 <= added <= drafted + 1 for added, drafted in zip(output.blocks, output.drafted, strict=True))
        assert request.parameters.end(output.tokens) == (len(output.tokens), output.finish_reason)
        assert output.log_probabilities is None


def test_reported_log_probabilities_are_the_oracles() -> None:
    requests = PLAN.requests(0, 100)
    outputs = Reporting(MODELS).generate(requests)
    rows = np.asarray(TableOracle(MODELS).score(requests, outputs).log_p)
    tokens = [token for output in outputs for token in output.tokens]
    told = [log for output in outputs for log in output.log_probabilities or ()]
    np.testing.assert_allclose(told, rows[np.arange(len(tokens)), tokens], atol=1e-12)


def test_gamma_goes_by_the_seed() -> None:
    decoder = TableDecoder(MODELS, gammas=(1, 3))
    outputs = decoder.generate([Request(id=str(seed), prompt=(1,), seed=seed) for seed in (0, 1, 2)])
    assert [set(output.drafted or ()) for output in outputs] == [{1}, {3}, {1}]

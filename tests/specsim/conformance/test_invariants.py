"""Invariants: each breach is seen, and none in right texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from specsim.conformance import Output, Parameters, Request, Rows, TableDecoder, TableModels, TableOracle, check, plan
from specsim.conformance.faults import FAULTS
from specsim.conformance.invariants import end_breaches, log_probability_breaches, seed_breaches
from specsim.conformance.lookalikes import LOOKALIKES, Reporting

MODELS = TableModels.random(seed=8)
PLAN = plan(tokens=2000, vocabulary=8, eos_id=7, seed=8)
REQUEST = Request(id="a", prompt=(1,), parameters=Parameters(eos_ids=(7,), stop_sequences=((2, 3),), max_tokens=4))


@pytest.mark.parametrize(
    ("tokens", "reason", "name", "place"),
    [
        ((1, 7), "stop", None, None),
        ((2, 3), "stop", None, None),
        ((1, 2, 1, 3), "length", None, None),
        ((1, 1, 1, 7), "stop", None, None),
        ((1, 7, 1, 1), "length", "nothing after the end", 1),
        ((2, 3, 7), "stop", "nothing after the end", 1),
        ((1, 2), "stop", "stop needs a reason", 1),
        ((1, 1, 1, 7), "length", "finish reason", 3),
        ((1, 1, 1, 1), "stop", "finish reason", 3),
    ],
)
def test_ends(tokens: tuple[int, ...], reason: str, name: str | None, place: int | None) -> None:
    found = list(end_breaches([REQUEST], [Output(tokens=tokens, finish_reason=reason)]))
    assert [(breach.name, breach.place) for breach in found] == ([] if name is None else [(name, place)])


def test_reported_log_probabilities() -> None:
    requests = PLAN.requests(0, 40)
    outputs = Reporting(MODELS).generate(requests)
    rows = TableOracle(MODELS).score(requests, outputs)
    assert not list(log_probability_breaches(requests, outputs, rows, tolerance=0.0))
    logs = list(outputs[5].log_probabilities or ())
    logs[2] -= 0.01
    outputs[5] = replace(outputs[5], log_probabilities=tuple(logs))
    (breach,) = log_probability_breaches(requests, outputs, rows, tolerance=0.0)
    assert (breach.request, breach.place) == (requests[5], 2)
    assert not list(log_probability_breaches(requests, outputs, rows, tolerance=0.01))
    assert not list(log_probability_breaches(requests, outputs, Rows(log_p=rows.log_p, ids=[[0]]), tolerance=0.0))
    logs[2] = float("nan")
    outputs[5] = replace(outputs[5], log_probabilities=tuple(logs))
    assert len(list(log_probability_breaches(requests, outputs, rows, tolerance=0.5))) == 1


@pytest.mark.parametrize("name", [name for name, decoder in LOOKALIKES.items() if decoder.is_seeded])
def test_seeds_of_right_decoders(name: str) -> None:
    breach, tokens = seed_breaches(LOOKALIKES[name](MODELS), PLAN)
    assert breach is None
    assert 100 < tokens < 600


def test_seeds_that_are_ignored_or_shared() -> None:
    class Constant(TableDecoder):
        def generate(self, requests: Sequence[Request]) -> list[Output]:
            return super().generate([replace(one, seed=5) for one in requests])

    class Unseeded(TableDecoder):
        calls = 0

        def generate(self, requests: Sequence[Request]) -> list[Output]:
            self.calls += 1
            return super().generate([replace(one, seed=one.seed + 3 * self.calls) for one in requests])

    for decoder, name in (
        (Constant, "another seed, another text"),
        (FAULTS["batch.token_of_next_request"], "same seed, same text"),
        (Unseeded, "same seed, same text"),
    ):
        breach, _ = seed_breaches(decoder(MODELS), PLAN)
        assert breach is not None
        assert breach.name == name
    assert check(Unseeded(MODELS), TableOracle(MODELS), replace(PLAN, is_seeded=False)).outcome == "conforms"


def test_a_breach_is_a_verdict_with_a_replay() -> None:
    verdict = check(FAULTS["stop.eos_inside_block"](MODELS), TableOracle(MODELS), PLAN)
    assert (verdict.outcome, verdict.test) == ("does not conform", "nothing after the end")
    (replay,) = verdict.replays
    assert replay.output.tokens[replay.place] in replay.request.parameters.eos_ids
    assert len(replay.output.tokens) > replay.place + 1
    assert np.isfinite(verdict.tokens)

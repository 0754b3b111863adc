"""check: verdicts, streaming, controls, and what is refused."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from specsim.conformance import (
    Cell,
    Output,
    Parameters,
    Recorded,
    Request,
    Rows,
    TableDecoder,
    TableModels,
    TableOracle,
    check,
    plan,
    recorded_plan,
)
from specsim.conformance.faults import FAULTS
from specsim.conformance.trial import Trial
from specsim.errors import AdapterError, InputError

MODELS = TableModels.random(seed=3)
ORACLE = TableOracle(MODELS)
SMALL = plan(tokens=600, vocabulary=8, eos_id=7, seed=3)


class Broken:
    """Answers rightly, but for what `spoil` does with the answers to one of its batches."""

    def __init__(self, spoil: object, at: int = 1) -> None:
        self.spoil, self.at, self.calls = spoil, at, -1

    def generate(self, requests: Sequence[Request]) -> object:
        self.calls += 1
        outputs = TableDecoder(MODELS).generate(requests)
        return self.spoil(outputs) if self.calls >= self.at else outputs  # type: ignore[operator]


def first(**change: object) -> object:
    return lambda outputs: [replace(outputs[0], **change), *outputs[1:]]


def crash(outputs: Sequence[Output]) -> None:
    raise RuntimeError("out of memory")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda outputs: outputs[:-1], "must return 8 outputs for requests 0 to 7, got 7"),
        (lambda outputs: None, "must return a sequence of outputs for requests 0 to 7, got None"),
        (lambda outputs: "text", "must return 8 outputs"),
        (lambda outputs: ["a text"] * len(outputs), "request 0: the decoder must return an Output, got 'a text'"),
        (first(tokens="a text"), "request 0: tokens must be token ids, got 'a text'"),
        (first(tokens=(0.5,)), "request 0: tokens must be token ids"),
        (first(tokens=()), r"request 0: tokens must be 1 to \d+, got 0"),
        (first(tokens=(1,) * 99), r"request 0: tokens must be 1 to \d+, got 99"),
        (first(tokens=(1, -1)), "request 0: tokens must be at least 0, got -1"),
        (first(tokens=(8,), finish_reason="stop", blocks=None, drafted=None), r"tokens must be in 0\.\.7, got 8"),
        (first(tokens=(1,), finish_reason="length"), r"tokens must be \d+ for finish_reason 'length', got 1"),
        (first(finish_reason="eos"), "finish_reason must be one of stop, length, got 'eos'"),
        (first(blocks=(1,)), "blocks must be at least 1 each and sum to"),
        (first(blocks=None), "drafted must come with blocks"),
        (first(drafted=(1,)), r"drafted must be one for each of \d+ blocks"),
        (first(log_probabilities=(0.0,)), "log_probabilities must be one for each of"),
        (crash, "the decoder on requests 0 to 7 failed: RuntimeError: out of memory"),
    ],
)
def test_answers_that_break_the_contract_are_refused(spoil: object, message: str) -> None:
    unseeded = replace(SMALL, is_seeded=False)
    with pytest.raises(AdapterError, match=message) as refused:
        check(Broken(spoil, at=0), ORACLE, unseeded)  # type: ignore[arg-type]
    assert refused.value.exit_code == 3


def test_what_was_recorded_before_a_crash_is_kept() -> None:
    """The first two batches are answered, the third is not."""
    seen: list[Request] = []
    with pytest.raises(AdapterError, match="out of memory") as refused:
        check(
            Broken(crash, at=2),  # type: ignore[arg-type]
            ORACLE,
            replace(SMALL, is_seeded=False),
            record=lambda requests, outputs: seen.extend(requests),
        )
    assert [request for request, _ in refused.value.recorded] == SMALL.requests(0, 16) == seen
    assert all(isinstance(output, Output) for _, output in refused.value.recorded)


def test_a_decoder_that_crashes_on_its_7th_request_is_no_pass() -> None:
    class Seventh(TableDecoder):
        done = 0

        def generate(self, requests: Sequence[Request]) -> list[Output]:
            answers = []
            for request in requests:
                self.done += 1
                if self.done == 7:
                    raise ValueError("request 7")
                answers += super().generate([request])
            return answers

    with pytest.raises(AdapterError, match="ValueError: request 7"):
        check(Seventh(MODELS), ORACLE, SMALL)


def test_a_decoder_that_hangs_is_given_up() -> None:
    done = threading.Event()

    class Hanging(TableDecoder):
        def generate(self, requests: Sequence[Request]) -> list[Output]:
            done.wait(20)
            return []

    with pytest.raises(AdapterError, match=r"gave no answer within 0\.05 s"):
        check(Hanging(MODELS), ORACLE, replace(SMALL, timeout_seconds=0.05))
    done.set()


class Skewed(TableOracle):
    """Spoils its rows."""

    def __init__(self, spoil: object) -> None:
        super().__init__(MODELS)
        self.spoil = spoil

    def score(self, requests: Sequence[Request], outputs: Sequence[Output]) -> Rows:
        return self.spoil(super().score(requests, outputs))  # type: ignore[operator,no-any-return]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda rows: replace(rows, log_p=rows.log_p + 0.1), r"the oracle's rows: log_p\[0\] must sum to 1"),
        (lambda rows: replace(rows, log_p=rows.log_p * np.nan), r"the oracle's rows: log_p\[0\] must sum to 1"),
        (lambda rows: replace(rows, log_q=rows.log_q - 0.1), r"the oracle's rows: log_q\[0\] must sum to 1"),
        (lambda rows: replace(rows, log_p=rows.log_p[:-1]), r"must return one row for each of \d+ tokens"),
        (lambda rows: replace(rows, log_q=rows.log_q[:, :-1]), "the oracle's rows: log_q must have shape"),
        (lambda rows: None, "must return one row for each"),
        (lambda rows: 1 / 0, "the oracle failed: ZeroDivisionError"),
    ],
)
def test_oracles_without_laws_are_refused(spoil: object, message: str) -> None:
    with pytest.raises(AdapterError, match=message):
        check(TableDecoder(MODELS), Skewed(spoil), SMALL)


def test_claims_are_known_ones() -> None:
    with pytest.raises(InputError, match="claims 'typical' is unknown; known: block, rejection"):
        check(TableDecoder(MODELS), ORACLE, SMALL, claims="typical")


def test_a_wrong_oracle_fails_a_right_decoder_and_says_where() -> None:
    """An oracle that forgets temperature: the decoder is the one that is blamed, so mind the oracle."""

    class Forgetful(TableOracle):
        def score(self, requests: Sequence[Request], outputs: Sequence[Output]) -> Rows:
            free = [replace(one, parameters=replace(one.parameters, temperature=1.0)) for one in requests]
            return super().score(free, outputs)

    verdict = check(TableDecoder(MODELS), Forgetful(MODELS), replace(SMALL, tokens=8000))
    assert verdict.outcome == "does not conform"
    assert "temperature below what was asked" in verdict.hypothesis or "argmax" in verdict.hypothesis


def test_too_few_tokens_are_inconclusive() -> None:
    verdict = check(TableDecoder(MODELS), ORACLE, replace(SMALL, tokens=120))
    assert (verdict.outcome, verdict.exit_code, verdict.smallest_tv) == ("inconclusive", 2, 1.0)
    assert "120 tokens are too few" in verdict.sentence


def test_vocabularies_too_large_for_a_cell_a_token_are_checked_too() -> None:
    """Null: a decoder that draws from 300 tokens alike, n = 400, level 1e-6; one that draws from half of them fails."""

    class Alike:
        def __init__(self, most: int) -> None:
            self.most = most

        def generate(self, requests: Sequence[Request]) -> list[Output]:
            drawn = [np.random.default_rng(one.seed).integers(self.most, size=32) for one in requests]
            sizes = [one.parameters.max_tokens for one in requests]
            return [
                Output(tokens=tuple(some[:size].tolist()), finish_reason="length")
                for some, size in zip(drawn, sizes, strict=True)
            ]

        def score(self, requests: Sequence[Request], outputs: Sequence[Output]) -> Rows:
            return Rows(log_p=np.full((sum(len(one.tokens) for one in outputs), 300), -math.log(300)))

    cell = Cell(name="warm", parameters=Parameters(max_tokens=8), is_fixed=True)
    asked = replace(plan(tokens=400, vocabulary=300, seed=1), cells=(cell,))
    assert check(Alike(300), Alike(300), asked).outcome != "does not conform"
    assert check(Alike(150), Alike(300), asked).outcome == "does not conform"


def test_a_pass_says_what_it_would_have_caught() -> None:
    small, large = (check(TableDecoder(MODELS), ORACLE, replace(SMALL, tokens=tokens)) for tokens in (1000, 16000))
    assert small.outcome == large.outcome == "conforms"
    assert (small.exit_code, small.tokens, large.tokens) == (0, 1000, 16000)
    assert large.smallest_tv == pytest.approx(small.smallest_tv / 4, rel=0.2)
    assert f"{large.smallest_tv:.2g}" in large.sentence
    assert all(result.pvalue > large.level for result in large.results.values())
    assert large.replays == ()


def test_a_rejection_stops_the_run_and_comes_with_requests_to_ask_again() -> None:
    trials: list[Trial] = []
    verdict = check(FAULTS["accept.without_q"](MODELS), ORACLE, replace(SMALL, tokens=64_000), watch=trials.append)
    assert (verdict.outcome, verdict.exit_code) == ("does not conform", 1)
    assert verdict.tokens < 1000
    assert trials[-1].tokens < 2000
    assert verdict.log_evalue > math.log(1e6)
    assert 1 <= len(verdict.replays) <= 5
    again = FAULTS["accept.without_q"](MODELS).generate([replay.request for replay in verdict.replays])
    assert [one.tokens for one in again] == [replay.output.tokens for replay in verdict.replays]


def test_the_loop_asks_what_the_plan_says_and_no_more() -> None:
    asked: list[str] = []
    verdict = check(
        TableDecoder(MODELS),
        ORACLE,
        replace(SMALL, tokens=5000),
        record=lambda requests, outputs: asked.extend(request.id for request in requests),
    )
    assert asked == [str(number) for number in range(verdict.requests)]
    assert verdict.tokens == 5000
    assert verdict.requests < 5000 / 10


# --- recordings ----------------------------------------------------------------------------------------------------

FREE = Parameters(eos_ids=(7,), max_tokens=24)


def recording(count: int) -> list[tuple[Request, Output]]:
    requests = [
        replace(request, parameters=FREE, tags=("recorded",))
        for request in plan(tokens=1000, vocabulary=8, seed=5).requests(0, count)
    ]
    return list(zip(requests, TableDecoder(MODELS).generate(requests), strict=True))


def test_a_whole_recording_conforms() -> None:
    pairs = recording(300)
    assert {output.finish_reason for _, output in pairs} == {"stop", "length"}
    played = Recorded(pairs)
    verdict = check(played, ORACLE, recorded_plan(played.requests, tokens=1500))
    assert verdict.outcome == "conforms"


@pytest.mark.parametrize(("reason", "count"), [("stop", 900), ("length", 3000)])
def test_recordings_filtered_by_finish_reason_are_refused(reason: str, count: int) -> None:
    """Null: nothing was filtered; false-alarm rate 1e-6."""
    kept = [(request, output) for request, output in recording(count) if output.finish_reason == reason]
    played = Recorded(kept)
    with pytest.raises(AdapterError, match=f"looks filtered: all {len(kept)} texts finished with '{reason}'") as error:
        check(played, ORACLE, recorded_plan(played.requests, tokens=100_000))
    assert len(error.value.recorded) == len(kept)


def test_a_recording_without_a_text_is_refused() -> None:
    pairs = recording(10)
    with pytest.raises(AdapterError, match="no text for request 3: keep every text"):
        check(Recorded([*pairs[:3], *pairs[4:]]), ORACLE, recorded_plan([one for one, _ in pairs], tokens=100))


def test_recordings_need_texts_with_names_of_their_own() -> None:
    pairs = recording(2)
    for wrong in ([], [pairs[0], pairs[0]]):
        with pytest.raises(InputError, match="pairs must have ids of their own"):
            Recorded(wrong)

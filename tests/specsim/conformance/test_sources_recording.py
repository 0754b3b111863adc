"""Recordings: written as a run goes, taken up again where they stopped, judged alone, refused when damaged."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.conformance import (
    Output,
    Parameters,
    Plan,
    Request,
    Rows,
    TableDecoder,
    TableModels,
    TableOracle,
    check,
    plan,
)
from specsim.conformance.faults import FAULTS
from specsim.conformance.sources import Recorder, read_recording, replayed
from specsim.conformance.sources.lines import append_lines
from specsim.conformance.sources.recording import answer_line, asked_line, new_recording, rows_line
from specsim.errors import AdapterError, InputError

MODELS = TableModels.random(seed=0)
NAMES = ["run.jsonl", "run.jsonl.gz"]


def asked(tokens: int = 1000) -> Plan:
    return plan(tokens=tokens, vocabulary=8, eos_id=7)


class Counting(TableDecoder):
    """Counts what it is asked."""

    def __init__(self, *arguments: Any, breaks_after: int | None = None) -> None:
        super().__init__(*arguments)
        self.asked: list[str] = []
        self.breaks_after = breaks_after

    def answers(self, requests: Sequence[Request]) -> Iterator[tuple[int, Output]]:
        for place, request in enumerate(requests):
            if self.breaks_after is not None and len(self.asked) >= self.breaks_after:
                raise AdapterError("power cut")
            self.asked.append(request.id)
            yield place, super().generate([request])[0]


def whole(path: Path, source: Plan, *, resume: bool = False, decoder: Any = None) -> Any:
    recorder = Recorder(
        path, decoder=decoder or TableDecoder(MODELS), oracle=TableOracle(MODELS), vocabulary=8, resume=resume
    )
    return check(recorder, recorder, source)


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_judged_alone_gives_the_run_again(tmp_path: Path, name: str) -> None:
    live = whole(tmp_path / name, asked())
    again = replayed(read_recording(tmp_path / name, vocabulary=8))
    verdict = check(again.decoder, again.oracle, again.plan)
    assert (live.outcome, verdict.outcome) == ("conforms", "conforms")
    assert verdict.tokens >= live.tokens


def test_a_faulty_recording_fails_with_its_own_laws_and_with_an_oracle(tmp_path: Path) -> None:
    faulty = FAULTS["accept.always"](MODELS)
    assert whole(tmp_path / "a.jsonl", asked(4000), decoder=faulty).outcome == "does not conform"
    recording = read_recording(tmp_path / "a.jsonl")
    for oracle in (None, TableOracle(MODELS)):
        again = replayed(recording, oracle=oracle)
        assert check(again.decoder, again.oracle, again.plan).outcome == "does not conform"


@pytest.mark.parametrize("name", NAMES)
def test_an_interrupted_recording_goes_on_where_it_stopped(tmp_path: Path, name: str) -> None:
    path, source = tmp_path / name, asked()
    with pytest.raises(AdapterError, match="power cut"):
        whole(path, source, decoder=Counting(MODELS, breaks_after=40))
    kept = read_recording(path).answers
    second = Counting(MODELS)
    verdict = whole(path, source, resume=True, decoder=second)
    straight = whole(tmp_path / f"straight-{name}", source)
    assert verdict == straight
    again = {one for one in second.asked if one in kept}
    probes = {one for one in second.asked if not one.isdecimal() or int(one) < 3}  # asked twice in every run
    assert again <= probes
    assert read_recording(path).answers == read_recording(tmp_path / f"straight-{name}").answers


@pytest.mark.parametrize("name", NAMES)
def test_a_torn_last_line_is_left_out_and_mended(tmp_path: Path, name: str) -> None:
    path, source = tmp_path / name, asked()
    whole(path, source)
    data = path.read_bytes()
    path.write_bytes(data[:-7])
    torn = read_recording(path)
    assert len(torn.answers) > 0
    assert whole(path, source, resume=True).outcome == "conforms"
    assert read_recording(path).answers


def test_what_was_asked_and_not_answered_is_seen(tmp_path: Path) -> None:
    """Dropping texts by how they ended is refused whichever reason was kept; a last batch torn off is not."""
    whole(tmp_path / "a.jsonl", asked())
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    for reason in ("stop", "length"):
        path = tmp_path / f"{reason}.jsonl"
        append_lines(path, [line for line in lines if line.get("output", {}).get("finish_reason") != reason])
        with pytest.raises(InputError, match=r"must answer every request that was asked, got none for \d+, the first"):
            replayed(read_recording(path))
    *before, last = read_recording(tmp_path / "a.jsonl").batches
    path = tmp_path / "cut.jsonl"
    append_lines(path, [line for line in lines if line.get("request", {}).get("id") != last[0]])
    assert read_recording(path).complete == tuple(one for batch in before for one in batch)


def test_a_filtered_recording_that_does_not_say_what_was_asked_is_refused_by_its_ends(tmp_path: Path) -> None:
    """Only texts that ended with end of text, at ten times the length that they would have: nothing like the law."""
    heavy = Parameters(eos_ids=(7,), max_tokens=12)
    requests = [Request(id=str(i), prompt=(i % 8,), parameters=heavy, seed=i) for i in range(600)]
    outputs = TableDecoder(MODELS).generate(requests)
    path = new_recording(tmp_path / "a.jsonl", vocabulary=8)
    pairs = [(a, b) for a, b in zip(requests, outputs, strict=True) if b.finish_reason == "stop"]
    append_lines(path, [answer_line(*pair) for pair in pairs])
    again = replayed(read_recording(path), oracle=TableOracle(MODELS))
    with pytest.raises(AdapterError, match=r"the recording looks filtered: all \d+ texts finished with 'stop'"):
        check(again.decoder, again.oracle, again.plan)


def test_another_plan_or_file_is_not_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    whole(path, asked())
    with pytest.raises(InputError, match=r"must not exist yet: go on with it \(resume\), or name another file"):
        whole(path, asked())
    other = plan(tokens=1000, vocabulary=8, eos_id=7, seed=5)
    with pytest.raises(AdapterError, match=r"recording must hold request '0' as it is asked now"):
        whole(path, other, resume=True)
    with pytest.raises(InputError, match=r"must be of a vocabulary of 9 tokens, got 8"):
        Recorder(path, decoder=TableDecoder(MODELS), vocabulary=9, resume=True)
    with pytest.raises(InputError, match=r"a recorder without an oracle cannot score"):
        Recorder(tmp_path / "b.jsonl", decoder=TableDecoder(MODELS), vocabulary=8).score([], [])


HEAD = {"kind": "recording", "schema": 1, "vocabulary": 8}
PAIR = Request(id="a", prompt=(1,)), Output(tokens=(2,), finish_reason="stop")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"holds no recording: it is empty"),
        ("\n \n", r"holds no recording: it is empty"),
        ("nonsense\n" + json.dumps(HEAD) + "\n", r"line 1 is not JSON"),
        ("[1]\n", r"line 1 must be a JSON object"),
        (json.dumps({**HEAD, "schema": 2}), r"line 1 must be a recording of schema 1"),
        (json.dumps({**HEAD, "vocabulary": 1}), r"line 1: vocabulary must be at least 2, got 1"),
        (json.dumps(HEAD) + '\n{"kind":"tale"}\n', r"line 2 has kind 'tale'; known: answer, asked, recording, rows"),
        (json.dumps(HEAD) + '\n{"kind":"answer"}\n', r"line 2 has no field 'request'"),
        (
            json.dumps(HEAD) + "\n" + json.dumps(answer_line(Request(id="a", prompt=(8,)), PAIR[1])) + "\n",
            r"line 2: tokens must be in 0..7, got 8",
        ),
        (
            json.dumps(HEAD)
            + "\n"
            + json.dumps(answer_line(PAIR[0], Output(tokens=(9,), finish_reason="stop")))
            + "\n",
            r"line 2: tokens must be in 0..7, got 9",
        ),
        (
            json.dumps(HEAD)
            + '\n{"kind":"answer","request":{"id":"a","prompt":[1],"parameters":{"heat":2}},"output":{}}\n',
            r"line 2 cannot be read: .*heat",
        ),
        (json.dumps(HEAD) + '\n{"kind":"rows","id":"a","log_p":"x"}\n', r"line 2 cannot be read"),
    ],
)
def test_damaged_files_are_refused_with_the_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_recording(path)


def test_files_that_are_no_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*: No such file"):
        read_recording(tmp_path / "none.jsonl")
    (tmp_path / "a.jsonl.gz").write_bytes(b"plain")
    with pytest.raises(InputError, match=r"cannot read .*"):
        read_recording(tmp_path / "a.jsonl.gz")
    (tmp_path / "b.jsonl").write_bytes(gzip.compress(b"x"))
    with pytest.raises(InputError, match=r"cannot read .*: it is no text"):
        read_recording(tmp_path / "b.jsonl")
    path = new_recording(tmp_path / "c.jsonl", vocabulary=8)
    with pytest.raises(InputError, match=r"must hold an answer to judge, got none"):
        replayed(read_recording(path))
    append_lines(path, [answer_line(*PAIR)])
    with pytest.raises(InputError, match=r"holds no laws of the tokens of request 'a': give an oracle"):
        replayed(read_recording(path)).oracle.score([PAIR[0]], [PAIR[1]])


finite = st.floats(-50, 0)


@given(
    prompt=st.lists(st.integers(0, 7), min_size=1, max_size=4).map(tuple),
    tokens=st.lists(st.integers(0, 7), min_size=1, max_size=4).map(tuple),
    parameters=st.builds(
        Parameters,
        temperature=st.sampled_from([0.0, 0.5, 1.0]),
        logit_bias=st.dictionaries(st.integers(0, 7), st.floats(-3, 3), max_size=2),
        allowed_after=st.dictionaries(st.integers(0, 7), st.just((1, 2)), max_size=2),
        banned_ids=st.just((3,)),
        stop_sequences=st.just(((1, 2), (3,))),
    ),
    logs=st.none() | st.lists(finite | st.just(-np.inf), min_size=1, max_size=4).map(tuple),
    seed=st.integers(0, 2**62),
)
def test_what_is_written_is_read_again(  # type: ignore[no-untyped-def]
    tmp_path_factory, prompt, tokens, parameters, logs, seed
) -> None:
    path = new_recording(tmp_path_factory.mktemp("r") / "a.jsonl.gz", vocabulary=8)
    request = Request(id="é 1", prompt=prompt, parameters=parameters, seed=seed, tags=("top-k",))
    output = Output(tokens=tokens, finish_reason="stop", blocks=(len(tokens),), drafted=(3,), log_probabilities=logs)
    rows = Rows(log_p=np.log([[0.5, 0.0]] * len(tokens), where=[[True, False]], out=np.full((len(tokens), 2), -np.inf)))
    append_lines(path, [asked_line([request]), answer_line(request, output), rows_line(request.id, rows)])
    found = read_recording(path)
    assert found.answers == {request.id: (request, output)}
    assert found.batches == ((request.id,),)
    np.testing.assert_array_equal(np.asarray(found.rows[request.id].log_p), np.asarray(rows.log_p))

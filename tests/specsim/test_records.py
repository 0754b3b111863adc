"""Rows survive the file; torn, foreign and contradictory lines are named."""

from __future__ import annotations

import dataclasses
import gzip
import json

import pytest

from specsim.errors import InputError
from specsim.records import RoundRecord, read_records, to_frame, write_records

ROW = RoundRecord(
    request="a",
    round=0,
    proposer="ngram",
    verifier="greedy",
    gamma=4,
    drafted=3,
    accepted=2,
    committed=3,
    verify_seconds=0.5,
    host_seconds=0.25,
)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_rows_come_back_as_they_went(tmp_path, name):
    rows = [ROW, dataclasses.replace(ROW, round=1, accepted=3, committed=4)]
    assert read_records(write_records(tmp_path / name, rows)) == rows


def test_a_frame_has_every_field_and_the_sum_of_seconds():
    frame = to_frame([ROW])
    assert set(frame.columns) == {field.name for field in dataclasses.fields(ROW)} | {"seconds"}
    assert frame["seconds"].item() == ROW.seconds == 0.75


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"drafted": 5}, "drafted must be in 0..4, got 5"),
        ({"accepted": 4}, "accepted must be in 0..3, got 4"),
        ({"committed": 4}, "committed must be in 2..3, got 4"),
        ({"committed": 1}, "committed must be in 2..3, got 1"),
        ({"request": None}, "request must be text, got None"),
        ({"proposer": None}, "proposer must be text, got None"),
        ({"batch": 0}, "batch must be at least 1, got 0"),
        ({"verify_seconds": -1.0}, "verify_seconds must be at least 0, got -1"),
        ({"draft_seconds": float("nan")}, "draft_seconds must be at least 0, got nan"),
    ],
)
def test_contradictions_are_refused(changes, message):
    with pytest.raises(InputError) as caught:
        dataclasses.replace(ROW, **changes)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"request": "a", "rou', "line 2 is not JSON"),
        ("[1]", "line 2 must be a JSON object"),
        (json.dumps(dataclasses.asdict(ROW) | {"tau": 3}), "line 2 has unknown field 'tau'"),
        ('{"request": "a"}', "line 2 has no field 'round'"),
        (json.dumps(dataclasses.asdict(ROW) | {"accepted": 9}), "line 2: accepted must be in 0..3, got 9"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, message):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(dataclasses.asdict(ROW)) + "\n" + line + "\n")
    with pytest.raises(InputError) as caught:
        read_records(path)
    assert message in str(caught.value)


def test_missing_empty_and_torn_files_are_one_line(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        read_records(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(InputError, match="holds no rows"):
        read_records(tmp_path / "empty.jsonl")
    whole = gzip.compress((json.dumps(dataclasses.asdict(ROW)) + "\n").encode() * 50)
    (tmp_path / "torn.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="cannot read"):
        read_records(tmp_path / "torn.jsonl.gz")
    (tmp_path / "text.jsonl.gz").write_text("not gzip")
    with pytest.raises(InputError, match="cannot read"):
        read_records(tmp_path / "text.jsonl.gz")

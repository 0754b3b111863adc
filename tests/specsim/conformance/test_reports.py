"""What a run leaves behind: JUnit XML, a replay, rows for a page, the page itself."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from reports.pages.conformance import page
from specsim.conformance import (
    Output,
    Request,
    TableDecoder,
    TableModels,
    TableOracle,
    Verdict,
    check,
    plan,
)
from specsim.conformance.faults import FAULTS
from specsim.conformance.report import Follower, junit, picture, write_replay
from specsim.conformance.sources import read_recording, replayed
from specsim.conformance.verdict import Replay
from specsim.errors import InputError
from specsim.stats import TestResult

MODELS = TableModels.random(seed=0)


def ran(fault: str | None = None, tokens: int = 1000) -> tuple[Verdict, Follower]:
    decoder = TableDecoder(MODELS) if fault is None else FAULTS[fault](MODELS)
    follower = Follower()
    return check(decoder, TableOracle(MODELS), plan(tokens=tokens, vocabulary=8, eos_id=7), watch=follower), follower


def cases(verdict: Verdict) -> dict[str, ElementTree.Element]:
    return {case.get("name", ""): case for case in ElementTree.fromstring(junit(verdict)).iter("testcase")}


# --- JUnit ------------------------------------------------------------------------------------------------------------


def test_every_property_is_a_case_and_none_fails_when_the_decoder_conforms() -> None:
    verdict, _ = ran()
    found = cases(verdict)
    assert found.keys() == {*verdict.results, "verdict"}
    assert not any(case.findall("failure") or case.findall("error") for case in found.values())
    suite = ElementTree.fromstring(junit(verdict, seconds=1.5))
    assert (suite.get("tests"), suite.get("failures"), suite.get("time")) == (str(len(found)), "0", "1.500")


@pytest.mark.parametrize("fault", ["accept.always", "stop.eos_inside_block", "parameters.bans_ignored_on_verify"])
def test_the_test_that_rejects_fails_with_cause_power_and_requests(fault: str) -> None:
    verdict, _ = ran(fault, 16_000)
    found = cases(verdict)
    for name in (verdict.test, "verdict"):
        failure = found[name].find("failure")
        assert failure is not None
        assert verdict.hypothesis in failure.get("message", "")
        assert "smallest total variation" in failure.get("message", "")
        assert all(f"request {one.request.id}," in (failure.text or "") for one in verdict.replays)


def test_an_inconclusive_run_is_an_error_and_no_pass() -> None:
    verdict = Verdict(outcome="inconclusive", tokens=20, requests=2, level=1e-6, hypothesis="too few tokens")
    suite = ElementTree.fromstring(junit(verdict))
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")
    error = cases(verdict)["verdict"].find("error")
    assert error is not None
    assert "too few tokens" in error.get("message", "")


def test_names_that_xml_cannot_hold_are_written_all_the_same() -> None:
    result = TestResult(test="t", statistic=1.0, pvalue=0.5, n=1, detail="a\x00b & <c>")
    verdict = Verdict(outcome="conforms", tokens=1, requests=1, level=1e-6, results={"requests with \x0b<&": result})
    assert "requests with \ufffd<&" in cases(verdict)


# --- replay -----------------------------------------------------------------------------------------------------------


def test_a_replay_is_a_recording_that_fails_again(tmp_path: Path) -> None:
    verdict, _ = ran("parameters.bans_ignored_on_verify", 4000)
    path = write_replay(tmp_path / "replay.jsonl", verdict, vocabulary=8)
    held = read_recording(path, vocabulary=8)
    assert list(held.answers.values()) == [(one.request, one.output) for one in verdict.replays]
    again = replayed(held, oracle=TableOracle(MODELS))
    assert check(again.decoder, again.oracle, again.plan).outcome == "does not conform"
    one = verdict.replays[0]
    law = np.exp(np.asarray(TableOracle(MODELS).score([one.request], [one.output]).log_p))[one.place]
    assert law[one.output.tokens[one.place]] == 0  # the first impossible token


# --- the page ---------------------------------------------------------------------------------------------------------


def outcome(verdict: Verdict, follower: Follower) -> dict[str, object]:
    return {"schema": 1, "inputs": {"source": "an <engine>"}, "result": picture(verdict, follower), "version": "1"}


def test_the_picture_counts_every_token_once() -> None:
    verdict, follower = ran()
    rows = picture(verdict, follower)
    whole = [row for row in rows["pit"] if row["group"] == "all tokens"]
    assert sum(row["observed"] for row in whole) == verdict.tokens == rows["bets"][-1]["tokens"]
    assert {row["low"] < row["expected"] < row["high"] for row in rows["pit"]} == {True}
    assert rows["bets"][-1]["log10_margin"] < 0
    assert [row["pvalue"] for row in rows["tests"]] == sorted(row["pvalue"] for row in rows["tests"])


def test_ranks_are_counted_as_by_hand_and_show_a_fault() -> None:
    verdict, follower = ran()
    rows = picture(verdict, follower)["ranks"]
    assert follower.trial is not None
    observed = follower.trial.evidence().observed
    ranks = [(p > p[cell]).sum() for p, cell in zip(observed.p, observed.cell, strict=True)]  # laws without ties
    assert [row["observed"] for row in rows] == [ranks.count(k) for k in range(4)] + [sum(k >= 4 for k in ranks)]
    assert [row["rank"] for row in rows] == ["1", "2", "3", "4", "5 to 8"]
    second = np.sort(observed.p, axis=1)[:, -2]
    assert rows[1]["expected"] == pytest.approx(second.sum())
    assert rows[1]["ratio"] == pytest.approx(ranks.count(1) / second.sum())
    half = 3.2905267314919255 * np.sqrt((second * (1 - second)).sum()) / second.sum()  # a chance of 1e-3 outside
    assert (rows[1]["low"], rows[1]["high"]) == (pytest.approx(1 - half), pytest.approx(1 + half))
    faulty = picture(*ran("accept.always", 1000))["ranks"]
    assert not all(row["low"] <= row["ratio"] <= row["high"] for row in faulty)


def test_the_power_curve_goes_through_what_the_verdict_states() -> None:
    verdict, follower = ran()
    rows = picture(verdict, follower)["power"]
    at = min(rows, key=lambda row: abs(row["total_variation"] - verdict.smallest_tv))
    assert at["power"] == pytest.approx(0.99, abs=0.02)
    assert [row["power"] for row in rows] == sorted(row["power"] for row in rows)
    assert {row["tokens"] for row in rows} == {verdict.tokens}


def test_a_run_that_is_sure_of_no_fault_has_no_power_curve() -> None:
    verdict, follower = ran(tokens=20)
    assert verdict.smallest_tv == 1.0
    rows = picture(verdict, follower)
    assert (rows["power"], rows["ranks"]) == ([], [row for row in rows["ranks"] if row["expected"] >= 10])


@pytest.mark.parametrize("fault", [None, "accept.always"])
def test_the_page_opens_with_the_verdict_and_needs_nothing_else(fault: str | None) -> None:
    verdict, follower = ran(fault, 1000)
    html = page(outcome(verdict, follower))
    assert f"<h1>{verdict.sentence}</h1>" in html
    assert "an &lt;engine&gt;" in html
    for title in ("The bets as they went", "Uniform or not", "Which way it leans", "All tests"):
        assert title in html
    assert ("Requests that show it" in html) == bool(verdict.replays)
    assert "default-src &#39;none&#39;" in html or "default-src 'none'" in html


def test_a_breach_before_any_batch_still_makes_a_page() -> None:
    replay = Replay(
        request=Request(id="a", prompt=(1,)), output=Output(tokens=(2,), finish_reason="stop"), place=0, why="w"
    )
    verdict = Verdict(
        outcome="does not conform",
        tokens=1,
        requests=0,
        level=1e-6,
        test="same seed, same text",
        hypothesis="shared",
        replays=(replay,),
    )
    assert "Requests that show it" in page(outcome(verdict, Follower()))
    assert cases(verdict)["same seed, same text"].find("failure") is not None


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"schema": 2}, r"outcome schema must be 1, got 2"),
        ({"schema": 1}, r"outcome must have a result with an answer"),
    ],
)
def test_outcomes_of_another_kind_are_refused(broken: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        page(broken)

"""`specsim conform`: the detection table, its exit codes, and what it refuses."""

from __future__ import annotations

import pytest

from specsim.cli import conform as command
from specsim.conformance.faults import FAULTS
from specsim.conformance.lookalikes import LOOKALIKES

ONE = ("--self-test", "--tokens", 1000, "--processes", 1)


@pytest.fixture
def few_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in set(LOOKALIKES) - {"rejection"}:
        monkeypatch.delitem(LOOKALIKES, name)


@pytest.mark.usefixtures("few_controls")
def test_the_table_as_json(cli) -> None:  # type: ignore[no-untyped-def]
    ran = cli("conform", *ONE, "--faults", "residual,accept.always", "--json")
    assert (ran.code, ran.err) == (0, "")
    result = ran.result
    ids = [fault["id"] for fault in result["faults"]]
    assert set(ids) == {id_ for id_ in FAULTS if id_.startswith("residual.")} | {"accept.always"}
    always = result["faults"][ids.index("accept.always")]
    assert {name: always[name] for name in ("class", "detected")} == {"class": "accept", "detected": True}
    assert 0 < always["tokens"] <= 1000
    assert "looks like q" in always["hypothesis"]
    assert [{"id", "passed", "tokens"} <= set(control) for control in result["controls"]] == [True]
    assert result["controls"][0] == {"id": "rejection", "passed": True, "tokens": 1000, "outcome": "conforms"}
    assert result["share_caught"] == pytest.approx(result["caught"]["1000"] / len(ids))


@pytest.mark.usefixtures("few_controls")
def test_the_table_for_people(cli) -> None:  # type: ignore[no-untyped-def]
    ran = cli("conform", *ONE, "--faults", "bonus", "--text-only")
    assert ran.code == 0
    for words in ("bonus.from_q", "tokens", "rejection", "passed", "of 3 faults caught within 1000 tokens"):
        assert words in ran.out


def test_two_processes_give_what_one_gives(cli, few_controls: None) -> None:  # type: ignore[no-untyped-def]
    chosen = ("--faults", "bonus", "--json")
    one, two = (cli("conform", *ONE[:-1], processes, *chosen).result for processes in (1, 2))
    assert one["faults"] == two["faults"]


def test_a_control_that_fails_is_exit_code_1(cli, few_controls: None, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setitem(LOOKALIKES, "rejection", FAULTS["accept.always"])
    ran = cli("conform", *ONE, "--faults", "bonus")
    assert ran.code == 1
    assert "0 of 1 lossless decoders passed" in ran.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--self-test"),
        (("--self-test", "--faults", "residual.fromp"), "faults 'residual.fromp' is unknown; did you mean"),
        (("--self-test", "--tokens", 0), "tokens"),
        (("--self-test", "--processes", 0), "processes"),
    ],
)
def test_bad_input(cli, arguments: tuple[object, ...], message: str) -> None:  # type: ignore[no-untyped-def]
    ran = cli("conform", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_all_faults_by_default() -> None:
    assert command._chosen(None) == FAULTS

"""The sweep's benchmark runs, its scenarios differ, and peers are asked and counted as they say."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from benchmarks import sweep
from benchmarks.peers import serving
from benchmarks.peers.client import Peer, Took, asked

PEER = """
from serving import Call, serve

def prepare(rng):
    queries = rng.randint(1, 10**6)
    return lambda: sum(range(1000)) and queries

serve("click", {"draw a number": Call(prepare, "a number", "a meaning")})
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A peer that says how many queries it made by the seed it was given."""
    shutil.copy(serving.__file__, tmp_path)
    path = tmp_path / "number_query.py"
    path.write_text(PEER)
    return path


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small mesh."""
    monkeypatch.setattr(sweep, "MESH", {"gamma": [1, 4], "batch": [1], "context": [1000]})
    monkeypatch.setattr(sweep, "LEAST", 2 * 8)


def ran(*arguments: str) -> dict:
    outcome = CliRunner().invoke(sweep.main, [*arguments, "--scenarios", str(1 << 14), "--repeats", "6", "--json"])
    assert outcome.exit_code == 0, outcome.output
    return json.loads(outcome.stdout)


def test_rates_of_every_sweep(few: None) -> None:
    body = ran()
    rates = body["result"]["rates"]
    assert len(rates) == 3 * 3 * 2
    for rate in rates.values():
        assert 0 < rate["low"] <= rate["per_second"] <= rate["high"]
        assert rate["per_cpu_second"] > 0
        assert rate["n"] == 6
    assert body["result"]["ratios"] == []
    assert any("pip install" in note for note in body["assumptions"])


def test_ratios_to_every_call_of_a_peer(few: None, script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "PEERS", {"number": script})
    monkeypatch.setattr(sweep, "EFFICIENCIES", {"ideal": "ideal"})
    body = ran("--peer-python", sys.executable)
    assert set(body["result"]["rates"]) >= {f"number: draw a number, {n}" for n in ("1 worker", "2 workers")}
    pairs = [(entry["name"], entry["time_of"]) for entry in body["result"]["ratios"]]
    assert len(pairs) == len(set(pairs)) == 3 * 2
    assert all(mine.rpartition(", ")[2] == theirs.rpartition(", ")[2] for mine, theirs in pairs)
    assert any("lacks a meaning" in note for note in body["assumptions"])


def test_tables_show_every_sweep_and_call(few: None, script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "PEERS", {"number": script})
    monkeypatch.setattr(sweep, "EFFICIENCIES", {"ideal": "ideal"})
    arguments = ["--peer-python", sys.executable, "--scenarios", str(1 << 14), "--repeats", "6"]
    outcome = CliRunner().invoke(sweep.main, arguments)
    assert outcome.exit_code == 0, outcome.output
    for shown in ("times as fast as number", "draw a number", "lacks a meaning"):
        assert shown in outcome.stdout
    for kind in ("factorial", "list", "mixed list"):
        assert outcome.stdout.count(f" {kind}, ideal, 2 workers ") == 2 + (kind == "list") * 2


def test_processors_of_worker_processes_are_not_counted(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "EFFICIENCIES", {"ideal": "ideal"})
    for name, rate in ran("--pool", "processes")["result"]["rates"].items():
        assert (rate["per_cpu_second"] is None) == name.endswith("2 workers")
        assert rate["per_second"] > 0


def test_listed_scenarios_differ() -> None:
    assert not sweep.listed(5000, sweep.SHARED).duplicated().any()
    assert not sweep.listed(5000, {}).alpha.duplicated().any()


def test_ratios_are_of_times_per_item_on_the_clock_of_so_many_workers() -> None:
    """2 scenarios in 1 s (CPU 4 s) beside 3 estimates in 6 s (CPU 3 s): 4 times as fast by the wall, 1/2 by the CPU."""
    fast = Took(count=2, wall_seconds=1.0, cpu_seconds=4.0)
    slow = Took(count=3, wall_seconds=6.0, cpu_seconds=3.0)
    mine = [sweep.Task(what="a", workers=workers, run=lambda seed: fast) for workers in (1, 2)]
    theirs = [sweep.Task(what="b", workers=workers, run=lambda seed: slow) for workers in (1, 2)]
    runs = sweep.measured([*mine, *theirs], repeats=6)
    found = sweep.ratios(mine, theirs, runs)
    assert [(entry.name, entry.time_of) for entry in found] == [
        ("a, 1 worker", "b, 1 worker"),
        ("a, 2 workers", "b, 2 workers"),
    ]
    assert [entry.value for entry in found] == [0.5, 4.0]


def test_processes_are_asked_at_once_with_other_seeds(script: Path) -> None:
    python = Path(sys.executable)
    with Peer(python, script) as one, Peer(python, script) as other:
        assert one.about["package"] == "click"
        both = asked([one, other], "draw a number", 3)
        apart = [asked([peer], "draw a number", seed) for peer, seed in ((one, 6), (other, 7))]
    assert apart[0].count != apart[1].count
    assert both.count == sum(took.count for took in apart)
    assert both.wall_seconds > 0
    assert both.cpu_seconds > 0


def test_a_peer_that_does_not_start(tmp_path: Path) -> None:
    path = tmp_path / "absent_query.py"
    path.write_text("raise SystemExit(3)")
    with pytest.raises(click.ClickException, match="absent_query ended"):
        Peer(Path(sys.executable), path)

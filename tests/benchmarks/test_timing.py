"""The benchmarks run, and their intervals are what they claim to be; nothing here looks at how long anything takes."""

from __future__ import annotations

import json
from importlib import import_module

import click
import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import timing
from specsim.errors import InputError
from specsim.stats.chi_square import goodness_of_fit


@pytest.mark.parametrize("name", ["rounds", "verifiers", "transport", "decoding", "outside"])
def test_every_benchmark_has_help(name: str) -> None:
    ran = CliRunner().invoke(import_module(f"benchmarks.{name}").main, ["--help"])
    assert ran.exit_code == 0
    assert "--repeats" in ran.output


def test_what_a_benchmark_refuses_is_one_line() -> None:
    @click.command()
    @timing.options
    def main(repeats: int, as_json: bool) -> None:
        raise InputError(f"model must be there, found nothing in {repeats} tries")

    ran = CliRunner().invoke(main, ["--repeats", "6"])
    assert ran.exit_code == 2
    assert ran.output.splitlines()[-1] == "Error: model must be there, found nothing in 6 tries"


def test_speed_of_a_head_is_that_of_all_texts_together() -> None:
    """Totals, not means of ratios; the interval covers them and is exact where texts do not differ."""
    heads = import_module("benchmarks.heads")
    assert CliRunner().invoke(heads.main, ["--help"]).exit_code == 0
    nothing = CliRunner().invoke(heads.main, [])
    assert (nothing.exit_code, "name the file of a head, or --copy" in nothing.output) == (2, True)
    found = heads._over_plain({"plain": [1.0, 9.0, 2.0], "head": [1.0, 3.0, 2.0]}, "head")
    assert (found.value, found.n) == (2.0, 3)
    assert found.low < 2.0 < found.high
    same = heads._over_plain({"plain": [3.0, 3.0], "head": [2.0, 2.0]}, "head")
    assert (same.low, same.value, same.high) == (1.5, 1.5, 1.5)


def test_the_rounds_are_measured() -> None:
    rounds = import_module("benchmarks.rounds")
    ran = CliRunner().invoke(rounds.main, ["--rounds", str(rounds.BLOCK), "--repeats", "6", "--json"])
    assert ran.exit_code == 0
    ratios = json.loads(ran.output)["result"]["ratios"]
    assert len(ratios) == len(rounds.GAMMAS) * len(rounds.ALPHAS) + 2
    for entry in ratios:
        assert entry["n"] == 6
        assert 0 < entry["low"] <= entry["value"] <= entry["high"]


def test_tasks_take_turns_and_the_first_round_is_not_counted() -> None:
    log: list[str] = []
    seconds = timing.interleaved({"a": lambda: log.append("a"), "b": lambda: log.append("b")}, repeats=3)
    assert log == ["a", "b"] * 4
    assert {name: len(times) for name, times in seconds.items()} == {"a": 3, "b": 3}


def test_a_ratio_is_of_the_same_repeats() -> None:
    """A machine that slows down tenfold halfway changes no ratio."""
    seconds = {"one": [1.0, 1.0, 1.0, 10.0, 10.0, 10.0], "two": [2.0, 2.0, 2.0, 20.0, 20.0, 20.0]}
    found = timing.ratio(seconds, name="two", over="one")
    assert (found.value, found.low, found.high, found.n) == (2, 2, 2, 6)
    assert timing.ratio(seconds, name="two", time_of="one", over="two").value == 0.5


@pytest.mark.parametrize("n", [6, 7, 20])
def test_the_interval_covers_the_median(n: int) -> None:
    """Null: it covers with the binomial probability of its order statistics; 4000 samples; false-alarm rate 1e-7."""
    rng = np.random.default_rng(n)
    covered = 0
    for sample in rng.lognormal(size=(4000, n)):  # median 1
        low, high = timing.median_interval(sample)
        covered += low <= 1 <= high
    inner = {6: 0, 7: 0, 20: 5}[n]
    missed = 2 * sum(float(np.prod(np.arange(n, n - k, -1)) / np.prod(np.arange(1, k + 1))) for k in range(inner + 1))
    chance = 1 - missed / 2**n
    assert chance >= timing.LEVEL
    counts = np.array([covered, 4000 - covered])
    assert goodness_of_fit(counts, [chance, 1 - chance]).passed(1e-7)
    assert not goodness_of_fit(counts, [0.8, 0.2]).passed(1e-7)  # power: an interval that is too short

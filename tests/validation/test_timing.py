"""Timing: medians with honest intervals, turns that are shared out, and a record of the machine."""

import json
import re

import numpy as np
import pytest
import torch

from specsim.errors import InputError
from specsim.stats.chi_square import goodness_of_fit
from validation import timing
from validation.decoder.table_model import TableModel

FALSE_ALARM = 1e-6


class Clock(TableModel):
    """A table model on a clock of its own: a pass takes 2 s and 0.5 s per token, and 1 s per cached token."""

    def __init__(self):
        super().__init__([0.5, 0.5], context_limit=100)
        self.now = 0.0

    def read(self, tokens, **options):
        self.now += 2 + 0.5 * len(tokens[0]) + self.length
        return super().read(tokens, **options)


@pytest.fixture
def clock(monkeypatch):
    model = Clock()
    monkeypatch.setattr(timing, "perf_counter", lambda: model.now)
    return model


@pytest.mark.parametrize(("count", "rank"), [(1, 1), (5, 1), (6, 1), (9, 2), (30, 10), (100, 40)])
def test_interval_takes_the_tabulated_ranks(count, rank):
    """Ranks of the two-sided 95 % sign interval."""
    found = timing.median(np.random.default_rng(0).permutation(np.arange(1.0, count + 1)))
    assert (found.low, found.high, found.repeats) == (rank, count + 1 - rank, count)
    assert found.seconds == (count + 1) / 2


def coverage(interval, *, rng):
    """How many of 4,000 intervals hold the median of a skewed law."""
    found = (interval(rng.exponential(size=31)) for _ in range(4000))
    held = sum(low <= np.log(2) <= high for low, high in found)
    return [held, 4000 - held]


def test_interval_covers_the_median_as_often_as_it_says():
    """Null: exact coverage 1 - 2 P(Binomial(31, 1/2) < 10) = 0.9706; n = 4,000; false-alarm rate 1e-6."""

    def ours(samples):
        found = timing.median(samples)
        return found.low, found.high

    counts = coverage(ours, rng=np.random.default_rng(1))
    assert goodness_of_fit(counts, [0.9706, 0.0294], min_expected=20).passed(FALSE_ALARM)


def test_an_interval_of_the_mean_would_be_caught():
    """The partner: mean and standard error miss the median of a skewed law."""

    def wrong(samples):
        error = 2 * samples.std() / np.sqrt(len(samples))
        return samples.mean() - error, samples.mean() + error

    counts = coverage(wrong, rng=np.random.default_rng(1))
    assert not goodness_of_fit(counts, [0.9706, 0.0294], min_expected=20).passed(FALSE_ALARM)


@pytest.mark.parametrize(("samples", "level"), [([], 0.95), ([1.0, np.nan], 0.95), ([1.0], 1.5)])
def test_bad_samples_are_refused(samples, level):
    with pytest.raises(InputError, match="must be"):
        timing.median(samples, level=level)


def test_actions_take_turns_and_warm_up_does_not_count(clock):
    log = []
    actions = {name: (lambda name=name: log.append(name)) for name in "abc"}
    seconds = timing.interleaved(actions, repeats=5, warm_up=2, before=lambda key: log.append("-"))
    assert {name: len(found) for name, found in seconds.items()} == {"a": 5, "b": 5, "c": 5}
    assert log[::2] == ["-"] * 21
    turns = [tuple(log[start : start + 6][1::2]) for start in range(0, 42, 6)]
    assert all(sorted(turn) == ["a", "b", "c"] for turn in turns)
    assert len(set(turns)) > 1


def test_what_comes_before_an_action_is_not_timed(clock):
    def wait(seconds):
        clock.now += seconds

    seconds = timing.interleaved({"x": lambda: wait(1.0)}, repeats=2, before=lambda key: wait(50.0))
    assert seconds == {"x": [1.0, 1.0]}


def test_pass_rows_measure_each_count_at_the_same_context(clock):
    rows = timing.pass_rows(clock, tokens=[1, 4, 2], context=7, repeats=3)
    expected = {count: 2 + 0.5 * count + 7 for count in (1, 4, 2)}
    assert rows == [
        {"tokens": count, "seconds": value, "low": value, "high": value, "repeats": 3}
        for count, value in expected.items()
    ]
    assert clock.length == 7


def test_pass_rows_need_no_context(clock):
    assert timing.pass_rows(clock, tokens=[2], context=0, repeats=1)[0]["seconds"] == 3.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokens": [1, 0], "context": 0}, r"tokens[1] must be in 1..100, got 0"),
        ({"tokens": [4], "context": 97}, r"tokens[0] must be in 1..3, got 4"),
        ({"tokens": [1], "context": -1}, "context must be at least 0"),
        ({"tokens": [1], "context": 0, "repeats": 0}, "repeats must be at least 1"),
        ({"tokens": [], "context": 0}, "number of token counts must be at least 1"),
    ],
)
def test_bad_measurements_are_refused(clock, options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        timing.pass_rows(clock, **options)


def test_threads_are_pinned_to_physical_cores():
    before = torch.get_num_threads()
    try:
        assert timing.pin_threads(1) == torch.get_num_threads() == 1
        assert timing.fingerprint()["threads"] == 1
        assert timing.pin_threads() == torch.get_num_threads() == timing.physical_cores()
    finally:
        torch.set_num_threads(before)
    with pytest.raises(InputError, match="threads must be at least 1"):
        timing.pin_threads(0)


def test_fingerprint_names_machine_and_versions():
    found = json.loads(json.dumps(timing.fingerprint()))
    assert found["torch"] == torch.__version__
    assert found["numpy"] == np.__version__
    assert 1 <= found["physical_cores"] <= found["logical_cores"]
    assert {"cpu", "threads", "dtype_flags", "device", "platform", "python", "transformers", "specsim"} < set(found)
    assert found["commit"] is None or re.fullmatch(r"[0-9a-f]{40}(-dirty)?", found["commit"])


def test_commit_is_that_of_the_checkout_itself(tmp_path):
    inside = tmp_path / "package"
    inside.mkdir()
    assert timing._commit(inside) is None
    for command in (
        ["init", "--quiet"],
        ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "--allow-empty", "-m", "x"],
    ):
        timing._git(*command, folder=tmp_path)
    assert re.fullmatch(r"[0-9a-f]{40}", timing._commit(tmp_path))
    assert timing._commit(inside) is None

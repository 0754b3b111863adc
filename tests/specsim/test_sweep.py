"""Sweeps against a loop of scenarios, in any order, with any executor, and after a stop."""

import itertools
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from specsim import sweep as sweeping
from specsim.acceptance import Acceptance
from specsim.catalog import hardware, model, published_acceptance
from specsim.drafters import METHODS
from specsim.errors import InputError
from specsim.placement import Placement
from specsim.roofline import Efficiency
from specsim.scenario import Scenario
from specsim.speedup import speedup, tokens_per_second
from specsim.sweep import AXES, GROUP, NUMBERS, sweep, sweep_list

GRID = {
    "model": ["Qwen3-30B-A3B", "Llama-3.1-8B"],
    "method": ["ngram", "eagle3"],
    "tensor_parallel": [2, 1],
    "alpha": [0.8, 0.3],
    "gamma": [3, 0],
    "batch": [64, 1],
    "context": [0, 5000],
}
SMALL = {"method": ["ngram", "eagle3", "model"], "alpha": [0.6, 0.8], "batch": [1, 64]}


def assert_rows_are_scenarios(frame, *, efficiency):
    """Each row's numbers, from a `Scenario` of its own."""
    for row in frame.to_dict(orient="records"):
        gpu = hardware(row["hardware"])
        place = Placement(
            target=model(row["model"]),
            hardware=gpu,
            efficiency=efficiency(gpu),
            tensor_parallel=row["tensor_parallel"],
        )
        method = METHODS[row["method"]].default(place.target)
        given_alpha = not np.isnan(row["alpha"])
        law = Acceptance.constant(row["alpha"]) if given_alpha else published_acceptance(row["method"]).acceptance
        one = Scenario(
            target=place.cost(place.target),
            drafter=place.drafter(method),
            acceptance=law,
            gamma=row["gamma"],
            batch=row["batch"],
            context=row["context"],
        )
        by_hand = {
            "E_tokens": one.tokens_per_round,
            "draft_seconds": one.cost.draft_seconds,
            "verify_seconds": one.cost.verify_seconds,
            "round_seconds": one.cost.seconds,
            "plain_seconds": one.plain_seconds,
            "speedup": speedup(one),
            "user_tokens_per_second": one.tokens_per_round / one.cost.seconds,
            "device_tokens_per_second": tokens_per_second(one) / row["tensor_parallel"],
        }
        assert {name: row[name] for name in by_hand} == pytest.approx(by_hand, rel=1e-12)
        asked = {"batch": row["batch"], "context": row["context"], "gamma": row["gamma"]}
        assert row["fits"] == place.memory(method, **asked).fits


def test_a_factorial_is_a_loop_of_scenarios():
    frame = sweep(GRID, efficiency="assumed")
    assert_rows_are_scenarios(frame, efficiency=Efficiency.assumed)


def test_a_factorial_has_every_combination_once_and_in_order():
    frame = sweep(GRID, efficiency="ideal")
    order = [*GROUP, "alpha", *NUMBERS]
    listed = {name: GRID.get(name, [GROUP.get(name)]) for name in order}
    expected = list(itertools.product(*listed.values()))
    assert list(frame[order].itertuples(index=False, name=None)) == expected
    assert list(frame.columns[:4]) == list(GROUP)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_sweeps_and_takes_its_published_acceptance(name):
    frame = sweep({"method": [name], "gamma": [0, 1, 3], "batch": [1, 32]}, efficiency="ideal")
    assert frame["alpha"].isna().all()
    assert (frame.loc[frame["gamma"] == 0, "speedup"] == 1).all()
    assert_rows_are_scenarios(frame, efficiency=lambda gpu: Efficiency.ideal())


def test_what_is_left_out_takes_its_default():
    row = sweep({"batch": [7]}, efficiency="ideal").iloc[0]
    assert {name: row[name] for name in (*GROUP, "gamma", "context")} == GROUP | {"gamma": 4, "context": 1024}
    listed = sweep_list(pd.DataFrame({"batch": [7]}), efficiency="ideal").iloc[0]
    assert listed["speedup"] == row["speedup"]


def test_a_list_is_the_rows_of_a_factorial_in_the_lists_order():
    """All columns of a shuffled factorial, so groups interleave."""
    frame = sweep(GRID, efficiency="ideal").sample(frac=1, random_state=5)
    listed = sweep_list(frame[list(AXES)], efficiency="ideal")
    assert_frame_equal(listed, frame.reset_index(drop=True), rtol=1e-12, check_exact=False)
    again = sweep_list(frame[list(reversed(AXES))].set_index(np.arange(len(frame)) * 7), efficiency="ideal")
    assert_frame_equal(again, listed)


@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["ngram", "eagle1", "model"]),
            st.sampled_from(["H100-SXM", "L4"]),
            st.floats(0, 1),
            st.integers(0, 9),
            st.integers(1, 300),
            st.integers(0, 50_000),
        ),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=25)
def test_any_list_is_a_loop_of_scenarios(rows):
    listed = pd.DataFrame(rows, columns=["method", "hardware", "alpha", "gamma", "batch", "context"])
    frame = sweep_list(listed, efficiency="assumed")
    assert_frame_equal(frame[list(listed.columns)], listed)
    assert_rows_are_scenarios(frame, efficiency=Efficiency.assumed)


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_changes_nothing(kind):
    done = []
    with kind(2) as executor:
        frame = sweep(SMALL, efficiency="ideal", executor=executor, progress=lambda *counts: done.append(counts))
        listed = sweep_list(frame[["method", "alpha", "batch"]][::-1], efficiency="ideal", executor=executor)
    alone = sweep(SMALL, efficiency="ideal")
    assert_frame_equal(frame, alone)
    assert_frame_equal(listed, alone[::-1].reset_index(drop=True))
    assert done == [(1, 3), (2, 3), (3, 3)]


class Stopped(Exception):
    """What a test stops a sweep with."""


def stop_after(groups):
    def progress(done, every):
        if done == groups:
            raise Stopped

    return progress


def test_a_sweep_that_was_stopped_goes_on(tmp_path, monkeypatch):
    with pytest.raises(Stopped):
        sweep(SMALL, efficiency="ideal", folder=tmp_path, progress=stop_after(1))
    assert len(list(tmp_path.iterdir())) == 1
    computed = []
    columns = sweeping.Group.columns
    monkeypatch.setattr(sweeping.Group, "columns", lambda group: computed.append(group.method) or columns(group))
    frame = sweep(SMALL, efficiency="ideal", folder=tmp_path)
    assert computed == SMALL["method"][1:]
    assert_frame_equal(frame, sweep(SMALL, efficiency="ideal"), check_exact=True)
    computed.clear()
    assert_frame_equal(sweep(SMALL, efficiency="ideal", folder=tmp_path), frame, check_exact=True)
    assert computed == []


def test_a_folder_keeps_every_digit_of_small_numbers_and_of_what_is_not_there(tmp_path):
    axes = {"model": ["SmolLM2-135M"], "method": ["eagle3"], "context": [1, 7]}  # microseconds, and alpha is empty
    kept = sweep(axes, efficiency="ideal", folder=tmp_path)
    assert kept["draft_seconds"].max() < 1e-4
    assert_frame_equal(kept, sweep(axes, efficiency="ideal"), check_exact=True)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "Qwen3-8B"},
        {"hardware": "H200-SXM"},
        {"tensor_parallel": 2},
        {"method": "eagle2"},
        {"alpha": 0.61},
        {"gamma": 5},
        {"batch": 2},
        {"context": 1},
        {"efficiency": "assumed"},
    ],
)
def test_a_changed_input_is_not_served_from_the_folder(tmp_path, change):
    axes = {"alpha": [0.6]}
    before = sweep(axes, efficiency="ideal", folder=tmp_path)
    efficiency = change.pop("efficiency", "ideal")
    axes |= {name: [value] for name, value in change.items()}
    after = sweep(axes, efficiency=efficiency, folder=tmp_path)
    assert_frame_equal(after, sweep(axes, efficiency=efficiency), check_exact=True)
    assert after["user_tokens_per_second"][0] != before["user_tokens_per_second"][0]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_changed_file_is_not_served_from_the_folder(tmp_path):
    part, kept = tmp_path / "ours.toml", tmp_path / "kept"
    speeds = []
    for bandwidth in (3.35e12, 4.8e12):
        part.write_text(f'base = "H100-SXM"\nbandwidth_bytes_per_second = {bandwidth}')
        frame = sweep({"hardware": [str(part)], "alpha": [0.5]}, efficiency="ideal", folder=kept)
        speeds.append(frame["user_tokens_per_second"][0])
    assert speeds[1] == pytest.approx(speeds[0] * 4.8 / 3.35, rel=1e-6)


def test_published_acceptance_that_changed_is_not_served_from_the_folder(tmp_path, monkeypatch):
    axes = {"method": ["model"]}
    sweep(axes, efficiency="ideal", folder=tmp_path)
    other = replace(published_acceptance("model"), stated_alpha=0.5)
    monkeypatch.setattr(sweeping.catalog, "published_acceptance", lambda method: other)
    frame = sweep(axes, efficiency="ideal", folder=tmp_path)
    assert frame["E_tokens"][0] == pytest.approx(1 + sum(0.5**k for k in range(1, 5)))


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"alphas": [0.5]}, "axis 'alphas' is unknown; did you mean alpha.*known: alpha, batch, context"),
        ({"alpha": []}, "axis alpha must not be empty"),
        ({"alpha": [0.5, 1.2]}, r"alpha\[1.*\] must be in \[0, 1\], got 1.2"),
        ({"alpha": ["high"]}, "alpha must be an array of numbers"),
        ({"gamma": [1.5, 2]}, "gamma must be whole numbers, got 1.5"),
        ({"gamma": [-1]}, "gamma.* must be at least 0, got -1"),
        ({"batch": [0]}, "batch.* must be at least 1, got 0"),
        ({"batch": ["many"]}, "batch must be whole numbers, got 'many'"),
        ({"tensor_parallel": [0]}, "tensor_parallel must be at least 1, got 0"),
        ({"tensor_parallel": [5]}, "heads must be a multiple of tensor_parallel 5, got 32"),
        ({"model": ["Llama-9"]}, "model 'Llama-9' is unknown; did you mean Llama-3.*known: "),
        ({"hardware": ["H1000"]}, "hardware 'H1000' is unknown; did you mean .*known: "),
        ({"method": ["eagle4"]}, "method 'eagle4' is unknown; did you mean eagle.*known: "),
        ({"method": ["medusa"], "gamma": [9]}, "gamma must be at most 5 for medusa, got 9"),
    ],
)
def test_a_sweep_refuses(axes, message):
    with pytest.raises(InputError, match=message):
        sweep(axes, efficiency="ideal")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"speed": [1]}, "axis 'speed' is unknown"),
        ({"alpha": []}, "scenarios must not be empty"),
        ({"alpha": [0.5, np.nan]}, "scenarios must have no empty cell, got one in row 1 of alpha"),
        ({"model": ["Qwen3-8B", None]}, "scenarios must have no empty cell, got one in row 1 of model"),
        ({"gamma": [1.0, 2.5, 3.0]}, "gamma must be whole numbers, got 2.5"),
        ({"gamma": [*range(3000), 0.5]}, "^gamma must be whole numbers, got 0.5$"),
        ({"alpha": [0.5, -0.1]}, r"alpha\[1\] must be in \[0, 1\], got -0.1"),
    ],
)
def test_a_list_refuses(columns, message):
    with pytest.raises(InputError, match=message):
        sweep_list(pd.DataFrame(columns), efficiency="ideal")


def test_an_unknown_efficiency_lists_the_known_ones():
    with pytest.raises(InputError, match="efficiency 'perfect' is unknown; known: assumed, default, ideal"):
        sweep({"alpha": [0.5]}, efficiency="perfect")


def test_bad_input_comes_back_from_another_process():
    with ProcessPoolExecutor(1) as executor, pytest.raises(InputError, match="model 'Llama-9' is unknown"):
        sweep({"model": ["Llama-9"]}, efficiency="ideal", executor=executor)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write .*file/.*\.csv: "):
        sweep({"alpha": [0.5]}, efficiency="ideal", folder=tmp_path / "file")

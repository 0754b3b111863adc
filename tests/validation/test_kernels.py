"""Fits of kernel laws: what a table made by a law gives back, that nothing seen is judged, and the measured tables."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from specsim import catalog
from specsim.errors import InputError
from specsim.roofline.fitted import kernel_laws, laws_from
from specsim.roofline.laws import AllReduceLaw, AttentionKernel, AttentionLaw, GemmLaw
from validation.cli.kernels import kernels
from validation.kernels import held_out, tables
from validation.kernels.all_reduce import all_reduce_frame, all_reduce_problem
from validation.kernels.attention import attention_frames, attention_problem
from validation.kernels.experts import experts_frames, experts_problem
from validation.kernels.fit import drawn, fitted
from validation.kernels.gemm import gemm_frames, gemm_problem
from validation.kernels.gpus import GPUS, gpu
from validation.kernels.held_out import folds_of, judged, mean_over_shapes
from validation.kernels.problem import from_search, to_search
from validation.kernels.report import catalogue_file, error_rows
from validation.kernels.run import EngineLaws, Job, engine_laws, jobs
from validation.kernels.step import Measured, step_error
from validation.kernels.tables import newest, tables_folder, versions

GPU = catalog.hardware("H100-SXM")
TRUTH = GemmLaw(
    processors=132, launch_seconds=3e-6, bandwidth_fraction=0.8, flop_fraction=0.7, step_seconds=2e-9, tile_seconds=1e-6
)
SIZES = [2**power for power in range(7, 15)]


def gemm_table(law=TRUTH, distort=lambda frame: 1.0):
    calls = product((1, 2, 3, 16, 64, 65, 129, 256, 1000, 2048, 4096), SIZES, SIZES)
    frame = pd.DataFrame(calls, columns=["m", "n", "k"])
    once = law.seconds(GPU, m=frame.m.to_numpy(), outputs=frame.n.to_numpy(), inputs=frame.k.to_numpy())
    frame["seconds"] = once * distort(frame)
    return frame


def gemm_judged(frame):
    return judged(gemm_problem(frame, GPU, dtype="bfloat16", processors=132))


@cache
def recovered():
    return gemm_judged(gemm_table())


# A table made by a law, without noise: what comes back is the law.


@pytest.mark.parametrize(
    "name", ["launch_seconds", "bandwidth_fraction", "flop_fraction", "step_seconds", "tile_seconds"]
)
def test_a_law_is_found_again(name):
    found, truth = recovered(), getattr(TRUTH, name)
    assert found.values[name] == pytest.approx(truth, rel=0.05)
    low, high = found.intervals[name]
    assert low <= found.values[name] <= high
    assert low * 0.95 <= truth <= high * 1.05


def test_a_law_predicts_its_own_table_unseen():
    error, low, high = recovered().error()
    assert low <= error <= high < 0.01
    assert recovered().error(of="naive")[0] > 0.2


def test_a_table_of_another_law_is_noticed():
    # Tall matrices take half as long again: no coefficient says that.
    wrong = gemm_judged(gemm_table(distort=lambda frame: np.where(frame.n > frame.k, 1.5, 1.0)))
    assert wrong.error()[0] > 5 * recovered().error()[0] + 0.05


def test_attention_is_found_again():
    truth = AttentionKernel(processors=132, bandwidth_fraction=0.8, launch_seconds=5e-6, item_seconds=2e-6)
    calls = product((1, 4, 32, 256), (128, 1024, 8192, 65536), ((8, 2), (32, 8), (16, 1), (64, 8), (10, 5)), (64, 128))
    frame = pd.DataFrame([(b, c, *heads, size, size) for b, c, heads, size in calls])
    frame.columns = ["batch", "context", "heads", "kv_heads", "key_dim", "value_dim"]
    frame["window"], frame["width"] = 0, 2
    frame["bytes_per_token"] = 4.0 * frame.kv_heads * frame.key_dim
    law = AttentionLaw(kernels={"grouped": truth})
    frame["seconds"] = [
        float(
            law.seconds(
                GPU,
                batch=row.batch,
                tokens=1,
                context=row.context,
                heads=row.heads,
                kv_heads=row.kv_heads,
                key_dim=row.key_dim,
                value_dim=row.key_dim,
                kv_bytes_per_token=row.bytes_per_token,
            )
        )
        for row in frame.itertuples()
    ]
    found = judged(attention_problem("grouped", frame, GPU, processors=132))
    assert found.values["bandwidth_fraction"] == pytest.approx(0.8, rel=0.03)
    assert found.error()[0] < 0.02


def test_all_reduces_are_found_again():
    truth = AllReduceLaw(launch_seconds=5e-6, once_bytes_per_second=90e9, library_bytes_per_second=150e9)
    frame = pd.DataFrame(product((2, 4, 8), [2**power for power in range(7, 30)]), columns=["devices", "bytes"])
    frame["seconds"] = truth.seconds(bytes=frame.bytes.to_numpy(), devices=frame.devices.to_numpy())
    found = judged(all_reduce_problem(frame, GPU))
    assert found.values["launch_seconds"] == pytest.approx(5e-6, rel=0.05)
    assert found.error()[0] < 0.05


# What is judged was not seen.


@given(shape=st.lists(st.integers(0, 30), min_size=1, max_size=200))
def test_folds_keep_shapes_together(shape):
    fold = folds_of(np.array(shape))
    assert all(len(set(fold[np.array(shape) == each].tolist())) == 1 for each in shape)


def test_no_fit_sees_a_shape_that_it_is_judged_on(monkeypatch):
    problem = gemm_problem(gemm_table(), GPU, dtype="bfloat16", processors=132)
    seen, judged_on = [], []
    monkeypatch.setattr(held_out, "fitted", lambda of, rows, **_: seen.append(set(of.shape[rows])) or of.starts[0])

    def predict(values, rows):
        judged_on.append(set(problem.shape[rows]))
        return problem.seconds[rows]

    found = judged(replace(problem, predict=predict))
    assert seen[0] == set(problem.shape)  # the fit that is shipped sees all
    assert len(seen) == 1 + held_out.FOLDS
    assert len(judged_on) == held_out.FOLDS
    for trained, tested in zip(seen[1:], judged_on, strict=True):
        assert not trained & tested
    assert set.union(*judged_on) == set(problem.shape)
    assert found.error()[0] == 0.0


def test_rows_are_drawn_from_every_stratum_of_every_shape():
    problem = gemm_problem(gemm_table(), GPU, dtype="bfloat16", processors=132)
    rows = drawn(problem, np.arange(len(problem.seconds)))
    kept = set(zip(problem.shape[rows], problem.stratum[rows], strict=True))
    assert kept == set(zip(problem.shape, problem.stratum, strict=True))
    assert len(rows) == problem.per_stratum * len(kept)
    assert (rows == drawn(problem, np.arange(len(problem.seconds)))).all()


@given(st.sampled_from(["launch_seconds", "knee", "knee_growth"]), st.floats(1.01, 50))
def test_the_search_scale_is_undone(name, value):
    assert from_search(name, to_search(name, value)) == pytest.approx(value)


def test_the_best_of_several_starts_is_taken():
    problem = gemm_problem(gemm_table(), GPU, dtype="bfloat16", processors=132)
    rows = drawn(problem, np.arange(len(problem.seconds)))
    far = {**problem.starts[0], "launch_seconds": 1e-4, "step_seconds": 1e-7}
    best = fitted(problem, rows, starts=(far, recovered().values), steps=2)
    assert best["launch_seconds"] == pytest.approx(TRUTH.launch_seconds, rel=0.05)


def test_an_interval_over_shapes_covers_few_shapes_widely():
    errors = np.array([0.0] * 50 + [0.2] * 50)
    one_shape_each = mean_over_shapes(errors, np.arange(100))
    two_shapes = mean_over_shapes(errors, np.repeat([0, 1], 50))
    assert one_shape_each[0] == two_shapes[0] == pytest.approx(0.1)
    assert two_shapes[2] - two_shapes[1] > 3 * (one_shape_each[2] - one_shape_each[1])


# The decode step.


def test_between_tabulated_sizes_a_power_law_is_met_exactly():
    frame = pd.DataFrame(product((1, 8), (64, 1024, 4096), (64, 2048)), columns=["m", "n", "k"])
    frame["seconds"] = 1e-9 * frame.m**0.5 * frame.n**0.9 * frame.k**1.1
    shape = np.arange(len(frame))
    table = held_out.Judged(
        name="gemm.bfloat16", values={}, intervals={}, seconds=frame.seconds.to_numpy(), shape=shape, fold=shape,
        predicted=2 * frame.seconds.to_numpy(), naive=frame.seconds.to_numpy() / 2, scored=shape >= 0,
    )  # fmt: skip
    found = Measured.of(table, frame, ("m", "n", "k"))
    expected = 1e-9 * 8**0.5 * 300**0.9 * 700**1.1
    assert found.at(8, 300, 700) == pytest.approx([expected, 2 * expected, expected / 2])
    assert found.at(8, 1024, 64) == pytest.approx(np.array([1, 2, 0.5]) * 1e-9 * 8**0.5 * 1024**0.9 * 64**1.1)
    assert found.at(8, 8192, 64) is None
    assert found.at(8, 32, 64) is None


# The catalogue's file, and reading.


def test_the_catalogue_file_holds_what_was_fitted():
    found = EngineLaws(gpu=GPUS["h100_sxm"], engine="vllm", versions={"gemm": "1.0"}, laws=[recovered()])
    text = tomllib.loads(catalogue_file([found]))
    assert text["processors"] == 132
    rows = text["vllm"]
    kernel = {"grouped": {"launch_seconds": [7e-6, 6e-6, 8e-6]}}
    laws = laws_from({**rows, "attention": kernel}, gpu="H100-SXM", engine="vllm", processors=132, source="a test")
    for name, value in recovered().values.items():
        assert getattr(laws.gemm["bfloat16"], name) == pytest.approx(value, rel=1e-4)
        assert laws.intervals[f"gemm.bfloat16.{name}"] == pytest.approx(
            recovered().intervals[name], rel=1e-4, abs=1e-30
        )
    assert laws.held_out == {"gemm.bfloat16": pytest.approx(recovered().error()[0], rel=1e-4)}
    assert rows["measured"]["gemm.bfloat16"] == {"shapes": 64, "rows": 64 * 9}


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs the package aiconfigurator-core: pip install 'specsim\[kernels\]'"):
        tables_folder()


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(InputError, match="tables must be a folder GPU/KIND/ENGINE/VERSION"):
        tables_folder(tmp_path)


def test_gpus_go_by_either_name():
    assert gpu("H200-SXM") is gpu("h200_sxm")
    assert all(catalog.hardware(part.name) for part in GPUS.values())
    with pytest.raises(InputError, match="GPU with kernel tables 'T4' is unknown"):
        gpu("T4")


def test_ungated_experts_and_rare_attention_are_left_out():
    sizes = {"hidden_size": 1024, "inter_size": 1024, "num_experts": 64, "moe_tp_size": 1, "moe_ep_size": 1}
    names = {"distribution": "balanced", "moe_dtype": "bfloat16", "kernel_source": "k"}
    mixture = pd.DataFrame({"num_tokens": [16, 32], "topk": [8, 22], "seconds": 1e-4, **sizes, **names})
    many = pd.concat([mixture.assign(hidden_size=1024 * size) for size in range(1, 7)])
    kept = experts_frames(many)["bfloat16"]
    assert set(kept.topk) == {8}
    assert experts_problem(kept, GPU, dtype="bfloat16", processors=132).seconds.tolist() == [1e-4] * 6
    heads = pd.DataFrame(
        product(range(1, 400), ((64, 8, 128), (64, 2, 256), (64, 8, 512)), ("bfloat16",), ("fa3", "triton")),
        columns=["step", "sizes", "kv_cache_dtype", "kernel_source"],
    )
    heads[["num_heads", "num_key_value_heads", "head_dim"]] = heads.pop("sizes").tolist()
    heads = heads.assign(batch_size=1, window_size=0, seconds=1e-5)
    found = attention_frames(heads, None)
    assert list(found) == ["grouped"]
    assert set(found["grouped"].key_dim) == {128}
    assert len(found["grouped"]) == 399


def test_graphs_are_preferred_to_single_launches():
    table = pd.DataFrame(
        [("a_graph", 2, 128, 1e-6), ("a_eager", 2, 128, 9e-6), ("a_graph", 16, 128, 1e-6)],
        columns=["kernel_source", "num_gpus", "message_size", "seconds"],
    )
    found = all_reduce_frame(table)
    assert found[["devices", "bytes", "seconds"]].to_numpy().tolist() == [[2.0, 128.0, 1e-6]]


def test_stored_errors_are_reported():
    ran = CliRunner().invoke(kernels, ["report", "--stored", "--gpu", "H100-SXM", "--engine", "vllm", "--json"])
    rows = json.loads(ran.output)["result"]["rows"]
    assert {row["engine"] for row in rows} == {"vllm"}
    step = next(row for row in rows if row["law"] == "step")
    assert step["error"] == kernel_laws("H100-SXM").held_out["step"]
    text = CliRunner().invoke(kernels, ["report", "--stored", "--gpu", "H100-SXM"]).output
    assert "gemm.bfloat16" in text
    assert "datasheet" in text


# With the measured tables.


@pytest.fixture(scope="session")
def folder():
    try:
        return tables_folder()
    except InputError as missing:
        pytest.skip(str(missing))


HOPPER = [(name, engine) for name in ("h100_sxm", "h200_sxm") for engine in ("vllm", "sglang", "trtllm")]
MULTIPLICATION_ERROR = {"h100_sxm": 0.06, "h200_sxm": 0.07}
MISSED = pytest.mark.xfail(reason="5.2 to 5.6 %: heads that share no cache are met at 6 to 7 % there")


@pytest.mark.kernels
@pytest.mark.parametrize(("name", "engine"), HOPPER)
def test_multiplications_of_unseen_shapes(folder, name, engine):
    part = GPUS[name]
    for version in versions(folder, name, "gemm", engine):
        frame = gemm_frames(tables.read(folder, name, "gemm", engine, version))["bfloat16"]
        found = judged(gemm_problem(frame, catalog.hardware(part.name), dtype="bfloat16", processors=part.processors))
        assert found.error()[0] <= MULTIPLICATION_ERROR[name], version
        assert found.error(of="naive")[0] > 5 * found.error()[0]


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("name", "engine"),
    [
        pytest.param(*pair, marks=MISSED) if pair in (("h200_sxm", "sglang"), ("h200_sxm", "trtllm")) else pair
        for pair in HOPPER
    ],
)
def test_attention_over_large_caches_of_unseen_shapes(folder, name, engine):
    rows = hopper_rows(folder, name, engine)
    assert rows["attention"]["naive"] > 4 * rows["attention"]["error"]
    assert rows["attention"]["error"] <= 0.05


@pytest.mark.kernels
@pytest.mark.parametrize(("name", "engine"), HOPPER)
def test_a_decode_step_of_unseen_shapes(folder, name, engine):
    rows = hopper_rows(folder, name, engine)
    assert rows["step"]["error"] <= 0.04
    assert rows["step"]["naive"] > 5 * rows["step"]["error"]


@cache
def hopper_rows(folder, name, engine):
    job = jobs(folder, gpus=[name], engines=[engine])[0]
    laws = ("gemm.bfloat16", "attention.grouped", "attention.single", "all_reduce")
    return {row["law"]: row for row in error_rows(engine_laws(folder, job, only=laws.__contains__))}


@pytest.mark.kernels
def test_what_is_stored_is_what_the_fit_gives(folder):
    version = newest(folder, "h100_sxm", "all_reduce", "vllm")
    assert version is not None
    job = Job(gpu="h100_sxm", engine="vllm", versions={"all_reduce": version})
    found = engine_laws(folder, job).laws[0]
    stored = kernel_laws("H100-SXM", "vllm")
    assert stored.held_out["all_reduce"] == pytest.approx(found.error()[0], rel=1e-3)
    for name, value in found.values.items():
        assert getattr(stored.all_reduce, name) == pytest.approx(value, rel=1e-3)


@pytest.mark.kernels
def test_steps_are_sums_of_tabulated_kernels(folder):
    job = jobs(folder, gpus=["h100_sxm"], engines=["trtllm"])[0]
    laws = ("gemm.bfloat16", "attention.grouped", "all_reduce")
    cases = engine_laws(folder, job, only=laws.__contains__).cases
    assert step_error(cases)[0] < step_error(cases, of="naive")[0]
    assert set(cases.model) == {"Llama-3.1-8B", "Llama-3.1-70B", "Qwen3-32B"}
    assert set(cases.tensor_parallel) == {1, 2, 4, 8}
    assert (cases.seconds > cases.naive).all()

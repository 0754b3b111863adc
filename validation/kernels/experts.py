"""Mixture layers of a table, ready to fit."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pandas as pd

from specsim.catalog import Hardware
from specsim.checks import FloatArray, IntArray
from specsim.roofline.laws.experts import DISTRIBUTIONS, FORMATS, RANGES, ExpertsKernel, loaded_seconds
from specsim.roofline.laws.routing import busiest_load
from validation.kernels.problem import Problem, Values, medians, numbered

SHAPE = ("hidden_size", "inter_size", "topk", "num_experts")
SPLIT = (*SHAPE, "moe_tp_size", "moe_ep_size", "distribution")
# Experts without a gate multiply two matrices and not three: Nemotron-H and its relatives.
UNGATED_TOPK, UNGATED_SIZES = 22, (2688, 1856)
WIDTHS = {
    "bfloat16": 2.0,
    "fp8": 1.0,
    "fp8_block": 1.0,
    "nvfp4": 0.5625,
    "int4_wo": 0.53,
    "w4a16_mxfp4": 0.53,
    "w4a8_mxfp4_mxfp8": 0.53,
}
MOST_TOKENS = 4096
FEWEST_SHAPES = 5
START = {part.name: part.default for part in fields(ExpertsKernel) if part.name in RANGES}


def experts_frames(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Rows by number format, of gated experts and at most 4096 tokens."""
    ungated = (table["topk"] == UNGATED_TOPK) | table["kernel_source"].str.contains("nongated")
    ungated |= (table["hidden_size"] == UNGATED_SIZES[0]) & (table["inter_size"] == UNGATED_SIZES[1])
    known = table["distribution"].isin(list(DISTRIBUTIONS)) & (table["num_tokens"] <= MOST_TOKENS)
    kept = table[known & ~ungated]
    found = {
        dtype: medians(kept[kept["moe_dtype"] == dtype], ["num_tokens", *SPLIT])
        for dtype in FORMATS
        if (kept["moe_dtype"] == dtype).any()
    }
    return {dtype: frame for dtype, frame in found.items() if len(frame.groupby(list(SHAPE))) >= FEWEST_SHAPES}


def experts_problem(frame: pd.DataFrame, hardware: Hardware, *, dtype: str, processors: int) -> Problem:
    """Fit one `ExpertsKernel`.

    Parameters
    ----------
    frame : DataFrame
        One of `experts_frames`.
    hardware : Hardware
        The GPU's datasheet.
    dtype : str
        Number format.
    processors : int
        Streaming multiprocessors [1].
    """
    rows, awake = _loads(frame)
    tokens, hidden = (frame[name].to_numpy().astype(float) for name in ("num_tokens", "hidden_size"))
    intermediate = frame["inter_size"].to_numpy() / frame["moe_tp_size"].to_numpy()
    peak = hardware.peak(FORMATS[dtype] or hardware.best_dtype)

    def predict(values: Values, some: IntArray) -> FloatArray:
        return loaded_seconds(
            ExpertsKernel(**values, processors=processors),
            hardware,
            tokens=tokens[some],
            rows=rows[some],
            awake=awake[some],
            hidden=hidden[some],
            intermediate=intermediate[some],
            bytes_per_weight=WIDTHS[dtype],
            peak=peak,
        )

    weights = 3 * hidden * intermediate
    read = awake * weights * WIDTHS[dtype] / hardware.bandwidth_bytes_per_second
    return Problem(
        name=f"experts.{dtype}",
        starts=(START,),
        ranges=RANGES,
        seconds=frame["seconds"].to_numpy(),
        shape=numbered(frame, SHAPE),
        stratum=numbered(frame, SPLIT[len(SHAPE) :]),
        naive=np.maximum(read, 2 * rows * weights / peak),
        scored=np.ones(len(frame), dtype=bool),
        predict=predict,
        per_stratum=2,
    )


def _loads(frame: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    columns = ("num_tokens", "num_experts", "topk", "moe_ep_size", "distribution")
    loads = [
        busiest_load(tokens=n, experts=experts, active=k, expert_parallel=devices, skew=DISTRIBUTIONS[distribution])
        for n, experts, k, devices, distribution in zip(*(frame[name].tolist() for name in columns), strict=True)
    ]
    rows, awake = np.array(loads).T
    return rows, awake

"""Matrix multiplications of a table, ready to fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import numpy as np
import pandas as pd

from specsim.catalog import Hardware
from specsim.checks import FloatArray, IntArray
from specsim.roofline.laws.gemm import FORMATS, RANGES, TILES, GemmLaw, gemm_work, tiled_seconds
from validation.kernels.problem import Problem, Values, medians, numbered

SHAPE = ("n", "k")
MOST_SCORED_ROWS = 1024
# Bytes of a weight, its share of block scales included.
WIDTHS = {"bfloat16": 2.0, "fp8": 1.0, "fp8_block": 1.0 + 4 / 128**2, "nvfp4": 0.5625}
FEWEST_SHAPES = 50
START = {part.name: part.default for part in fields(GemmLaw) if part.name in RANGES}


def gemm_frames(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The table's rows by number format, as far as laws know the format and enough shapes were measured."""
    found = {
        dtype: medians(table[table["gemm_dtype"] == dtype], ["m", "n", "k"])
        for dtype in FORMATS
        if (table["gemm_dtype"] == dtype).any()
    }
    return {dtype: frame for dtype, frame in found.items() if len(frame.groupby(list(SHAPE))) >= FEWEST_SHAPES}


def gemm_problem(frame: pd.DataFrame, hardware: Hardware, *, dtype: str, processors: int) -> Problem:
    """Fit `GemmLaw` to one number format of one table.

    Parameters
    ----------
    frame : DataFrame
        Columns m, n, k [1] and seconds [s].
    hardware : Hardware
        The GPU's datasheet.
    dtype : str
        Number format, one of `WIDTHS`.
    processors : int
        Streaming multiprocessors [1].
    """
    work = gemm_work(
        hardware,
        m=frame["m"].to_numpy(),
        outputs=frame["n"].to_numpy(),
        inputs=frame["k"].to_numpy(),
        bytes_per_weight=WIDTHS[dtype],
        dtype=dtype,
    )

    def law(values: Values) -> GemmLaw:
        return GemmLaw(**values, processors=processors)

    def by_tile(values: Values, rows: IntArray) -> FloatArray:
        return tiled_seconds(law(values), work[rows], TILES.T[:, :, None])

    def nearby(values: Values, rows: IntArray) -> Callable[[Values], FloatArray]:
        best, some = TILES[by_tile(values, rows).argmin(axis=0)].T, work[rows]
        return lambda others: tiled_seconds(law(others), some, best)

    moved = work.weight_bytes + work.row_bytes + 2 * work.m * work.outputs
    small = work.m <= MOST_SCORED_ROWS
    return Problem(
        name=f"gemm.{dtype}",
        starts=(START,),
        ranges=RANGES,
        seconds=frame["seconds"].to_numpy(),
        shape=numbered(frame, SHAPE),
        stratum=np.where(small, work.m % 4, 4).astype(int),  # a row of each residue, and one of many rows
        naive=np.maximum(moved / work.bandwidth, 2 * work.m * work.outputs * work.inputs / work.peak),
        scored=small,
        predict=lambda values, rows: by_tile(values, rows).min(axis=0),
        nearby=nearby,
        per_stratum=1,
    )

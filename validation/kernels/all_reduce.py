"""All-reduces of a table, ready to fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

import numpy as np
import pandas as pd

from specsim.catalog import Hardware
from specsim.checks import FloatArray, IntArray
from specsim.roofline.laws.all_reduce import RANGES, AllReduceLaw
from validation.kernels.problem import Problem, Values, medians, numbered

START = {part.name: part.default for part in fields(AllReduceLaw)}
SWITCHES = (0.25e6, 2.0e6, 8e6, 1e9)
MOST_DEVICES = 8


def all_reduce_frame(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of up to 8 devices; of those launched from a graph where the table has both."""
    captured = table["kernel_source"].str.contains("graph")
    frame = table[captured] if captured.any() else table
    built = frame.rename(columns={"num_gpus": "devices", "message_size": "bytes"})
    return medians(built[built["devices"] <= MOST_DEVICES], ["devices", "bytes"])


def all_reduce_problem(frame: pd.DataFrame, hardware: Hardware) -> Problem:
    """Fit `AllReduceLaw`; a shape is a size of the vector, over all numbers of devices."""
    size, devices = frame["bytes"].to_numpy().astype(float), frame["devices"].to_numpy()

    def predict(values: Values, rows: IntArray) -> FloatArray:
        return AllReduceLaw(**values).seconds(bytes=size[rows], devices=devices[rows])

    link = hardware.link_bytes_per_second or hardware.bandwidth_bytes_per_second
    return Problem(
        name="all_reduce",
        starts=tuple(_starts(SWITCHES)),
        ranges=RANGES,
        seconds=frame["seconds"].to_numpy(),
        shape=numbered(frame, ("bytes",)),
        stratum=numbered(frame, ("devices",)),
        naive=2 * (devices - 1) / devices * size / link,
        scored=np.ones(len(frame), dtype=bool),
        predict=predict,
        per_stratum=1,
    )


def _starts(switches: Iterable[float]) -> Iterable[Values]:
    """The size at which an engine changes over is a step, which no derivative sees: every guess is a start."""
    return ({**START, "custom_bytes": switch} for switch in switches)

"""Decode attention of a table, kernel by kernel, ready to fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import numpy as np
import pandas as pd

from specsim.catalog import Hardware
from specsim.checks import FloatArray, IntArray
from specsim.roofline.laws.attention import AttentionLaw
from specsim.roofline.laws.attention_kernel import RANGES, AttentionKernel
from validation.kernels.problem import Problem, Values, medians, numbered

SHAPE = ("heads", "kv_heads", "key_dim", "value_dim", "window")
SCORED_BYTES = 200e6
"""Caches above it are the headline: below, launches and the GPU's last cache decide."""
LATENT = {"key_dim": 576, "value_dim": 512}
FEWEST_ROWS = 300
CONTEXTS = (512, 4096)
"""Borders of the strata of large caches: few long and many short contexts are drawn alike."""
DEFAULTS = {part.name: part.default for part in fields(AttentionKernel) if part.name in RANGES}
START = {name: 0.9 if name == "bandwidth_fraction" else value for name, value in DEFAULTS.items()}
SHARPER = START | {"knee": 1.5, "knee_growth": 1.5, "occupancy": 0.8}
BY_SIZE = ("size_64", "size_192", "size_256", "item_64", "item_192", "item_256", "window_tokens")


def attention_frames(heads: pd.DataFrame | None, latent: pd.DataFrame | None) -> dict[str, pd.DataFrame]:
    """Rows by kernel, with the columns that `AttentionLaw.seconds` takes.

    Notes
    -----
    Left out: Triton kernels, which engines fall back on for rare shapes; heads above 256 numbers; and more than 16
    heads per cached head at 256 numbers, where TensorRT-LLM reads the cache once per head.
    """
    found: dict[str, pd.DataFrame] = {}
    if heads is not None:
        frame = _of_heads(heads)
        kind = np.where(frame["heads"] == frame["kv_heads"], "single", "grouped")
        kind = np.char.add(kind.astype(str), np.where(frame["width"] == 1, "_8bit", ""))
        found |= {name: frame[kind == name].reset_index(drop=True) for name in np.unique(kind)}
    if latent is not None:
        frame = _of_latent(latent)
        for width, name in ((2, "latent"), (1, "latent_8bit")):
            found[name] = frame[frame["width"] == width].reset_index(drop=True)
    return {name: frame for name, frame in found.items() if len(frame) >= FEWEST_ROWS}


def _of_heads(table: pd.DataFrame) -> pd.DataFrame:
    usual = ~table["kernel_source"].str.contains("triton") if "kernel_source" in table else True
    frame = table[usual] if (np.asarray(usual)).any() else table
    size = frame["head_dim"] if "head_dim" in frame else pd.Series(128, index=frame.index)
    kv_heads = frame["num_key_value_heads"].where(frame["num_key_value_heads"] > 0, frame["num_heads"])
    kept = (size <= 256) & ((size < 256) | (frame["num_heads"] <= 16 * kv_heads))
    width = np.where(frame["kv_cache_dtype"] == "fp8", 1, 2)
    built = pd.DataFrame(
        {
            "batch": frame["batch_size"],
            "context": frame["step"] + 1,
            "heads": frame["num_heads"],
            "kv_heads": kv_heads,
            "key_dim": size,
            "value_dim": size,
            "window": frame.get("window_size", 0),
            "width": width,
            "bytes_per_token": 2.0 * kv_heads * size * width,
            "seconds": frame["seconds"],
        }
    )[kept]
    return medians(built, [name for name in built if name != "seconds"])


def _of_latent(table: pd.DataFrame) -> pd.DataFrame:
    width = np.where(table["kv_cache_dtype"] == "fp8", 1, 2)
    built = pd.DataFrame(
        {
            "batch": table["batch_size"],
            "context": table["step"] + table["isl"],
            "heads": table["num_heads"],
            "kv_heads": 1,
            **LATENT,
            "window": 0,
            "width": width,
            "bytes_per_token": float(LATENT["key_dim"]) * width,
            "seconds": table["seconds"],
        }
    )
    return medians(built, [name for name in built if name != "seconds"])


def attention_problem(name: str, frame: pd.DataFrame, hardware: Hardware, *, processors: int) -> Problem:
    """Fit one `AttentionKernel`.

    Parameters
    ----------
    name : str
        Of the kernel.
    frame : DataFrame
        One of `attention_frames`.
    hardware : Hardware
        The GPU's datasheet.
    processors : int
        Streaming multiprocessors [1].
    """
    one_size = frame["key_dim"].nunique() == 1
    free = [key for key in RANGES if not (one_size and key in BY_SIZE)]

    def predict(values: Values, rows: IntArray) -> FloatArray:
        kernel = AttentionKernel(**values, processors=processors)
        return _seconds(kernel, name, frame.iloc[rows], hardware)

    seen = np.where(frame["window"] > 0, np.minimum(frame["context"], frame["window"]), frame["context"])
    read = (frame["batch"] * seen * frame["bytes_per_token"]).to_numpy()
    flop = 2 * frame["heads"] * (frame["key_dim"] + frame["value_dim"]) * frame["batch"] * seen
    peak = hardware.peak(hardware.best_dtype)
    return Problem(
        name=f"attention.{name}",
        starts=tuple({key: start[key] for key in free} for start in (START, SHARPER)),
        ranges=RANGES,
        seconds=frame["seconds"].to_numpy(),
        shape=numbered(frame, SHAPE),
        stratum=np.where(read > SCORED_BYTES, 1 + np.digitize(seen, CONTEXTS), 0),
        naive=np.maximum(read / hardware.bandwidth_bytes_per_second, flop.to_numpy() / peak),
        scored=read > SCORED_BYTES,
        predict=predict,
        per_stratum=5,
    )


def _seconds(kernel: AttentionKernel, name: str, frame: pd.DataFrame, hardware: Hardware) -> FloatArray:
    """Predictions, one size of heads at a time."""
    law, out = AttentionLaw(kernels={"grouped": kernel, name: kernel}), np.zeros(len(frame))
    sizes = frame[["key_dim", "value_dim"]].to_numpy()
    columns: Mapping[str, FloatArray] = {key: frame[key].to_numpy() for key in frame}
    for key_dim, value_dim in np.unique(sizes, axis=0):
        rows = (sizes == (key_dim, value_dim)).all(axis=1)
        out[rows] = law.seconds(
            hardware,
            batch=columns["batch"][rows],
            tokens=1,
            context=columns["context"][rows],
            heads=columns["heads"][rows],
            kv_heads=columns["kv_heads"][rows],
            key_dim=int(key_dim),
            value_dim=int(value_dim),
            kv_bytes_per_token=columns["bytes_per_token"][rows],
            window=columns["window"][rows],
        )
    return out

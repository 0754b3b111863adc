"""A dense decode step, summed over its kernels: measured ones against what the laws had predicted unseen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pandas as pd

from specsim.catalog import Matrix, ModelShape, model
from specsim.checks import FloatArray
from validation.kernels.held_out import Judged, mean_over_shapes

MODELS = ("Llama-3.1-8B", "Llama-3.1-70B", "Qwen3-32B")
TENSOR_PARALLEL = (1, 2, 4, 8)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
CONTEXTS = (1024, 2048, 4096, 8192, 16384, 32768)
PARTS = ("attention", "mlp")
BYTES_PER_ACTIVATION = 2
ALL_REDUCES_PER_LAYER = 2
GEMM_COLUMNS = ("m", "n", "k")
ATTENTION_COLUMNS = ("batch", "context", "heads", "kv_heads", "key_dim", "window")
ALL_REDUCE_COLUMNS = ("devices", "bytes")
WAYS = ("seconds", "predicted", "naive")


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """Held-out predictions of one law beside the measurements, found by the sizes of the call.

    Parameters
    ----------
    judged : Judged
        From `judged`.
    rows : Mapping[tuple[int, ...], int]
        Row of every tabulated call.
    axes : tuple of array
        Tabulated sizes along every axis of the key.
    """

    judged: Judged
    rows: Mapping[tuple[int, ...], int]
    axes: tuple[FloatArray, ...] = field(default=())

    @classmethod
    def of(cls, judged: Judged, frame: pd.DataFrame, columns: tuple[str, ...]) -> Measured:
        """Index a frame that was judged."""
        keys = frame[list(columns)].to_numpy().astype(int)
        axes = tuple(np.unique(keys[:, axis]) for axis in range(keys.shape[1]))
        return cls(judged=judged, rows={tuple(key): row for row, key in enumerate(keys.tolist())}, axes=axes)

    def at(self, *key: int) -> FloatArray | None:
        """Seconds measured, predicted and of the datasheet; None where a table does not reach [s].

        Notes
        -----
        Between tabulated sizes all three are interpolated alike: linearly in logarithms, along each axis.
        """
        ends = [_around(axis, size) for axis, size in zip(self.axes, key, strict=True)]
        if any(end is None for end in ends):
            return None
        total = np.zeros(len(WAYS))
        for corner in product(*[end for end in ends if end is not None]):
            row = self.rows.get(tuple(size for size, _ in corner))
            if row is None:
                return None
            weight = float(np.prod([share for _, share in corner]))
            total += weight * np.log([getattr(self.judged, way)[row] for way in WAYS])
        return np.asarray(np.exp(total))


def _around(axis: FloatArray, size: int) -> tuple[tuple[int, float], ...] | None:
    """The tabulated sizes next to one, with their shares; one size where it is tabulated itself."""
    place = int(np.searchsorted(axis, size))
    if place < len(axis) and axis[place] == size:
        return ((size, 1.0),)
    if place in (0, len(axis)):
        return None
    low, high = int(axis[place - 1]), int(axis[place])
    share = float(np.log(size / low) / np.log(high / low))
    return ((low, 1 - share), (high, share))


def step_cases(gemm: Measured, attention: Measured, all_reduce: Measured | None) -> pd.DataFrame:
    """One row per decode step that the tables reach: its sizes and its seconds measured, predicted and naive [s]."""
    rows = []
    for name, devices in product(MODELS, TENSOR_PARALLEL):
        shape = model(name)
        for batch in BATCHES:
            matrices = _matrices(shape, devices, batch, gemm, all_reduce)
            for context in CONTEXTS:
                one = _attention(shape, devices, batch, context, attention)
                if matrices is not None and one is not None:
                    total = matrices + shape.layers * one
                    sizes = {"model": name, "tensor_parallel": devices, "batch": batch, "context": context}
                    rows.append(sizes | dict(zip(WAYS, total.tolist(), strict=True)))
    return pd.DataFrame(rows, columns=["model", "tensor_parallel", "batch", "context", *WAYS])


def step_error(cases: pd.DataFrame, *, of: str = "predicted") -> tuple[float, float, float]:
    """Mean absolute relative error, with its 95 % interval over pairs of a model and a number of devices [1]."""
    off = np.abs(cases[of] / cases["seconds"] - 1).to_numpy()
    return mean_over_shapes(off, cases.groupby(["model", "tensor_parallel"]).ngroup().to_numpy())


def _layers(shape: ModelShape, devices: int) -> Iterator[Matrix]:
    return (each.sharded(devices) for each in shape.matrices if each.part in PARTS)


def _matrices(
    shape: ModelShape, devices: int, batch: int, gemm: Measured, all_reduce: Measured | None
) -> FloatArray | None:
    total = np.zeros(len(WAYS))
    for each in _layers(shape, devices):
        once = gemm.at(batch, each.outputs, each.inputs)
        if once is None:
            return None
        total += each.count * once
    if devices > 1:
        once = all_reduce.at(devices, batch * shape.hidden * BYTES_PER_ACTIVATION) if all_reduce else None
        if once is None:
            return None
        total += ALL_REDUCES_PER_LAYER * shape.layers * once
    return total


def _attention(shape: ModelShape, devices: int, batch: int, context: int, attention: Measured) -> FloatArray | None:
    block = shape.attention[0].sharded(devices)
    key = (batch, context, block.heads, block.kv_heads, block.key_dim, 0)
    return attention.at(*key) if key in attention.rows else None

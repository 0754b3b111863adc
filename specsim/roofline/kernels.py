"""Seconds of a pass's kernels from laws that were fitted to measured ones."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from specsim import checks
from specsim.catalog import Hardware, ModelShape
from specsim.checks import FloatArray, IntArray
from specsim.roofline.laws import KernelLaws
from specsim.roofline.work import part_name

GEMM_TABLES = {"bfloat16": "bfloat16", "float16": "bfloat16", "float8": "fp8", "float4": "nvfp4"}
"""Number format of the multiplications, and the fitted law that holds for it."""


def matrix_seconds(
    laws: KernelLaws,
    model: ModelShape,
    hardware: Hardware,
    *,
    in_flight: IntArray,
    tensor_parallel: int,
    number_format: str,
    expert_skew: float,
) -> dict[str, FloatArray]:
    """Seconds of all matrices and, where they have a law, experts by component, on one device of several [s]."""
    parts: dict[str, FloatArray] = defaultdict(lambda: np.zeros(np.shape(in_flight)))
    known = [name for name, fitted in GEMM_TABLES.items() if fitted in laws.gemm]
    table = GEMM_TABLES[checks.one_of("dtype with fitted kernels", number_format, known)]
    for matrix in model.matrices:
        mine = matrix.sharded(tensor_parallel)
        once = laws.gemm[table].seconds(
            hardware,
            m=in_flight,
            outputs=mine.outputs,
            inputs=mine.inputs,
            bytes_per_weight=mine.bytes_per_weight,
            dtype=table,
        )
        parts[part_name(matrix.part)] = parts[part_name(matrix.part)] + mine.count * once
    if model.experts is not None and laws.experts is not None:
        once = laws.experts.seconds(
            hardware,
            tokens=in_flight,
            experts=model.experts.count,
            active=model.experts.active,
            hidden=model.hidden,
            intermediate=model.experts.intermediate,
            bytes_per_weight=model.expert_matrices[0].bytes_per_weight,
            distribution="power_law" if expert_skew else "balanced",
            tensor_parallel=tensor_parallel,
            dtype=table if table in laws.experts.kernels else "bfloat16",
        )
        parts["experts"] = model.experts.layers * once
    return dict(parts)


def attention_seconds(
    laws: KernelLaws,
    model: ModelShape,
    hardware: Hardware,
    *,
    tokens: IntArray,
    batch: IntArray,
    context: IntArray,
    tensor_parallel: int,
    kv_reread: float,
) -> FloatArray:
    """Seconds of attention over the cache in all layers, on one device of several [s]."""
    total = np.zeros(np.broadcast_shapes(np.shape(tokens), np.shape(batch), np.shape(context)))
    for block in model.attention:
        mine = block.sharded(tensor_parallel)
        once = laws.attention.seconds(
            hardware,
            batch=batch,
            tokens=tokens,
            context=context,
            window=mine.window,
            heads=mine.heads,
            kv_heads=mine.kv_heads,
            key_dim=mine.key_dim,
            value_dim=mine.value_dim,
            kv_bytes_per_token=mine.kv_bytes_per_token,
            kv_reread=kv_reread,
        )
        total = total + mine.layers * once
    return total

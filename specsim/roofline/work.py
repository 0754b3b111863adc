"""What a pass has to do, by component: bytes to read and operations to compute, on one device of several."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from specsim.catalog import ModelShape
from specsim.checks import FloatArray, IntArray
from specsim.roofline.experts import expected_distinct_experts
from specsim.roofline.protocol import Count


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """Bytes that one component of a pass reads, and the operations that it does.

    Examples
    --------
    >>> both = Work(read_bytes=np.array(1.0), flop=np.array(2.0)) + Work(read_bytes=np.array(3.0), flop=np.array(0.0))
    >>> both.read_bytes, both.flop
    (np.float64(4.0), np.float64(2.0))
    """

    read_bytes: FloatArray
    flop: FloatArray

    def __add__(self, other: Work) -> Work:
        return Work(read_bytes=self.read_bytes + other.read_bytes, flop=self.flop + other.flop)


BYTES_PER_ACTIVATION = 2
NOTHING = Work(read_bytes=np.zeros(()), flop=np.zeros(()))


def token_work(
    model: ModelShape,
    *,
    in_flight: IntArray,
    tensor_parallel: int = 1,
    expert_skew: float = 0.0,
    activation_vectors: float = 0.0,
) -> dict[str, Work]:
    """Work that goes by the tokens in flight alone: all matrices, the experts that they wake, small kernels.

    Parameters
    ----------
    model : ModelShape
        What runs.
    in_flight : array (...)
        Tokens of the pass over all sequences [1].
    tensor_parallel : int
        Devices that share every matrix [1].
    expert_skew : float
        As for `expected_distinct_experts` [1].
    activation_vectors : float
        Vectors of the hidden size that small kernels move through memory for each token and layer [1].

    Returns
    -------
    dict of Work by component, of one device

    Examples
    --------
    >>> from specsim.catalog import model
    >>> work = token_work(model("Llama-3.1-8B"), in_flight=np.array(1))
    >>> sorted(work), f"{sum(part.read_bytes for part in work.values()) / 1e9:.2f} GB"
    (['attention_projections', 'lm_head', 'mlp', 'small_kernels'], '15.01 GB')
    """
    work: dict[str, Work] = defaultdict(lambda: NOTHING)
    for matrix in model.matrices:
        mine = matrix.sharded(tensor_parallel)
        work[part_name(matrix.part)] += Work(
            read_bytes=np.asarray(mine.bytes), flop=2.0 * mine.parameters * np.asarray(in_flight)
        )
    work["small_kernels"] = small_kernel_work(model, in_flight=in_flight, activation_vectors=activation_vectors)
    if model.experts is not None:
        work["experts"] = _expert_work(model, in_flight, tensor_parallel, expert_skew)
    return dict(work)


def small_kernel_work(model: ModelShape, *, in_flight: IntArray, activation_vectors: float) -> Work:
    """Norms and whatever else reads and writes activations without multiplying matrices."""
    vectors = model.pass_weight_bytes - sum(matrix.bytes for matrix in model.matrices)
    moved = model.layers * activation_vectors * model.hidden * BYTES_PER_ACTIVATION * np.asarray(in_flight)
    return Work(read_bytes=np.asarray(vectors + moved), flop=np.zeros(()))


def cache_work(
    model: ModelShape,
    *,
    tokens: IntArray,
    batch: IntArray,
    context: IntArray,
    tensor_parallel: int = 1,
    kv_reread: float = 0.0,
) -> Work:
    """Work of attention: cached keys and values, states of linear attention, and the pairs that are scored.

    Parameters
    ----------
    model : ModelShape
        What runs.
    tokens, batch, context : array (...)
        Tokens scored per sequence, sequences, tokens cached per sequence; they broadcast [1].
    tensor_parallel : int
        Devices that share the heads [1].
    kv_reread : float
        0: the cache is read once per sequence; 1: once per scored token [1].

    Examples
    --------
    >>> from specsim.catalog import model
    >>> one, five = (cache_work(model("Llama-3.1-8B"), tokens=n, batch=1, context=1000) for n in (1, 5))
    >>> one.read_bytes == five.read_bytes, five.flop / one.flop
    (np.True_, np.float64(5.0))
    """
    scored, sequences = np.asarray(tokens), np.asarray(batch)
    reads = 1 + kv_reread * (scored - 1)
    work = state_work(model, sequences, tensor_parallel=tensor_parallel)
    for block in model.attention:
        mine = block.sharded(tensor_parallel)
        pairs = sequences * np.asarray(mine.cached_tokens(context), dtype=np.float64) * mine.layers
        work += Work(
            read_bytes=pairs * mine.kv_bytes_per_token * reads, flop=pairs * scored * float(mine.flop_per_pair)
        )
    return work


def state_work(model: ModelShape, batch: IntArray, *, tensor_parallel: int) -> Work:
    """States of linear attention, which a pass reads and writes back for every sequence, on one device."""
    moved = 2 * model.state_bytes_per_sequence / tensor_parallel
    return Work(read_bytes=np.asarray(batch * np.asarray(moved)), flop=np.zeros(()))


def kernel_work(
    model: ModelShape, *, tokens: Count, batch: Count, context: Count, activation_vectors: float = 0.0
) -> list[Work]:
    """Work of every component of a pass on one device: each runs on its own, one after another."""
    scored, sequences, cached = np.asarray(tokens), np.asarray(batch), np.asarray(context)
    by_tokens = token_work(model, in_flight=scored * sequences, activation_vectors=activation_vectors)
    return [*by_tokens.values(), cache_work(model, tokens=scored, batch=sequences, context=cached)]


def pass_bytes(model: ModelShape, *, tokens: Count = 1, batch: Count = 1, context: Count = 0) -> FloatArray:
    """Bytes that a pass reads on one device: weights once, each sequence's cache once [byte]."""
    return total_work(kernel_work(model, tokens=tokens, batch=batch, context=context)).read_bytes


def pass_flop(model: ModelShape, *, tokens: Count = 1, batch: Count = 1, context: Count = 0) -> FloatArray:
    """Operations of a pass: matrices for every scored token, attention for every pair with a cached one [FLOP]."""
    return total_work(kernel_work(model, tokens=tokens, batch=batch, context=context)).flop


def total_work(parts: Iterable[Work]) -> Work:
    """The sum."""
    return sum(parts, NOTHING)


def part_name(part: str) -> str:
    """Component of a matrix: attention's projections are not attention itself."""
    return "attention_projections" if part == "attention" else part


def _expert_work(model: ModelShape, in_flight: IntArray, tensor_parallel: int, expert_skew: float) -> Work:
    experts = model.experts
    assert experts is not None
    awake = expected_distinct_experts(experts=experts.count, active=experts.active, tokens=in_flight, skew=expert_skew)
    one = [matrix.sharded(tensor_parallel) for matrix in model.expert_matrices]
    return Work(
        read_bytes=np.asarray(awake) * sum(matrix.bytes for matrix in one),
        flop=2.0 * experts.active * sum(matrix.parameters for matrix in one) * np.asarray(in_flight),
    )

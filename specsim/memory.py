"""What lies in an accelerator's memory: weights, caches, a drafter's share of both, and how many sequences fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.catalog import Hardware, ModelShape
from specsim.checks import FloatArray, IntArray
from specsim.drafters import DraftMethod

RESERVED_FRACTION = 0.10
"""Of the device's memory, for activations, graphs and fragmentation: what engines leave free by default."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """Bytes on one device, with `batch` sequences of `context` tokens.

    Parameters
    ----------
    weight_bytes, draft_weight_bytes : float
        The target's share, and the drafter's [byte].
    sequence_bytes, draft_sequence_bytes : float
        Cache and states of one sequence: of the target, and of the drafter [byte].
    reserved_bytes, capacity_bytes : float
        Left for activations, graphs and fragmentation; all there is [byte].
    batch : int
        Sequences [1].

    Examples
    --------
    >>> from specsim.catalog import hardware, model
    >>> use = memory(model("Llama-3.1-8B"), hardware=hardware("H100-SXM"), batch=64, context=4096)
    >>> use.fits, use.max_batch, f"{use.bytes / 1e9:.1f} GB"
    (True, 104, '58.4 GB')
    """

    weight_bytes: float
    draft_weight_bytes: float
    sequence_bytes: float
    draft_sequence_bytes: float
    reserved_bytes: float
    capacity_bytes: float
    batch: int

    @property
    def bytes(self) -> float:
        """All of it [byte]."""
        per_sequence = self.sequence_bytes + self.draft_sequence_bytes
        return self.weight_bytes + self.draft_weight_bytes + self.reserved_bytes + self.batch * per_sequence

    @property
    def fits(self) -> bool:
        """Whether the device holds it."""
        return self.bytes <= self.capacity_bytes

    @property
    def max_batch(self) -> int:
        """Most sequences that fit; 0 when not even the weights do [1]."""
        free = self.capacity_bytes - self.reserved_bytes - self.weight_bytes - self.draft_weight_bytes
        return max(0, int(free // (self.sequence_bytes + self.draft_sequence_bytes)))


def memory(
    target: ModelShape,
    method: DraftMethod | None = None,
    *,
    hardware: Hardware,
    batch: int = 1,
    context: int = 0,
    gamma: int = 0,
    tensor_parallel: int = 1,
    draft_tensor_parallel: int = 1,
    reserved_fraction: float = RESERVED_FRACTION,
) -> Memory:
    """Memory on one device of several that share the target.

    Parameters
    ----------
    target, method
        What is served, and how it is drafted for, if at all.
    hardware : Hardware
        The device.
    batch, context : int
        Sequences, and tokens cached in each [1].
    gamma : int
        Depth drafted; all that is verified of it, a whole tree or a window, takes cache for that long [1].
    tensor_parallel, draft_tensor_parallel : int
        Devices that share the target, and the drafter; fewer for the drafter means copies of it [1].
    reserved_fraction : float
        Of the memory, left free [1].

    Returns
    -------
    Memory

    Raises
    ------
    InputError
        A count or fraction outside its range, or a degree that does not divide the heads.

    Notes
    -----
    Weights divide evenly among devices; caches divide by heads, and are copied where there are more devices than cached
    heads, as is a latent. Draft weights and caches are charged to the same memory. An engine that keeps only the window
    of a windowed layer needs no more than is counted here.
    """
    devices = checks.integer("tensor_parallel", tensor_parallel, low=1)
    draft_devices = checks.integer("draft_tensor_parallel", draft_tensor_parallel, low=1, high=devices)
    depth = checks.integer("gamma", gamma)
    tokens = checks.integer("context", context) + (int(method.target_tokens(depth)) if method else depth + 1)
    return Memory(
        weight_bytes=target.weight_bytes / devices,
        draft_weight_bytes=method.extra_bytes(target) / draft_devices if method else 0.0,
        sequence_bytes=float(sequence_bytes(target, tokens=tokens, tensor_parallel=devices)),
        draft_sequence_bytes=method.kv_bytes_per_token(target) * tokens / draft_devices if method else 0.0,
        reserved_bytes=checks.probability("reserved_fraction", reserved_fraction) * hardware.memory_bytes,
        capacity_bytes=hardware.memory_bytes,
        batch=checks.integer("batch", batch, low=1),
    )


def sequence_bytes(model: ModelShape, *, tokens: int | IntArray, tensor_parallel: int = 1) -> FloatArray:
    """Cache and states of one sequence on one device, of the shape of `tokens` [byte].

    Examples
    --------
    >>> from specsim.catalog import model
    >>> float(sequence_bytes(model("Llama-3.1-8B"), tokens=1000) / 131_072)
    1000.0
    """
    blocks = [block.sharded(tensor_parallel) for block in model.attention]
    total = np.asarray(model.state_bytes_per_sequence / tensor_parallel)
    for block in blocks:
        total = total + block.layers * block.kv_bytes_per_token * block.cached_tokens(tokens)
    return total

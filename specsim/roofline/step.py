"""Seconds of one forward pass: the sum over its kernels, each bound by memory or by compute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.catalog import Hardware, ModelShape
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError
from specsim.roofline.blocks import by_block
from specsim.roofline.distinct import by_distinct
from specsim.roofline.efficiency import Efficiency
from specsim.roofline.kernels import attention_seconds, matrix_seconds
from specsim.roofline.limits import all_reduce_seconds, soft_maximum
from specsim.roofline.protocol import Count, Seconds
from specsim.roofline.work import (
    BYTES_PER_ACTIVATION,
    Work,
    cache_work,
    small_kernel_work,
    state_work,
    token_work,
    total_work,
)

ALL_REDUCES_PER_LAYER = 2


def step_seconds(
    model: ModelShape,
    hardware: Hardware,
    efficiency: Efficiency,
    *,
    tokens: Count,
    batch: Count = 1,
    context: Count = 0,
    tensor_parallel: int = 1,
    dtype: str | None = None,
) -> Seconds:
    """Seconds of one forward pass [s].

    Parameters
    ----------
    model, hardware, efficiency
        What runs, where, and what is reached of the peaks.
    tokens : int or array (...)
        Tokens scored per sequence, at least 1 [1].
    batch : int or array (...)
        Sequences [1].
    context : int or array (...)
        Tokens cached per sequence [1].
    tensor_parallel : int
        Devices that share every layer [1].
    dtype : str, optional
        Number format of the multiplications, which picks the peak; by default bfloat16 where the part has it.

    Returns
    -------
    float or array (...)
        A float when all three counts are single numbers [s].

    Raises
    ------
    InputError
        tokens or batch below 1, context below 0, a dtype that the hardware has no peak for, a tensor-parallel degree
        that does not divide the heads or that a part without links cannot have.

    Notes
    -----
    Kernels run one after another, so their seconds add up: matrices, experts, attention, small kernels, all-reduces,
    and the pass's overhead. Each kernel takes the soft maximum of bytes / bandwidth and flop / peak with the fitted
    fractions, or what a law fitted to measured kernels says. The cache of a sequence is read once for all tokens that
    it scores, unless `kv_reread` says otherwise.
    Left out: attention among the scored tokens themselves (tokens << context, or short context), the cache's own
    writes, and whether the model fits the memory.

    Examples
    --------
    >>> from specsim.catalog import hardware, model
    >>> where = (model("Llama-3.1-8B"), hardware("H100-SXM"), Efficiency.ideal())
    >>> [round(1e3 * step_seconds(*where, tokens=n), 3) for n in (1, 8, 512)]
    [4.481, 4.481, 7.77]
    """
    one = Roofline(model=model, hardware=hardware, efficiency=efficiency, tensor_parallel=tensor_parallel, dtype=dtype)
    return one.pass_seconds(tokens=tokens, batch=batch, context=context)


@dataclass(frozen=True, kw_only=True, slots=True)
class Roofline:
    """`step_seconds` of one model on one accelerator, or on several that share every layer, as a `PassCost`.

    Examples
    --------
    >>> from specsim.catalog import hardware, model
    >>> gpu = hardware("H100-SXM")
    >>> one = Roofline(model=model("Llama-3.1-8B"), hardware=gpu, efficiency=Efficiency.assumed(gpu))
    >>> one.bound(tokens=1), one.bound(tokens=1024)
    ('memory', 'compute')
    """

    model: ModelShape
    hardware: Hardware
    efficiency: Efficiency
    dtype: str | None = None
    tensor_parallel: int = 1

    def __post_init__(self) -> None:
        self.hardware.peak(self.number_format)
        if checks.integer("tensor_parallel", self.tensor_parallel, low=1) > 1 and not self._link:
            raise InputError(
                f"tensor_parallel must be 1 on {self.hardware.name}, which has no link, got {self.tensor_parallel}"
            )
        for block in self.model.attention:
            block.sharded(self.tensor_parallel)

    @property
    def number_format(self) -> str:
        """Format of the multiplications."""
        return self.dtype or self.hardware.best_dtype

    def pass_seconds(self, *, tokens: Count, batch: Count = 1, context: Count = 0) -> Seconds:
        """`step_seconds` [s]."""
        scored, sequences, cached = _counts(tokens, batch, context)
        in_flight = self.token_seconds(scored * sequences)
        seconds = np.asarray(in_flight + self.cache_seconds(tokens=scored, batch=sequences, context=cached))
        return seconds if seconds.ndim else float(seconds)

    def parts(self, *, tokens: int, batch: int = 1, context: int = 0) -> dict[str, float]:
        """Seconds of a pass by component, which sum to `pass_seconds` [s]."""
        scored, sequences, cached = _counts(tokens, batch, context)
        parts = self._token_parts(scored * sequences)
        parts["attention"] = self.cache_seconds(tokens=scored, batch=sequences, context=cached)
        return {name: float(seconds) for name, seconds in parts.items()}

    def token_seconds(self, in_flight: IntArray) -> FloatArray:
        """What goes by the tokens in flight alone: all but attention, shape of `in_flight` [s]."""
        # Padded before it is priced, for that leaves fewer different counts.
        return by_distinct(
            lambda different: by_distinct(self._paid_seconds, _padded(different, self.efficiency.graph_sizes)),
            in_flight,
        )

    def cache_seconds(self, *, tokens: IntArray, batch: IntArray, context: IntArray) -> FloatArray:
        """Attention over the cache [s]."""
        return by_block(self._cache_seconds, tokens, batch, context)

    def _cache_seconds(self, tokens: IntArray, batch: IntArray, context: IntArray) -> FloatArray:
        laws = self.efficiency.kernels
        if laws is None:
            return self._limited(self._cache_work(tokens, batch, context))
        seconds = attention_seconds(
            laws,
            self.model,
            self.hardware,
            tokens=tokens,
            batch=batch,
            context=context,
            tensor_parallel=self.tensor_parallel,
            kv_reread=self.efficiency.kv_reread,
        )
        if self.model.linear is not None:
            seconds = seconds + self._limited(state_work(self.model, batch, tensor_parallel=self.tensor_parallel))
        return seconds

    def limits(self, *, tokens: Count, batch: Count = 1, context: Count = 0) -> dict[str, FloatArray]:
        """Seconds that each resource is needed for, were it alone: memory, compute, communication, overhead [s]."""
        scored, sequences, cached = _counts(tokens, batch, context)
        parts = self._token_work(scored * sequences).values()
        read, computed = self._seconds(total_work([*parts, self._cache_work(scored, sequences, cached)]))
        fixed = self.efficiency.overhead_seconds + self.model.layers * self.efficiency.layer_seconds
        return {
            "memory": read,
            "compute": computed,
            "communication": self._communication(scored * sequences),
            "overhead": np.asarray(fixed),
        }

    def bound(self, *, tokens: int, batch: int = 1, context: int = 0) -> str:
        """What is needed longest: "memory", "compute", "communication" or "overhead"."""
        limits = self.limits(tokens=tokens, batch=batch, context=context)
        return max(limits, key=lambda limit: float(limits[limit]))

    def compute_bound_batch(self, *, tokens: int, context: int = 0, max_batch: int = 65_536) -> int | None:
        """Smallest batch up to `max_batch` at which compute takes at least as long as memory; None when none does.

        Long caches grow with the batch as fast as compute does, so a pass can stay memory-bound at any batch.

        Examples
        --------
        >>> from specsim.catalog import hardware, model
        >>> one = Roofline(model=model("Llama-3.1-8B"), hardware=hardware("H100-SXM"), efficiency=Efficiency.ideal())
        >>> one.compute_bound_batch(tokens=1), one.compute_bound_batch(tokens=1, context=100_000)
        (296, None)
        """
        batches = np.arange(1, checks.integer("max_batch", max_batch, low=1) + 1)
        limits = self.limits(tokens=checks.integer("tokens", tokens, low=1), batch=batches, context=context)
        turned = np.flatnonzero(limits["compute"] >= limits["memory"])
        return int(batches[turned[0]]) if len(turned) else None

    @property
    def ridge_tokens(self) -> float | None:
        """Tokens in flight at which compute takes as long as memory, caches apart; None beyond a million [1].

        Notes
        -----
        `limits.ridge_tokens` is the datasheet's figure for weights alone; this one has losses, activations and the
        experts that wake.

        Examples
        --------
        >>> from specsim.catalog import hardware, model
        >>> one = Roofline(model=model("Llama-3.1-8B"), hardware=hardware("H100-SXM"), efficiency=Efficiency.ideal())
        >>> round(one.ridge_tokens, 1)
        295.2
        """
        counts = np.arange(1, 2**20 + 1) if self.model.experts else 2 ** np.arange(21)
        limits = self.limits(tokens=counts)
        ahead = limits["compute"] - limits["memory"]
        turned = np.flatnonzero(ahead >= 0)
        if not len(turned):
            return None
        if not turned[0]:
            return 1.0
        before, after = ahead[turned[0] - 1], ahead[turned[0]]  # linear between, exactly so without experts
        low, high = counts[turned[0] - 1], counts[turned[0]]
        return float(low - before / (after - before) * (high - low))

    @property
    def _link(self) -> float:
        return self.efficiency.link_fraction * self.hardware.link_bytes_per_second

    def _paid_seconds(self, paid: IntArray) -> FloatArray:
        return np.asarray(sum(self._token_parts(paid).values(), np.zeros(())))

    def _token_parts(self, in_flight: IntArray) -> dict[str, FloatArray]:
        """Seconds of all components but attention [s]."""
        paid = _padded(in_flight, self.efficiency.graph_sizes)
        laws = self.efficiency.kernels
        if laws is None:
            parts = {name: self._limited(work) for name, work in self._token_work(paid).items()}
        else:
            parts = matrix_seconds(
                laws,
                self.model,
                self.hardware,
                in_flight=paid,
                tensor_parallel=self.tensor_parallel,
                number_format=self.number_format,
                expert_skew=self.efficiency.expert_skew,
            )
            if self.model.experts is not None and laws.experts is None:
                parts["experts"] = self._limited(self._token_work(paid)["experts"])
            parts["small_kernels"] = self._limited(
                small_kernel_work(self.model, in_flight=paid, activation_vectors=self.efficiency.activation_vectors)
            )
        parts["small_kernels"] = parts["small_kernels"] + self.model.layers * self.efficiency.layer_seconds
        parts["all_reduce"] = self._communication(paid)
        parts["overhead"] = np.asarray(self.efficiency.overhead_seconds)
        return parts

    def _communication(self, in_flight: IntArray) -> FloatArray:
        message = np.asarray(in_flight) * float(self.model.hidden * BYTES_PER_ACTIVATION)
        laws = self.efficiency.kernels
        if laws is not None and laws.all_reduce is not None:
            once = laws.all_reduce.seconds(bytes=message, devices=self.tensor_parallel)
        else:
            once = all_reduce_seconds(
                message_bytes=message,
                devices=self.tensor_parallel,
                link_bytes_per_second=self._link,
                latency_seconds=self.efficiency.all_reduce_seconds,
            )
        return np.asarray(ALL_REDUCES_PER_LAYER * self.model.layers * once)

    def _limited(self, work: Work) -> FloatArray:
        read, computed = self._seconds(work)
        return soft_maximum(read, computed, knee=self.efficiency.knee)

    def _seconds(self, work: Work) -> tuple[FloatArray, FloatArray]:
        """Memory seconds and compute seconds at what is reached of the peaks, of one shape."""
        read = work.read_bytes / (self.efficiency.bandwidth_fraction * self.hardware.bandwidth_bytes_per_second)
        computed = work.flop / (self.efficiency.flop_fraction * self.hardware.peak(self.number_format))
        memory, compute = np.broadcast_arrays(read, computed)
        return memory, compute

    def _token_work(self, in_flight: IntArray) -> dict[str, Work]:
        return token_work(
            self.model,
            in_flight=in_flight,
            tensor_parallel=self.tensor_parallel,
            expert_skew=self.efficiency.expert_skew,
            activation_vectors=self.efficiency.activation_vectors,
        )

    def _cache_work(self, tokens: IntArray, batch: IntArray, context: IntArray) -> Work:
        return cache_work(
            self.model,
            tokens=tokens,
            batch=batch,
            context=context,
            tensor_parallel=self.tensor_parallel,
            kv_reread=self.efficiency.kv_reread,
        )


def _counts(tokens: Count, batch: Count, context: Count) -> tuple[IntArray, IntArray, IntArray]:
    return (
        checks.integers("tokens", tokens, low=1),
        checks.integers("batch", batch, low=1),
        checks.integers("context", context),
    )


def _padded(in_flight: IntArray, sizes: tuple[int, ...]) -> IntArray:
    """Tokens that are paid for: the next captured size, or as many as there are beyond the largest."""
    if not sizes:
        return np.asarray(in_flight)
    captured = np.asarray(sizes)
    place = np.minimum(np.searchsorted(captured, in_flight), len(captured) - 1)
    return np.asarray(np.maximum(captured[place], in_flight))

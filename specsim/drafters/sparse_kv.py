"""Self-speculation with a sparse cache: the whole target drafts, and attends to few cached tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from specsim import checks
from specsim.catalog import ModelShape
from specsim.checks import IntArray
from specsim.drafters.method import DraftMethod, Traits
from specsim.drafters.own_layers import EVERYTHING
from specsim.roofline import Count


@dataclass(frozen=True, kw_only=True, slots=True)
class SparseKV(DraftMethod):
    """MagicDec: draft with all of the target's weights, and attention to the first and last cached tokens alone.

    Parameters
    ----------
    budget : int
        Cached tokens that a draft attends to in each layer at most: the sink and the window [1].

    Notes
    -----
    Chen et al. (arXiv 2408.11049). Where the caches outweigh the weights a draft costs little of a target step, the
    less the larger the batch: (W + B K kv) / (W + B L kv) with L tokens cached and K of them read. It gains where long
    contexts meet large batches, and nowhere else. Drafts read the target's own cache and verifying writes over what
    they added, so there is nothing to catch up on and no memory of its own. 512 is the budget that their acceptance
    was measured with.

    Layers that have a window already keep theirs; a shape knows one window, so where the budget is larger all layers
    get the mean of what they see, which reads the same bytes once the context is longer than the budget.

    Examples
    --------
    >>> from specsim.catalog import model
    >>> target = model("Llama-3.1-8B")
    >>> own = SparseKV().model(target)
    >>> [round(float(own.kv_bytes(context) / target.kv_bytes(context)), 3) for context in (100, 8192)]
    [1.0, 0.062]
    >>> own.pass_weight_bytes == target.pass_weight_bytes, SparseKV().extra_bytes(target)
    (True, 0.0)
    """

    budget: int = 512
    name: str = "sparse_kv"
    traits: ClassVar[Traits] = Traits(q="full", dependence="autoregressive", runs_on="accelerator", trained=False)

    def __post_init__(self) -> None:
        checks.integer("budget", self.budget, low=1)

    @classmethod
    def default(cls, target: ModelShape) -> SparseKV:
        """512 tokens."""
        return cls()

    def model(self, target: ModelShape) -> ModelShape:
        """The target, every layer of which sees `budget` tokens at most."""
        if not target.full_layers:
            return replace(target, shared=EVERYTHING)
        full = target.full_layers - target.window_layers
        seen = full * self.budget + target.window_layers * min(target.window, self.budget)
        return replace(
            target,
            window=max(1, round(seen / target.full_layers)),
            window_layers=target.full_layers,
            shared=EVERYTHING,
        )

    def passes(self, gamma: Count) -> IntArray:
        """One for each draft [1]."""
        return self.depths(gamma)

    def kv_bytes_per_token(self, target: ModelShape) -> float:
        """0: it uses the target's cache [byte]."""
        return 0.0

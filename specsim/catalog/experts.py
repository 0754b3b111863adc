"""Experts: the mixture layers of a model."""

from __future__ import annotations

from dataclasses import dataclass

from specsim import checks


@dataclass(frozen=True, kw_only=True, slots=True)
class Experts:
    """Feed-forward experts of which each token uses a few.

    Parameters
    ----------
    count, active : int
        Experts of a layer, and how many of them a token is routed to [1].
    intermediate : int
        Width of one expert [1].
    layers : int
        Layers that hold a mixture; the others have an ordinary MLP [1].
    shared_intermediate : int
        Width of the expert that every token uses besides, all shared ones together; 0 for none [1].
    shared_gate : bool
        Whether a learned gate scales the shared expert.
    router_bias, biases : bool
        Biases of the router, and of every routed expert's matrices.

    Raises
    ------
    InputError
        More active experts than there are, or a size below its least.

    Examples
    --------
    >>> Experts(count=8, active=2, intermediate=14336, layers=32).shared_intermediate
    0
    """

    count: int
    active: int
    intermediate: int
    layers: int
    shared_intermediate: int = 0
    shared_gate: bool = False
    router_bias: bool = False
    biases: bool = False

    def __post_init__(self) -> None:
        for size in ("count", "intermediate", "layers"):
            checks.integer(f"experts.{size}", getattr(self, size), low=1)
        checks.integer("experts.active", self.active, low=1, high=self.count)
        checks.integer("experts.shared_intermediate", self.shared_intermediate)

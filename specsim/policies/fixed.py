"""The same number of drafts in every round."""

from __future__ import annotations

from dataclasses import dataclass

from specsim import checks
from specsim.policies.load import Load


@dataclass(frozen=True, kw_only=True, slots=True)
class Fixed:
    """Drafts `depth` tokens whatever the load; 0 is plain decoding.

    Examples
    --------
    >>> Fixed(depth=4).name, Fixed(depth=0).name
    ('gamma 4', 'plain')
    """

    depth: int

    def __post_init__(self) -> None:
        checks.integer("depth", self.depth)

    @property
    def name(self) -> str:
        """The depth."""
        return f"gamma {self.depth}" if self.depth else "plain"

    @property
    def deepest(self) -> int:
        """The depth [1]."""
        return self.depth

    def gamma(self, load: Load) -> int:
        """The depth [1]."""
        return self.depth

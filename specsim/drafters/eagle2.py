"""EAGLE-2: the same head, and a tree that follows its confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specsim.catalog import ModelShape
from specsim.drafters.eagle import TreeEagle, feature_head
from specsim.drafters.method import Traits
from specsim.drafters.trees import DynamicTree


@dataclass(frozen=True, kw_only=True, slots=True)
class Eagle2(TreeEagle):
    """EAGLE-1's weights with a tree that follows the head's confidence.

    Parameters
    ----------
    tree : DynamicTree or None
        None drafts a chain, which is what EAGLE-1 does.

    Notes
    -----
    Li et al. (arXiv 2406.16858): no retraining, so no draft is better than EAGLE-1's; the tree is.
    """

    tree: DynamicTree | None = None
    name: str = "eagle2"
    traits: ClassVar[Traits] = Traits(
        q="one_hot",
        dependence="autoregressive",
        runs_on="accelerator",
        trained=True,
        note="the tree is chosen by confidence, so its tokens must be no draws",
    )

    @classmethod
    def default(cls, target: ModelShape) -> Eagle2:
        """A chain."""
        return cls()

    def model(self, target: ModelShape) -> ModelShape:
        """As of EAGLE-1."""
        return feature_head(target, name=self.name)

"""EAGLE-3: features of three layers, and fewer tokens to choose from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specsim.catalog import ModelShape
from specsim.drafters.eagle import TreeEagle, fused_head
from specsim.drafters.method import Traits
from specsim.drafters.trees import DynamicTree


@dataclass(frozen=True, kw_only=True, slots=True)
class Eagle3(TreeEagle):
    """One layer on fused features of three layers, with a head over the most frequent tokens.

    Parameters
    ----------
    tree : DynamicTree or None
        None drafts a chain.
    vocabulary : int
        Tokens that it can draft, at most the target's [1].

    Notes
    -----
    Li et al. (arXiv 2503.01840). The layer's attention reads feature and embedding side by side, 2 d numbers; three
    features are fused by a matrix 3 d to d. 32000 tokens are what published heads draft from.

    Examples
    --------
    >>> from specsim.catalog import model
    >>> round(Eagle3().model(model("Llama-3.1-8B")).parameters / 1e6)
    425
    """

    tree: DynamicTree | None = None
    vocabulary: int = 32_000
    name: str = "eagle3"
    traits: ClassVar[Traits] = Traits(
        q="one_hot",
        dependence="autoregressive",
        runs_on="accelerator",
        trained=True,
        note="a tree is chosen by confidence, so its tokens must be no draws",
    )

    @classmethod
    def default(cls, target: ModelShape) -> Eagle3:
        """A chain over 32000 tokens, or all where there are fewer."""
        return cls(vocabulary=min(cls().vocabulary, target.vocabulary))

    def model(self, target: ModelShape) -> ModelShape:
        """One layer, twice as wide where it attends, the fusing matrix, and its own head."""
        return fused_head(target, name=self.name, layers=1, vocabulary=self.vocabulary)

"""Draft & Verify: the target drafts with some of its layers left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specsim.catalog import ModelShape
from specsim.drafters.method import Traits
from specsim.drafters.own_layers import OwnLayers


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftVerify(OwnLayers):
    """Draft & Verify: skip layers that were searched for, then run the whole model.

    Notes
    -----
    Zhang et al. (arXiv 2309.08168). A share of half is assumed; theirs comes from a search for each model.

    Examples
    --------
    >>> from specsim.catalog import model
    >>> DraftVerify().model(model("Llama-3.1-8B")).layers
    16
    """

    share: float = 0.5
    name: str = "draft_verify"
    traits: ClassVar[Traits] = Traits(q="full", dependence="autoregressive", runs_on="accelerator", trained=False)

    @classmethod
    def default(cls, target: ModelShape) -> DraftVerify:
        """Half of the layers."""
        return cls()

"""Multi-token prediction modules as in DeepSeek-V3: one more layer of the target, run again for each draft."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from specsim.catalog import ModelShape
from specsim.checks import IntArray
from specsim.drafters import shapes
from specsim.drafters.method import DraftMethod, Traits
from specsim.roofline import Count


@dataclass(frozen=True, kw_only=True, slots=True)
class MultiTokenPrediction(DraftMethod):
    """A layer of the target's own kind, with experts where the target has them, that drafts recursively.

    Notes
    -----
    DeepSeek-AI (arXiv 2412.19437), section 2.2. Hidden state and next embedding are joined by a matrix 2 d to d;
    embedding and head are the target's. The layer of DeepSeek-V3 has 11.5 billion
    parameters, as published, and 11.6 with that matrix. It was
    trained to draft one token; deeper drafts run it again on its own output.

    Examples
    --------
    >>> from specsim.catalog import model
    >>> round(MultiTokenPrediction().model(model("DeepSeek-V3")).parameters / 1e9, 1)
    11.6
    """

    name: str = "mtp"
    traits: ClassVar[Traits] = Traits(q="full", dependence="autoregressive", runs_on="accelerator", trained=True)

    @classmethod
    def default(cls, target: ModelShape) -> MultiTokenPrediction:
        """One module."""
        return cls()

    def model(self, target: ModelShape) -> ModelShape:
        """One layer like the target's last, and the joining matrix."""
        joined = shapes.matrix(target, part="other", outputs=target.hidden, inputs=2 * target.hidden)
        return replace(
            target,
            name=f"{self.name} of {target.name}",
            layers=1,
            experts=replace(target.experts, layers=1) if target.experts else None,
            linear=None,
            window=0,
            window_layers=0,
            others=(joined,),
            shared=("embedding", "lm_head"),
        )

    def passes(self, gamma: Count) -> IntArray:
        """One for each draft [1]."""
        return self.depths(gamma)

    def first_pass_tokens(self, gamma: Count) -> IntArray:
        """What was committed, whose true hidden states it takes in, padded to the longest [1]."""
        return np.asarray(self.depths(gamma) + 1)

"""A model of its own that drafts one token per pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from specsim import catalog
from specsim.catalog import ModelShape
from specsim.checks import IntArray
from specsim.drafters.method import DraftMethod, Traits, same_vocabulary
from specsim.errors import InputError
from specsim.roofline import Count


@dataclass(frozen=True, kw_only=True, slots=True)
class Independent(DraftMethod):
    """A smaller model with the target's vocabulary.

    Notes
    -----
    Leviathan et al. (arXiv 2211.17192) found models of about a hundredth of the target's size best. After a round whose
    drafts were all accepted, the first pass has one more token to read; it is charged in every round, for in a batch
    some sequence is nearly always in that case.

    Examples
    --------
    >>> from specsim.catalog import model
    >>> Independent.default(model("Llama-3.1-70B")).draft.name
    'Llama-3.2-1B'
    """

    draft: ModelShape
    name: str = "model"
    traits: ClassVar[Traits] = Traits(q="full", dependence="autoregressive", runs_on="accelerator", trained=False)

    @classmethod
    def default(cls, target: ModelShape) -> Independent:
        """The smallest model of the catalogue with as large a vocabulary."""
        return cls(draft=smallest_relative(target))

    def model(self, target: ModelShape) -> ModelShape:
        """The draft model; a vocabulary of another size is refused."""
        return same_vocabulary(target, self.draft)

    def passes(self, gamma: Count) -> IntArray:
        """One for each draft [1]."""
        return self.depths(gamma)

    def first_pass_tokens(self, gamma: Count) -> IntArray:
        """One to catch up on and one to draft from [1]."""
        return np.asarray(self.pass_tokens(gamma) + 1)


def smallest_relative(target: ModelShape) -> ModelShape:
    """The smallest model of the catalogue with the target's number of tokens, of the target's family if there is one.

    Raises
    ------
    InputError
        There is none.
    """
    shapes = map(catalog.model, catalog.model_names())
    related = [
        shape for shape in shapes if shape.vocabulary == target.vocabulary and shape.parameters < target.parameters
    ]
    if not related:
        raise InputError(f"no smaller model of the catalogue has the {target.vocabulary} tokens of {target.name}")
    family = target.name.split("-")[0]
    return min(related, key=lambda shape: (shape.name.split("-")[0] != family, shape.parameters))

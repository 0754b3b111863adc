"""Cases of a package that runs models of its own: held to an uncached pass of the same model over the whole text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from specsim.conformance import Decoder, Verdict, plan
from validation.claims.engines.checking import check_at
from validation.conformance.hf import TeacherForcing

ROUNDING = 1e-5
"""Total variation between two ways to compute float32 laws of a small network."""


class OwnModel:
    """A function from ids (B, L) to logits (B, L, V) in the shape that `TeacherForcing` asks for."""

    device = torch.device("cpu")

    def __init__(self, logits: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self.logits = logits

    def __call__(self, ids: torch.Tensor, **_: Any) -> Any:
        """Logits of right-padded texts; a causal model does not see the padding."""
        return SimpleNamespace(logits=self.logits(ids))


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnRun:
    """A run of a decoder on a model of its own, for `Case.run`.

    Parameters
    ----------
    make : callable
        Returns the decoder and what `TeacherForcing` takes as its target.
    vocabulary : int
        V [1].
    temperature : float
        Of all requests [1].
    is_seeded : bool
        Whether a request's text hangs on its seed alone.
    prompts : sequence or None
        Instead of random ones; the first four are asked over and over.
    """

    make: Callable[[], tuple[Decoder, Any]]
    vocabulary: int
    temperature: float
    is_seeded: bool = True
    prompts: Sequence[Sequence[int]] | None = None

    def __call__(self, tokens: int, seed: int) -> Verdict:
        decoder, target = self.make()
        asked = plan(
            vocabulary=self.vocabulary,
            tokens=tokens,
            prompts=self.prompts,
            seed=seed,
            tolerance=ROUNDING,
            is_seeded=self.is_seeded,
        )
        return check_at(self.temperature, decoder, TeacherForcing(target), asked, margin=100 * ROUNDING)


def prompts_with_shared_beginnings(vocabulary: int, *, shared: int, seed: int = 0) -> list[list[int]]:
    """Prompts half of which begin alike for `shared` tokens, and end in up to 8 tokens of their own.

    Examples
    --------
    >>> made = prompts_with_shared_beginnings(8, shared=16)
    >>> made[0][:16] == made[2][:16] != made[1][:16]
    True
    """
    rng = np.random.default_rng(seed)
    common = rng.integers(vocabulary, size=shared)
    made = []
    for number in range(64):
        begins = rng.integers(vocabulary, size=shared) if number % 2 else common
        made.append([*begins.tolist(), *rng.integers(vocabulary, size=rng.integers(1, 9)).tolist()])
    return made

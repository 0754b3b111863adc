"""How far apart one-token and verifying passes are, in bfloat16 and in float32."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from specsim import checks
from specsim.checks import FloatArray
from specsim.distributions import softmax, total_variation
from validation.claims.protocol import ClaimResult, Control, Settings, certain, verdict

if TYPE_CHECKING:  # so that claims can be listed without torch
    from validation.decoder.language_model import LanguageModel

DTYPES = ("float32", "bfloat16")


@dataclass(frozen=True, kw_only=True, slots=True)
class Bfloat16Gap:
    """The law of a verifying pass is that of one-token passes in float32; the gap in bfloat16 is reported beside it.

    Parameters
    ----------
    tokens : int
        Tokens per prompt that are scored both ways, times the budget [1].
    tolerance : float
        Largest total variation allowed in float32 [1].

    Notes
    -----
    The last tokens of each prompt are scored one by one, as plain decoding does, and in one pass, as verification
    does. Rounding makes the two laws differ; a lossless rule cannot be closer to plain decoding than that. Only
    float32 is judged: gaps in bfloat16 (SmolLM2-135M: 0.01 on average, 0.05 at most) are the format's, not the
    decoder's. The control compares rows that are one place apart.
    """

    tokens: int = 8
    tolerance: float = 1e-4
    name: ClassVar[str] = "bfloat16_gap"

    def __post_init__(self) -> None:
        checks.integer("tokens", self.tokens, low=1)
        checks.positive("tolerance", self.tolerance)

    def run(self, settings: Settings) -> ClaimResult:
        """Score the prompts both ways in both formats."""
        from validation.claims.workbench import open_workbench

        bench = open_workbench(settings)
        size = settings.scaled(self.tokens, least=2)
        gaps = {}
        for place, dtype in enumerate(DTYPES, start=1):
            model = _in_dtype(bench.loaded.model, dtype)
            gaps[dtype] = np.concatenate([gap(model, prompt, tokens=size) for prompt in bench.prompts])
            settings.progress(place / len(DTYPES))
        worst = float(gaps["float32"].max())
        control = _control(_in_dtype(bench.loaded.model, "float32"), bench.prompts[0], tokens=size, claim=self)
        result = certain(self.name, holds=worst <= self.tolerance, n=gaps["float32"].size, statistic=worst)
        means = {dtype: float(values.mean()) for dtype, values in gaps.items()}
        return ClaimResult(
            test=self.name,
            model=bench.loaded.name,
            n=result.n,
            unit="positions",
            pvalue=result.pvalue,
            level=settings.level,
            verdict=verdict(result, level=settings.level, controls=[control]),
            statistic=worst,
            controls=(control,),
            figures={
                **{f"mean_total_variation_{dtype}": mean for dtype, mean in means.items()},
                **{f"largest_total_variation_{dtype}": float(values.max()) for dtype, values in gaps.items()},
            },
            detail=", ".join(f"mean TV {mean:.2g} in {dtype}" for dtype, mean in means.items()),
        )


def gap(model: LanguageModel, prompt: Sequence[int], *, tokens: int) -> FloatArray:
    """Total variation between the two laws after each of the last `tokens` tokens of `prompt`, shape (N,) [1].

    Examples
    --------
    >>> from validation.decoder.table_model import TableModel
    >>> gap(TableModel([[0.5, 0.5], [0.9, 0.1]]), [0, 1, 1, 0], tokens=2).tolist()
    [0.0, 0.0]
    """
    return np.asarray(total_variation(*both_ways(model, prompt, tokens=tokens)))


def both_ways(model: LanguageModel, prompt: Sequence[int], *, tokens: int) -> tuple[FloatArray, FloatArray]:
    """Laws after each of the last `tokens` tokens: by one-token passes, and by one pass; shape (N, V) each [1]."""
    first = max(1, len(prompt) - tokens)
    alone = [model.score([token], keep=1) for token in _after(model, prompt, first=first)]
    together = model.score(_after(model, prompt, first=first))
    return softmax(np.concatenate(alone).astype(np.float64)), softmax(together.astype(np.float64))


def _control(model: LanguageModel, prompt: Sequence[int], *, tokens: int, claim: Bfloat16Gap) -> Control:
    """A verifying pass whose rows are one place late."""
    alone, together = both_ways(model, prompt, tokens=tokens)
    caught = bool(total_variation(alone[1:], together[:-1]).max() > claim.tolerance)
    return Control(fault="rows one place late", n=len(alone) - 1, pvalue=float(not caught), caught=caught)


def _after(model: LanguageModel, prompt: Sequence[int], *, first: int) -> list[int]:
    """Cache the prompt up to `first` in one pass, and hand over the rest."""
    model.truncate(0)
    model.score(prompt[:first], keep=1)
    return list(prompt[first:])


def _in_dtype(hf_model: Any, dtype: str) -> LanguageModel:
    """The model's weights in another format, the model itself untouched."""
    import torch

    from validation.decoder.model import CachedModel

    kind = getattr(torch, dtype)
    return CachedModel(hf_model if hf_model.dtype == kind else copy.deepcopy(hf_model).to(kind))

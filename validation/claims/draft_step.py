"""Seconds of a drafter's step against the layers that it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from validation.claims.fitting import fit, timed, timed_rows
from validation.claims.pass_seconds import prefilled, reader
from validation.claims.prediction import control, predicted
from validation.claims.protocol import ClaimResult, LeftOutError, Settings

REPEATS = 9
FITTED_SHARES = (0.1, 0.5, 1.0)
HELD_OUT_SHARES = (0.2, 0.3, 0.4, 0.7)
"""Of the target's layers; layers that were fitted at are left out."""
FITTED_CONTEXTS = {"cpu": (32, 384), "cuda": (128, 4096)}
HELD_OUT_CONTEXTS = {"cpu": (128, 256), "cuda": (512, 2048)}
KINDS = ("early exit", "draft verify")


class Step(NamedTuple):
    """One token through `layers` of the target's, `context` tokens cached."""

    kind: str
    layers: int
    context: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftStep:
    """A drafter that runs some of the target's layers takes a fixed time and a time for each of them.

    Notes
    -----
    seconds = fixed + layers (layer + context cached): embedding, norm, head and the way of the logits to the host do
    not shrink with the layers. Fitted to early exits, it has to hold for other depths, other contexts, and for layers
    left out in between. Which steps are fitted to is fixed beforehand; all are timed in turn, so that a machine that
    changes its speed does so for all of them. The fault is to forget that drafters are smaller: a step at the price of
    the target's.
    """

    name: ClassVar[str] = "draft_step"

    def run(self, settings: Settings) -> ClaimResult:
        """Time all steps in turn, fit to those of some depths, and compare what that says of the others."""
        from validation.claims.speculation import open_target, planted

        loaded = open_target(settings, is_timed=True)
        total = int(loaded.model.config.get_text_config(decoder=True).num_hidden_layers)
        device = loaded.model.device.type
        fitted_layers, held_out_layers = depths(total)
        limit = int(loaded.model.config.get_text_config(decoder=True).max_position_embeddings)
        known, others = contexts(device, limit=limit)
        fitted = [Step("early exit", layers, context) for layers in fitted_layers for context in known]
        held_out = [Step(kind, layers, context) for kind in KINDS for layers in held_out_layers for context in others]
        seconds, drift = _timed(loaded.model, [*fitted, *held_out], settings, known=fitted)
        seen, measured = ({step: seconds[step] for step in steps} for steps in (fitted, held_out))
        found = fit(_features(fitted), np.array(list(seen.values())))
        foretold = dict(zip(measured, (_features(list(measured)) @ found.coefficients).tolist(), strict=True))
        rows = timed_rows("step_seconds", foretold, measured, found=found, drift=drift, repeats=_repeats(settings))
        whole = float(np.mean([seconds for step, seconds in seen.items() if step.layers == total]))
        fixed, layer, cached = found.coefficients.tolist()
        return predicted(
            self.name,
            rows,
            model=loaded.name,
            settings=settings,
            controls=[
                control("a step at the price of the target's", planted(rows, lambda row: whole), level=settings.level)
            ],
            figures={"fixed_seconds": fixed, "layer_seconds": layer, "cached_seconds": cached, "spread": found.spread},
            also=[step._asdict() | {"quantity": "step_seconds", "fitted_to": taken} for step, taken in seen.items()],
        )


def depths(total: int) -> tuple[list[int], list[int]]:
    """Layers to fit to and layers to hold out, of a model with `total` of them.

    Raises
    ------
    LeftOutError
        Too few layers to hold any out.

    Examples
    --------
    >>> depths(30)
    ([3, 15, 30], [6, 9, 12, 21])
    >>> depths(4)
    ([1, 2, 4], [3])
    """
    if total < 4:
        raise LeftOutError(f"layers of the target must be at least 4, got {total}")
    fitted = {max(1, round(share * total)) for share in FITTED_SHARES}
    held_out = {max(2, round(share * total)) for share in HELD_OUT_SHARES}  # the first and the last are never skipped
    return sorted(fitted), sorted(held_out - fitted)


def contexts(device: str, *, limit: int) -> tuple[list[int], list[int]]:
    """Cached tokens to fit to and to hold out, all scaled down alike where a target's context is too short for them.

    Raises
    ------
    LeftOutError
        A context in which they cannot be told apart.

    Examples
    --------
    >>> contexts("cuda", limit=8192), contexts("cuda", limit=2048)
    (([128, 4096], [512, 2048]), ([63, 2047], [255, 1023]))
    """
    wanted = FITTED_CONTEXTS[device], HELD_OUT_CONTEXTS[device]
    if limit < 64:
        raise LeftOutError(f"context of the target must be at least 64, got {limit}")
    scale = min(1.0, (limit - 1) / max(map(max, wanted)))
    fitted, held_out = ([int(scale * context) for context in each] for each in wanted)
    return fitted, held_out


def _features(steps: Sequence[Step]) -> Any:
    return np.array([(1, step.layers, step.layers * step.context) for step in steps], dtype=np.float64)


def _timed(
    hf_model: Any, steps: Sequence[Step], settings: Settings, *, known: Sequence[Step]
) -> tuple[dict[Step, float], float]:
    """Median seconds of every step, and how far the machine wandered."""
    actions = {}
    for step in steps:
        model, text = prefilled(_drafter(hf_model, step), batch=1, context=step.context, seed=settings.seed)
        actions[step] = reader(model, text[:1], batch=1, context=step.context)
    return timed(actions, known=known, repeats=_repeats(settings), seed=settings.seed, progress=settings.progress)


def _drafter(hf_model: Any, step: Step) -> Any:
    """The target with some of its layers; an early exit of all is the target itself."""
    from validation.decoder.layers import early_exit, skip_layers
    from validation.decoder.proposers.draft_verify import evenly

    if step.kind == "early exit":
        return early_exit(hf_model, layers=step.layers)
    total = hf_model.config.get_text_config(decoder=True).num_hidden_layers
    return skip_layers(hf_model, skip=evenly(total, share=1 - step.layers / total))


def _repeats(settings: Settings) -> int:
    return settings.scaled(REPEATS, least=3)

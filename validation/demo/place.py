"""The measured acceptance carried over to GPUs of the catalogue: speedup against batch, and the crossover."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from specsim.calibrate import Calibration
from specsim.catalog import Hardware, ModelShape, hardware, model
from specsim.drafters import Drafter, Eagle1, ModelDrafter, PlacedDrafter
from specsim.memory import memory
from specsim.roofline import Efficiency, Roofline
from specsim.scenario import Scenario
from specsim.speedup import best_gamma, crossover_batch, speedup, tokens_per_second
from validation.decoder.proposers.early_exit import SHARE
from validation.demo.bench import EARLY_EXIT, HEAD, LOOKUP

GPUS = ("H100-SXM", "H200-SXM")
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
CONTEXT = 1024
MODEL = "Llama-3.1-8B"
ASSUMPTION = (
    f"placement: acceptance as measured here on the demo's model carried over to {MODEL} at {CONTEXT} tokens of "
    "context, up to the batch that fits into memory; the head is one layer of that model, an early exit the same share "
    "of layers; lookup takes the host as long as here; expected passes follow laws fitted to measured kernels, with an "
    "assumed host time"
)


Rows = list[dict[str, Any]]


def place(calibrations: Mapping[str, Calibration], *, max_gamma: int) -> tuple[Rows, Rows]:
    """Speedup against batch, and the crossover batch, per GPU, drafter and efficiency.

    Each drafter runs at the gamma that is best for it at batch 1, at most `max_gamma`: no further than its acceptance
    was measured.

    Returns
    -------
    curves, crossovers
        Rows as the report's charts document them.
    """
    curves, crossovers = [], []
    for gpu in map(hardware, GPUS):
        largest = _largest_batch(gpu, model(MODEL))
        for kind, efficiency in (("ideal", Efficiency.ideal()), ("expected", Efficiency.default(gpu))):
            target = Roofline(model=model(MODEL), hardware=gpu, efficiency=efficiency)
            for proposer, scenario in _scenarios(calibrations, target, max_gamma=max_gamma):
                key = {
                    "hardware": gpu.name,
                    "model": MODEL,
                    "proposer": proposer,
                    "gamma": scenario.gamma,
                    "efficiency": kind,
                }
                curves += [key | _point(replace(scenario, batch=batch)) for batch in BATCHES if batch <= largest]
                last = crossover_batch(scenario, max_batch=largest)
                crossovers.append(key | {"crossover_batch": last, "best_speedup": speedup(scenario)})
    return curves, crossovers


def _largest_batch(gpu: Hardware, shape: ModelShape) -> int:
    """Sequences whose cache fits beside the weights [1]."""
    return memory(shape, hardware=gpu, context=CONTEXT).max_batch


def _scenarios(
    calibrations: Mapping[str, Calibration], target: Roofline, *, max_gamma: int
) -> Iterator[tuple[str, Scenario]]:
    for proposer, calibration in calibrations.items():
        drafter = _drafter(proposer, calibration, target)
        if drafter is not None:
            scenario = Scenario(
                target=target, drafter=drafter, acceptance=calibration.acceptance, gamma=1, context=CONTEXT
            )
            yield proposer, replace(scenario, gamma=max(1, best_gamma(scenario, max_gamma=max_gamma)))


def _drafter(proposer: str, calibration: Calibration, target: Roofline) -> Drafter | None:
    """What the drafter is on a GPU; None for others: a bfloat16 copy is the target itself there."""
    if proposer == LOOKUP:
        return calibration.drafter
    if proposer == HEAD:
        return PlacedDrafter(method=Eagle1(), target=target.model, cost_of=lambda shape: replace(target, model=shape))
    if proposer == EARLY_EXIT:
        shallow = target.model.first_layers(round(SHARE * target.model.layers))
        return ModelDrafter(name=proposer, passes=replace(target, model=shallow))
    return None


def _point(scenario: Scenario) -> dict[str, float]:
    rate = tokens_per_second(scenario)
    return {
        "batch": scenario.batch,
        "speedup": speedup(scenario),
        "tokens_per_second": rate,
        "tokens_per_second_per_user": rate / scenario.batch,
    }

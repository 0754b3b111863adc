"""The controls: what they can be set to, and where they stand when the page opens."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from reports.controls import Control
from reports.pages.calculator.machines import BATCHES, CONTEXTS
from reports.pages.calculator.ways import MAX_GAMMA, OWN
from specsim import checks

DRAFTER = "eagle3"


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """Where the controls stand when the page opens.

    Parameters
    ----------
    model, hardware, drafter : str, optional
        Of the places and of `ways.ways`; the first place, and EAGLE-3 as a chain, where not given.
    alpha, error : float, optional
        Acceptance of the first draft and one standard deviation of it; the published ones where not given [1].
    decay : float
        Factor by which acceptance falls with each further draft [1].
    c : float
        Of a drafter that is a share of the target's step [1].
    gamma, batch, context : int
        Drafted tokens, sequences, tokens cached in each; batch and context go to the nearest that the page offers [1].
    price : float
        Of an accelerator for an hour.
    """

    model: str | None = None
    hardware: str | None = None
    drafter: str = DRAFTER
    alpha: float | None = None
    error: float | None = None
    decay: float = 1.0
    c: float = 0.05
    gamma: int = 4
    batch: int = 8
    context: int = 4096
    price: float = 2.5


def opening(stored: dict[str, Any], start: Start, *, model: str) -> dict[str, Any]:
    """Values of all controls at the start; `model` where the start names none."""
    model = checks.one_of("model", start.model or model, stored["machines"])
    machines = stored["machines"][model]
    ways = stored["drafters"][model]
    way = ways[checks.one_of("drafter", start.drafter, ways)]
    return {
        **asdict(start),
        "model": model,
        "hardware": checks.one_of("hardware", start.hardware or next(iter(machines)), machines),
        "alpha": way["alpha"] if start.alpha is None else checks.probability("alpha", start.alpha),
        "error": way["error"] if start.error is None else checks.probability("error", start.error),
        "batch": _nearest(BATCHES, start.batch),
        "context": _nearest(CONTEXTS, start.context),
    }


def controls(stored: dict[str, Any], scene: dict[str, Any]) -> Iterable[Control]:
    ways = {key: way for listed in stored["drafters"].values() for key, way in listed.items()}
    hardware = list(dict.fromkeys(name for machines in stored["machines"].values() for name in machines))
    chains = [key for key, way in ways.items() if not way["nodes"]]
    presets = {key: {"alpha": way["alpha"], "error": way["error"]} for key, way in ways.items()}

    def control(parameter: str, text: str, **options: Any) -> Control:
        return Control(parameter=parameter, label=text, value=scene[parameter], **options)

    yield control("model", "target model", options=list(stored["machines"]))
    yield control("hardware", "accelerators", options=hardware)
    yield control("drafter", "drafter", options=list(ways), presets=presets)
    yield control("c", "c, a draft in steps", high=0.5, step=0.005, only={"drafter": [OWN]})
    yield control("gamma", "γ, drafted tokens", low=1, high=MAX_GAMMA, step=1)
    yield control("alpha", "α, first draft accepted", low=0.05, high=0.99, step=0.001)
    yield control("decay", "δ, factor by depth", low=0.7, high=1.0, step=0.005, only={"drafter": chains})
    yield control("error", "± of α (one σ)", high=0.2, step=0.001)
    yield control("batch", "batch, sequences", stops={batch: f"{batch}" for batch in BATCHES})
    yield control("context", "context, tokens", stops={context: f"{context:,}" for context in CONTEXTS})
    yield control("price", "accelerator, price [$/h]", low=0.1, high=12, step=0.1)


def _nearest(stops: Sequence[int], value: int) -> int:
    return min(stops, key=lambda stop: abs(math.log(stop / max(value, 1))))

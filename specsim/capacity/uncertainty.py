"""How sure a predicted speedup is, and which input moves it most."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from specsim.acceptance import Acceptance
from specsim.capacity.variants import Assumed, Variant
from specsim.capacity.workload import Workload
from specsim.catalog import rank_vector
from specsim.checks import FloatArray
from specsim.placement import Placement

LEVEL = 0.95
DRAWS = 4000
SEED = 20_260


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """Ends of an interval, and its level [1]."""

    low: float
    high: float
    level: float = LEVEL


def speedup_interval(
    place: Placement, variant: Variant, assumed: Assumed, workload: Workload, *, gamma: int
) -> Interval:
    """Interval of a speedup from the errors of its parts.

    Notes
    -----
    Monte Carlo over independent log-normal errors: one common to all kernels, which cancels in the ratio as far as a
    round is made of the same kernels; one of the verifying pass and one of the drafter's passes alone, of the size that
    the fit's held-out error states; one of all that is paid whatever the size of a pass. Acceptance varies with the
    spread of its source, as a constant alpha on the logit scale. That the rest of the model may be wrong is not in it.
    """
    rng = np.random.default_rng(SEED)
    error = place.efficiency.kernel_error
    common, verify, draft = (np.exp(error * rng.standard_normal(DRAWS)) for _ in range(3))
    fixed = np.exp(place.efficiency.overhead_error * rng.standard_normal(DRAWS))
    asked = {"gamma": gamma, "batch": workload.batch, "context": workload.context}
    whole = place.rates(variant.method, acceptance=variant.acceptance, **asked)
    kernels = _without_overhead(place).rates(variant.method, acceptance=variant.acceptance, **asked)
    plain = common * kernels.plain_seconds + fixed * (whole.plain_seconds - kernels.plain_seconds)
    rounds = common * (verify * kernels.verify_seconds + draft * kernels.draft_seconds)
    rounds = rounds + fixed * (whole.round_seconds - kernels.round_seconds)
    speedups = accepted_tokens(variant, assumed, gamma=gamma, rng=rng) * plain / rounds
    low, high = np.quantile(speedups, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(low=float(low), high=float(high))


def _without_overhead(place: Placement) -> Placement:
    """The same without all that a pass pays whatever its size."""
    kernels = replace(place.efficiency, overhead_seconds=0.0, layer_seconds=0.0, all_reduce_seconds=0.0)
    return replace(place, efficiency=kernels)


def accepted_tokens(variant: Variant, assumed: Assumed, *, gamma: int, rng: np.random.Generator) -> FloatArray:
    """Draws of the tokens per round [1]."""
    proposed = variant.method.proposed_survival(gamma)
    if not assumed.error:
        return np.full(DRAWS, 1 + float(proposed @ variant.acceptance.survival(gamma)))
    alpha = np.clip(assumed.alpha, 1e-3, 1 - 1e-3)
    spread = assumed.error / (alpha * (1 - alpha))
    logits = np.log(alpha / (1 - alpha)) + spread * np.linspace(-3, 3, 25)
    tokens = [1 + float(proposed @ with_alpha(variant, 1 / (1 + np.exp(-x))).survival(gamma)) for x in logits]
    draws = np.clip(rng.standard_normal(DRAWS), -3, 3)
    return np.interp(draws, np.linspace(-3, 3, 25), tokens)


def with_alpha(variant: Variant, alpha: float) -> Acceptance:
    """The variant's law with another acceptance of the first draft: constant, or by rank in a tree."""
    nodes = variant.method.tree_nodes
    if nodes:
        return Acceptance.tree(rank_vector(alpha), nodes=nodes)
    return Acceptance.constant(alpha)

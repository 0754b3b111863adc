"""Capacity planning: which drafter, how deep, on how many accelerators, with what certainty."""

from specsim.capacity.candidate import PLAIN, Candidate
from specsim.capacity.paste import Pasted, engine_settings
from specsim.capacity.plan import OBJECTIVES, Plan, plan
from specsim.capacity.schedule import gamma_schedule
from specsim.capacity.sensitivity import Sensitivity, sensitivities
from specsim.capacity.uncertainty import Interval, speedup_interval
from specsim.capacity.variants import Assumed, Variant, assumed_acceptance, variants
from specsim.capacity.workload import Workload

__all__ = [
    "OBJECTIVES",
    "PLAIN",
    "Assumed",
    "Candidate",
    "Interval",
    "Pasted",
    "Plan",
    "Sensitivity",
    "Variant",
    "Workload",
    "assumed_acceptance",
    "engine_settings",
    "gamma_schedule",
    "plan",
    "sensitivities",
    "speedup_interval",
    "variants",
]

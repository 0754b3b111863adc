"""Seconds of one forward pass: the roofline with fitted losses, or a staircase of measured points."""

from specsim.roofline.efficiency import ASSUMED, Efficiency
from specsim.roofline.experts import expected_distinct_experts
from specsim.roofline.protocol import Count, PassCost, Seconds
from specsim.roofline.staircase import Staircase
from specsim.roofline.step import (
    Roofline,
    pass_bytes,
    pass_flop,
    ridge_tokens,
    soft_maximum,
    step_seconds,
    weight_read_seconds,
)

__all__ = [
    "ASSUMED",
    "Count",
    "Efficiency",
    "PassCost",
    "Roofline",
    "Seconds",
    "Staircase",
    "expected_distinct_experts",
    "pass_bytes",
    "pass_flop",
    "ridge_tokens",
    "soft_maximum",
    "step_seconds",
    "weight_read_seconds",
]

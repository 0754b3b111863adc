"""Seconds of one forward pass: the roofline with fitted losses, or a staircase of measured points."""

from specsim.roofline.blocks import by_block
from specsim.roofline.efficiency import ASSUMED, Efficiency
from specsim.roofline.experts import expected_distinct_experts
from specsim.roofline.fitted import fitted_names, kernel_laws
from specsim.roofline.limits import all_reduce_seconds, ridge_tokens, soft_maximum, weight_read_seconds
from specsim.roofline.protocol import Count, PassCost, Seconds
from specsim.roofline.staircase import Staircase
from specsim.roofline.step import Roofline, step_seconds
from specsim.roofline.work import Work, cache_work, kernel_work, pass_bytes, pass_flop, token_work

__all__ = [
    "ASSUMED",
    "Count",
    "Efficiency",
    "PassCost",
    "Roofline",
    "Seconds",
    "Staircase",
    "Work",
    "all_reduce_seconds",
    "by_block",
    "cache_work",
    "expected_distinct_experts",
    "fitted_names",
    "kernel_laws",
    "kernel_work",
    "pass_bytes",
    "pass_flop",
    "ridge_tokens",
    "soft_maximum",
    "step_seconds",
    "token_work",
    "weight_read_seconds",
]

"""Charts: functions from a tidy frame to an Altair chart; they compute nothing and read or write nothing.

Each function documents the columns it needs, refuses a frame without them by name, and returns a chart with a title,
axis units, tooltips and alternative text, in a light or a dark theme.
"""

from __future__ import annotations

from specsim.charts.acceptance import acceptance_by_depth
from specsim.charts.gain import gain_by_batch
from specsim.charts.gain_map import gain_by_batch_and_context
from specsim.charts.passes import pass_seconds_by_tokens
from specsim.charts.placement import speedup_by_batch
from specsim.charts.plan import drafters_by_speedup
from specsim.charts.predictions import predicted_against_measured
from specsim.charts.rounds import round_parts
from specsim.charts.sensitivity import speedup_sensitivity
from specsim.charts.speedup import speedup_by_gamma
from specsim.charts.step import pass_parts_by_tokens
from specsim.charts.uniformity import pit_histogram

CHARTS = {
    "acceptance_by_depth": acceptance_by_depth,
    "drafters_by_speedup": drafters_by_speedup,
    "gain_by_batch": gain_by_batch,
    "gain_by_batch_and_context": gain_by_batch_and_context,
    "pass_parts_by_tokens": pass_parts_by_tokens,
    "pass_seconds_by_tokens": pass_seconds_by_tokens,
    "pit_histogram": pit_histogram,
    "predicted_against_measured": predicted_against_measured,
    "round_parts": round_parts,
    "speedup_by_batch": speedup_by_batch,
    "speedup_by_gamma": speedup_by_gamma,
    "speedup_sensitivity": speedup_sensitivity,
}

__all__ = [
    "CHARTS",
    "acceptance_by_depth",
    "drafters_by_speedup",
    "gain_by_batch",
    "gain_by_batch_and_context",
    "pass_parts_by_tokens",
    "pass_seconds_by_tokens",
    "pit_histogram",
    "predicted_against_measured",
    "round_parts",
    "speedup_by_batch",
    "speedup_by_gamma",
    "speedup_sensitivity",
]

"""Charts: functions from a tidy frame to an Altair chart; they compute nothing and read or write nothing.

Each function documents the columns it needs, refuses a frame without them by name, and returns a chart with a title,
axis units, tooltips and alternative text, in a light or a dark theme.
"""

from __future__ import annotations

from specsim.charts.acceptance import acceptance_by_depth
from specsim.charts.agreement import measured_by_predicted, residuals_by_predicted
from specsim.charts.evidence import evidence_by_tokens
from specsim.charts.gain import gain_by_batch
from specsim.charts.gain_map import gain_by_batch_and_context, gain_by_batch_and_gamma
from specsim.charts.limits import pass_seconds_against_ideal
from specsim.charts.pareto import device_speed_by_user_speed
from specsim.charts.passes import pass_seconds_by_tokens
from specsim.charts.placement import speedup_by_batch
from specsim.charts.plan import drafters_by_speedup
from specsim.charts.power import power_by_total_variation
from specsim.charts.predictions import predicted_against_measured
from specsim.charts.ranks import observed_by_rank
from specsim.charts.rounds import round_parts
from specsim.charts.scores import scores_by_direction
from specsim.charts.sensitivity import speedup_sensitivity
from specsim.charts.serving import kept_by_load, latency_by_load
from specsim.charts.serving_speed import throughput_by_user_speed
from specsim.charts.serving_time import serving_over_time
from specsim.charts.speedup import speedup_by_gamma
from specsim.charts.step import pass_parts_by_tokens
from specsim.charts.tau import tokens_by_gamma
from specsim.charts.temperature import tokens_by_temperature
from specsim.charts.uniformity import pit_histogram

CHARTS = {
    "acceptance_by_depth": acceptance_by_depth,
    "device_speed_by_user_speed": device_speed_by_user_speed,
    "drafters_by_speedup": drafters_by_speedup,
    "evidence_by_tokens": evidence_by_tokens,
    "gain_by_batch": gain_by_batch,
    "gain_by_batch_and_context": gain_by_batch_and_context,
    "gain_by_batch_and_gamma": gain_by_batch_and_gamma,
    "kept_by_load": kept_by_load,
    "latency_by_load": latency_by_load,
    "measured_by_predicted": measured_by_predicted,
    "observed_by_rank": observed_by_rank,
    "pass_parts_by_tokens": pass_parts_by_tokens,
    "pass_seconds_against_ideal": pass_seconds_against_ideal,
    "pass_seconds_by_tokens": pass_seconds_by_tokens,
    "pit_histogram": pit_histogram,
    "power_by_total_variation": power_by_total_variation,
    "predicted_against_measured": predicted_against_measured,
    "residuals_by_predicted": residuals_by_predicted,
    "round_parts": round_parts,
    "scores_by_direction": scores_by_direction,
    "serving_over_time": serving_over_time,
    "speedup_by_batch": speedup_by_batch,
    "speedup_by_gamma": speedup_by_gamma,
    "speedup_sensitivity": speedup_sensitivity,
    "throughput_by_user_speed": throughput_by_user_speed,
    "tokens_by_gamma": tokens_by_gamma,
    "tokens_by_temperature": tokens_by_temperature,
}

__all__ = [
    "CHARTS",
    "acceptance_by_depth",
    "device_speed_by_user_speed",
    "drafters_by_speedup",
    "evidence_by_tokens",
    "gain_by_batch",
    "gain_by_batch_and_context",
    "gain_by_batch_and_gamma",
    "kept_by_load",
    "latency_by_load",
    "measured_by_predicted",
    "observed_by_rank",
    "pass_parts_by_tokens",
    "pass_seconds_against_ideal",
    "pass_seconds_by_tokens",
    "pit_histogram",
    "power_by_total_variation",
    "predicted_against_measured",
    "residuals_by_predicted",
    "round_parts",
    "scores_by_direction",
    "serving_over_time",
    "speedup_by_batch",
    "speedup_by_gamma",
    "speedup_sensitivity",
    "throughput_by_user_speed",
    "tokens_by_gamma",
    "tokens_by_temperature",
]

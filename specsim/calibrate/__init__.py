"""From rows back to models: acceptance, drafter, target pass, each with an interval; and plain measurements."""

from specsim.calibrate.calibration import Calibration, Prediction
from specsim.calibrate.estimate import Estimate
from specsim.calibrate.fit import calibrate
from specsim.calibrate.measured import measured_round_seconds, measured_speedup, measured_tau

__all__ = [
    "Calibration",
    "Estimate",
    "Prediction",
    "calibrate",
    "measured_round_seconds",
    "measured_speedup",
    "measured_tau",
]

"""What a draft costs and how many tokens it proposes, one drafter a file."""

from specsim.drafters.measured import MeasuredDrafter
from specsim.drafters.model import ModelDrafter
from specsim.drafters.protocol import Drafter
from specsim.drafters.ratio import RatioDrafter

DRAFTERS: dict[str, type[Drafter]] = {
    "measured": MeasuredDrafter,
    "model": ModelDrafter,
    "ratio": RatioDrafter,
}

__all__ = ["DRAFTERS", "Drafter", "MeasuredDrafter", "ModelDrafter", "RatioDrafter"]

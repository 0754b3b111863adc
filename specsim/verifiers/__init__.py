"""How drafted tokens are judged, one rule a file.

To add one: write its file, add its line to `VERIFIERS`, and give `tests/reference/exact_rules.py` its twin.
"""

from specsim.verifiers.block import Block
from specsim.verifiers.greedy import Greedy
from specsim.verifiers.gumbel import Gumbel
from specsim.verifiers.lenience import GreedyLenience, Lenience
from specsim.verifiers.noise import CoupledNoise
from specsim.verifiers.protocol import Verification, Verifier, at_position
from specsim.verifiers.rejection import Rejection
from specsim.verifiers.threshold import Threshold
from specsim.verifiers.typical import Typical

VERIFIERS: dict[str, Verifier] = {
    rule.name: rule
    for rule in (
        Greedy(),
        Rejection(),
        Gumbel(),
        Block(),
        Typical(),
        Lenience(),
        GreedyLenience(),
        Threshold(),
    )
}

__all__ = [
    "VERIFIERS",
    "Block",
    "CoupledNoise",
    "Greedy",
    "GreedyLenience",
    "Gumbel",
    "Lenience",
    "Rejection",
    "Threshold",
    "Typical",
    "Verification",
    "Verifier",
    "at_position",
]

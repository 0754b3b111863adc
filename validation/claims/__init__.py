"""Claims about the decoder: each predicts, measures on the real thing, and judges by `specsim.stats`.

To add one: write its file with a frozen dataclass that has `name` and `run(settings) -> ClaimResult`, and add its line
to `CLAIMS`. The first line of its docstring is its help.
"""

from validation.claims.bfloat16_gap import Bfloat16Gap
from validation.claims.greedy_equality import GreedyEquality
from validation.claims.lossless_model import LosslessModel
from validation.claims.lossless_rules import LosslessRules
from validation.claims.lossless_table import LosslessTable
from validation.claims.protocol import Claim, ClaimResult, Control, Settings, summary

CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for claim in (
        LosslessTable(),
        LosslessRules(),
        LosslessModel(),
        GreedyEquality(),
        Bfloat16Gap(),
    )
}

__all__ = [
    "CLAIMS",
    "Bfloat16Gap",
    "Claim",
    "ClaimResult",
    "Control",
    "GreedyEquality",
    "LosslessModel",
    "LosslessRules",
    "LosslessTable",
    "Settings",
    "summary",
]

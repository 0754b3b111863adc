"""Claims about the decoder: each predicts, measures on the real thing, and judges by `specsim.stats`.

To add one: write its file with a frozen dataclass that has `name` and `run(settings) -> ClaimResult`, and add its line
to `CLAIMS`. The first line of its docstring is its help.
"""

from validation.claims.acceptance_by_depth import AcceptanceByDepth
from validation.claims.argmax_or_sampled import ArgmaxOrSampled
from validation.claims.best_gamma import BestGamma
from validation.claims.bfloat16_gap import Bfloat16Gap
from validation.claims.block_or_token import BlockOrToken
from validation.claims.confidence_scheduler import ConfidenceScheduler
from validation.claims.crossover import Crossover
from validation.claims.draft_step import DraftStep
from validation.claims.greedy_equality import GreedyEquality
from validation.claims.iid_formula import IidFormula
from validation.claims.kl_or_tv import KlOrTv
from validation.claims.lossless_model import LosslessModel
from validation.claims.lossless_rules import LosslessRules
from validation.claims.lossless_table import LosslessTable
from validation.claims.pass_seconds import PassSeconds
from validation.claims.protocol import Claim, ClaimResult, Control, LeftOutError, Settings, summary
from validation.claims.quantised import Quantised
from validation.claims.round_seconds import RoundSeconds
from validation.claims.shared_exit import SharedExit
from validation.claims.speedup import Speedup
from validation.claims.tau import Tau
from validation.claims.temperature import Temperature
from validation.claims.tree_or_chain import TreeOrChain

CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for claim in (
        LosslessTable(),
        LosslessRules(),
        LosslessModel(),
        GreedyEquality(),
        Bfloat16Gap(),
        Tau(),
        IidFormula(),
        RoundSeconds(),
        Speedup(),
        BestGamma(),
        PassSeconds(),
        DraftStep(),
        SharedExit(),
        Crossover(),
        AcceptanceByDepth(),
        Temperature(),
        ArgmaxOrSampled(),
        BlockOrToken(),
        TreeOrChain(),
        Quantised(),
        KlOrTv(),
        ConfidenceScheduler(),
    )
}

__all__ = [
    "CLAIMS",
    "AcceptanceByDepth",
    "ArgmaxOrSampled",
    "BestGamma",
    "Bfloat16Gap",
    "BlockOrToken",
    "Claim",
    "ClaimResult",
    "ConfidenceScheduler",
    "Control",
    "Crossover",
    "DraftStep",
    "GreedyEquality",
    "IidFormula",
    "KlOrTv",
    "LeftOutError",
    "LosslessModel",
    "LosslessRules",
    "LosslessTable",
    "PassSeconds",
    "Quantised",
    "RoundSeconds",
    "Settings",
    "SharedExit",
    "Speedup",
    "Tau",
    "Temperature",
    "TreeOrChain",
    "summary",
]

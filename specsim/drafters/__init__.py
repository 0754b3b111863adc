"""How tokens are drafted, what that costs, and how many tokens it proposes, one way a file.

`METHODS` are ways of drafting apart from any machine; a `PlacedDrafter` is one of them for a target on a machine. The
other `DRAFTERS` need no method: costs as they were measured, or as a share of the target's.
"""

from specsim.drafters.dflash import DFlash
from specsim.drafters.draft_verify import DraftVerify
from specsim.drafters.dspark import DSpark
from specsim.drafters.eagle1 import Eagle1
from specsim.drafters.eagle2 import Eagle2
from specsim.drafters.eagle3 import Eagle3
from specsim.drafters.gloeckle import Gloeckle
from specsim.drafters.hydra import Hydra
from specsim.drafters.independent import Independent
from specsim.drafters.layer_skip import LayerSkip
from specsim.drafters.lookahead import Lookahead
from specsim.drafters.measured import MeasuredDrafter
from specsim.drafters.medusa import Medusa
from specsim.drafters.method import DraftMethod, Traits
from specsim.drafters.model import ModelDrafter
from specsim.drafters.mtp import MultiTokenPrediction
from specsim.drafters.ngram import NGram
from specsim.drafters.p_eagle import ParallelEagle
from specsim.drafters.pard import Pard
from specsim.drafters.placed import PlacedDrafter
from specsim.drafters.protocol import Drafter
from specsim.drafters.quantised import Quantised
from specsim.drafters.ratio import RatioDrafter
from specsim.drafters.rest import Rest
from specsim.drafters.sparse_kv import SparseKV
from specsim.drafters.suffix import SuffixTree
from specsim.drafters.trees import DynamicTree

DRAFTERS: dict[str, type[Drafter]] = {
    "measured": MeasuredDrafter,
    "model": ModelDrafter,
    "placed": PlacedDrafter,
    "ratio": RatioDrafter,
}

METHODS: dict[str, type[DraftMethod]] = {
    "model": Independent,
    "quantised": Quantised,
    "ngram": NGram,
    "suffix": SuffixTree,
    "rest": Rest,
    "lookahead": Lookahead,
    "draft_verify": DraftVerify,
    "layer_skip": LayerSkip,
    "sparse_kv": SparseKV,
    "medusa": Medusa,
    "hydra": Hydra,
    "eagle1": Eagle1,
    "eagle2": Eagle2,
    "eagle3": Eagle3,
    "mtp": MultiTokenPrediction,
    "gloeckle": Gloeckle,
    "pard": Pard,
    "p_eagle": ParallelEagle,
    "dflash": DFlash,
    "dspark": DSpark,
}

__all__ = [
    "DRAFTERS",
    "METHODS",
    "DFlash",
    "DSpark",
    "DraftMethod",
    "DraftVerify",
    "Drafter",
    "DynamicTree",
    "Eagle1",
    "Eagle2",
    "Eagle3",
    "Gloeckle",
    "Hydra",
    "Independent",
    "LayerSkip",
    "Lookahead",
    "MeasuredDrafter",
    "Medusa",
    "ModelDrafter",
    "MultiTokenPrediction",
    "NGram",
    "ParallelEagle",
    "Pard",
    "PlacedDrafter",
    "Quantised",
    "RatioDrafter",
    "Rest",
    "SparseKV",
    "SuffixTree",
    "Traits",
]

"""How likely drafts are to stand, by depth: `Acceptance`, its laws, how they are fitted, and where data come from.

Published "acceptance rates" mix several quantities; these are kept apart here. `conditional` is alpha_k, the
probability that draft k stands where 1..k-1 stood. `survival` is s_k, their running product, which serving engines
log per position. Accepted over drafted is `draft_utilisation`, and is neither. `conversions` goes between them.
"""

from specsim.acceptance.base import Acceptance
from specsim.acceptance.beta import BetaAcceptance
from specsim.acceptance.by_depth import BEYOND, DepthAcceptance
from specsim.acceptance.compare import Comparison, Prediction, compare
from specsim.acceptance.constant import ConstantAcceptance
from specsim.acceptance.conversions import (
    analytic_alpha,
    conditional_from_survival,
    constant_alpha_from_tokens,
    survival_from_conditional,
    tokens_from_survival,
    tokens_from_utilisation,
    utilisation_from_tokens,
)
from specsim.acceptance.counted import CountedAcceptance
from specsim.acceptance.data import Lengths
from specsim.acceptance.decay import DecayAcceptance
from specsim.acceptance.fit import FAMILIES, Fit, fit_law
from specsim.acceptance.markov import MarkovAcceptance
from specsim.acceptance.means import MeanLengths
from specsim.acceptance.server import ServerMetrics, from_llama_cpp, from_sglang, from_vllm, from_vllm_metrics
from specsim.acceptance.table import read_lengths
from specsim.acceptance.tree import TreeAcceptance

__all__ = [
    "BEYOND",
    "FAMILIES",
    "Acceptance",
    "BetaAcceptance",
    "Comparison",
    "ConstantAcceptance",
    "CountedAcceptance",
    "DecayAcceptance",
    "DepthAcceptance",
    "Fit",
    "Lengths",
    "MarkovAcceptance",
    "MeanLengths",
    "Prediction",
    "ServerMetrics",
    "TreeAcceptance",
    "analytic_alpha",
    "compare",
    "conditional_from_survival",
    "constant_alpha_from_tokens",
    "fit_law",
    "from_llama_cpp",
    "from_sglang",
    "from_vllm",
    "from_vllm_metrics",
    "read_lengths",
    "survival_from_conditional",
    "tokens_from_survival",
    "tokens_from_utilisation",
    "utilisation_from_tokens",
]

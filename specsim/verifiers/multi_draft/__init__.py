"""Several candidates for one token: how one of them is accepted, one rule a file, and the best that any rule can do."""

from specsim.verifiers.multi_draft.k_seq import KSeq
from specsim.verifiers.multi_draft.optimal import Optimal
from specsim.verifiers.multi_draft.optimum import optimum
from specsim.verifiers.multi_draft.protocol import NONE, MultiDraftVerification, MultiDraftVerifier
from specsim.verifiers.multi_draft.top_k import TopK
from specsim.verifiers.multi_draft.with_replacement import RecursiveWithReplacement
from specsim.verifiers.multi_draft.without_replacement import RecursiveWithoutReplacement

MULTI_DRAFT: dict[str, MultiDraftVerifier] = {
    rule.name: rule for rule in (RecursiveWithReplacement(), RecursiveWithoutReplacement(), KSeq(), Optimal(), TopK())
}

__all__ = [
    "MULTI_DRAFT",
    "NONE",
    "KSeq",
    "MultiDraftVerification",
    "MultiDraftVerifier",
    "Optimal",
    "RecursiveWithReplacement",
    "RecursiveWithoutReplacement",
    "TopK",
    "optimum",
]

"""All rules side by side on the same laws: what each would accept, and what it would do to the text."""

from specsim.comparison.candidates import CandidateAnswer, compare_candidates
from specsim.comparison.chains import ChainAnswer, compare_chains, full_information
from specsim.comparison.depths import DepthOverlap, compare_depths
from specsim.comparison.rows import Rows, read_rows

__all__ = [
    "CandidateAnswer",
    "ChainAnswer",
    "DepthOverlap",
    "Rows",
    "compare_candidates",
    "compare_chains",
    "compare_depths",
    "full_information",
    "read_rows",
]

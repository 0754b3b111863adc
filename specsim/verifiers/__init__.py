"""How drafted tokens are judged, one rule a file.

To add one: write its file, add its line to `VERIFIERS`, and give `tests/reference/exact_rules.py` its twin. Rules for
several candidates of one token are in `MULTI_DRAFT`, those for trees in `TREE_VERIFIERS`.
"""

from specsim.verifiers.block import Block
from specsim.verifiers.greedy import Greedy, greedy_path
from specsim.verifiers.gumbel import Gumbel
from specsim.verifiers.lazy_rows import LazyRows
from specsim.verifiers.lenience import GreedyLenience, Lenience
from specsim.verifiers.multi_draft import MULTI_DRAFT, MultiDraftVerifier
from specsim.verifiers.noise import CoupledNoise
from specsim.verifiers.protocol import Verification, Verifier, at_position
from specsim.verifiers.rejection import Rejection
from specsim.verifiers.stepwise import Stepwise
from specsim.verifiers.threshold import Threshold
from specsim.verifiers.traversal import Traversal
from specsim.verifiers.tree import TreeVerifier
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

TREE_VERIFIERS: dict[str, TreeVerifier] = {
    **{name: Stepwise(rule) for name, rule in MULTI_DRAFT.items()},
    Traversal.name: Traversal(),
}

__all__ = [
    "MULTI_DRAFT",
    "TREE_VERIFIERS",
    "VERIFIERS",
    "Block",
    "CoupledNoise",
    "Greedy",
    "GreedyLenience",
    "Gumbel",
    "LazyRows",
    "Lenience",
    "MultiDraftVerifier",
    "Rejection",
    "Stepwise",
    "Threshold",
    "Traversal",
    "TreeVerifier",
    "Typical",
    "Verification",
    "Verifier",
    "at_position",
    "greedy_path",
]

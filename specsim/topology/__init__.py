"""What is drafted in a round: chains and trees, their builders (one a file), and how many of their drafts stand.

Builders that know nothing but acceptance by rank give a `Topology`; those that propose something give a `DraftTree`,
whose values are the drafter's guesses.
"""

from specsim.topology.best_first import best_first
from specsim.topology.chain import chain
from specsim.topology.ddtree import ddtree
from specsim.topology.draft import DraftTree
from specsim.topology.eagle1 import eagle1
from specsim.topology.eagle2 import eagle2
from specsim.topology.layers import DraftRows
from specsim.topology.length import (
    TreeLength,
    acceptance_vector,
    positional_chances,
    positional_length,
    standing,
    standing_pmf,
    surrogate_length,
    target_length,
)
from specsim.topology.medusa import medusa
from specsim.topology.opt_tree import opt_tree
from specsim.topology.sequoia import optimal_tokens, sequoia
from specsim.topology.shape import ROOT, Topology
from specsim.topology.size import TreeSize, best_size

__all__ = [
    "ROOT",
    "DraftRows",
    "DraftTree",
    "Topology",
    "TreeLength",
    "TreeSize",
    "acceptance_vector",
    "best_first",
    "best_size",
    "chain",
    "ddtree",
    "eagle1",
    "eagle2",
    "medusa",
    "opt_tree",
    "optimal_tokens",
    "positional_chances",
    "positional_length",
    "sequoia",
    "standing",
    "standing_pmf",
    "surrogate_length",
    "target_length",
]

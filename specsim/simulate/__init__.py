"""Simulators; they write the rows that a real decoder writes."""

from specsim.simulate.play import DRAFTS, first_round_pmf, simulate_source, simulate_source_records
from specsim.simulate.rounds import simulate_accepted, simulate_records
from specsim.simulate.source import DepthSource, MarkovSource, TokenSource, read_source

__all__ = [
    "DRAFTS",
    "DepthSource",
    "MarkovSource",
    "TokenSource",
    "first_round_pmf",
    "read_source",
    "simulate_accepted",
    "simulate_records",
    "simulate_source",
    "simulate_source_records",
]

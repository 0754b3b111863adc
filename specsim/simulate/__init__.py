"""Simulators; they write the rows that a real decoder writes."""

from specsim.simulate.rounds import simulate_accepted, simulate_records

__all__ = ["simulate_accepted", "simulate_records"]

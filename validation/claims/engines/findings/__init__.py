"""Minimal reproductions of findings: each runs alone in its engine's environment and prints exact and measured laws."""

"""Pages that a person reads: built from outcomes and frames, self-contained, opened from disk without a network."""

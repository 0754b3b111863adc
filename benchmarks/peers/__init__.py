"""Other tools that `benchmarks.sweep` is compared with: each runs in its own process, with its own Python."""

"""Subcommands that `validation` adds to `specsim`."""

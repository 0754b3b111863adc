"""The command line: one subcommand per file; other packages add theirs through entry points."""

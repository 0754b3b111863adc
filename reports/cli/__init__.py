"""`specsim report`: pages for people; one subcommand per file, loaded when it is asked for."""

from __future__ import annotations

import click

from specsim.cli.main import Lazy

REPORTS = {
    "calculator": "reports.cli.calculator:calculator",
    "conformance": "reports.cli.conformance:conformance",
    "drafters": "reports.cli.drafters:drafters",
    "explained": "reports.cli.explained:explained",
    "gallery": "reports.cli.gallery:gallery",
    "index": "reports.cli.index:index",
    "serving": "reports.cli.serving:serving",
    "validation": "reports.cli.validation:validation",
}
"""Subcommands, each as "module:command"."""


@click.group(cls=Lazy, targets=lambda: REPORTS)
def report() -> None:
    """Pages to look at, each one file that opens from disk without a network."""

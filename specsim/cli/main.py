"""`specsim`: finds the subcommands and turns exceptions into one line and an exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module, metadata
from typing import Any, NoReturn

import click

from specsim import checks
from specsim.errors import InputError, SpecsimError

COMMANDS = {
    "tau": "specsim.cli.tau:tau",
    "accept": "specsim.cli.accept:accept",
    "fit": "specsim.cli.fit:fit",
    "tree": "specsim.cli.tree:tree",
    "catalog": "specsim.cli.catalog:catalog",
    "plan": "specsim.cli.plan:plan_command",
    "sweep": "specsim.cli.sweep:sweep_command",
    "step": "specsim.cli.step:step",
    "crossover": "specsim.cli.crossover:crossover",
    "simulate": "specsim.cli.simulate:simulate",
    "calibrate": "specsim.cli.calibrate:calibrate",
    "conform": "specsim.cli.conform:conform",
}
"""Subcommands of this package; loaded when asked for, so that `specsim tau` starts fast."""

INTERRUPTED = 130


class Lazy(click.Group):
    """A group whose members are loaded on first use.

    Parameters
    ----------
    targets : callable
        Gives "module:command" by name.
    """

    def __init__(self, *, targets: Callable[[], Mapping[str, str]], **options: Any) -> None:
        super().__init__(**options)
        self.targets = targets

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all subcommands."""
        return sorted(self.targets())

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The subcommand; an unknown name lists the known ones."""
        known = self.targets()
        return _load(name, known[checks.one_of("command", name, known)])


def _targets() -> dict[str, str]:
    """Subcommands of this package and of entry points."""
    return {**COMMANDS, **{point.name: point.value for point in metadata.entry_points(group="specsim.commands")}}


@click.group(
    cls=Lazy, targets=_targets, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(package_name="specsim", prog_name="specsim")
def specsim() -> None:
    """Should I speculate, with which drafter, how many tokens per round - and is my decoder still lossless?"""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 answered, 1 negative answer or failed check, 2 bad input, 3 internal."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        return int(specsim.main(args=list(arguments), prog_name="specsim", standalone_mode=False) or 0)
    except SpecsimError as error:
        click.echo(f"error: {error}", err=True)
        return error.exit_code
    except click.ClickException as error:
        message = error.format_message()  # the whole help where a group was given no command
        click.echo(message if message.startswith("Usage:") else f"error: {message}", err=True)
        return InputError.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stdout = None
        return 0
    except Exception:
        traceback.print_exc()
        click.echo("error: this is a bug in specsim; the lines above say where", err=True)
        return SpecsimError.exit_code


def _load(name: str, target: str) -> click.Command:
    module, _, attribute = target.partition(":")
    try:
        command = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise InputError(
            f"specsim {name} needs the package {error.name!r}: pip install 'specsim[validation,report]'"
        ) from error
    assert isinstance(command, click.Command)
    return command

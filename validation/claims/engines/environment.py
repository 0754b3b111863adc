"""Environments of engines: made once outside of this project, each with its engine and this checkout."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from specsim.cli.output import to_json
from specsim.errors import InputError, SpecsimError
from specsim.files import write_whole
from validation.claims.engines.protocol import Environment

ROOT = Path(__file__).resolve().parents[3]
"""Of this checkout."""
INSTALLED = "installed.json"


class InstallationError(SpecsimError):
    """An engine's environment could not be made; the message says why."""


def ready(name: str, environment: Environment, *, folder: Path, root: Path = ROOT) -> Path:
    """The environment's Python, made unless it is there and as the engine says.

    Parameters
    ----------
    name
        Of the engine.
    environment
        What it needs.
    folder
        Where environments are kept, one subfolder each.
    root
        Checkout to be installed with it, such that changes of its code count at once.

    Raises
    ------
    InputError
        `root` is no checkout.
    InstallationError
        pip failed, or there is no room; the folder is made anew the next time.
    """
    if not (root / "pyproject.toml").exists():
        raise InputError(f"engines must be run from a checkout of this project, found no pyproject.toml in {root}")
    place = folder / name
    python = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    said = to_json({"python": sys.version, "root": root, **asdict(environment)}, indent=1)
    stored = place / INSTALLED
    if stored.exists() and stored.read_text() == said:
        return python
    try:
        venv.create(place, clear=True, with_pip=True)
        for arguments in installations(environment, root):
            _install(python, arguments)
        write_whole(stored, said)
    except OSError as error:
        raise InstallationError(f"cannot make the environment {place}: {error.strerror or error}") from error
    return python


def installations(environment: Environment, root: Path) -> list[list[str]]:
    """Arguments of `pip install`, call by call.

    Examples
    --------
    >>> needs = Environment(requirements=("a==1",), packages=("a",), bare=("b",), extras=("http",))
    >>> installations(needs, Path("here"))
    [['a==1', '-e', 'here[http]'], ['--no-deps', 'b']]
    """
    extras = f"[{','.join(environment.extras)}]" if environment.extras else ""
    calls = [[*environment.pip_options, *environment.requirements, "-e", f"{root}{extras}"]]
    if environment.bare:
        calls.append([*environment.pip_options, "--no-deps", *environment.bare])
    return calls


def _install(python: Path, arguments: Sequence[str]) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        last = ([line for line in error.stderr.splitlines() if line.startswith("ERROR")] or ["pip failed"])[-1]
        raise InstallationError(f"cannot install {' '.join(arguments)}: {last.removeprefix('ERROR: ')}") from error

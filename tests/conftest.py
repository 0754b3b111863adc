"""Shared by all tests: the command line as a function."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from specsim.cli.main import run


@dataclass(frozen=True)
class Ran:
    """What one command line did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The parsed `--json` output."""
        parsed: dict[str, Any] = json.loads(self.out)
        return parsed

    @property
    def result(self) -> Any:
        """The envelope's result."""
        return self.json["result"]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run `specsim ARGS...` in this process."""

    def call(*arguments: object) -> Ran:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call

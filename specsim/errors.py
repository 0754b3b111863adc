"""The exceptions that specsim raises on purpose, each with the exit code that the command line gives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class SpecsimError(Exception):
    """Base of every error that specsim raises on purpose."""

    exit_code = 3


class InputError(SpecsimError, ValueError):
    """Bad input: the message names the thing, its rule, its value and its place."""

    exit_code = 2


class InfeasibleError(SpecsimError):
    """The question was well posed and the answer is no; the message says what would make it feasible."""

    exit_code = 1


class AdapterError(SpecsimError):
    """What was plugged in broke its contract: a decoder that crashes or answers nonsense, an oracle without laws.

    Parameters
    ----------
    message : str
        One line.
    recorded : sequence
        What had been gathered until then, so that it is not lost.
    """

    exit_code = 3

    def __init__(self, message: str, *, recorded: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.recorded = tuple(recorded)

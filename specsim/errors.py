"""The exceptions that specsim raises on purpose, each with the exit code that the command line gives it."""


class SpecsimError(Exception):
    """Base of every error that specsim raises on purpose."""

    exit_code = 3


class InputError(SpecsimError, ValueError):
    """Bad input: the message names the thing, its rule, its value and its place."""

    exit_code = 2


class InfeasibleError(SpecsimError):
    """The question was well posed and the answer is no; the message says what would make it feasible."""

    exit_code = 1

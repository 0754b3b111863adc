"""Out of memory, said so that a user knows what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from specsim.errors import InputError

_ON_CPU = "DefaultCPUAllocator"


@contextmanager
def enough_memory(task: str, *, lower: str) -> Iterator[None]:
    """Turn a device's lack of memory into a line that says what did not fit and which setting to lower.

    Parameters
    ----------
    task
        What memory was wanted for.
    lower
        The settings that it grows with.

    Raises
    ------
    InputError
        Where the device, GPU or processor, had no memory left.

    Examples
    --------
    >>> with enough_memory("a pass of 8 texts", lower="batch"):
    ...     raise torch.OutOfMemoryError("CUDA out of memory.")
    Traceback (most recent call last):
        ...
    specsim.errors.InputError: memory of the device must hold a pass of 8 texts, it does not; lower batch
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise InputError(_line(task, lower)) from error
    except RuntimeError as error:
        if _ON_CPU not in str(error):
            raise
        raise InputError(_line(task, lower)) from error


def _line(task: str, lower: str) -> str:
    return f"memory of the device must hold {task}, it does not; lower {lower}"

"""Staircase: measured seconds of passes, for machines that no smooth formula describes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.errors import InputError
from specsim.roofline.protocol import Count, Seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class Staircase:
    """Measured seconds of passes over some numbers of tokens: exact there, linear in between, silent outside.

    Parameters
    ----------
    tokens : tuple of int
        Tokens per pass, rising [1].
    seconds : tuple of float
        Seconds of each; they need not rise, since kernels change with the shape [s].
    source : str
        Where they were measured.
    scale : float
        Factor on all seconds, for instance to pass from a benchmark's cache length to a decoder's [1].
    batch : int
        Sequences per pass when measured; no other batch is answered [1].

    Raises
    ------
    InputError
        Tokens that do not rise, a length that differs, seconds that are not positive; and when asked: tokens outside
        the measured range, or another batch.

    Notes
    -----
    The cached context is not modelled: it is that of the measurement.

    Examples
    --------
    >>> stairs = Staircase(tokens=(1, 2, 4), seconds=(0.057, 0.096, 0.083), source="float32, two cores")
    >>> stairs.pass_seconds(tokens=2), round(stairs.pass_seconds(tokens=3), 4)
    (0.096, 0.0895)
    """

    tokens: tuple[int, ...]
    seconds: tuple[float, ...]
    source: str
    scale: float = 1.0
    batch: int = 1

    def __post_init__(self) -> None:
        tokens = checks.integers("tokens", self.tokens, low=1) if self.tokens else np.zeros(0, dtype=np.int64)
        if len(tokens) == 0 or (np.diff(tokens) <= 0).any():
            raise InputError(f"tokens must rise and not be empty, got {self.tokens}")
        if len(self.seconds) != len(self.tokens):
            raise InputError(f"seconds must have one value for each of {len(self.tokens)}, got {len(self.seconds)}")
        for place, seconds in enumerate(self.seconds):
            checks.positive(f"seconds[{place}]", seconds)
        checks.positive("scale", self.scale)
        checks.integer("batch", self.batch, low=1)
        if not self.source:
            raise InputError("staircase must have a source")

    def pass_seconds(self, *, tokens: Count, batch: Count = 1, context: Count = 0) -> Seconds:
        """Seconds of a pass over `tokens`, which may lie between measured points [s]."""
        asked = checks.integers("tokens", tokens, low=1)
        sequences, cached = checks.integers("batch", batch, low=1), checks.integers("context", context)
        if (sequences != self.batch).any():
            raise InputError(
                f"batch must be {self.batch}, as measured, got {sequences[sequences != self.batch].flat[0]}"
            )
        outside = (asked < self.tokens[0]) | (asked > self.tokens[-1])
        if outside.any():
            raise InputError(
                f"tokens must be in the measured {self.tokens[0]}..{self.tokens[-1]}, got {asked[outside].flat[0]}"
            )
        shape = np.broadcast_shapes(asked.shape, sequences.shape, cached.shape)
        seconds = np.broadcast_to(self.scale * np.interp(asked, self.tokens, self.seconds), shape)
        return seconds if seconds.ndim else float(seconds)

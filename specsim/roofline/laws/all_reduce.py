"""AllReduceLaw: seconds of one sum over the devices of a node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray
from specsim.roofline.laws.soft import coefficients

RANGES = {
    "launch_seconds": (0.0, 1e-2),
    "device_seconds": (0.0, 1e-2),
    "once_bytes_per_second": (1e6, 1e14),
    "twice_seconds": (0.0, 1e-2),
    "twice_bytes_per_second": (1e6, 1e14),
    "library_seconds": (0.0, 1e-2),
    "library_bytes_per_second": (1e6, 1e14),
    "custom_bytes": (0.0, 1e12),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class AllReduceLaw:
    """Coefficients of one engine's all-reduce on one GPU's links, launched from a graph where the engine does that.

    Parameters
    ----------
    launch_seconds, device_seconds : float
        Paid whatever the size: once, and for every device besides the first [s].
    once_bytes_per_second : float
        One-shot: every device reads the vectors of all others, at this rate [byte/s].
    twice_seconds, twice_bytes_per_second : float
        Two-shot: each sums a part and hands it on: one more synchronisation, 2 (n - 1) / n of the bytes [s], [byte/s].
    custom_bytes : float
        Size above which the engine calls the library (NCCL) instead of its own kernels [byte].
    library_seconds, library_bytes_per_second : float
        What the library pays besides, and its rate for 2 (n - 1) / n of the bytes [s], [byte/s].

    Raises
    ------
    InputError
        A coefficient outside its range.

    Examples
    --------
    >>> law = AllReduceLaw()
    >>> law.seconds(bytes=[8192, 2**20], devices=1)
    array([0., 0.])
    >>> (1e6 * law.seconds(bytes=[8192, 2**20, 2**28], devices=8)).round(1)
    array([   6.4,   17.6, 2364.2])
    """

    launch_seconds: float = 4e-6
    device_seconds: float = 0.2e-6
    once_bytes_per_second: float = 60e9
    twice_seconds: float = 3e-6
    twice_bytes_per_second: float = 200e9
    library_seconds: float = 10e-6
    library_bytes_per_second: float = 200e9
    custom_bytes: float = 8e6

    def __post_init__(self) -> None:
        coefficients(self, RANGES)

    def seconds(self, *, bytes: ArrayLike, devices: int | ArrayLike) -> FloatArray:
        """Seconds of one all-reduce; 0 on one device [s].

        Parameters
        ----------
        bytes : array (...)
            Vector of one device, which is summed [byte].
        devices : int or array (...)
            Devices that take part [1].

        Returns
        -------
        array (...)
            Broadcast over both [s].

        Raises
        ------
        InputError
            Negative bytes, or devices below 1.

        Notes
        -----
        Measured for 2, 4 and 8 devices, where they share a node.
        """
        count = checks.integers("devices", devices, low=1).astype(np.float64)
        size = checks.array("bytes", bytes).astype(np.float64)
        checks.non_negative("bytes", float(size.min(initial=0.0)))
        others, both_ways = count - 1, 2 * (count - 1) / count * size
        once = others * size / self.once_bytes_per_second
        twice = self.twice_seconds + both_ways / self.twice_bytes_per_second
        library = self.library_seconds + both_ways / self.library_bytes_per_second
        moved = np.where(size <= self.custom_bytes, np.minimum(once, twice), library)
        return np.asarray(np.where(count > 1, self.launch_seconds + self.device_seconds * others + moved, 0.0))

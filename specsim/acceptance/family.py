"""Family: a law of the accepted length whose parameters are yet to be fitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from specsim.acceptance.base import Acceptance
from specsim.checks import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """Laws that differ in parameters between 0 and 1.

    Parameters
    ----------
    name : str
        The key in `FAMILIES`.
    parameters : tuple of str
        Names; every one is a probability or a share, so that the parameters live in the unit box.
    conditional : callable
        From a point of the unit box (P,) and a gamma to conditional acceptance by depth, (G,); nothing is checked.
    law : callable
        From a point to the law.
    starts : callable
        From rough conditional acceptance by depth (K,) to points from which a fit sets out.

    Examples
    --------
    >>> from specsim.acceptance import FAMILIES
    >>> FAMILIES["decay"]((1, 2, 3)).parameters
    ('a', 'b')
    """

    name: str
    parameters: tuple[str, ...]
    conditional: Callable[[FloatArray, int], FloatArray]
    law: Callable[[FloatArray], Acceptance]
    starts: Callable[[FloatArray], list[tuple[float, ...]]]

"""How near target and draft are, depth by depth."""

from __future__ import annotations

from dataclasses import dataclass

from specsim.comparison.rows import Rows
from specsim.distributions import argmax_overlap, overlap
from specsim.verifiers.coupling import gumbel_match, independent_match, minhash_match


@dataclass(frozen=True, kw_only=True, slots=True)
class DepthOverlap:
    """Probabilities that a draft at one depth stands, by how it is drawn and judged [1].

    Parameters
    ----------
    depth : int
        From 1.
    alpha : float
        A sampled draft, judged with its law; the upper bound of `gumbel`.
    argmax_alpha : float
        The argmax of q, judged as one-hot.
    gumbel : float
        A draft drawn with the target's noise.
    gumbel_lower_bound : float
        What weighted MinHash would match.
    independent : float
        A sampled draft compared with an independent draw from p.
    """

    depth: int
    alpha: float
    argmax_alpha: float
    gumbel: float
    gumbel_lower_bound: float
    independent: float


def compare_depths(rows: Rows) -> list[DepthOverlap]:
    """All overlaps at each depth.

    Examples
    --------
    >>> (first,) = compare_depths(Rows(p=[[0.5, 0.3, 0.2]] * 2, q=[[0.2, 0.3, 0.5]]))
    >>> first.gumbel_lower_bound <= first.gumbel <= first.alpha
    True
    """
    p, q = rows.target[:-1], rows.draft
    columns = (overlap, argmax_overlap, gumbel_match, minhash_match, independent_match)
    return [
        DepthOverlap(
            depth=depth,
            alpha=float(alpha),
            argmax_alpha=float(argmax),
            gumbel=float(gumbel),
            gumbel_lower_bound=float(minhash),
            independent=float(independent),
        )
        for depth, (alpha, argmax, gumbel, minhash, independent) in enumerate(
            zip(*(column(p, q) for column in columns), strict=True), start=1
        )
    ]

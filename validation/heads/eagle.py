"""EAGLE-1 and EAGLE-2: one decoder layer that foresees the target's next feature; the two differ in the tree alone."""

from __future__ import annotations

from validation.heads.recurrent import Recurrent


class Eagle(Recurrent):
    """Token and feature are projected to one state, a layer turns it into the next feature, the target's output
    matrix into a law.

    Notes
    -----
    Differs from the published heads in its norms: they have none on token and feature, nor first in the layer.

    References
    ----------
    .. [1] Li, Wei, Zhang, Zhang. EAGLE: Speculative Sampling Requires Rethinking Feature Uncertainty. 2401.15077.
    .. [2] Li, Wei, Zhang, Zhang. EAGLE-2: Faster Inference of Language Models with Dynamic Draft Trees. 2406.16858.
    """

    name = "eagle"
    normed = False

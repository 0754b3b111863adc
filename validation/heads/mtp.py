"""MTP: the multi-token prediction module of DeepSeek-V3, applied again and again."""

from __future__ import annotations

from validation.heads.recurrent import Recurrent


class Mtp(Recurrent):
    """State and token are normed apart, projected, run through a layer; one module serves every depth.

    References
    ----------
    .. [1] DeepSeek-AI. DeepSeek-V3 Technical Report, section 2.2. 2412.19437.
    .. [2] Cai et al. FastMTP: Accelerating LLM Inference with Enhanced Multi-Token Prediction. 2509.18362 (one module
       reused for every depth).
    """

    name = "mtp"

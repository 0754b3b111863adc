"""KernelLaws: the laws of one engine's kernels on one GPU, with their provenance and errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from specsim import checks
from specsim.errors import InputError
from specsim.roofline.laws.all_reduce import AllReduceLaw
from specsim.roofline.laws.attention import AttentionLaw
from specsim.roofline.laws.experts import ExpertsLaw
from specsim.roofline.laws.gemm import FORMATS, GemmLaw


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelLaws:
    """Seconds of the kernels that a pass is made of, as fitted to measured tables.

    Parameters
    ----------
    gemm : Mapping[str, GemmLaw]
        By number format; bfloat16 at least.
    attention : AttentionLaw
        Attention of few query rows to the cache.
    experts : ExpertsLaw, optional
        Mixture layers; None where no table holds them.
    all_reduce : AllReduceLaw, optional
        Sums over devices; None where no table holds them.
    source : str
        The tables.
    engine, version, gpu : str
        What was measured where: "vllm", "sglang" or "trtllm", and the catalogue's name of the GPU.
    intervals : Mapping[str, tuple[float, float]]
        Ends of the 95 % interval of every coefficient, by its path, like "gemm.bfloat16.launch_seconds".
    held_out : Mapping[str, float]
        Mean absolute error relative to the measurement on shapes that the fit had not seen, by law, like
        "gemm.bfloat16"; "step" is that of a dense decode step [1].

    Raises
    ------
    InputError
        An unknown number format, no bfloat16 law, or no source.

    Examples
    --------
    >>> from specsim.roofline.fitted import kernel_laws
    >>> laws = kernel_laws("H100-SXM", engine="vllm")
    >>> laws.engine, laws.held_out["gemm.bfloat16"] < 0.06
    ('vllm', True)
    """

    gemm: Mapping[str, GemmLaw]
    attention: AttentionLaw
    experts: ExpertsLaw | None
    all_reduce: AllReduceLaw | None
    source: str
    engine: str
    version: str
    gpu: str
    intervals: Mapping[str, tuple[float, float]]
    held_out: Mapping[str, float]

    def __post_init__(self) -> None:
        for name in self.gemm:
            checks.one_of("number format", name, FORMATS)
        if "bfloat16" not in self.gemm:
            raise InputError(f"gemm must hold bfloat16, got {', '.join(self.gemm) or 'none'}")
        if not self.source:
            raise InputError("kernel laws must have a source")

    def cold(self) -> KernelLaws:
        """The same laws without what a repeated benchmark keeps in the GPU's last cache and a model does not.

        Examples
        --------
        >>> from specsim.roofline.fitted import kernel_laws
        >>> kernel_laws("H100-SXM").cold().gemm["bfloat16"].cached_speedup
        0.0
        """
        gemm = {name: replace(law, cached_speedup=0.0) for name, law in self.gemm.items()}
        kernels = {name: replace(kernel, cached_speedup=0.0) for name, kernel in self.attention.kernels.items()}
        return replace(self, gemm=gemm, attention=AttentionLaw(kernels=kernels))

"""Laws of GPU kernels: seconds of a matrix multiplication, attention, a mixture layer and an all-reduce."""

from specsim.roofline.laws.all_reduce import AllReduceLaw
from specsim.roofline.laws.attention import AttentionLaw
from specsim.roofline.laws.attention_kernel import AttentionKernel
from specsim.roofline.laws.experts import ExpertsKernel, ExpertsLaw
from specsim.roofline.laws.gemm import GemmLaw
from specsim.roofline.laws.kernels import KernelLaws
from specsim.roofline.laws.routing import busiest_load

__all__ = [
    "AllReduceLaw",
    "AttentionKernel",
    "AttentionLaw",
    "ExpertsKernel",
    "ExpertsLaw",
    "GemmLaw",
    "KernelLaws",
    "busiest_load",
]

"""Acceptance from what serving engines report, each quantity under its own name; one engine a file."""

from specsim.acceptance.server.llama_cpp import from_llama_cpp
from specsim.acceptance.server.metrics import ServerMetrics
from specsim.acceptance.server.sglang import from_sglang
from specsim.acceptance.server.vllm import from_vllm, from_vllm_metrics

__all__ = ["ServerMetrics", "from_llama_cpp", "from_sglang", "from_vllm", "from_vllm_metrics"]

"""From a plan to the settings of an engine that serves it, ready to paste.

`ENGINES` maps names to functions of the same keywords, those of `Asked`. What an engine cannot do raises
`InfeasibleError` that says who can; what it does differently from the plan is in the settings' notes.
"""

from collections.abc import Callable

from specsim.engines.llama_cpp import llama_cpp
from specsim.engines.offered import OFFERED
from specsim.engines.settings import METHODS, Asked, Settings
from specsim.engines.sglang import sglang
from specsim.engines.vllm import vllm

ENGINES: dict[str, Callable[..., Settings]] = {"vllm": vllm, "sglang": sglang, "llama_cpp": llama_cpp}

__all__ = ["ENGINES", "METHODS", "OFFERED", "Asked", "Settings", "llama_cpp", "sglang", "vllm"]

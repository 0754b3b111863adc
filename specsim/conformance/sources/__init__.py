"""Sources: where a decoder's texts and the target's laws come from.

A Python function, a recording, a server with OpenAI's `/v1/completions`, llama.cpp's own server; transformers and
vLLM's `LLM` are in `validation.conformance`, for they need torch. Those that speak HTTP need httpx (`specsim[http]`).
"""

from specsim.conformance.sources.callables import from_callable
from specsim.conformance.sources.fitting import fitting
from specsim.conformance.sources.recorder import Recorder
from specsim.conformance.sources.recording import Recording, read_recording
from specsim.conformance.sources.replayed import RecordedLaws, Replayed, replayed
from specsim.conformance.sources.two_sample import TwoSamples, two_samples

__all__ = [
    "RecordedLaws",
    "Recorder",
    "Recording",
    "Replayed",
    "TwoSamples",
    "fitting",
    "from_callable",
    "read_recording",
    "replayed",
    "two_samples",
]

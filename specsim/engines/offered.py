"""Which engine offers which drafter, in the release that its settings were checked against.

References
----------
.. [1] vLLM 0.33.0, `vllm/config/speculative.py`: `SpeculativeMethod`, `parallel_drafting`. Medusa's heads and the MLP
   speculator, which earlier releases had, are gone.
.. [2] SGLang 0.5.23, `sglang/srt/arg_groups/fields/spec.py`: `speculative_algorithm`, and the external corpus of NGRAM.
.. [3] llama.cpp, `tools/server/README.md` at commit 00dc8057ab28: `--spec-type`.
"""

from __future__ import annotations

from specsim.errors import InfeasibleError

VERSIONS = {"vllm": "0.33.0", "sglang": "0.5.23", "llama_cpp": "master at 00dc8057ab28"}
OFFERED: dict[str, dict[str, str]] = {
    "vllm": {
        "model": "draft_model",
        "quantised": "draft_model",
        "ngram": "ngram",
        "suffix": "suffix",
        "eagle1": "eagle",
        "eagle2": "eagle",
        "eagle3": "eagle3",
        "mtp": "mtp",
        "pard": "draft_model",
        "p_eagle": "eagle3",
        "dflash": "dflash",
        "dspark": "dspark",
    },
    "sglang": {
        "model": "STANDALONE",
        "quantised": "STANDALONE",
        "ngram": "NGRAM",
        "rest": "NGRAM",
        "eagle1": "EAGLE",
        "eagle2": "EAGLE",
        "eagle3": "EAGLE3",
        "mtp": "NEXTN",
        "dflash": "DFLASH",
        "dspark": "DSPARK",
    },
    "llama_cpp": {
        "model": "draft-simple",
        "quantised": "draft-simple",
        "ngram": "ngram-simple",
        "eagle3": "draft-eagle3",
        "mtp": "draft-mtp",
        "dflash": "draft-dflash",
        "dspark": "draft-dspark",
    },
}


def own_name(engine: str, method: str) -> str:
    """What `engine` calls a method.

    Raises
    ------
    InfeasibleError
        It has none; the message says which engines do.

    Examples
    --------
    >>> own_name("sglang", "model")
    'STANDALONE'
    """
    if method not in OFFERED[engine]:
        others = [name for name, methods in OFFERED.items() if method in methods]
        who = f"{' and '.join(others)} {'do' if len(others) > 1 else 'does'}" if others else "no engine here does"
        raise InfeasibleError(f"{engine} ({VERSIONS[engine]}) does not offer {method}; {who}")
    return OFFERED[engine][method]

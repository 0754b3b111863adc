"""llama.cpp's server.

References
----------
.. [1] llama.cpp, `tools/server/README.md` at commit 00dc8057ab28: every flag used here, and the ones that were removed
   in favour of `--spec-draft-n-max` and of one set of `--spec-ngram-*` by type.
"""

from __future__ import annotations

import shlex
from typing import Any

from specsim.engines.offered import VERSIONS, own_name
from specsim.engines.settings import Asked, Settings
from specsim.errors import InfeasibleError


def llama_cpp(**asked: Any) -> Settings:
    """Settings of llama.cpp's server for a plan; the keywords are those of `Asked`.

    Raises
    ------
    InputError
        A plan that contradicts itself.
    InfeasibleError
        A method or a tree that llama.cpp does not offer.

    Examples
    --------
    >>> models = {"target": "big.gguf", "draft_model": "small.gguf"}
    >>> llama_cpp(method="model", **models, gamma=4, max_batch=2, max_context=4096).command
    ... # doctest: +NORMALIZE_WHITESPACE
    'llama-server --model big.gguf --parallel 2 --ctx-size 8192 --spec-type draft-simple --spec-draft-model small.gguf
    --spec-draft-n-max 4'
    """
    plan = Asked(**asked)
    name = own_name("llama_cpp", plan.method)
    if plan.tree is not None:
        raise InfeasibleError(f"llama_cpp ({VERSIONS['llama_cpp']}) verifies a chain, not a tree; sglang does")
    config = {
        _flag("model", "hf-repo", plan.target): plan.target,
        "parallel": plan.max_batch,
        "ctx-size": plan.max_batch * plan.max_context,  # of all slots together
        **({"split-mode": "tensor"} if plan.tensor_parallel > 1 else {}),
        "spec-type": name,
        **_drafting(plan),
    }
    flags = [part for key, value in config.items() for part in (f"--{key}", str(value))]
    return Settings(
        engine="llama_cpp",
        version=VERSIONS["llama_cpp"],
        command=shlex.join(["llama-server", *flags]),
        config=config,
        notes=tuple(_notes(plan)),
    )


def _flag(file: str, repository: str, name: str) -> str:
    return file if name.endswith(".gguf") else repository


def _drafting(plan: Asked) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if plan.draft_model is not None:
        config[_flag("spec-draft-model", "spec-draft-hf", plan.draft_model)] = plan.draft_model
    config["spec-ngram-simple-size-m" if plan.method == "ngram" else "spec-draft-n-max"] = plan.gamma
    if plan.acceptance is not None:
        config["spec-synth-rates"] = ",".join(f"{rate:.6g}" for rate in plan.survival())
    return config


def _notes(plan: Asked) -> list[str]:
    notes = []
    if not plan.target.endswith(".gguf"):
        notes.append("The repository must hold GGUF files; add :QUANT to its name for one quantisation.")
    if plan.tensor_parallel > 1:
        notes.append(
            f"Splitting by tensor is experimental and takes all visible GPUs: show it {plan.tensor_parallel} of them."
        )
    if plan.method == "ngram":
        notes.append("The looked-up n-gram has the default length; a draft needs a match of all of it.")
    else:
        notes.append(
            "Drafts are the drafter's argmax by default: above temperature 0 one stands when the target's own sample "
            "agrees. For min(1, p/q) add --spec-draft-sampling probabilistic."
        )
    if plan.schedule is not None:
        notes.append(f"llama.cpp has no schedule by batch size: {plan.gamma} drafts at every batch.")
    if plan.acceptance is not None:
        notes.append(
            "A rehearsal: drafts are accepted by the given numbers, so the text is worthless. Measure, then remove."
        )
    return notes

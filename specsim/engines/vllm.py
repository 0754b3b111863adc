"""vLLM.

References
----------
.. [1] vLLM 0.33.0, `vllm/config/speculative.py`: every key used here, the checks on them, and that none is a tree.
.. [2] vLLM 0.33.0, `vllm/v1/spec_decode/dynamic/utils.py` and `vllm/config/vllm.py`: the schedule by batch size, which
   the old model runner ignores for some methods and which data parallelism turns off.
.. [3] vLLM 0.33.0, `vllm/v1/spec_decode/draft_model.py`: a draft model is split like its target.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

from specsim.engines.offered import VERSIONS, own_name
from specsim.engines.settings import Asked, Settings
from specsim.errors import InfeasibleError

LOOKUP = {"prompt_lookup_min": 2, "prompt_lookup_max": 5}  # the example of vLLM's documentation
PARALLEL = ("pard", "p_eagle")  # one pass for all drafts, which must be said for these
COPIED = ("ngram", "suffix")
SCHEDULED_BY_OLD_RUNNER = ("ngram", "eagle", "eagle3", "mtp", "draft_model", "dflash")  # [2]


def vllm(**asked: Any) -> Settings:
    """Settings of vLLM for a plan; the keywords are those of `Asked`.

    Raises
    ------
    InputError
        A plan that contradicts itself.
    InfeasibleError
        A method, a tree or a split of the drafter that vLLM does not offer.

    Examples
    --------
    >>> vllm(method="ngram", target="Qwen/Qwen3-8B", gamma=4, max_batch=8, max_context=4096).config
    {'method': 'ngram', 'num_speculative_tokens': 4, 'prompt_lookup_min': 2, 'prompt_lookup_max': 5}
    """
    plan = Asked(**asked)
    name = own_name("vllm", plan.method)
    if plan.tree is not None:
        raise InfeasibleError(f"vllm ({VERSIONS['vllm']}) verifies a chain, not a tree; sglang does")
    config = _config(plan, name)
    served = {
        "tensor_parallel_size": plan.tensor_parallel,
        "max_num_seqs": plan.max_batch,
        "max_model_len": plan.max_context,
    }
    flags = [part for key, value in served.items() for part in (f"--{key.replace('_', '-')}", str(value))]
    arguments = {"model": plan.target, **served, "speculative_config": config}
    return Settings(
        engine="vllm",
        version=VERSIONS["vllm"],
        command=shlex.join(["vllm", "serve", plan.target, *flags, "--speculative-config", json.dumps(config)]),
        config=config,
        snippet=f"from vllm import LLM\n\nllm = LLM(**{arguments!r})\n",
        notes=tuple(_notes(plan, name)),
    )


def _config(plan: Asked, name: str) -> dict[str, Any]:
    config: dict[str, Any] = {"method": name}
    if plan.draft_model is not None:
        config["model"] = plan.draft_model
    config["num_speculative_tokens"] = plan.gamma
    if plan.method == "ngram":
        config |= LOOKUP
    if plan.method in PARALLEL:
        config["parallel_drafting"] = True
    if plan.method not in COPIED:
        config["draft_tensor_parallel_size"] = _draft_split(plan, name)
    if plan.schedule is not None:
        config["num_speculative_tokens_per_batch_size"] = [list(row) for row in plan.schedule]
    if plan.acceptance is not None:
        config |= {"rejection_sample_method": "synthetic", "synthetic_acceptance_rates": plan.survival()}
    return config


def _draft_split(plan: Asked, name: str) -> int:
    if plan.draft_tensor_parallel not in (1, plan.tensor_parallel):
        raise InfeasibleError(
            f"vllm ({VERSIONS['vllm']}) splits a drafter over 1 device or over the target's {plan.tensor_parallel}, "
            f"not {plan.draft_tensor_parallel}"
        )
    return plan.tensor_parallel if name == "draft_model" else plan.draft_tensor_parallel


def _notes(plan: Asked, name: str) -> list[str]:
    notes = []
    if name == "draft_model" and plan.draft_tensor_parallel != plan.tensor_parallel:
        notes.append(
            f"vLLM splits a draft model like its target: over {plan.tensor_parallel} devices, where the plan has "
            f"{plan.draft_tensor_parallel}."
        )
    if plan.method in ("eagle1", "eagle2"):
        notes.append("vLLM drafts a chain with these weights, not EAGLE's tree: take the acceptance of a chain.")
    if plan.method == "suffix":
        notes.append("Needs the package arctic-inference. gamma is a limit: the length follows the match.")
    if plan.method == "ngram":
        notes.append("The lengths of the looked-up n-gram are vLLM's example, not part of the plan.")
    if plan.method == "mtp":
        notes.append("gamma above the modules in the checkpoint must be a multiple of them; the last modules repeat.")
    if plan.method not in COPIED:
        notes.append(
            "Drafts are the drafter's argmax by default and judged as certain: above temperature 0 acceptance is p(x). "
            'For min(1, p/q) add "draft_sample_method": "probabilistic", at the price of memory for q.'
        )
    if plan.schedule is not None:
        notes.append("The schedule is off under data parallelism; its last row holds for all larger batches.")
        if name not in SCHEDULED_BY_OLD_RUNNER:
            notes.append(f"The schedule needs model runner V2 for {name}; V1 drafts {plan.gamma} at every batch.")
    if plan.acceptance is not None:
        notes.append(
            "A rehearsal: drafts are accepted by the given numbers, so the text is worthless. Measure, then remove."
        )
    return notes

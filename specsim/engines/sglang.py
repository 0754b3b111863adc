"""SGLang.

References
----------
.. [1] SGLang 0.5.23, `sglang/srt/arg_groups/fields/` (spec, model, parallel, schedule): every argument used here.
.. [2] SGLang 0.5.23, `sglang/srt/arg_groups/speculative_hook.py`: `speculative_num_draft_tokens` counts what is
   verified, the last accepted token included, so a chain has gamma + 1; so does DFLASH's block size, but not DSPARK's.
.. [3] SGLang 0.5.23, `sglang/srt/speculative/spec_utils.py`: the simulated length counts the bonus token.
.. [4] SGLang 0.5.23, `sglang/srt/speculative/dspark_components/dspark_worker_v2.py`.
"""

from __future__ import annotations

import shlex
from typing import Any

from specsim.engines.offered import VERSIONS, own_name
from specsim.engines.settings import Asked, Settings
from specsim.errors import InfeasibleError

TREES = ("model", "quantised", "eagle1", "eagle2", "eagle3", "ngram", "rest")


def sglang(**asked: Any) -> Settings:
    """Settings of SGLang for a plan; the keywords are those of `Asked`.

    Raises
    ------
    InputError
        A plan that contradicts itself.
    InfeasibleError
        A method that SGLang does not offer, or a tree of a drafter that drafts chains there.

    Examples
    --------
    >>> sglang(method="mtp", target="XiaomiMiMo/MiMo-7B-RL", gamma=1, max_batch=8, max_context=4096).command
    ... # doctest: +NORMALIZE_WHITESPACE
    'python3 -m sglang.launch_server --model-path XiaomiMiMo/MiMo-7B-RL --tp-size 1 --max-running-requests 8
    --context-length 4096 --speculative-algorithm NEXTN --speculative-num-steps 1 --speculative-eagle-topk 1
    --speculative-num-draft-tokens 2'
    """
    plan = Asked(**asked)
    name = own_name("sglang", plan.method)
    if plan.tree is not None and plan.method not in TREES:
        raise InfeasibleError(f"sglang ({VERSIONS['sglang']}) drafts chains with {plan.method}, not trees")
    config: dict[str, Any] = {
        "model_path": plan.target,
        "tp_size": plan.tensor_parallel,
        "max_running_requests": plan.max_batch,
        "context_length": plan.max_context,
        "speculative_algorithm": name,
    }
    config |= _drafting(plan)
    flags = [part for key, value in config.items() for part in (f"--{key.replace('_', '-')}", str(value))]
    return Settings(
        engine="sglang",
        version=VERSIONS["sglang"],
        command=shlex.join([*_rehearsal(plan), "python3", "-m", "sglang.launch_server", *flags]),
        config=config,
        snippet=f"import sglang\n\nengine = sglang.Engine(**{config!r})\n",
        notes=tuple(_notes(plan)),
    )


def _drafting(plan: Asked) -> dict[str, Any]:
    draft = {} if plan.draft_model is None else {"speculative_draft_model_path": plan.draft_model}
    nodes, top_k, depth = plan.tree or (plan.gamma, 1, plan.gamma)
    if plan.method in ("ngram", "rest"):
        lookup = {"speculative_num_draft_tokens": nodes + 1, "speculative_ngram_max_bfs_breadth": top_k}
        if plan.method == "ngram":
            return lookup
        corpus = {
            "speculative_ngram_external_corpus_path": plan.draft_model,
            "speculative_ngram_external_sam_budget": nodes,
        }
        return lookup | corpus
    if plan.method == "dflash":
        return draft | {"speculative_dflash_block_size": plan.gamma + 1}
    if plan.method == "dspark":
        return draft | {"speculative_dspark_block_size": plan.gamma}
    return draft | {
        "speculative_num_steps": depth,
        "speculative_eagle_topk": top_k,
        "speculative_num_draft_tokens": nodes + 1,
    }


def _rehearsal(plan: Asked) -> list[str]:
    if plan.acceptance is None:
        return []
    E_tokens = 1 + sum(plan.survival())
    variables = [f"SGLANG_SIMULATE_ACC_LEN={E_tokens:.6g}", "SGLANG_SIMULATE_ACC_METHOD=match-expected"]
    # A forced length may exceed what DSpark's confidence lets through, so SGLang wants all drafts verified then [4].
    return [*variables, "SGLANG_RAGGED_VERIFY_MODE=static"] if plan.method == "dspark" else variables


def _notes(plan: Asked) -> list[str]:
    notes = []
    if plan.method not in ("ngram", "rest") and plan.draft_tensor_parallel != plan.tensor_parallel:
        notes.append(
            f"SGLang has no setting for the drafter's split: it follows the target's {plan.tensor_parallel} devices, "
            f"where the plan has {plan.draft_tensor_parallel}."
        )
    if plan.method == "eagle1":
        notes.append("SGLang grows EAGLE-2's dynamic tree with these weights, not EAGLE-1's fixed one.")
    if plan.method == "rest":
        notes.append("Drafts come from the corpus, found by the longest suffix, and from the text so far.")
    if plan.method in ("ngram", "rest"):
        notes.append("CUDA only; the overlapped scheduler and mixed prefill are off.")
    elif plan.tree is None:
        notes.append(
            "Above temperature 0 a draft stands when the target's own sample agrees with it. For min(1, p/q) add "
            "--speculative-use-rejection-sampling, which needs a chain and the full vocabulary."
        )
    if plan.schedule is not None:
        notes.append(
            f"SGLang has no schedule by batch size: {plan.gamma} drafts at every batch. --speculative-adaptive follows "
            "acceptance, not load."
        )
    if plan.acceptance is not None:
        notes.append(
            "A rehearsal: rounds have the given mean length but not its spread, and the text is worthless. In-process, "
            "set the variables before starting Python. Measure, then remove."
        )
    return notes

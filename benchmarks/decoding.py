"""Tokens per second of the decoder over those of transformers: `python -m benchmarks.decoding`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import torch

from benchmarks.timing import interleaved, options, ratio, report
from specsim.distributions import Sampling
from validation.decoder.layers import early_exit
from validation.decoder.load import Loaded, load
from validation.decoder.loop import decode
from validation.decoder.model import CachedModel
from validation.decoder.pretrained import silence
from validation.decoder.proposers import ModelProposer, NgramProposer, Proposer
from validation.decoder.proposers.layer_skip import LayerSkipProposer
from validation.timing import pin_threads

LOOKUP = "assisted generate, lookup"
PROMPTS = ("Write a Python function that counts the words of each line in a file, and explain it line by line.",)
NOTES = (
    "same pair, same texts (greedy, so both write the same up to ties), same gamma, batch 1, interleaved",
    "'generate' is transformers' plain greedy generate; assisted generation keeps its number of drafts constant and "
    "never stops by confidence",
)
SHARED = (
    "'in the target's cache' is LayerSkip: the same drafts, but verifying goes on from what the first layers computed; "
    "assisted generation gives them a cache of their own"
)


@click.command()
@click.option("--dtype", type=click.Choice(["float32", "bfloat16"]), default="float32", show_default=True)
@click.option("--gamma", type=click.IntRange(min=1), default=4, show_default=True)
@click.option("--tokens", type=click.IntRange(min=1), default=48, show_default=True, help="New tokens of a text.")
@click.option("--drafter", help="Folder or hub name of a draft model; by default the target's first twenty layers.")
@click.option("--compiled", is_flag=True, help="Passes here go through torch.compile, which takes some minutes first.")
@options
def main(dtype: str, gamma: int, tokens: int, drafter: str | None, compiled: bool, repeats: int, as_json: bool) -> None:
    """Seconds of a text with this decoder over those with transformers, and over plain decoding here."""
    pin_threads()
    loaded = load(dtype=dtype)
    layers = 2 * loaded.model.config.num_hidden_layers // 3
    draft = early_exit(loaded.model, layers=layers) if drafter is None else load(drafter, dtype=dtype).model
    name = f"{layers} layers" if drafter is None else Path(drafter).name
    own = ModelProposer(CachedModel(draft, pack=True, compiled=compiled))
    prompts = [loaded.prompt_tokens(text) for text in PROMPTS]
    target = CachedModel(loaded.model, pack=True, compiled=compiled)

    def here(proposer: Proposer | None) -> Callable[[], None]:
        def run() -> None:
            for prompt in prompts:
                decode(target, proposer, prompt, gamma=gamma, max_tokens=tokens, sampling=Sampling(temperature=0.0))

        return run

    notes, assisted = NOTES, f"assisted generate, {name}"
    theirs = {
        "generate": lambda: _generate(loaded, prompts, tokens=tokens),
        assisted: lambda: _generate(loaded, prompts, tokens=tokens, assistant=draft, gamma=gamma),
        LOOKUP: lambda: _generate(loaded, prompts, tokens=tokens, prompt_lookup_num_tokens=gamma),
    }
    ours: dict[str, tuple[Proposer | None, str]] = {
        "plain here": (None, "generate"),
        f"here, {name}": (own, assisted),
        "here, lookup": (NgramProposer(), LOOKUP),
    }
    if drafter is None and not compiled:
        ours[f"here, {name} in the target's cache"] = (LayerSkipProposer(layers=layers), assisted)
        notes = (*NOTES, SHARED)
    seconds = interleaved(theirs | {task: here(who) for task, (who, _) in ours.items()}, repeats=repeats)
    ratios = [ratio(seconds, name=task, over=over) for task, (_, over) in ours.items()]
    inputs = {"model": loaded.name, "dtype": dtype, "gamma": gamma, "tokens": tokens, "drafter": drafter}
    inputs |= {"compiled": compiled, "repeats": repeats}
    report("benchmarks.decoding", ratios, inputs=inputs, notes=notes, as_json=as_json)


def _generate(
    loaded: Loaded,
    prompts: list[list[int]],
    *,
    tokens: int,
    assistant: object = None,
    gamma: int = 0,
    **options: object,
) -> None:
    if assistant is not None:
        settings = assistant.generation_config  # type: ignore[attr-defined]
        settings.num_assistant_tokens, settings.num_assistant_tokens_schedule = gamma, "constant"
        settings.assistant_confidence_threshold = 0.0
        options["assistant_model"] = assistant
    for prompt in prompts:
        ids = torch.tensor([prompt], device=loaded.model.device)
        with torch.inference_mode(), silence():
            loaded.model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, do_sample=False, eos_token_id=None,
                pad_token_id=0, **options,
            )  # fmt: skip


if __name__ == "__main__":
    main()

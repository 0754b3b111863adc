"""The share of decoding that is not spent in passes of a model: `python -m benchmarks.outside`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click

from benchmarks.timing import interleaved, options, ratio, report
from specsim.distributions import Sampling
from validation.decoder.layers import early_exit
from validation.decoder.load import load
from validation.decoder.loop import decode
from validation.decoder.model import CachedModel
from validation.decoder.proposers import ModelProposer, NgramProposer, Proposer
from validation.timing import pin_threads

PROMPT = "Write a Python function that counts the words of each line in a file, and explain it line by line."
NOTES = (
    "ratio: seconds outside of passes over seconds in all, prompts included; a pass ends with its logits on the host",
    "outside are drafting beyond the drafter's passes, judging, sampling, and keeping caches and records",
)


class Timed(CachedModel):
    """Adds up the seconds of its passes, of all models of this kind."""

    seconds = 0.0

    def read(self, *arguments: Any, **named: Any) -> Any:
        """See `CachedModel.read`."""
        begun = time.perf_counter()
        found = super().read(*arguments, **named)
        Timed.seconds += time.perf_counter() - begun
        return found


@click.command()
@click.option("--dtype", type=click.Choice(["float32", "bfloat16"]), default="bfloat16", show_default=True)
@click.option("--gamma", type=click.IntRange(min=1), default=8, show_default=True)
@click.option("--tokens", type=click.IntRange(min=2), default=64, show_default=True, help="New tokens of a text.")
@options
def main(dtype: str, gamma: int, tokens: int, repeats: int, as_json: bool) -> None:
    """Seconds outside of passes over all seconds, for plain decoding and two drafters, at temperatures 0 and 1."""
    pin_threads()
    loaded = load(dtype=dtype)
    prompt = loaded.prompt_tokens(PROMPT)
    target = Timed(loaded.model, pack=True)
    layers = 2 * loaded.model.config.num_hidden_layers // 3
    drafter = ModelProposer(Timed(early_exit(loaded.model, layers=layers), pack=True))
    proposers: dict[str, Proposer | None] = {"plain": None, "lookup": NgramProposer(), f"{layers} layers": drafter}
    outside: dict[str, list[float]] = {}

    def task(name: str, proposer: Proposer | None, temperature: float) -> Callable[[], None]:
        def run() -> None:
            Timed.seconds, begun = 0.0, time.perf_counter()
            sampling = Sampling(temperature=temperature)
            decode(target, proposer, prompt, gamma=gamma, max_tokens=tokens, sampling=sampling)
            outside.setdefault(name, []).append(time.perf_counter() - begun - Timed.seconds)

        return run

    tasks = {
        name: task(name, proposer, temperature)
        for temperature in (0.0, 1.0)
        for drafting, proposer in proposers.items()
        for name in (f"{drafting}, temperature {temperature:g}",)
    }
    seconds = interleaved(tasks, repeats=repeats)
    parts = {f"{name}, outside": each[1:] for name, each in outside.items()}  # the first repeat is not counted
    ratios = [ratio(seconds | parts, name=name, time_of=f"{name}, outside", over=name) for name in tasks]
    inputs = {"model": loaded.name, "dtype": dtype, "gamma": gamma, "tokens": tokens, "repeats": repeats}
    report("benchmarks.outside", ratios, inputs=inputs, notes=NOTES, as_json=as_json)


if __name__ == "__main__":
    main()

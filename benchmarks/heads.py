"""Trained heads over plain decoding, by this decoder: `python -m benchmarks.heads out/heads/eagle3.safetensors`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, islice
from pathlib import Path

import click

from benchmarks.timing import interleaved, options, ratio, report
from specsim.distributions import Sampling
from specsim.records import RoundRecord
from validation.decoder.load import load
from validation.decoder.loop import decode
from validation.decoder.model import CachedModel
from validation.decoder.proposers import Proposer
from validation.decoder.proposers.head import HeadProposer
from validation.decoder.proposers.head_tree import HeadTreeProposer
from validation.demo.prompts import prompts
from validation.heads.files import load_head
from validation.timing import pin_threads
from validation.train.text import Writing, seed_prompts

NOTES = (
    "same texts, same number of new tokens, batch 1, interleaved; above 1 is a speedup over plain decoding here",
    "held-out prompts are of the kinds that text of the default rows and seed answers; no such head saw any of them",
    "texts go on beyond their end; every repeat draws with seeds of its own",
)


@click.command()
@click.argument("heads", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--dtype", type=click.Choice(["float32", "bfloat16"]), default="bfloat16", show_default=True)
@click.option("--temperature", type=click.FloatRange(min=0), default=0.0, show_default=True)
@click.option("--gamma", "gammas", type=click.IntRange(min=1), multiple=True, default=(2, 3), show_default=True)
@click.option(
    "--tree", "trees", type=click.IntRange(min=1), multiple=True, help="Nodes of a dynamic tree, besides chains."
)
@click.option("--prompts", "source", type=click.Choice(["held-out", "demo"]), default="held-out", show_default=True)
@click.option("--texts", type=click.IntRange(min=1, max=Writing().rows), default=8, show_default=True)
@click.option("--tokens", type=click.IntRange(min=2), default=64, show_default=True, help="New tokens of a text.")
@options
def main(
    heads: tuple[Path, ...],
    dtype: str,
    temperature: float,
    gammas: tuple[int, ...],
    trees: tuple[int, ...],
    source: str,
    texts: int,
    tokens: int,
    repeats: int,
    as_json: bool,
) -> None:
    """Tokens per second with each head over those of plain decoding, by how deep it drafts."""
    pin_threads()
    loaded = load(dtype=dtype)
    asked = [loaded.prompt_tokens(message) for message in _messages(source, texts)]
    target, sampling = CachedModel(loaded.model, pack=True), Sampling(temperature=temperature)
    rounds: dict[str, list[RoundRecord]] = {}

    def task(name: str, proposer: Proposer | None, gamma: int) -> Callable[[], None]:
        turns = count()

        def run() -> None:
            turn = next(turns)
            for place, prompt in enumerate(asked):
                settings = {"gamma": gamma, "max_tokens": tokens, "sampling": sampling}
                found = decode(target, proposer, prompt, seed=1000 * turn + place, **settings)
                rounds.setdefault(name, []).extend(found.records)

        return run

    drafting: dict[str, tuple[Proposer, int]] = {}
    for path in heads:
        head = load_head(path, loaded.model)
        chain = HeadProposer(head)
        drafting |= {f"{path}, gamma {gamma}": (chain, gamma) for gamma in gammas}
        for nodes in trees:
            tree = HeadTreeProposer(head, nodes=nodes)
            drafting |= {f"{path}, tree of {nodes}, {gamma} deep": (tree, gamma) for gamma in gammas}
    tasks = {"plain": task("plain", None, 0)} | {name: task(name, *how) for name, how in drafting.items()}
    seconds = interleaved(tasks, repeats=repeats)
    ratios = [ratio(seconds, name=name, time_of="plain", over=name) for name in drafting]
    taus = {name: sum(one.committed for one in each) / len(each) for name, each in rounds.items()}
    inputs = {"model": loaded.name, "heads": [str(path) for path in heads], "gammas": gammas, "trees": trees}
    inputs |= {"dtype": dtype, "temperature": temperature, "tokens": tokens}
    notes = (*NOTES, *(f"{name}: {tau:.2f} tokens a round" for name, tau in taus.items()))
    report(
        "benchmarks.heads",
        ratios,
        inputs=inputs | {"prompts": source, "texts": texts, "repeats": repeats},
        notes=notes,
        as_json=as_json,
    )


def _messages(source: str, count: int) -> list[str]:
    if source == "demo":
        return [prompt.text for prompt in prompts(count)]
    return list(islice(seed_prompts(), count))  # of the first shard, which is always held out


if __name__ == "__main__":
    main()

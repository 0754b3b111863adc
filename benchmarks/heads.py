"""Trained heads and quantised copies over plain decoding here: `python -m benchmarks.heads HEAD --copy 4`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, islice
from pathlib import Path

import click
import numpy as np

from benchmarks.timing import LEVEL, Ratio, Seconds, interleaved, report
from specsim.cli.output import json_option
from specsim.distributions import Sampling
from specsim.errors import InputError
from specsim.records import RoundRecord
from specsim.topology import Topology
from validation.decoder.load import Loaded, load
from validation.decoder.loop import decode
from validation.decoder.model import CachedModel
from validation.decoder.proposers import PROPOSERS, Proposer
from validation.decoder.proposers.head import HeadProposer
from validation.decoder.proposers.head_sampled_tree import SampledHeadTreeProposer
from validation.decoder.proposers.head_tree import HeadTreeProposer
from validation.demo.prompts import prompts
from validation.heads import Head
from validation.heads.files import load_head
from validation.timing import pin_threads
from validation.train.text import Writing, unseen_prompts

PLAIN = "plain"
RESAMPLES = 10_000
NOTES = (
    "ratio: seconds of plain decoding here over those with the drafter, all texts together, as many tokens, batch 1; "
    "settings take turns on every text, the interval resamples texts, n counts them",
    "held-out prompts are of the kinds that text of the default rows and seed answers; no such head saw any of them",
    "texts go on beyond their end",
)


@click.command()
@click.argument("heads", nargs=-1, type=click.Path(path_type=Path))
@click.option("--copy", "copies", type=click.Choice(["4", "8"]), multiple=True, help="The target in so many bits.")
@click.option("--dtype", type=click.Choice(["float32", "bfloat16"]), default="bfloat16", show_default=True)
@click.option("--temperature", type=click.FloatRange(min=0), default=0.0, show_default=True)
@click.option("--gamma", "gammas", type=click.IntRange(min=1), multiple=True, default=(2, 3), show_default=True)
@click.option("--tree", "trees", type=click.IntRange(min=1), multiple=True, help="Nodes of a dynamic tree, as deep.")
@click.option("--sampled", "branchings", multiple=True, help="Children a node by depth of a sampled tree, as 3,2,1.")
@click.option("--prompts", "source", type=click.Choice(["held-out", "demo"]), default="held-out", show_default=True)
@click.option("--texts", type=click.IntRange(min=2, max=Writing().rows), default=Writing().rows, show_default=True)
@click.option("--tokens", type=click.IntRange(min=2), default=64, show_default=True, help="New tokens of a text.")
@json_option
def main(
    heads: tuple[Path, ...],
    copies: tuple[str, ...],
    dtype: str,
    temperature: float,
    gammas: tuple[int, ...],
    trees: tuple[int, ...],
    branchings: tuple[str, ...],
    source: str,
    texts: int,
    tokens: int,
    as_json: bool,
) -> None:
    """Speed with each head or copy over that of plain decoding, by how deep it drafts."""
    if not heads and not copies:
        raise click.UsageError("name the file of a head, or --copy")
    if (trees or branchings) and not heads:
        raise click.UsageError("--tree and --sampled need the file of a head")
    shapes = {branching: _topology(branching) for branching in branchings}
    pin_threads()
    loaded = load(dtype=dtype)
    asked = [loaded.prompt_tokens(message) for message in _messages(source, texts)]
    target, sampling = CachedModel(loaded.model, pack=True), Sampling(temperature=temperature)
    rounds: dict[str, list[RoundRecord]] = {}

    def task(name: str, proposer: Proposer | None, gamma: int) -> Callable[[], None]:
        turns = count(-1)  # the first turn warms up

        def run() -> None:
            place = next(turns) % len(asked)
            settings = {"gamma": gamma, "max_tokens": tokens, "sampling": sampling, "seed": place}
            rounds.setdefault(name, []).extend(decode(target, proposer, asked[place], **settings).records)

        return run

    drafting: dict[str, tuple[Proposer, int]] = {}
    for path in heads:
        head = _head(path, loaded)
        chain = HeadProposer(head)
        drafting |= {f"{path.stem}, gamma {gamma}": (chain, gamma) for gamma in gammas}
        for nodes in trees:
            tree = HeadTreeProposer(head, nodes=nodes)
            drafting |= {f"{path.stem}, tree of {nodes}, {gamma} deep": (tree, gamma) for gamma in gammas}
        for branching, topology in shapes.items():
            sampled = SampledHeadTreeProposer(head, topology=topology)
            drafting[f"{path.stem}, sampled tree {branching}"] = (sampled, topology.depth)
    for bits in copies:
        quantised = PROPOSERS["quantised"](loaded, bits=int(bits))
        drafting |= {f"{quantised.name} copy, gamma {gamma}": (quantised, gamma) for gamma in gammas}
    tasks = {PLAIN: task(PLAIN, None, 0)} | {name: task(name, *how) for name, how in drafting.items()}
    seconds = interleaved(tasks, repeats=len(asked))
    taus = {name: sum(one.committed for one in each) / len(each) for name, each in rounds.items()}
    inputs = {"model": loaded.name, "heads": [str(path) for path in heads], "gammas": gammas, "trees": trees}
    inputs |= {"sampled": branchings, "copies": copies}
    inputs |= {"dtype": dtype, "temperature": temperature, "prompts": source, "texts": len(asked), "tokens": tokens}
    notes = (*NOTES, *(f"{name}: {taus[name]:.2f} tokens a round" for name in drafting))
    report(
        "benchmarks.heads",
        [_over_plain(seconds, name) for name in drafting],
        inputs=inputs,
        notes=notes,
        as_json=as_json,
    )


def _over_plain(seconds: Seconds, name: str) -> Ratio:
    plain, own = np.array(seconds[PLAIN]), np.array(seconds[name])
    drawn = np.random.default_rng(0).integers(len(own), size=(RESAMPLES, len(own)))
    low, high = np.quantile(plain[drawn].sum(1) / own[drawn].sum(1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    whole = float(plain.sum() / own.sum())
    return Ratio(
        name=name, time_of=PLAIN, over=name, seconds=float(own.sum()), value=whole, low=low, high=high, n=len(own)
    )


def _head(path: Path, loaded: Loaded) -> Head:
    try:
        return load_head(path, loaded.model)
    except InputError as error:
        raise click.UsageError(str(error)) from error


def _topology(branching: str) -> Topology:
    try:
        return Topology.branching(*map(int, branching.split(",")))
    except ValueError:
        raise click.BadParameter(
            f"must be counts of children as 3,2,1, got {branching}", param_hint="--sampled"
        ) from None


def _messages(source: str, count: int) -> list[str]:
    if source == "demo":
        return [prompt.text for prompt in prompts(count)]
    return list(islice(unseen_prompts(), count))


if __name__ == "__main__":
    main()

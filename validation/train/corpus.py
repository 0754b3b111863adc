"""A corpus: shards of text that the target wrote, each with the features of its tokens, made once and kept."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from specsim.errors import InputError
from specsim.files import ready_folder, write_whole
from validation.decoder.load import Loaded
from validation.decoder.pretrained import one_line
from validation.heads.files import fingerprint
from validation.train.features import collect
from validation.train.text import Text, Writing, prompt_kinds, seed_prompts, write_texts

Report = Callable[[str, float], None]

PASS = 8  # most texts whose hidden states are held at once


@dataclass(frozen=True, kw_only=True, slots=True)
class Shard:
    """Texts with their features; tensors are mapped from disk, not read.

    Parameters
    ----------
    texts
        The texts, one behind the other in every column.
    columns
        See `features.collect`.
    usable
        Places in `texts` of those that count.
    """

    texts: Sequence[Text]
    columns: dict[str, Tensor]
    usable: Sequence[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Corpus:
    """All shards of one target.

    Parameters
    ----------
    training, held_out
        Shards to learn from, and shards no step may see.
    layers
        Which hidden states they hold.
    target
        Name and fingerprint of the target that wrote them.
    """

    training: Sequence[Shard]
    held_out: Sequence[Shard]
    layers: Sequence[int]
    target: dict[str, Any]

    @property
    def tokens(self) -> int:
        """Tokens to learn from [1]."""
        return sum(len(shard.texts[place].tokens) for shard in self.training for place in shard.usable)


def make_corpus(
    loaded: Loaded, *, writing: Writing, layers: Sequence[int], cache: Path, report: Report | None = None
) -> Corpus:
    """Write the missing texts, compute the missing features, and open all of them.

    Parameters
    ----------
    loaded
        The target.
    writing
        What is wanted. More tokens of the same writing add shards to those that are there.
    layers
        Hidden states wanted.
    cache
        Folder of corpora; each target and writing has one of its own in it.
    report
        Told a title and the fraction done.

    Raises
    ------
    InputError
        A shard that is damaged (it names the file to remove), or a folder that cannot be written.

    Notes
    -----
    A shard is written whole or not at all, and its prompts and seeds follow from its number: work that was broken off
    goes on at the shard where it stopped and ends with the same bytes.
    """
    target = fingerprint(loaded.model, loaded.name)
    folder = ready_folder(cache / _folder_name(target, writing))
    shards: list[Shard] = []
    done, told = 0, report or (lambda title, fraction: None)
    while done < writing.tokens or len(shards) < 2:
        texts = _texts(folder, loaded, writing, len(shards), told)
        columns = _features(folder, loaded, texts, layers, len(shards), writing.rows, told)
        shards.append(Shard(texts=texts, columns=columns, usable=range(len(texts))))
        done += sum(len(text.tokens) for text in texts)
        told("corpus", min(1.0, done / writing.tokens))
    held_out = shards[:: writing.held_out]
    training = [shard for place, shard in enumerate(shards) if place % writing.held_out]
    return Corpus(training=_without(training, held_out), held_out=held_out, layers=tuple(layers), target=target)


def _without(training: Sequence[Shard], held_out: Sequence[Shard]) -> list[Shard]:
    """The training shards without texts that answer a prompt which is held out: greedy ones would be the same texts."""
    unseen = {_prompt(text) for shard in held_out for text in shard.texts}
    return [
        replace(shard, usable=[place for place in shard.usable if _prompt(shard.texts[place]) not in unseen])
        for shard in training
    ]


def _prompt(text: Text) -> tuple[int, ...]:
    return text.tokens[: text.prompt]


def _folder_name(target: dict[str, Any], writing: Writing) -> str:
    settings = {key: value for key, value in dataclasses.asdict(writing).items() if key not in ("tokens", "held_out")}
    digest = hashlib.sha256(json.dumps([target["sha256"], settings, prompt_kinds()], sort_keys=True).encode())
    plain = "".join(letter if letter.isalnum() else "-" for letter in Path(target["name"]).name)[:32].strip("-")
    return f"{plain}-{digest.hexdigest()[:12]}"


def _texts(folder: Path, loaded: Loaded, writing: Writing, number: int, report: Report) -> list[Text]:
    path = folder / f"text-{number:04d}.json"
    if not path.exists():
        messages = islice(seed_prompts(writing.seed), number * writing.rows, (number + 1) * writing.rows)
        texts = write_texts(
            loaded,
            [loaded.prompt_tokens(message) for message in messages],
            writing=writing,
            seed=[writing.seed, number],
            report=partial(report, f"writing shard {number + 1}"),
        )
        write_whole(path, json.dumps([dataclasses.asdict(text) for text in texts]))
    try:
        return [Text(**row | {"tokens": tuple(row["tokens"])}) for row in json.loads(path.read_text())]
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"cannot read {path}: {one_line(error)}; remove it and it is made anew") from error


def _features(
    folder: Path, loaded: Loaded, texts: Sequence[Text], layers: Sequence[int], number: int, rows: int, report: Report
) -> dict[str, Tensor]:
    path = folder / f"features-{number:04d}.safetensors"
    if not path.exists() or not {f"layer.{layer}" for layer in layers} <= set(columns := open_tensors(path)):
        told = partial(report, f"reading shard {number + 1}")
        made = collect(loaded.model, texts, layers=layers, rows=min(PASS, rows), report=told)
        write_whole(path, save(made))
        columns = open_tensors(path)
    if len(columns["best"]) != sum(len(text.tokens) for text in texts):
        raise InputError(f"{path} must hold the features of its texts, got others; remove it and it is made anew")
    return columns


def open_tensors(path: Path) -> dict[str, Tensor]:
    """Tensors of a safetensors file, mapped from disk.

    Raises
    ------
    InputError
        The file is damaged.
    """
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
    except (SafetensorError, OSError) as error:
        raise InputError(f"cannot read {path}: {one_line(error)}; remove it and it is made anew") from error

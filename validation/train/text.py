"""Texts written by the target itself, half at temperature 1 and half at 0: what its drafters have to foresee."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import compress, islice
from operator import not_
from typing import Any

import numpy as np

from specsim import checks
from specsim.distributions import Sampling, sample
from validation.decoder.load import Loaded
from validation.decoder.model import CachedModel

Report = Callable[[float], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Writing:
    """How training text is written.

    Parameters
    ----------
    tokens
        Tokens wanted in all, prompts included [1].
    new_tokens
        Most new tokens of a text [1].
    sampled
        Share of the texts written at temperature 1; the others are greedy [1].
    rows
        Texts written side by side, which is also how many a shard holds [1].
    held_out
        Every how many-th shard is kept from training, at least one [1].
    seed
        Of prompts and samples.
    """

    tokens: int = 150_000
    new_tokens: int = 160
    sampled: float = 0.5
    rows: int = 32
    held_out: int = 12
    seed: int = 0

    def __post_init__(self) -> None:
        checks.integer("tokens", self.tokens, low=1)
        checks.integer("new_tokens", self.new_tokens, low=2)
        checks.probability("sampled", self.sampled)
        checks.integer("rows", self.rows, low=1)
        checks.integer("held_out", self.held_out, low=2)


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """One text.

    Parameters
    ----------
    tokens
        Prompt and what the target wrote.
    prompt
        Tokens of the prompt [1].
    sampled
        Written at temperature 1; greedy otherwise.
    """

    tokens: tuple[int, ...]
    prompt: int
    sampled: bool


def prompt_kinds() -> list[dict[str, Any]]:
    """Kinds of messages, each with the templates and subjects that every combination is made of."""
    kinds = tomllib.loads(resources.files("validation.train").joinpath("prompts.toml").read_text())["kind"]
    return list(kinds)


def seed_prompts(seed: int = 0) -> Iterator[str]:
    """User messages without end, kinds taking turns, each message once before any comes again.

    Examples
    --------
    >>> from itertools import islice
    >>> len(set(islice(seed_prompts(), 500)))
    500
    """
    pairs = [
        (template, subject) for kind in prompt_kinds() for template in kind["templates"] for subject in kind["subjects"]
    ]
    messages = [template.format(subject) for template, subject in pairs]
    rng = np.random.default_rng(seed)
    while True:
        for place in rng.permutation(len(messages)):
            yield messages[place]


def unseen_prompts() -> Iterator[str]:
    """Messages that no head sees which learns from text of the default rows and seed, then the others; each once.

    Examples
    --------
    >>> from itertools import islice
    >>> first = list(islice(unseen_prompts(), 32))
    >>> first == list(islice(seed_prompts(), 32))  # the first shard is held out
    True
    """
    writing = Writing()
    count = sum(len(kind["templates"]) * len(kind["subjects"]) for kind in prompt_kinds())
    messages = list(islice(seed_prompts(writing.seed), count))
    held_out = [place // writing.rows % writing.held_out == 0 for place in range(count)]
    yield from compress(messages, held_out)
    yield from compress(messages, map(not_, held_out))


def write_texts(
    loaded: Loaded,
    prompts: Sequence[Sequence[int]],
    *,
    writing: Writing,
    seed: int | Sequence[int],
    report: Report | None = None,
) -> list[Text]:
    """Let the target continue every prompt.

    Parameters
    ----------
    loaded
        The target.
    prompts
        B token lists; the first ones, as many as `writing.sampled` says, are continued at temperature 1.
    writing
        Lengths and shares.
    seed
        Of the samples.
    report
        Told the fraction done.

    Returns
    -------
    list of Text
        In the order of the prompts.

    Notes
    -----
    A text ends with the token that ends texts, or after `writing.new_tokens`.
    """
    model, rng = CachedModel(loaded.model, pack=True), np.random.default_rng(seed)
    sampled = [place < round(writing.sampled * len(prompts)) for place in range(len(prompts))]
    texts = [list(prompt) for prompt in prompts]
    model.begin(len(texts))
    open_rows, fed = list(range(len(texts))), [list(prompt) for prompt in prompts]
    for step in range(writing.new_tokens):
        logits = np.concatenate(model.read(fed, keep=1).logits)
        new = _chosen(logits, np.array([sampled[row] for row in open_rows]), rng.random(len(open_rows)))
        for row, token in zip(open_rows, new, strict=True):
            texts[row].append(token)
        going = [place for place, token in enumerate(new) if token not in loaded.eos_ids]
        if len(going) < len(open_rows):
            model.select(going)
        open_rows, fed = [open_rows[place] for place in going], [[new[place]] for place in going]
        if report is not None:
            report((step + 1) / writing.new_tokens)
        if not open_rows:
            break
    return [
        Text(tokens=tuple(text), prompt=len(prompt), sampled=drawn)
        for text, prompt, drawn in zip(texts, prompts, sampled, strict=True)
    ]


def _chosen(logits: np.ndarray, sampled: np.ndarray, uniforms: np.ndarray) -> list[int]:
    """A token per row: drawn where `sampled`, else the most probable one."""
    tokens = logits.argmax(axis=-1)
    if sampled.any():
        laws = Sampling().probabilities(logits[sampled])
        tokens[sampled] = [int(sample(law, uniform)) for law, uniform in zip(laws, uniforms[sampled], strict=True)]
    return [int(token) for token in tokens]

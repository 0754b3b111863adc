"""The demo's prompts: four kinds of text, written for this project."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """One user message.

    Parameters
    ----------
    name : str
        Unique; the `request` of the rows that it leads to.
    kind : str
        code, dialogue, translation or story.
    text : str
        The message, before the chat template.
    """

    name: str
    kind: str
    text: str


def prompts(count: int | None = None) -> tuple[Prompt, ...]:
    """The first `count` prompts, taking turns between kinds; all of them by default.

    Examples
    --------
    >>> [prompt.kind for prompt in prompts(4)]
    ['code', 'dialogue', 'translation', 'story']
    """
    rows = tomllib.loads(resources.files("validation.demo").joinpath("prompts.toml").read_text())["prompt"]
    every = [Prompt(**row) for row in rows]
    kinds = list(dict.fromkeys(prompt.kind for prompt in every))
    by_kind = {kind: [prompt for prompt in every if prompt.kind == kind] for kind in kinds}
    taking_turns = [prompt for turn in zip(*by_kind.values(), strict=True) for prompt in turn]
    return tuple(taking_turns[:count])

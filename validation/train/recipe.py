"""Recipes: how each head is trained, one TOML file each."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from specsim import checks
from specsim.errors import InputError
from validation.heads import HEADS
from validation.train.objective import Objective
from validation.train.optimizers import OPTIMIZERS


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """How a head is trained.

    Parameters
    ----------
    head
        Name in `HEADS`.
    depth
        Most tokens that it drafts, and the depth that acceptance is measured to [1].
    objective
        What is lowered.
    options
        Of the head.
    drafts
        Tokens of the draft vocabulary [1].
    batch_tokens
        Most tokens of a step [1].
    optimizer
        "muon" or "adamw", see `make_optimizers`.
    learning_rate, weight_decay
        Of the optimizer; the rate rises over `warm_up` steps and falls to a tenth along a cosine [1].
    minutes
        Budget on two CPU cores; the number of steps follows from the time of the first ones [min].
    """

    head: str
    depth: int
    objective: Objective
    options: Mapping[str, int] = field(default_factory=dict)
    drafts: int = 8192
    batch_tokens: int = 2048
    optimizer: str = "muon"
    learning_rate: float = 2e-3
    weight_decay: float = 0.01
    warm_up: int = 20
    minutes: float = 6.0

    def __post_init__(self) -> None:
        checks.one_of("head", self.head, HEADS)
        checks.integer("depth", self.depth, low=1)
        checks.integer("drafts", self.drafts, low=2)
        checks.integer("batch_tokens", self.batch_tokens, low=1)
        checks.one_of("optimizer", self.optimizer, OPTIMIZERS)
        checks.positive("learning_rate", self.learning_rate)
        checks.non_negative("weight_decay", self.weight_decay)
        checks.integer("warm_up", self.warm_up, low=1)
        checks.positive("minutes", self.minutes)
        if "confidence" in self.objective.terms and not hasattr(HEADS[self.head], "confidence"):
            raise InputError(f"loss confidence needs a head that states one, got {self.head}")

    def with_loss(self, name: str | None) -> Recipe:
        """The same with one loss of `LOSSES` instead of those between laws; other terms stay."""
        if name is None:
            return self
        others = {term: factor for term, factor in self.objective.terms.items() if term in ("confidence", "feature")}
        return replace(self, objective=replace(self.objective, terms={name: 1.0} | others))


def recipe(source: str | Path, *, device: str = "cpu") -> Recipe:
    """The recipe of a head, or of a TOML file.

    Parameters
    ----------
    source
        Name in `HEADS`, or a file.
    device
        On "cuda" the file's table `cuda` overrides what it names.

    Raises
    ------
    InputError
        An unknown name, a damaged file, or entries that are unknown or wrong.

    Examples
    --------
    >>> found = recipe("eagle3")
    >>> found.head, found.objective.depth > 1
    ('eagle3', True)
    """
    text, place = _text(source)
    try:
        rows = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"cannot read the recipe {place}: {error}") from error
    overrides = rows.pop("cuda", {})
    if device == "cuda":
        rows = {
            key: {**value, **overrides.get(key, {})} if isinstance(value, dict) else overrides.get(key, value)
            for key, value in (overrides | rows).items()
        }
    objective = _known(rows.pop("objective", {}), Objective, f"{place} [objective]")
    return Recipe(**_known(rows, Recipe, place), objective=Objective(**objective))


def _text(source: str | Path) -> tuple[str, str]:
    path = Path(source)
    if path.suffix == ".toml":
        try:
            return path.read_text(), str(path)
        except OSError as error:
            raise InputError(f"cannot read the recipe {path}: {error.strerror}") from error
    name = checks.one_of("recipe", str(source), HEADS)
    return resources.files("validation.train").joinpath("recipes", f"{name}.toml").read_text(), name


def _known(rows: dict[str, Any], kind: type, place: str) -> dict[str, Any]:
    """`rows`, whose keys are all parameters of `kind`."""
    for key in rows:
        checks.one_of(f"entry of {place}", key, [each.name for each in fields(kind)])
    return rows

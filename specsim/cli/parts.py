"""Options that several commands share, and the objects that they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from specsim import catalog
from specsim.acceptance import Acceptance
from specsim.errors import InputError
from specsim.roofline import Efficiency, Roofline

Command = TypeVar("Command", bound=Callable[..., Any])


def pass_options(command: Command) -> Command:
    """Add `--model --hardware --ideal --context`: what a forward pass runs on."""
    options = (
        click.option("--model", required=True, help="Catalogue name, or a Hugging Face config.json."),
        click.option("--hardware", required=True, help="Catalogue name; see `specsim catalog list`."),
        click.option("--context", type=int, default=1024, show_default=True, help="Cached tokens per sequence."),
        click.option("--ideal", is_flag=True, help="Datasheet peaks, no losses, instead of the assumed efficiency."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def roofline(model: str, hardware: str, *, ideal: bool) -> Roofline:
    """The pass that `pass_options` describe."""
    shape = catalog.ModelShape.from_config(model) if Path(model).suffix == ".json" else catalog.model(model)
    gpu = catalog.hardware(hardware)
    efficiency = Efficiency.ideal() if ideal else Efficiency.assumed(gpu)
    return Roofline(model=shape, hardware=gpu, efficiency=efficiency)


def acceptance(text: str) -> Acceptance:
    """`0.7` is constant; `0.8,0.7,0.6` is by depth.

    Examples
    --------
    >>> acceptance("0.8,0.5").survival(2)
    array([0.8, 0.4])
    """
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"alpha must be a number or numbers separated by commas, got {text!r}") from None
    return Acceptance.constant(values[0]) if len(values) == 1 else Acceptance.by_depth(values)


def deepest(text: str, *, limit: int) -> int:
    """The largest gamma that an acceptance given as `text` can answer for, at most `limit` [1].

    Examples
    --------
    >>> deepest("0.7", limit=16), deepest("0.8,0.5", limit=16)
    (16, 2)
    """
    return min(limit, text.count(",") + 1) if "," in text else limit


def integers(name: str, text: str) -> list[int]:
    """`2,6` is [2, 6].

    Examples
    --------
    >>> integers("gammas", "2,6")
    [2, 6]
    """
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{name} must be whole numbers separated by commas, got {text!r}") from None

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


def law_options(command: Command) -> Command:
    """Add `--alpha --decay --beta --markov`: the law of the accepted length."""
    options = (
        click.option("--alpha", help="Acceptance probability, or several by depth: 0.8,0.7,0.6."),
        click.option("--decay", nargs=2, type=float, metavar="A B", help="Falls with depth: A * B^(k-1)."),
        click.option("--beta", nargs=2, type=float, metavar="A B", help="Differs from round to round: Beta(A, B)."),
        click.option(
            "--markov",
            nargs=5,
            type=float,
            metavar="START STAY_GOOD STAY_BAD GOOD BAD",
            help="Two states: P(start good), P(stay good), P(stay bad), acceptance in each.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def law(
    *,
    alpha: str | None,
    decay: tuple[float, ...] | None,
    beta: tuple[float, ...] | None,
    markov: tuple[float, ...] | None,
) -> Acceptance:
    """The law that `law_options` name.

    Examples
    --------
    >>> law(alpha=None, decay=(0.8, 0.5), beta=None, markov=None).conditional(2)
    array([0.8, 0.4])
    """
    given = {"alpha": alpha, "decay": decay, "beta": beta, "markov": markov}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        got = " and ".join(f"--{name}" for name in named) or "none"
        raise InputError(f"give one of --alpha, --decay, --beta and --markov, got {got}")
    if decay is not None:
        return Acceptance.decay(decay[0], decay[1])
    if beta is not None:
        return Acceptance.beta(beta[0], beta[1])
    if markov is not None:
        start, stay_good, stay_bad, good, bad = markov
        return Acceptance.markov(
            start_good=start, stay_good=stay_good, stay_bad=stay_bad, alpha_good=good, alpha_bad=bad
        )
    return acceptance(str(alpha))


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

"""Options that several commands share, and the objects that they name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from specsim import catalog
from specsim.acceptance import Acceptance
from specsim.errors import InputError
from specsim.roofline import Efficiency, Roofline
from specsim.units import human

Command = TypeVar("Command", bound=Callable[..., Any])


def pass_options(command: Command) -> Command:
    """Add `--model --hardware --context --tensor-parallel --ideal --kernels`: what a forward pass runs on."""
    model = click.option("--model", required=True, help="Catalogue name, or a Hugging Face config.json.")
    return options(model, *machine_options())(command)


def options(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, shown in their order."""

    def decorated(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorated


def machine_options() -> tuple[Callable[[Command], Command], ...]:
    """All of `pass_options` but the model."""
    return (
        click.option("--hardware", required=True, help="Catalogue name (`specsim catalog list`), or a .toml file."),
        click.option("--context", type=int, default=1024, show_default=True, help="Cached tokens per sequence."),
        click.option("--tensor-parallel", help="GPUs that share every layer."),
        click.option("--ideal", is_flag=True, help="Datasheet peaks without losses."),
        click.option("--kernels", help="Engine whose measured kernels were fitted: vllm, sglang, trtllm."),
    )


def roofline(
    model: str | catalog.ModelShape, hardware: str, *, ideal: bool, kernels: str | None, tensor_parallel: str | None
) -> Roofline:
    """The pass that `pass_options` describe."""
    gpu = catalog.hardware_from(hardware)
    one_pass = Roofline(
        model=catalog.model_from(model) if isinstance(model, str) else model,
        hardware=gpu,
        efficiency=efficiency(gpu, ideal=ideal, kernels=kernels) or Efficiency.default(gpu),
        tensor_parallel=degree(tensor_parallel),
    )
    _check_fits(one_pass)
    return one_pass


def _check_fits(one_pass: Roofline) -> None:
    """Refuse weights that the accelerators do not hold: a pass over them has no meaning."""
    share = one_pass.model.weight_bytes / one_pass.tensor_parallel
    if share > one_pass.hardware.memory_bytes:
        raise InputError(
            f"{one_pass.model.name} must fit its accelerators, got {human(share, 'B')} of weights on each of "
            f"{one_pass.tensor_parallel} {one_pass.hardware.name} with {human(one_pass.hardware.memory_bytes, 'B')}: "
            "give more by --tensor-parallel"
        )


def degree(text: str | None) -> int:
    """One tensor-parallel degree; 1 where none is given.

    Examples
    --------
    >>> degree(None), degree("4")
    (1, 4)
    """
    given = integers("tensor-parallel", text or "1")
    if len(given) != 1:
        raise InputError(f"tensor-parallel must be one whole number, got {text!r}")
    return given[0]


def efficiency(gpu: catalog.Hardware, *, ideal: bool, kernels: str | None) -> Efficiency | None:
    """What `--ideal` or `--kernels` ask for; None for the best that is known."""
    if ideal and kernels is not None:
        raise InputError("give one of --ideal and --kernels, got both")
    if ideal:
        return Efficiency.ideal()
    return None if kernels is None else Efficiency.fitted(gpu.name, engine=kernels)


def law_options(command: Command) -> Command:
    """Add `--alpha --decay --beta --markov`: the law of the accepted length."""
    return options(
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
    )(command)


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


def acceptance(text: str, *, beyond: str = "raise") -> Acceptance:
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
    return Acceptance.constant(values[0]) if len(values) == 1 else Acceptance.by_depth(values, beyond=beyond)


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

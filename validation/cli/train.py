"""`specsim validate train`: drafter heads for a target, from its own text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from specsim import checks
from specsim.cli.output import emit, envelope, json_option, seed_option, table
from specsim.errors import InputError
from specsim.files import ready_folder
from specsim.units import percent

if TYPE_CHECKING:
    from validation.decoder.load import Loaded
    from validation.train.recipe import Recipe
    from validation.train.trainer import Trained

ASSUMPTIONS = (
    "Texts are the target's own, half at temperature 1 and half greedy; whole texts are held out.",
    "alpha k: a draft at depth k is accepted at temperature 1 when all before it were; agreement k: at temperature 0.",
)


@click.command()
@click.argument("name")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder for the heads.")
@click.option("--model", help="Local folder or hub name; by default SmolLM2-135M-Instruct from the package index.")
@click.option("--device", default="auto", show_default=True, help="cpu, cuda or auto.")
@click.option("--minutes", type=float, help="Budget of a head; the recipe's by default.")
@click.option("--steps", type=int, help="Steps of a head, instead of a budget.")
@click.option("--tokens", type=int, default=150_000, show_default=True, help="Text to learn from and to hold out.")
@click.option("--rows", type=click.IntRange(min=1), default=32, show_default=True, help="Texts written side by side.")
@click.option("--loss", help="ce, kl, reverse_kl, tv, lk_nla or lk_hybrid; the recipe's by default.")
@click.option("--recipe", "file", type=click.Path(dir_okay=False), help="A TOML file instead of the head's own.")
@click.option("--resume", is_flag=True, help="Go on from checkpoints; heads that are done stay.")
@click.option("--cache", type=click.Path(file_okay=False, path_type=Path), help="Text and features; the user's cache.")
@seed_option
@json_option
def train(
    name: str,
    out: Path,
    model: str | None,
    device: str,
    minutes: float | None,
    steps: int | None,
    tokens: int,
    rows: int,
    loss: str | None,
    file: str | None,
    resume: bool,
    cache: Path | None,
    seed: int,
    as_json: bool,
) -> int:
    """Train the head NAME, or all of them. Text and features are made once and kept; Ctrl-C leaves a checkpoint.

    Exit code 1 where a head of `all` could not be trained; the others are.
    """
    from validation.decoder.load import load, user_cache
    from validation.heads import HEADS
    from validation.timing import pin_threads
    from validation.train.corpus import make_corpus
    from validation.train.recipe import recipe
    from validation.train.text import Writing

    names = list(HEADS) if name == "all" else [checks.one_of("head", name, [*HEADS, "all"])]
    if file is not None and name == "all":
        raise InputError("recipe must be for one head, got it with all")
    ready_folder(out)
    pin_threads()
    loaded = load(model, dtype="auto", device=device)
    kind = loaded.model.device.type
    recipes = [recipe(file or each, device=kind).with_loss(loss) for each in names]
    if minutes is not None:
        recipes = [replace(each, minutes=minutes) for each in recipes]
    writing = Writing(tokens=tokens, rows=rows, seed=seed)
    last = loaded.model.config.get_text_config(decoder=True).num_hidden_layers
    layers = sorted({layer for each in HEADS.values() for layer in each.feature_layers(last)})
    with _screen() as screen:
        corpus = make_corpus(
            loaded, writing=writing, layers=layers, cache=cache or user_cache() / "train", report=screen.report
        )
        options = {"out": out, "seed": seed, "steps": steps, "resume": resume}
        done, failed = _trained(loaded.model, corpus, recipes, screen, keep_going=name == "all", **options)
        if "distilled" in done:
            _write_model(done["distilled"].path, loaded, screen)
    heads = [{"head": key, **_row(value)} for key, value in done.items()]
    inputs = {"name": name, "model": model, "device": device, "tokens": tokens, "rows": rows, "loss": loss, **options}
    result = {"target": corpus.target, "tokens": corpus.tokens, "heads": heads, "failed": failed}
    outcome = envelope("validate train", inputs=inputs, result=result, assumptions=ASSUMPTIONS)
    notice = [loaded.notice] if loaded.notice else []
    lines = [f"{key} failed: {why}" for key, why in failed.items()]
    emit(outcome, as_json=as_json, tables=[*notice, *([_table(heads)] if heads else []), *lines])
    return 1 if failed else 0


def _trained(
    model: Any, corpus: Any, recipes: Sequence[Recipe], screen: _Screen, *, keep_going: bool, **options: Any
) -> tuple[dict[str, Trained], dict[str, str]]:
    """Every head in turn; with `keep_going`, one that fails does not stop the others."""
    from validation.train.trainer import train as train_head

    done, failed = {}, {}
    for recipe in recipes:
        try:
            done[recipe.head] = train_head(
                model, corpus, recipe, report=lambda at, head=recipe.head: screen.training(head, at), **options
            )
        except InputError as error:
            if not keep_going:
                raise
            failed[recipe.head] = str(error)
            continue
        screen.line(f"{recipe.head}: {_rates(done[recipe.head].held_out)}; {done[recipe.head].path}")
    return done, failed


def _write_model(path: Path, loaded: Loaded, screen: _Screen) -> None:
    """The distilled head as a model of its own, where the target is of a kind that allows it."""
    from validation.heads.files import write_model

    try:
        screen.line(f"distilled: as a model for any decoder in {write_model(path, loaded.model, loaded.tokenizer)}")
    except InputError as error:
        screen.line(f"distilled: {error}")


def _row(trained: Trained) -> dict[str, Any]:
    return asdict(trained) | {"tau": trained.held_out.tau, "tau_greedy": trained.held_out.tau_greedy}


def _table(rows: Sequence[dict[str, Any]]) -> Any:
    columns = ["head", "steps", "minutes", "coverage", "alpha 1, 2, 3", "tau", "agreement 1, 2, 3", "tau at 0"]
    return table(
        columns,
        [
            (
                row["head"],
                str(row["steps"]),
                f"{row['seconds'] / 60:.1f}",
                percent(row["coverage"]),
                _short(row["held_out"]["alphas"][:3]),
                f"{row['tau']:.2f}",
                _short(row["held_out"]["agreements"][:3]),
                f"{row['tau_greedy']:.2f}",
            )
            for row in rows
        ],
    )


def _rates(held_out: Any) -> str:
    return (
        f"held out: alpha {_short(held_out.alphas)} (tau {held_out.tau:.2f}), "
        f"agreement {_short(held_out.agreements)} (tau {held_out.tau_greedy:.2f})"
    )


def _short(rates: Sequence[float]) -> str:
    return " ".join(f"{rate:.2f}" for rate in rates)


class _Screen:
    """Bars on stderr, and lines above them."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._tasks = progress, {}

    def report(self, title: str, fraction: float) -> None:
        """Move the bar of `title`; one that is full goes away."""
        if title not in self._tasks:
            self._tasks[title] = self._progress.add_task(title, total=1.0)
        self._progress.update(self._tasks[title], completed=fraction, visible=fraction < 1)

    def training(self, head: str, at: Any) -> None:
        """Move the bar of a head, and say what was measured."""
        self.report(head, at.step / at.total if at.total else 0.0)
        if at.held_out is not None:
            self.line(f"{head}: step {at.step} of {at.total}, loss {at.loss:.3f}, {_rates(at.held_out)}")

    def line(self, text: str) -> None:
        """Print a line."""
        self._progress.console.print(text, highlight=False, soft_wrap=True)


@contextmanager
def _screen() -> Iterator[_Screen]:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        yield _Screen(progress)

"""Training: steps over batches until the budget is used, with a checkpoint that a later run goes on from."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch

from specsim.errors import InputError
from validation.heads import HEADS, Head, Setup
from validation.heads.files import about_head, save_head
from validation.heads.parts import Sizes
from validation.memory import enough_memory
from validation.timing import has_fast_bfloat16
from validation.train.batches import Batch, every, plan, take
from validation.train.checkpoint import read_about, restore, write_checkpoint
from validation.train.corpus import Corpus
from validation.train.held_out import HeldOut, measure
from validation.train.objective import lower
from validation.train.optimizers import make_optimizers
from validation.train.recipe import Recipe
from validation.train.vocabulary import coverage, draft_vocabulary

PROBE = range(3, 8)  # steps whose time says how many fit into the budget; the first ones are slower
SAVE_SECONDS = 60.0
EVAL_STARTS = 48  # chains of a text that acceptance is measured from
FLOOR = 0.1  # of the learning rate, where the cosine ends


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How a training stands.

    Parameters
    ----------
    step, total
        Steps taken and planned; `total` is 0 until it is known [1].
    loss
        Of this step's batch [1].
    alphas
        Overlap by depth on the training text, smoothed [1].
    held_out
        What was measured just now, if it was.
    """

    step: int
    total: int
    loss: float
    alphas: tuple[float, ...]
    held_out: HeldOut | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Trained:
    """What a training led to.

    Parameters
    ----------
    path
        The head's file.
    held_out
        Acceptance on the held-out texts, from their whole number.
    coverage
        Share of the target's probability on held-out texts that the draft vocabulary holds [1].
    steps, seconds
        Taken in all [1], [s].
    """

    path: Path
    held_out: HeldOut
    coverage: float
    steps: int
    seconds: float


Report = Callable[[Progress], None]


def train(
    model: Any,
    corpus: Corpus,
    recipe: Recipe,
    *,
    out: Path,
    seed: int = 0,
    steps: int | None = None,
    resume: bool = False,
    report: Report | None = None,
) -> Trained:
    """Train a head and write it to `out`.

    Parameters
    ----------
    model
        The target; it is not changed.
    corpus
        Its texts and features.
    recipe
        How.
    out
        Folder for NAME.safetensors, and for NAME.checkpoint.safetensors until it is done.
    seed
        Of weights, order and starts.
    steps
        Steps in all; by default what fits into the recipe's minutes.
    resume
        Go on from the checkpoint, if there is one; a head that is done with the same recipe, seed and text stays.
    report
        Told of every step.

    Raises
    ------
    InputError
        A loss that is not finite, or a checkpoint of another recipe, seed, target or text.
    KeyboardInterrupt
        After an interrupt, once the step is done and the checkpoint written.

    Notes
    -----
    Everything that is drawn follows from the seed and the number of the step, so a training that was broken off and
    resumed ends with the same weights, bit for bit, on the same machine with the same number of threads.
    """
    run = _Run(model, corpus, recipe, out=out, seed=seed, steps=steps)
    if resume and run.checkpoint.exists():
        run.restore()
    elif resume and run.path.exists() and (done := _done(run.path, run.key())):
        return done
    with _interrupts() as interrupted:
        while run.total == 0 or run.step < run.total:
            loss = run.advance()
            held_out = run.measure(quick=True) if run.at_quarter else None
            if report is not None:
                progress = Progress(
                    step=run.step, total=run.total, loss=loss, alphas=tuple(run.alphas.tolist()), held_out=held_out
                )
                report(progress)
            if interrupted.is_set():
                run.save()
                raise KeyboardInterrupt
            if perf_counter() - run.saved > SAVE_SECONDS:
                run.save()
    return run.finish()


class _Run:
    """A training under way: the head, its optimizers, and where they stand."""

    def __init__(self, model: Any, corpus: Corpus, recipe: Recipe, *, out: Path, seed: int, steps: int | None) -> None:
        self.corpus, self.recipe, self.seed = corpus, recipe, seed
        self.path = out / f"{recipe.head}.safetensors"
        self.checkpoint = out / f"{recipe.head}.checkpoint.safetensors"
        self.device = model.device.type
        self.head = new_head(model, corpus, recipe, seed=seed)
        self.optimizers = make_optimizers(
            self.head,
            name=recipe.optimizer,
            learning_rate=recipe.learning_rate,
            weight_decay=recipe.weight_decay,
        )
        self.alphas = torch.full((recipe.objective.depth,), 0.5)
        self.step, self.total, self.seconds = 0, steps or 0, 0.0
        self.started = self.saved = perf_counter()
        self._epoch, self._epoch_began, self._batches = 0, 0, self._plan(0)
        self._probed: list[float] = []

    @property
    def at_quarter(self) -> bool:
        """Whether a quarter of the steps was completed just now, the last one left out."""
        return 0 < self.step < self.total and self.step * 4 // self.total > (self.step - 1) * 4 // self.total

    def advance(self) -> float:
        """One step; the loss."""
        began = perf_counter()
        batch = self._batch(self.step)
        for group in (group for each in self.optimizers for group in each.param_groups):
            group["lr"] = self.recipe.learning_rate * self._rate()
        generator = torch.Generator().manual_seed(_stream(self.seed, self.step))
        self.head.train()
        self.head.zero_grad()
        task = f"a training step of {self.recipe.head} over {batch.tokens.numel()} tokens"
        with autocast(self.device), enough_memory(task, lower="batch_tokens of the recipe, or the tokens of a text"):
            scored = lower(self.head, batch, self.recipe.objective, alphas=self.alphas, generator=generator)
        loss = scored.loss
        if not math.isfinite(loss):
            raise InputError(
                f"loss must be finite, got {loss} in step {self.step} of {self.recipe.head}; lower learning_rate, "
                f"now {self.recipe.learning_rate:g}"
            )
        torch.nn.utils.clip_grad_norm_(self.head.parameters(), 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
        self.alphas = 0.95 * self.alphas + 0.05 * scored.alphas
        self.step += 1
        self._plan_steps(perf_counter() - began)
        return loss

    def measure(self, *, quick: bool) -> HeldOut:
        """Acceptance on the held-out texts; `quick` looks at a quarter of the chains."""
        shards, layers = self.corpus.held_out, self._layers
        batches = every(shards, tokens=self.recipe.batch_tokens, **layers)
        return measure(self.head, batches, depth=self.recipe.depth, starts=EVAL_STARTS // (4 if quick else 1))

    def save(self) -> None:
        """Write the checkpoint."""
        self.seconds, self.started = self._elapsed(), perf_counter()
        about = {"key": self.key(), "step": self.step, "total": self.total, "seconds": self.seconds}
        write_checkpoint(self.checkpoint, self.head, self.optimizers, about=about | {"alphas": self.alphas.tolist()})
        self.saved = perf_counter()

    def restore(self) -> None:
        """Go on from the checkpoint."""
        about = read_about(self.checkpoint)
        for name, value in self.key().items():
            if about["key"][name] != value:
                raise InputError(
                    f"{name} must be that of the checkpoint {self.checkpoint}, {about['key'][name]}, got {value}; "
                    "remove the file to start anew"
                )
        restore(self.checkpoint, self.head, self.optimizers)
        self.step, self.seconds = about["step"], about["seconds"]
        self.total = self.total or about["total"]
        self.alphas = torch.tensor(about["alphas"])

    def finish(self) -> Trained:
        """Measure, write the head and drop the checkpoint."""
        held_out, share = self.measure(quick=False), self._coverage()
        seconds = self._elapsed()
        measured = {"steps": self.step, "seconds": seconds, "coverage": share, "held_out": asdict(held_out)}
        save_head(self.head, self.path, target=self.corpus.target, training=self.key() | measured)
        self.checkpoint.unlink(missing_ok=True)
        return Trained(path=self.path, held_out=held_out, coverage=share, steps=self.step, seconds=seconds)

    def _batch(self, step: int) -> Batch:
        """The batch of a step; each epoch takes every text once."""
        while step - self._epoch_began >= len(self._batches):
            self._epoch_began += len(self._batches)
            self._epoch += 1
            self._batches = self._plan(self._epoch)
        return take(self.corpus.training, self._batches[step - self._epoch_began], **self._layers)

    def _plan(self, epoch: int) -> list[list[tuple[int, int]]]:
        rng = np.random.default_rng([self.seed, epoch])
        return plan(self.corpus.training, tokens=self.recipe.batch_tokens, rng=rng)

    @property
    def _layers(self) -> dict[str, Any]:
        last = self.head.setup.sizes.layers
        return {"layers": self.head.feature_layers(last), "last": last, "device": self.device}

    def _rate(self) -> float:
        """Share of the learning rate: up along a line, down along a cosine."""
        if self.step < self.recipe.warm_up:
            return (self.step + 1) / self.recipe.warm_up
        done = (self.step - self.recipe.warm_up) / max(1, self.total - self.recipe.warm_up)
        return FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))

    def _plan_steps(self, seconds: float) -> None:
        """How many steps fit into the budget, from the time of the first ones; warm-up does not ask for it."""
        if self.total == 0 and self.step in PROBE:
            self._probed.append(seconds)
        if self.total == 0 and self.step >= PROBE.stop:
            typical = float(np.median(self._probed or [seconds]))
            self.total = max(PROBE.stop, self.recipe.warm_up + 1, round(60 * self.recipe.minutes / typical))

    def key(self) -> dict[str, Any]:
        """What a checkpoint must have in common with the run that goes on from it."""
        recipe = asdict(self.recipe)
        return {"recipe": recipe, "seed": self.seed, "target": self.corpus.target, "text": self.corpus.tokens}

    def _coverage(self) -> float:
        return coverage([shard.columns["mass"] for shard in self.corpus.held_out], self.head.vocabulary.cpu())

    def _elapsed(self) -> float:
        return self.seconds + perf_counter() - self.started


def _done(path: Path, key: Mapping[str, Any]) -> Trained | None:
    """What the head at `path` came to, if it was trained as `key` says."""
    training = about_head(path)["training"]
    if any(training.get(name) != value for name, value in key.items()):
        return None
    found = {name: training[name] for name in ("coverage", "steps", "seconds")}
    rates = {name: tuple(value) if isinstance(value, list) else value for name, value in training["held_out"].items()}
    return Trained(path=path, held_out=HeldOut(**rates), **found)


def new_head(model: Any, corpus: Corpus, recipe: Recipe, *, seed: int) -> Head:
    """An untrained head with the draft vocabulary of the corpus, in float32."""
    vocabulary = draft_vocabulary([shard.columns["mass"] for shard in corpus.training], size=recipe.drafts)
    sizes = Sizes.of(model.config)
    setup = Setup(sizes=sizes, drafts=len(vocabulary), depth=recipe.depth, options=dict(recipe.options))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = HEADS[recipe.head](setup)
    head.vocabulary.copy_(vocabulary)
    head.start_from(model)
    return head.to(model.device).attach(model)


def autocast(device: str) -> Any:
    """Matrix products in bfloat16 where the device has them."""
    fast = device != "cpu" or has_fast_bfloat16()
    return torch.autocast(device, dtype=torch.bfloat16) if fast else nullcontext()


def _stream(seed: int, step: int) -> int:
    return int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0] >> 1)


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets, so that it falls between two steps; a second one interrupts at once."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: object) -> None:
        event.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)

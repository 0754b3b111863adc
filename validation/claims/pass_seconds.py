"""Seconds of a target's pass against tokens, batch and context."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError
from specsim.roofline import Count, Seconds, soft_maximum
from validation.claims.fitting import Fit, fit, timed, timed_rows
from validation.claims.prediction import Row, control, predicted
from validation.claims.protocol import ClaimResult, Settings

if TYPE_CHECKING:  # so that claims can be listed without torch
    from validation.decoder.load import Loaded
    from validation.decoder.model import CachedModel

REPEATS = 5
KNEE = 4.0
"""Of the soft maximum between reading the weights and computing with them; 4 hugs the maximum."""


class Case(NamedTuple):
    """A pass over `tokens` new ones in each of `batch` sequences with `context` cached."""

    tokens: int
    batch: int
    context: int


class Grid(NamedTuple):
    """All combinations of some tokens, batches and contexts."""

    tokens: tuple[int, ...]
    batches: tuple[int, ...]
    contexts: tuple[int, ...]

    def within(self, limit: int, *, widest: float = math.inf) -> list[Case]:
        """Those that fit into a context limit and a largest batch."""
        cases = map(Case._make, product(*self))
        return [case for case in cases if case.tokens + case.context <= limit and case.batch <= widest]


FITTED = {"cpu": Grid((1, 4, 8), (1, 3, 8), (32, 384)), "cuda": Grid((1, 4, 16), (1, 8, 64), (128, 2048))}
HELD_OUT = {"cpu": Grid((2, 6), (2, 5), (96, 192, 320)), "cuda": Grid((2, 8), (4, 32), (256, 768, 1536))}
"""By device: a GPU needs more to feel anything."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PassLaw:
    """Reading the weights or computing, whichever takes longer, and the caches; a `PassCost` for any batch.

    Parameters
    ----------
    fixed_seconds : float
        Of every pass [s].
    token_seconds : float
        Of each token of all sequences, beyond those that reading the weights hides [s].
    free_tokens : float
        Tokens of all sequences that take as long to compute as the weights take to read [1].
    cached_seconds, pair_seconds : float
        Of each cached token of all sequences: to read it, and for each new token that attends to it [s].

    Examples
    --------
    >>> law = PassLaw(fixed_seconds=1.0, token_seconds=0.1, free_tokens=0.0, cached_seconds=0.0, pair_seconds=0.0)
    >>> law.pass_seconds(tokens=5, batch=2)
    2.0
    """

    fixed_seconds: float
    token_seconds: float
    free_tokens: float
    cached_seconds: float
    pair_seconds: float

    def __post_init__(self) -> None:
        for name in self.__slots__:
            checks.non_negative(name, getattr(self, name))

    def pass_seconds(self, *, tokens: Count, batch: Count = 1, context: Count = 0) -> Seconds:
        """See `specsim.roofline.PassCost` [s]."""
        parts = features(np.asarray(tokens), np.asarray(batch), np.asarray(context), free=self.free_tokens)
        each = (self.fixed_seconds, self.token_seconds, self.cached_seconds, self.pair_seconds)
        seconds = np.asarray(parts @ np.array(each))
        return seconds if seconds.ndim else float(seconds)


def features(tokens: IntArray, batch: IntArray, context: IntArray, *, free: float) -> FloatArray:
    """What the parts of a `PassLaw` multiply, shape (..., 4): 1, tokens in flight, cached tokens, and pairs [1]."""
    flying = np.asarray(tokens * batch, dtype=np.float64)
    parts = (np.ones_like(flying), soft_maximum(flying, np.full_like(flying, free), knee=KNEE))
    return np.stack(np.broadcast_arrays(*parts, batch * context, flying * context), axis=-1).astype(np.float64)


def fit_passes(tokens: IntArray, batch: IntArray, context: IntArray, seconds: FloatArray) -> tuple[PassLaw, Fit]:
    """The law that timed passes follow; every knee up to beyond the largest pass is tried.

    Examples
    --------
    >>> law = PassLaw(fixed_seconds=1.0, token_seconds=0.1, free_tokens=0.0, cached_seconds=0.01, pair_seconds=0.0)
    >>> n, b, l = (axis.ravel() for axis in np.meshgrid([1, 4, 16], [1, 4], [8, 64]))
    >>> found, _ = fit_passes(n, b, l, law.pass_seconds(tokens=n, batch=b, context=l))
    >>> round(found.pass_seconds(tokens=8, batch=2, context=32), 6)
    3.24
    """
    largest = float((tokens * batch).max())
    tries = [
        (fit(features(tokens, batch, context, free=free), seconds, chosen=int(free > 0)), free)
        for free in (0.0, *np.geomspace(1.0, 2 * largest, 24).tolist())
    ]
    best, free = min(tries, key=lambda pair: pair[0].spread)
    fixed, token, cached, pair = best.coefficients.tolist()
    law = PassLaw(fixed_seconds=fixed, token_seconds=token, free_tokens=free, cached_seconds=cached, pair_seconds=pair)
    return law, best


@dataclass(frozen=True, kw_only=True, slots=True)
class PassSeconds:
    """A pass of the target takes what a law of tokens, batch and context, fitted to other passes, says.

    Notes
    -----
    seconds = fixed + soft maximum(reading the weights, computing on all tokens) + caches read + pairs attended to,
    in the decoder's own passes, logits copied to the host among them. Which passes are fitted to is fixed beforehand;
    all are timed in turn, so that a machine that changes its speed does so for all of them. The fault takes time to be
    proportional to the tokens, at the rate of the largest pass: then drafts could never pay.
    """

    name: ClassVar[str] = "pass_seconds"

    def run(self, settings: Settings) -> ClaimResult:
        """Time all combinations in turn, fit to some, and compare what that says of the others."""
        from validation.claims.speculation import open_target, planted

        loaded = open_target(settings, is_timed=True)
        fitted, held_out = (_cases(loaded, grids, settings) for grids in (FITTED, HELD_OUT))
        seconds, drift = _timed(loaded, [*fitted, *held_out], settings, known=fitted)
        seen, measured = ({case: seconds[case] for case in cases} for cases in (fitted, held_out))
        tokens, batch, context = (np.array(axis) for axis in zip(*seen, strict=True))
        law, found = fit_passes(tokens, batch, context, np.array(list(seen.values())))
        largest = max(seen, key=lambda case: case.tokens * case.batch)
        foretold = {case: float(law.pass_seconds(**case._asdict())) for case in measured}
        rows = timed_rows("pass_seconds", foretold, measured, found=found, drift=drift, repeats=_repeats(settings))

        def proportional(row: Row) -> float:
            share: float = row.setting["tokens"] * row.setting["batch"] / (largest.tokens * largest.batch)
            return seen[largest] * share

        fault = "time proportional to tokens"
        return predicted(
            self.name,
            rows,
            model=loaded.name,
            settings=settings,
            controls=[control(fault, planted(rows, proportional), level=settings.level)],
            figures={name: getattr(law, name) for name in law.__slots__} | {"spread": found.spread},
            also=[case._asdict() | {"quantity": "pass_seconds", "fitted_to": taken} for case, taken in seen.items()],
        )


def prefilled(hf_model: object, *, batch: int, context: int, seed: int) -> tuple[CachedModel, list[int]]:
    """A model with the same random text cached in every row, and more of that text to go on with."""
    from validation.decoder.model import CachedModel

    model = CachedModel(hf_model, pack=True)
    text = np.random.default_rng(seed).integers(model.vocabulary_size, size=model.context_limit).tolist()
    model.read([text[:context]], keep=1)
    model.select([0] * batch)
    return model, text[context:]


def reader(model: CachedModel, chunk: Sequence[int], *, batch: int, context: int) -> Callable[[], object]:
    """A pass over `chunk` in every row that leaves the cache where it finds it."""

    def act() -> None:
        model.cut([context] * batch)
        model.read([chunk] * batch)

    return act


def _cases(loaded: Loaded, grids: dict[str, Grid], settings: Settings) -> list[Case]:
    """Those of the device that fit into the target's context and the settings' batch."""
    limit = int(loaded.model.config.get_text_config(decoder=True).max_position_embeddings)
    cases = grids[loaded.model.device.type].within(limit, widest=settings.widest)
    if not cases:
        raise InputError(
            f"context limit and batch must hold a timed pass, got {limit} tokens and {settings.batch or 'any batch'}"
        )
    return cases


def _timed(
    loaded: Loaded, cases: Sequence[Case], settings: Settings, *, known: Sequence[Case]
) -> tuple[dict[Case, float], float]:
    """Median seconds of every case, all timed in turn, and how far the machine wandered."""
    shapes = {(case.batch, case.context) for case in cases}
    ready = {
        shape: prefilled(loaded.model, batch=shape[0], context=shape[1], seed=settings.seed) for shape in sorted(shapes)
    }
    actions = {}
    for case in cases:
        model, text = ready[case.batch, case.context]
        actions[case] = reader(model, text[: case.tokens], batch=case.batch, context=case.context)
    return timed(actions, known=known, repeats=_repeats(settings), seed=settings.seed, progress=settings.progress)


def _repeats(settings: Settings) -> int:
    return settings.scaled(REPEATS, least=3)

"""Claims about timed passes: laws that are found again, stand where seconds follow them and fall where they do not.

Seconds come from laws here, never from a clock. Null of every passing run: seconds follow the law; false alarms 1e-6.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from specsim.errors import InputError
from specsim.roofline import PassCost
from validation.claims import (
    DraftStep,
    LeftOutError,
    PassSeconds,
    Settings,
    SharedExit,
    crossover,
    draft_step,
    fitting,
    pass_seconds,
    shared_exit,
)
from validation.decoder.load import Loaded
from validation.decoder.tiny import tiny_model


@pytest.fixture(scope="module")
def tiny() -> Loaded:
    model, tokenizer = tiny_model(layers=12)
    return Loaded(model=model, tokenizer=tokenizer, name="tiny", is_real=False)


@pytest.fixture
def settings(tiny: Loaded) -> Settings:
    return Settings(seed=1, loaded=tiny)


TRUE_LAW = pass_seconds.PassLaw(
    fixed_seconds=0.01, token_seconds=1e-3, free_tokens=12.0, cached_seconds=4e-6, pair_seconds=3e-7
)


def test_a_law_of_passes_is_found_again() -> None:
    """Without noise it is exact between the points fitted, caches and knee among them."""
    tokens, batch, context = (axis.ravel() for axis in np.meshgrid([1, 2, 4, 8], [1, 3, 8], [32, 384]))
    seconds = np.asarray(TRUE_LAW.pass_seconds(tokens=tokens, batch=batch, context=context))
    law, found = pass_seconds.fit_passes(tokens, batch, context, seconds)
    assert isinstance(law, PassCost)
    assert found.spread < 0.01
    for case in pass_seconds.HELD_OUT["cpu"].within(10**6):
        assert law.pass_seconds(**case._asdict()) == pytest.approx(TRUE_LAW.pass_seconds(**case._asdict()), rel=0.02)


def test_limits_of_the_law() -> None:
    """Few tokens hide behind the weights; many cost their own time; every cached token is read once a pass."""
    law = pass_seconds.PassLaw(
        fixed_seconds=0.0, token_seconds=1.0, free_tokens=100.0, cached_seconds=0.5, pair_seconds=0.0
    )
    assert law.pass_seconds(tokens=1) == pytest.approx(100.0)
    assert law.pass_seconds(tokens=100, batch=100) == pytest.approx(1e4)
    assert law.pass_seconds(tokens=1, batch=2, context=10) == pytest.approx(110.0)
    with pytest.raises(InputError, match="fixed_seconds must be at least 0, got -1"):
        replace(law, fixed_seconds=-1.0)


def test_a_fit_needs_more_points_than_numbers() -> None:
    with pytest.raises(InputError, match="timed points must be more than the 2 numbers fitted to them, got 2"):
        fitting.fit(np.array([[1.0, 1.0], [1.0, 2.0]]), np.array([1.0, 1.5]))


def test_an_interval_widens_with_what_the_fit_does_not_know() -> None:
    found = fitting.Fit(coefficients=np.ones(1), spread=0.1, points=10, freedom=9)
    narrow, wide = found.interval(2.0), found.interval(2.0, also=0.1)
    assert wide[0] < narrow[0] < 2.0 < narrow[1] < wide[1]
    assert narrow[0] * narrow[1] == pytest.approx(4.0)


def _clock(law: Callable[[Any], float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every action is done once, and takes what the law says."""

    def interleaved(actions: Mapping[Any, Callable[[], object]], *, repeats: int, before: Any, **options: Any) -> Any:
        rng = np.random.default_rng(len(actions))
        for key, act in actions.items():
            before(key)
            act()
        return {key: [law(key) * float(rng.lognormal(0, 0.01)) for _ in range(repeats)] for key in actions}

    monkeypatch.setattr("validation.timing.interleaved", interleaved)


def _step(step: draft_step.Step) -> float:
    return 0.004 + step.layers * (0.001 + 1e-6 * step.context)


def _partly(asked: shared_exit.Pass | shared_exit.Verifying) -> float:
    """Each layer reads what it has not read: those before the exit one token."""

    def layer(tokens: int) -> float:
        return 0.001 + 1e-4 * tokens + 1e-6 * asked.context

    if isinstance(asked, shared_exit.Pass):
        return 0.004 + asked.layers * layer(asked.tokens)
    return 0.004 + asked.layers * layer(1) + (12 - asked.layers) * layer(asked.gamma + 1)


LAWS: dict[str, tuple[Any, Callable[[Any], float]]] = {
    "pass_seconds": (PassSeconds(), lambda case: float(TRUE_LAW.pass_seconds(**case._asdict()))),
    "draft_step": (DraftStep(), _step),
    "shared_exit": (SharedExit(), _partly),
}
OTHERS: dict[str, Callable[[Any], float]] = {
    "pass_seconds": lambda case: 2.0 if case.batch in (2, 5) else 1.0,
    "draft_step": lambda step: 2.0 if step.context in (128, 256) else 1.0,
    "shared_exit": lambda asked: 1.2 if isinstance(asked, shared_exit.Verifying) else 1.0,
}


@pytest.mark.parametrize("name", LAWS)
def test_timed_laws_stand_and_fall(name: str, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    claim, law = LAWS[name]
    _clock(law, monkeypatch)
    seen: list[float] = []
    result = claim.run(replace(settings, progress=seen.append))
    assert result.verdict == "passed", result
    assert result.median_abs_error is not None
    assert result.median_abs_error < 0.03
    assert seen == sorted(seen)
    json.dumps(result.as_dict(), allow_nan=False)
    _clock(lambda key: law(key) * OTHERS[name](key), monkeypatch)
    assert claim.run(settings).verdict == "failed"


def test_passes_that_do_not_fit_into_the_context_are_left_out() -> None:
    grid = pass_seconds.Grid((1, 8), (2,), (4, 30))
    assert grid.within(32) == [(1, 2, 4), (1, 2, 30), (8, 2, 4)]
    assert grid.within(3) == []


def test_a_largest_batch_bounds_what_is_measured(settings: Settings) -> None:
    grid = pass_seconds.Grid((1,), (1, 8), (4,))
    assert grid.within(32, widest=4) == [(1, 1, 4)]
    found = crossover.BATCHES["cpu"].within(7)
    assert (found.calibrated, found.held_out) == ({1: 4, 2: 2, 4: 3}, (6,))
    with pytest.raises(InputError, match="batch must be at least 6 for the crossover, got 3"):
        crossover.BATCHES["cpu"].within(3)
    assert settings.widest == float("inf")
    with pytest.raises(InputError, match="batch must be"):
        dataclasses.replace(settings, batch=0)


def test_readers_leave_the_cache_as_they_find_it(tiny: Loaded) -> None:
    model, text = pass_seconds.prefilled(tiny.model, batch=3, context=5, seed=0)
    act = pass_seconds.reader(model, text[:2], batch=3, context=5)
    act()
    act()
    assert list(model.lengths) == [7, 7, 7]


def test_verifying_is_timed_within_a_short_context(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = tiny_model(layers=4)
    model.config.max_position_embeddings = 80
    short = Settings(seed=1, loaded=Loaded(model=model, tokenizer=tokenizer, name="tiny", is_real=False))
    _clock(_partly, monkeypatch)
    assert SharedExit().run(short).n > 0
    model.config.max_position_embeddings = 69
    with pytest.raises(LeftOutError, match="context of the target must be at least 64, got 63"):
        SharedExit().run(short)


@pytest.mark.parametrize("total", [1, 2, 3])
def test_a_model_of_few_layers_has_no_step_to_hold_out(total: int) -> None:
    with pytest.raises(InputError, match=f"layers of the target must be at least 4, got {total}"):
        draft_step.depths(total)


@pytest.mark.parametrize("total", [4, 5, 6, 7, 12, 24, 30, 32, 80, 126])
def test_held_out_depths_are_new_and_can_be_skipped_to(total: int) -> None:
    fitted, held_out = draft_step.depths(total)
    assert held_out
    assert not set(fitted) & set(held_out)
    assert fitted[-1] == total
    assert 2 <= held_out[0] <= held_out[-1] < total

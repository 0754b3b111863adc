"""What every drafter must do, and what each one does."""

import numpy as np
import pytest

from specsim.drafters import DRAFTERS, Drafter, MeasuredDrafter, ModelDrafter, RatioDrafter
from specsim.errors import InputError
from specsim.roofline import Staircase

FLAT = Staircase(tokens=(1, 2), seconds=(0.04, 0.04), source="test")
EXAMPLES = {
    "measured": MeasuredDrafter(name="ngram", per_round_seconds=1e-4, per_token_seconds=1e-6, proposed=(0.6, 0.5)),
    "model": ModelDrafter(name="small", passes=FLAT),
    "ratio": RatioDrafter(c=0.1, step=FLAT),
}


def test_every_drafter_has_an_example():
    assert set(EXAMPLES) == set(DRAFTERS)


@pytest.mark.parametrize("kind", DRAFTERS)
def test_what_every_drafter_does(kind):
    drafter = EXAMPLES[kind]
    assert isinstance(drafter, DRAFTERS[kind])
    assert isinstance(drafter, Drafter)
    assert drafter.name
    seconds = drafter.draft_seconds(np.arange(6))
    assert seconds.tolist() == [drafter.draft_seconds(drafted) for drafted in range(6)]
    assert (seconds >= 0).all()
    assert (np.diff(seconds) > 0).all()
    for gamma in (0, 1, 5):
        survival = drafter.proposed_survival(gamma)
        assert survival.shape == (gamma,)
        assert ((survival >= 0) & (survival <= 1)).all()
        assert (np.diff(survival) <= 0).all()
    for bad in (-1, 1.5):
        with pytest.raises(InputError):
            drafter.draft_seconds(bad)
    with pytest.raises(InputError):
        drafter.draft_seconds(1, batch=0)
    with pytest.raises(InputError):
        drafter.proposed_survival(-1)


def test_a_ratio_drafter_takes_seconds_or_a_pass():
    assert RatioDrafter(c=0.1, step_seconds=0.04).draft_seconds(3) == RatioDrafter(c=0.1, step=FLAT).draft_seconds(3)
    for neither_or_both in ({}, {"step": FLAT, "step_seconds": 0.04}):
        with pytest.raises(InputError, match="exactly one"):
            RatioDrafter(c=0.1, **neither_or_both)
    with pytest.raises(InputError, match="c must be"):
        RatioDrafter(c=-0.1, step=FLAT)


def test_a_measured_drafter_holds_its_last_rate_and_always_proposes_without_rates():
    assert EXAMPLES["measured"].proposed_survival(4).tolist() == [0.6, 0.5, 0.5, 0.5]
    always = MeasuredDrafter(name="small", per_round_seconds=0.0, per_token_seconds=0.004)
    assert always.proposed_survival(2).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "change", [{"proposed": (0.5, 0.6)}, {"proposed": (1.2,)}, {"per_round_seconds": -1.0}, {"per_token_seconds": -1.0}]
)
def test_a_measured_drafter_refuses(change):
    with pytest.raises(InputError):
        MeasuredDrafter(**{"name": "x", "per_round_seconds": 0.0, "per_token_seconds": 0.0} | change)

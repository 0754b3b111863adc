"""What every drafter must do, and what each one does."""

import numpy as np
import pytest

from specsim.catalog import model
from specsim.drafters import DRAFTERS, Drafter, Eagle1, MeasuredDrafter, ModelDrafter, PlacedDrafter, RatioDrafter
from specsim.errors import InputError
from specsim.roofline import Staircase


class Linear:
    """A pass whose cost tells tokens, batch and context apart."""

    def pass_seconds(self, *, tokens, batch=1, context=0):
        return 1e-3 * np.asarray(tokens) + 1e-5 * np.asarray(batch) + 1e-8 * np.asarray(context)


LINEAR = Linear()
FLAT = Staircase(tokens=(1, 2), seconds=(0.04, 0.04), source="test")
EXAMPLES = {
    "measured": MeasuredDrafter(name="ngram", per_round_seconds=1e-4, per_token_seconds=1e-6, proposed=(0.6, 0.5)),
    "model": ModelDrafter(name="small", passes=LINEAR),
    "placed": PlacedDrafter(method=Eagle1(), target=model("Llama-3.1-8B"), cost_of=lambda shape: LINEAR),
    "ratio": RatioDrafter(c=0.1, step=LINEAR),
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
    for bad in ({"batch": 0}, {"context": -1}, {"batch": 1.5}):
        with pytest.raises(InputError):
            drafter.draft_seconds(1, **bad)
    with pytest.raises(InputError):
        drafter.proposed_survival(-1)


@pytest.mark.parametrize("kind", DRAFTERS)
def test_counts_broadcast(kind):
    drafter = EXAMPLES[kind]
    drafted, batch, context = np.arange(4)[:, None, None], np.array([1, 8])[:, None], np.array([0, 100, 1000])
    together = drafter.draft_seconds(drafted, batch=batch, context=context)
    assert together.shape == (4, 2, 3)
    for place in np.ndindex(together.shape):
        one = drafter.draft_seconds(
            int(drafted[place[0], 0, 0]), batch=int(batch[place[1], 0]), context=int(context[place[2]])
        )
        assert isinstance(one, float)
        assert together[place] == pytest.approx(one, rel=1e-12)


@pytest.mark.parametrize("kind", DRAFTERS)
def test_a_chain_leaves_one_token_more_to_the_whole_target(kind):
    drafter = EXAMPLES[kind]
    assert drafter.target_tokens(np.arange(4)).tolist() == [1, 2, 3, 4]
    assert isinstance(drafter.target_tokens(3), int)
    assert drafter.verify_share == 1
    with pytest.raises(InputError):
        drafter.target_tokens(-1)


def test_a_model_catches_up_on_one_token_in_its_first_pass():
    at = {"batch": 4, "context": 500}
    one, two = (float(LINEAR.pass_seconds(tokens=tokens, **at)) for tokens in (1, 2))
    small = ModelDrafter(name="small", passes=LINEAR)
    assert small.draft_seconds(0, **at) == 0
    assert small.draft_seconds(1, **at) == pytest.approx(two)
    assert small.draft_seconds(5, **at) == pytest.approx(two + 4 * one)


def test_a_ratio_drafter_grows_with_the_context_as_the_target_does():
    by_step = RatioDrafter(c=0.1, step=LINEAR)
    assert by_step.draft_seconds(2, context=5000) == pytest.approx(0.2 * LINEAR.pass_seconds(tokens=1, context=5000))
    assert by_step.draft_seconds(2, context=5000) > by_step.draft_seconds(2)


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

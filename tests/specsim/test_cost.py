"""The cost of a round is the sum over what may be drafted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.acceptance import Acceptance
from specsim.cost import RoundCost, drafted_pmf, round_cost, verify_seconds
from specsim.drafters import MeasuredDrafter, RatioDrafter
from specsim.errors import InputError
from specsim.roofline import Staircase
from specsim.scenario import Scenario

STAIRS = Staircase(tokens=(1, 2, 3, 9), seconds=(0.036, 0.037, 0.040, 0.060), source="test")
LOOKUP = MeasuredDrafter(name="ngram", per_round_seconds=1e-3, per_token_seconds=1e-4, proposed=(0.7, 0.4))
MODEL = RatioDrafter(c=0.1, step_seconds=0.036)


def test_a_lookup_by_hand():
    cost = round_cost(
        STAIRS, LOOKUP, gamma=2, sample_seconds=0.002, host_seconds=0.001, sample_per_token_seconds=0.0005
    )
    # 0, 1 or 2 drafted with probability 0.3, 0.3, 0.4
    assert cost.draft_seconds == pytest.approx(1e-3 + 1.1e-4)
    assert cost.verify_seconds == pytest.approx(0.3 * 0.036 + 0.3 * 0.037 + 0.4 * 0.040)
    assert cost.sample_seconds == pytest.approx(0.002 + 1.1 * 0.0005)
    assert cost.host_seconds == 0.001
    parts = (cost.draft_seconds, cost.verify_seconds, cost.sample_seconds, cost.host_seconds)
    assert cost.seconds == pytest.approx(sum(parts))


def test_gamma_0_is_a_plain_step_that_calls_no_drafter():
    assert round_cost(STAIRS, LOOKUP, gamma=0, sample_seconds=0.002) == RoundCost(
        draft_seconds=0.0, verify_seconds=0.036, sample_seconds=0.002, host_seconds=0.0
    )


def test_passes_that_cannot_happen_need_no_cost():
    # A model drafter always proposes 8, so the pass scores 9 tokens and no other cost is asked for.
    only = Staircase(tokens=(9,), seconds=(0.06,), source="test")
    assert round_cost(only, MODEL, gamma=8).verify_seconds == 0.06


class Window(RatioDrafter):
    """Verifies three tokens for each draft, in half a pass of the target; the other half reads the last draft alone."""

    verify_share = 0.5

    def target_tokens(self, drafted):
        return 3 * np.asarray(drafted) + 1


def test_the_target_scores_what_the_drafter_says_in_the_share_it_leaves():
    window = Window(c=0.1, step_seconds=0.036)
    cost = round_cost(STAIRS, window, gamma=2, sample_per_token_seconds=0.001)
    seven = float(STAIRS.pass_seconds(tokens=7))
    assert cost.verify_seconds == pytest.approx(0.5 * seven + 0.5 * 0.036)
    assert cost.sample_seconds == pytest.approx(0.006)  # the rows of six tokens besides the first
    assert verify_seconds(STAIRS, window, np.array([0, 2])).tolist() == pytest.approx([0.036, cost.verify_seconds])
    assert round_cost(STAIRS, window, gamma=0).verify_seconds == 0.036  # a plain step is a whole pass


def test_drafts_are_charged_at_the_context():
    class Growing:
        def pass_seconds(self, *, tokens, batch=1, context=0):
            return np.asarray(0.01 * np.asarray(tokens) + 1e-6 * context)

    drafter = RatioDrafter(c=0.5, step=Growing())
    short, long = (round_cost(Growing(), drafter, gamma=3, context=context) for context in (0, 10_000))
    assert long.draft_seconds - short.draft_seconds == pytest.approx(3 * 0.5 * 0.01)
    way = Scenario(target=Growing(), drafter=drafter, acceptance=Acceptance.constant(0.5), gamma=3, context=10_000)
    assert way.cost.draft_seconds == long.draft_seconds


@given(rates=st.lists(st.floats(0, 1), min_size=1, max_size=6), gamma=st.integers(0, 8))
def test_drafted_lengths_are_a_law(rates, gamma):
    lookup = MeasuredDrafter(
        name="x", per_round_seconds=0.0, per_token_seconds=1.0, proposed=tuple(sorted(rates, reverse=True))
    )
    pmf = drafted_pmf(lookup, gamma=gamma)
    assert pmf.shape == (gamma + 1,)
    assert (pmf >= 0).all()
    assert pmf.sum() == pytest.approx(1)
    assert pmf @ np.arange(gamma + 1) == pytest.approx(lookup.proposed_survival(gamma).sum())


@pytest.mark.parametrize(
    "change",
    [
        {"gamma": -1},
        {"gamma": 9},
        {"batch": 0},
        {"sample_seconds": -1.0},
        {"host_seconds": float("nan")},
        {"sample_per_token_seconds": -1.0},
    ],
)
def test_costs_refuse(change):
    with pytest.raises(InputError):
        round_cost(STAIRS, MODEL, **{"gamma": 2} | change)


def scenario(**change):
    parts = {"target": STAIRS, "drafter": LOOKUP, "acceptance": Acceptance.by_depth([0.8, 0.5]), "gamma": 2}
    return Scenario(**parts | change)


def test_a_scenario_multiplies_what_is_proposed_with_what_is_accepted():
    assert scenario().accepted_survival == pytest.approx([0.7 * 0.8, 0.4 * 0.4])
    assert scenario().tokens_per_round == pytest.approx(1 + 0.56 + 0.16)
    assert scenario(sample_seconds=0.002, host_seconds=0.001).plain_seconds == pytest.approx(0.039)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "H100"}, "target must be of type PassCost"),
        ({"drafter": None}, "drafter must be of type Drafter"),
        ({"acceptance": 0.7}, "acceptance must be of type Acceptance"),
        ({"gamma": -1}, "gamma"),
        ({"gamma": 3}, "gamma must be in 0..2"),
        ({"gamma": 9, "acceptance": Acceptance.constant(0.5)}, r"measured 1\.\.9"),
        ({"batch": 2}, "batch must be 1, as measured"),
        ({"context": -1}, "context"),
        ({"host_seconds": -1.0}, "host_seconds"),
    ],
)
def test_a_scenario_checks_its_parts_together(change, message):
    with pytest.raises(InputError, match=message):
        scenario(**change)

"""Arrays of scenarios against one `Scenario` each, and the limits that papers state."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import tau
from specsim.acceptance import Acceptance
from specsim.catalog import hardware, model
from specsim.drafters import METHODS, Eagle3, MeasuredDrafter, NGram, PlacedDrafter, RatioDrafter
from specsim.errors import InputError
from specsim.rates import Rates, rates
from specsim.roofline import Efficiency, Roofline, Staircase
from specsim.scenario import Scenario

GPU = hardware("H100-SXM")
DENSE, MIXTURE = model("Llama-3.1-8B"), model("Qwen3-30B-A3B")
IDEAL = Efficiency.ideal()
PADDED = replace(Efficiency.assumed(GPU), graph_sizes=(1, 2, 4, 8, 64, 512))
FLAT = Staircase(tokens=(1, 33), seconds=(0.04, 0.04), source="test")
LOOKUP = MeasuredDrafter(name="ngram", per_round_seconds=1e-3, per_token_seconds=1e-4, proposed=(0.7, 0.4))
LAWS = {
    "by depth": Acceptance.by_depth([0.9, 0.6, 0.3], beyond="hold"),
    "heterogeneous": Acceptance.beta(6, 3),
    "tree": Acceptance.tree([0.6, 0.2], nodes=8),
}


def roofline(shape, efficiency=PADDED):
    return Roofline(model=shape, hardware=GPU, efficiency=efficiency)


def on_gpu(method, target=DENSE, efficiency=PADDED):
    return PlacedDrafter(method=method, target=target, cost_of=lambda shape: roofline(shape, efficiency))


def assert_twins(target, drafter, *, alphas, gammas, batches, contexts, host_seconds=0.0, law=None):
    """Every entry of the open mesh is what a scenario of its own says."""
    alpha, gamma, batch, context = np.ix_(alphas, gammas, batches, contexts)
    found = rates(
        target,
        drafter,
        acceptance=alpha if law is None else law,
        gamma=gamma,
        batch=batch,
        context=context,
        host_seconds=host_seconds,
    )
    shape = (len(alphas), len(gammas), len(batches), len(contexts))
    for a, g, b, c in np.ndindex(shape):
        one = Scenario(
            target=target,
            drafter=drafter,
            acceptance=Acceptance.constant(alphas[a]) if law is None else law,
            gamma=int(gammas[g]),
            batch=int(batches[b]),
            context=int(contexts[c]),
            host_seconds=host_seconds,
        )
        by_hand = {
            "E_tokens": one.tokens_per_round,
            "draft_seconds": one.cost.draft_seconds,
            "verify_seconds": one.cost.verify_seconds,
            "plain_seconds": one.plain_seconds,
            "round_seconds": one.cost.seconds,
            "speedup": one.tokens_per_round * one.plain_seconds / one.cost.seconds,
            "user_tokens_per_second": one.tokens_per_round / one.cost.seconds,
        }
        for name, expected in by_hand.items():
            values = np.broadcast_to(getattr(found, name), shape)
            assert values[a, g, b, c] == pytest.approx(expected, rel=1e-12), (name, a, g, b, c)


@pytest.mark.parametrize("target", [DENSE, MIXTURE], ids=["dense", "mixture"])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_as_one_scenario_each(name, target):
    method = METHODS[name].default(target)
    assert_twins(
        roofline(target),
        on_gpu(method, target),
        alphas=[0.0, 0.7],
        gammas=np.arange(min(4, method.max_gamma or 4) + 1),
        batches=np.array([1, 48]),
        contexts=np.array([0, 3000]),
    )


@pytest.mark.parametrize("proposed", [(), (0.6,), (0.9, 0.5, 0.0)])
def test_lookups_that_do_not_always_find(proposed):
    lookup = on_gpu(NGram(proposed=proposed))
    ends = {"gammas": np.array([0, 1, 2, 5]), "batches": np.array([1, 7]), "contexts": np.array([0, 900])}
    assert_twins(roofline(DENSE), lookup, alphas=[0.3, 1.0], **ends, host_seconds=1e-3)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("drafter", [LOOKUP, RatioDrafter(c=0.1, step=roofline(DENSE))], ids=["lookup", "model"])
def test_one_law_for_all(law, drafter):
    counts = {"gammas": np.array([4, 0, 2]), "batches": np.array([1, 9]), "contexts": np.array([10])}
    assert_twins(roofline(DENSE), drafter, alphas=[0.0], law=LAWS[law], **counts)


@given(
    alpha=st.lists(st.floats(0, 1), min_size=1, max_size=6),
    gamma=st.integers(0, 32),
    c=st.floats(0, 2),
    batch=st.integers(1, 100),
)
def test_flat_passes_without_overhead_are_leviathans_theorem(alpha, gamma, c, batch):
    """Theorem 3.8 of arXiv 2211.17192, at any number of sequences that leaves passes flat."""
    flat = replace(FLAT, batch=batch)
    found = rates(flat, RatioDrafter(c=c, step_seconds=0.04), acceptance=alpha, gamma=gamma, batch=batch)
    by_hand = [tau.speedup_walltime(one, gamma=gamma, c=c) for one in alpha]
    assert found.speedup == pytest.approx(by_hand, rel=1e-12)


def test_two_drafts_can_give_more_than_two_tokens():
    """1 + 0.9 + 0.81: the bonus counts, and nothing caps tokens at the drafts."""
    found = rates(FLAT, RatioDrafter(c=0.0, step_seconds=0.04), acceptance=0.9, gamma=2)
    assert float(found.E_tokens) == pytest.approx(2.71, rel=1e-12)
    assert float(found.speedup) == pytest.approx(2.71, rel=1e-12)


@pytest.mark.parametrize("gamma", [1, 4])
@pytest.mark.parametrize("c", [0.0, 0.1])
def test_a_dense_target_at_a_large_batch_is_bound_by_compute(gamma, c):
    """Verifying takes gamma + 1 plain steps then, so speedup -> E_tokens / (gamma + 1 + gamma c), which is below 1."""
    target = roofline(DENSE, IDEAL)
    drafter = RatioDrafter(c=c, step=target)
    batches = 10 ** np.arange(3, 9)
    found = rates(target, drafter, acceptance=0.8, gamma=gamma, batch=batches).speedup
    limit = tau.expected_tokens(Acceptance.constant(0.8), gamma=gamma) / (gamma + 1 + gamma * c)
    off = np.abs(found / limit - 1)
    assert off[-1] < 1e-6
    assert (np.diff(off) <= 0).all()
    assert limit < 1


@pytest.mark.parametrize("name", ["Llama-3.1-8B", "Qwen3-8B"])
def test_long_contexts_make_verifying_free_at_any_batch(name):
    """MagicDec, arXiv 2408.11049: T_verify / T_plain -> 1 with the context, at a batch that is far beyond the ridge."""
    target = roofline(model(name), IDEAL)
    drafter = RatioDrafter(c=0.0, step=target)
    found = rates(target, drafter, acceptance=0.8, gamma=4, batch=1024, context=10 ** np.arange(2, 8))
    ratio = found.verify_seconds / found.plain_seconds
    assert ratio[0] > 3
    assert (np.diff(ratio) < 0).all()
    assert ratio[-1] == pytest.approx(1, abs=1e-3)
    assert found.speedup[-1] == pytest.approx(float(found.E_tokens), rel=1e-3)


def test_a_mixture_gains_least_at_a_middling_batch_before_compute_binds():
    """MoESD, arXiv 2505.19645: few sequences wake more experts to verify, medium batches read all of them anyway."""
    target = roofline(MIXTURE, IDEAL)
    drafter = RatioDrafter(c=0.02, step=target)
    found = rates(target, drafter, acceptance=0.7, gamma=4, batch=np.array([1, 64, 4096])).speedup
    assert found[0] < found[1] > found[2]
    dense = rates(roofline(DENSE, IDEAL), drafter, acceptance=0.7, gamma=4, batch=np.array([1, 64, 4096])).speedup
    assert (np.diff(dense) <= 0).all()


def test_host_time_is_paid_by_a_round_and_by_a_plain_step():
    drafter = RatioDrafter(c=0.5, step_seconds=0.04)
    bare, with_host = (rates(FLAT, drafter, acceptance=0.7, gamma=3, host_seconds=host) for host in (0.0, 0.02))
    assert float(with_host.round_seconds - bare.round_seconds) == pytest.approx(0.02)
    assert float(with_host.plain_seconds - bare.plain_seconds) == pytest.approx(0.02)


def test_one_place_of_many():
    found = rates(FLAT, LOOKUP, acceptance=np.array([[0.2], [0.9]]), gamma=np.array([0, 1, 5]))
    one = found.at(5)
    assert isinstance(one, Rates)
    assert one.speedup.shape == ()
    assert float(one.speedup) == found.speedup[1, 2]
    assert float(one.E_tokens) == found.E_tokens[1, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"acceptance": 1.2}, r"acceptance must be in \[0, 1\], got 1.2"),
        ({"acceptance": [0.5, np.nan]}, r"acceptance\[1\] must be finite, got nan"),
        ({"gamma": -1}, "gamma must be at least 0, got -1"),
        ({"gamma": 1.5}, "gamma must be whole numbers"),
        ({"gamma": np.array([1, -2])}, r"gamma\[1\] must be at least 0, got -2"),
        ({"batch": 0}, "batch must be at least 1, got 0"),
        ({"context": -1}, "context must be at least 0, got -1"),
        ({"host_seconds": -1.0}, "host_seconds must be at least 0, got -1"),
        ({"acceptance": Acceptance.by_depth([0.5]), "gamma": 2}, r"gamma must be in 0\.\.1"),
    ],
)
def test_rates_refuse(change, message):
    asked = {"acceptance": 0.7, "gamma": 2} | change
    with pytest.raises(InputError, match=message):
        rates(roofline(DENSE), on_gpu(Eagle3()), **asked)

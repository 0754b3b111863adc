"""Speedup: Leviathan's theorem as the limit, brute force, and simulation."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import catalog, tau
from specsim.acceptance import Acceptance
from specsim.calibrate import measured_speedup
from specsim.drafters import MeasuredDrafter, RatioDrafter
from specsim.errors import InputError
from specsim.roofline import Efficiency, Roofline, Staircase
from specsim.scenario import Scenario
from specsim.simulate import simulate_records
from specsim.speedup import best_gamma, crossover_batch, gaining_batches, speedup, speedups, tokens_per_second

GPU = catalog.hardware("H100-SXM")
IDEAL = Roofline(model=catalog.model("Llama-3.1-8B"), hardware=GPU, efficiency=Efficiency.ideal())
STAIRS = Staircase(tokens=(1, 2, 3, 9), seconds=(0.036, 0.037, 0.040, 0.060), source="test")


def on_gpu(alpha=0.7, *, c=0.1, target=IDEAL, **change):
    parts = {"target": target, "drafter": RatioDrafter(c=c, step=target), "acceptance": Acceptance.constant(alpha)}
    return Scenario(**parts | {"gamma": 4} | change)


@given(alpha=st.floats(0, 1), gamma=st.integers(0, 20), c=st.floats(0, 2))
def test_an_ideal_memory_bound_pass_recovers_the_theorem(alpha, gamma, c):
    # 21 tokens are far below the ridge of 295: every pass costs the same. Theorem 3.8 of arXiv 2211.17192.
    expected = tau.speedup_walltime(alpha, gamma=gamma, c=c)
    assert speedup(on_gpu(alpha, c=c, gamma=gamma)) == pytest.approx(expected, rel=1e-12)


def test_numbers_worked_by_hand():
    assert round(speedup(on_gpu(0.7, c=0.1, gamma=4)), 3) == 1.981
    assert round(speedup(on_gpu(0.9, c=0.05, gamma=5)), 3) == 3.748


def test_losses_and_overhead_break_the_theorem_downwards():
    real = Roofline(model=IDEAL.model, hardware=GPU, efficiency=Efficiency.assumed(GPU))
    assert speedup(on_gpu(target=real)) < speedup(on_gpu())
    assert speedup(on_gpu(host_seconds=0.01, sample_seconds=0.01)) > 1


@given(gamma=st.integers(0, 8), batch=st.integers(1, 600), alpha=st.floats(0, 1))
def test_bounds(gamma, batch, alpha):
    scenario = on_gpu(alpha, gamma=gamma, batch=batch)
    assert 1 <= scenario.tokens_per_round <= gamma + 1
    assert speedup(scenario) <= scenario.tokens_per_round * (1 + 1e-12)
    if gamma == 0:
        assert speedup(scenario) == 1


def test_tokens_per_second_counts_the_whole_batch():
    one, many = (on_gpu(gamma=4, batch=batch) for batch in (1, 8))
    assert tokens_per_second(many) == pytest.approx(8 * tokens_per_second(one), rel=1e-9)
    assert tokens_per_second(one) / tokens_per_second(replace(one, gamma=0)) == pytest.approx(speedup(one))


@given(alpha=st.floats(0.05, 0.95), c=st.floats(0.01, 1))
@settings(max_examples=30)
def test_best_gamma_is_that_of_the_theorem_when_passes_are_free(alpha, c):
    theirs = tau.best_gamma(Acceptance.constant(alpha), c=c, max_gamma=16)
    ours = best_gamma(on_gpu(alpha, c=c))
    assert speedup(on_gpu(alpha, c=c, gamma=ours)) == pytest.approx(speedup(on_gpu(alpha, c=c, gamma=theirs)), rel=1e-9)


def test_best_gamma_by_brute_force_on_stairs():
    lookup = MeasuredDrafter(name="ngram", per_round_seconds=1e-3, per_token_seconds=1e-4, proposed=(0.7, 0.4))
    scenario = Scenario(target=STAIRS, drafter=lookup, acceptance=Acceptance.constant(0.8), gamma=1)
    speeds = [speedup(replace(scenario, gamma=gamma)) for gamma in range(9)]
    assert speeds[best_gamma(scenario, max_gamma=8)] == max(speeds)
    assert best_gamma(replace(scenario, acceptance=Acceptance.constant(0.0)), max_gamma=8) == 0


def test_crossover_is_the_last_batch_that_gains():
    scenario = on_gpu(c=0.05)
    last = crossover_batch(scenario)
    assert speedup(replace(scenario, batch=last)) >= 1
    assert all(speedup(replace(scenario, batch=batch)) < 1 for batch in range(last + 1, 1025))
    assert crossover_batch(scenario, max_batch=last) is None
    assert crossover_batch(scenario, max_batch=last + 1) == last


def test_crossover_is_0_when_nothing_gains_and_none_when_the_cache_dominates():
    assert crossover_batch(on_gpu(0.05, c=0.5), max_batch=64) == 0
    drafter = RatioDrafter(c=0.02, step=IDEAL)  # it keeps no long cache of its own
    assert crossover_batch(on_gpu(drafter=drafter, context=100_000)) is None


MIXTURE = Roofline(model=catalog.model("Qwen3-30B-A3B"), hardware=GPU, efficiency=Efficiency.ideal())


def test_many_batches_at_once_are_as_many_scenarios():
    lookup = MeasuredDrafter(name="ngram", per_round_seconds=1e-3, per_token_seconds=1e-4, proposed=(0.7, 0.4))
    extras = {"host_seconds": 0.001, "sample_seconds": 0.002, "sample_per_token_seconds": 0.0005, "context": 300}
    for scenario in (on_gpu(**extras), on_gpu(drafter=lookup, **extras), on_gpu(gamma=0), on_gpu(target=MIXTURE)):
        batches = np.array([[1, 7], [64, 3000]])
        by_hand = [[speedup(replace(scenario, batch=int(batch))) for batch in row] for row in batches]
        assert speedups(scenario, batch=batches) == pytest.approx(np.array(by_hand), rel=1e-12)


def brute_force(scenario, *, max_batch):
    return [batch for batch in range(1, max_batch + 1) if speedup(replace(scenario, batch=batch)) >= 1]


PADDED = replace(Efficiency.assumed(GPU), graph_sizes=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512))
KINDS = {
    "dense": on_gpu(c=0.05),
    "dense, one step": on_gpu(0.3, c=0.5),
    "padded, so gains come and go": on_gpu(0.35, c=0.1, target=replace(IDEAL, efficiency=PADDED)),
    "mixture": on_gpu(0.55, c=0.05, target=MIXTURE),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("max_batch", [1, 2, 37, 200])
def test_gaining_batches_and_the_crossover_by_brute_force(kind, max_batch):
    scenario = KINDS[kind]
    gains = brute_force(scenario, max_batch=max_batch)
    ranges = gaining_batches(scenario, max_batch=max_batch)
    assert [batch for first, last in ranges for batch in range(first, last + 1)] == gains
    assert all(before[1] + 1 < after[0] for before, after in pairwise(ranges))
    last = gains[-1] if gains else 0
    assert crossover_batch(scenario, max_batch=max_batch) == (None if last == max_batch else last)


def test_a_mixture_gains_at_one_sequence_loses_at_few_and_gains_at_many():
    """MoESD, arXiv 2505.19645: drafts wake experts that plain decoding does not read, until all are read anyway."""
    scenario = on_gpu(0.65, c=0.05, target=MIXTURE, gamma=1)
    speeds = speedups(scenario, batch=np.arange(1, 4097))
    lowest = int(speeds[:64].argmin())
    highest = lowest + int(speeds[lowest:].argmax())
    assert 0 < lowest < highest < 4095  # falls, rises, falls
    (first, few), (many, last) = gaining_batches(scenario, max_batch=4096)
    assert first == 1
    assert few < lowest + 1 < many < highest + 1 < last < 4096
    dense = on_gpu(0.65, c=0.05, gamma=1)
    assert (np.diff(speedups(dense, batch=np.arange(1, 4097))) <= 1e-12).all()
    assert len(gaining_batches(dense, max_batch=4096)) == 1


def test_bad_questions():
    with pytest.raises(InputError, match="max_gamma"):
        best_gamma(on_gpu(), max_gamma=0)
    with pytest.raises(InputError, match="max_batch"):
        crossover_batch(on_gpu(), max_batch=0)
    with pytest.raises(InputError, match=r"gamma must be in 0\.\.2"):
        best_gamma(on_gpu(acceptance=Acceptance.by_depth([0.7, 0.6]), gamma=1), max_gamma=4)
    with pytest.raises(InputError, match="batch must be 1"):
        crossover_batch(on_gpu(target=STAIRS, drafter=RatioDrafter(c=0.1, step_seconds=0.036)))


@pytest.mark.parametrize("fault", [1.0, 1.2])
def test_simulation_agrees_and_a_fault_would_show(fault):
    """Null: simulated speed over plain speed is `speedup`; 60 requests of 100 rounds, false-alarm rate 1e-6.

    Planted: rounds that take 1.2 times as long.
    """
    lookup = MeasuredDrafter(name="ngram", per_round_seconds=1e-3, per_token_seconds=1e-4, proposed=(0.8, 0.7))
    scenario = Scenario(
        target=STAIRS, drafter=lookup, acceptance=Acceptance.by_depth([0.8, 0.7, 0.5]), gamma=3, host_seconds=0.001
    )
    size = {"requests": 60, "rounds_per_request": 100}
    rounds = [
        replace(row, verify_seconds=fault * row.verify_seconds) for row in simulate_records(scenario, seed=1, **size)
    ]
    plain = simulate_records(replace(scenario, gamma=0), seed=2, **size)
    measured = measured_speedup(rounds, plain, level=1 - 1e-6)
    assert (measured.low <= speedup(scenario) <= measured.high) is (fault == 1.0)

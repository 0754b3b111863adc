"""Monte Carlo of rounds against the exact laws."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

from specsim import tau
from specsim.acceptance import Acceptance
from specsim.checks import FloatArray
from specsim.drafters import MeasuredDrafter, RatioDrafter
from specsim.errors import InputError
from specsim.roofline import Staircase
from specsim.scenario import Scenario
from specsim.simulate import rounds, simulate_accepted, simulate_records
from specsim.stats.chi_square import goodness_of_fit
from specsim.stats.kolmogorov_smirnov import kolmogorov_smirnov

LEVEL = 1e-7  # false-alarm rate of each random test here
ROUNDS = 2_000_000
KINDS = [
    (Acceptance.constant(0.7), 4),
    (Acceptance.by_depth([0.9, 0.0, 0.5]), 3),
    (Acceptance.beta(2, 1), 8),
    (Acceptance.constant(0.8), 40),  # deep: the draws are narrowed on the way
    (Acceptance.constant(0.02), 5),
]
LOOKUP = MeasuredDrafter(name="ngram", per_round_seconds=1e-3, per_token_seconds=1e-4, proposed=(0.6, 0.5))


def scenario(**changes: object) -> Scenario:
    parts = {
        "target": Staircase(tokens=(1, 3, 9), seconds=(0.04, 0.05, 0.06), source="made up"),
        "drafter": LOOKUP,
        "acceptance": Acceptance.by_depth([0.8, 0.6, 0.5, 0.5]),
        "gamma": 4,
        "context": 100,
        "sample_seconds": 0.002,
        "host_seconds": 0.001,
    }
    return Scenario(**(parts | changes))  # type: ignore[arg-type]


# --- counts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("acceptance", "gamma"), KINDS, ids=lambda value: getattr(value, "name", value))
def test_counts_follow_the_exact_law(acceptance: Acceptance, gamma: int) -> None:
    """Null: accepted lengths follow `tau.accepted_pmf`; n = 2e6; false-alarm rate 1e-7 each."""
    counts = simulate_accepted(acceptance, gamma=gamma, rounds=ROUNDS, seed=1)
    assert counts.sum() == ROUNDS
    assert goodness_of_fit(counts, tau.accepted_pmf(acceptance, gamma=gamma), min_expected=20).passed(LEVEL)


@pytest.mark.parametrize(("acceptance", "gamma"), KINDS, ids=lambda value: getattr(value, "name", value))
def test_half_a_percent_of_acceptance_too_much_is_caught(acceptance: Acceptance, gamma: int) -> None:
    """Power: acceptance of 1.005 alpha at the first depth, same sizes."""
    alphas = acceptance.conditional(gamma)
    alphas[0] = min(1.0, alphas[0] * 1.005 if alphas[0] > 0.1 else alphas[0] * 1.2)
    counts = simulate_accepted(Acceptance.by_depth(alphas), gamma=gamma, rounds=ROUNDS, seed=1)
    assert not goodness_of_fit(counts, tau.accepted_pmf(acceptance, gamma=gamma), min_expected=20).passed(LEVEL)


def test_thresholds_within_one_cell_are_told_apart() -> None:
    """Null: the exact law, with thresholds that differ by less than a cell; n = 2e6; false-alarm rate 1e-7."""
    survival = np.array([2000.5, 2000.25, 1.5, 0.25]) / rounds.CELLS
    acceptance = Acceptance.by_depth(survival / np.append(1, survival[:-1]))
    counts = simulate_accepted(acceptance, gamma=4, rounds=ROUNDS, seed=9)
    assert goodness_of_fit(counts, -np.diff([1, *survival, 0]), min_expected=20).passed(LEVEL)
    for rounded in (np.floor, np.ceil):  # power: cells that are not looked into
        wrong = rounded(survival * rounds.CELLS) / rounds.CELLS
        assert not goodness_of_fit(counts, -np.diff([1, *wrong, 0]), min_expected=20).passed(LEVEL)


def test_a_drafter_that_may_propose_less_lowers_what_stands() -> None:
    """Null: P(accepted >= k) = P(drafted >= k) s_k; n = 2e6; false-alarm rate 1e-7."""
    acceptance = Acceptance.constant(0.7)
    counts = simulate_accepted(acceptance, gamma=3, rounds=ROUNDS, seed=2, drafter=LOOKUP)
    survival = np.array([0.6 * 0.7, 0.5 * 0.49, 0.5 * 0.343])
    law = -np.diff([1, *survival, 0])
    assert goodness_of_fit(counts, law).passed(LEVEL)
    assert not goodness_of_fit(counts, tau.accepted_pmf(acceptance, gamma=3)).passed(LEVEL)  # power: hits left out


def test_a_drafter_that_always_proposes_changes_nothing() -> None:
    drafter = RatioDrafter(c=0.1, step_seconds=0.04)
    plain, drafted = (
        simulate_accepted(Acceptance.constant(0.7), gamma=3, rounds=5000, seed=3, drafter=given)
        for given in (None, drafter)
    )
    np.testing.assert_array_equal(plain, drafted)


@pytest.mark.parametrize("chunk", [1, 7, 1000, 65536, 10**7])
def test_the_seed_alone_decides_not_the_chunking(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "STREAM_ROUNDS", 3000)  # several streams, the last one short
    arguments = {"gamma": 20, "rounds": 10_001, "seed": 4}
    expected = simulate_accepted(Acceptance.constant(0.8), **arguments)
    np.testing.assert_array_equal(simulate_accepted(Acceptance.constant(0.8), **arguments, chunk=chunk), expected)


def test_the_seed_alone_decides_not_the_order() -> None:
    arguments = {"gamma": 5, "rounds": 3_500_000}
    alone = simulate_accepted(Acceptance.constant(0.8), **arguments, seed=5)
    with ThreadPoolExecutor(3) as executor:
        together = simulate_accepted(Acceptance.constant(0.8), **arguments, seed=5, executor=executor)
    np.testing.assert_array_equal(alone, together)
    assert (alone != simulate_accepted(Acceptance.constant(0.8), **arguments, seed=6)).any()


def test_streams_differ() -> None:
    """Two streams of one seed are no copies of each other."""
    one = simulate_accepted(Acceptance.constant(0.8), gamma=5, rounds=rounds.STREAM_ROUNDS, seed=7)
    two = simulate_accepted(Acceptance.constant(0.8), gamma=5, rounds=2 * rounds.STREAM_ROUNDS, seed=7)
    assert (two != 2 * one).any()


def test_memory_does_not_grow_with_the_rounds() -> None:
    tracemalloc.start()
    simulate_accepted(Acceptance.constant(0.5), gamma=8, rounds=10_000_000, seed=8)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6


def test_edges() -> None:
    assert simulate_accepted(Acceptance.constant(0.5), gamma=0, rounds=9, seed=0).tolist() == [9]
    assert simulate_accepted(Acceptance.constant(0.5), gamma=2, rounds=0, seed=0).tolist() == [0, 0, 0]
    assert simulate_accepted(Acceptance.constant(1), gamma=2, rounds=9, seed=0).tolist() == [0, 0, 9]
    assert simulate_accepted(Acceptance.constant(0), gamma=2, rounds=9, seed=0).tolist() == [9, 0, 0]


class Rising(MeasuredDrafter):
    """A drafter that contradicts itself."""

    def proposed_survival(self, gamma: int) -> FloatArray:
        return np.linspace(0.1, 1, gamma)


def test_bad_input_is_named() -> None:
    acceptance = Acceptance.constant(1)
    for arguments, message in (
        ({"rounds": -1}, "rounds must be at least 0"),
        ({"chunk": 0}, "chunk must be at least 1"),
        ({"seed": 0.5}, "seed must be a whole number"),
        ({"gamma": -1}, "gamma must be at least 0"),
        ({"drafter": Rising(name="odd", per_round_seconds=0, per_token_seconds=0)}, "never rise"),
    ):
        with pytest.raises(InputError, match=message):
            simulate_accepted(acceptance, **({"gamma": 2, "rounds": 9, "seed": 0} | arguments))  # type: ignore[arg-type]


# --- records -------------------------------------------------------------------------------------------------------


def test_records_without_noise_cost_what_the_model_says() -> None:
    way = scenario(sample_per_token_seconds=0.0005)
    for record in simulate_records(way, requests=3, rounds_per_request=20, seed=1, noise=0):
        assert record.draft_seconds == pytest.approx(1e-3 + 1e-4 * record.drafted)
        passing = way.target.pass_seconds(tokens=record.drafted + 1, batch=1, context=100)
        assert record.verify_seconds == pytest.approx(float(passing))
        assert record.sample_seconds == pytest.approx(0.002 + 0.0005 * record.drafted)
        assert record.host_seconds == 0.001
        assert record.committed == record.accepted + 1
        assert (record.gamma, record.batch, record.context_tokens) == (4, 1, 100)
        assert (record.proposer, record.verifier) == ("ngram", "rejection")


def test_records_are_request_by_request_and_repeatable() -> None:
    records = simulate_records(scenario(), requests=2, rounds_per_request=3, seed=2)
    assert [(record.request, record.round) for record in records] == [(r, k) for r in "01" for k in range(3)]
    assert records == simulate_records(scenario(), requests=2, rounds_per_request=3, seed=2)
    assert records != simulate_records(scenario(), requests=2, rounds_per_request=3, seed=3)


def test_records_follow_the_law_of_drafted_and_accepted() -> None:
    """Null: drafted by the drafter's law, accepted by the acceptance up to drafted; n = 40000; false alarm 1e-7."""
    records = simulate_records(scenario(), requests=200, rounds_per_request=200, seed=3)
    lengths = {(d, a): 0 for d in range(5) for a in range(d + 1)}
    for record in records:
        lengths[record.drafted, record.accepted] += 1
    proposed = dict(enumerate(-np.diff([1, 0.6, 0.5, 0.5, 0.5, 0])))
    acceptance = Acceptance.by_depth([0.8, 0.6, 0.5, 0.5])
    law = [proposed[d] * tau.accepted_pmf(acceptance, gamma=d)[a] for d, a in lengths]
    counts = list(lengths.values())
    assert goodness_of_fit(counts, law, min_expected=20).passed(LEVEL)
    other = Acceptance.by_depth([0.8, 0.65, 0.5, 0.5])  # power: one depth off by 0.05
    wrong = [proposed[d] * tau.accepted_pmf(other, gamma=d)[a] for d, a in lengths]
    assert not goodness_of_fit(counts, wrong, min_expected=20).passed(LEVEL)


def test_noise_is_lognormal_with_mean_one() -> None:
    """Null: log(time / model) is normal(-s^2 / 2, s); n = 20000 factors; false-alarm rate 1e-7."""
    records = simulate_records(scenario(), requests=100, rounds_per_request=200, seed=4, noise=0.1)
    logs = np.log([record.host_seconds / 0.001 for record in records])
    assert kolmogorov_smirnov(stats.norm.cdf(logs, loc=-0.005, scale=0.1)).passed(LEVEL)
    assert not kolmogorov_smirnov(stats.norm.cdf(logs, loc=0.0, scale=0.1)).passed(LEVEL)  # power: mean above 1


def test_plain_decoding_asks_no_drafter() -> None:
    record = simulate_records(scenario(gamma=0), requests=1, rounds_per_request=1, seed=5, noise=0)[0]
    assert (record.proposer, record.gamma, record.drafted, record.committed) == ("none", 0, 0, 1)
    assert (record.draft_seconds, record.verify_seconds) == (0, 0.04)


def test_no_requests_no_records() -> None:
    assert simulate_records(scenario(), requests=0, rounds_per_request=5, seed=0) == []
    with pytest.raises(InputError, match="noise must be at least 0"):
        simulate_records(scenario(), requests=1, rounds_per_request=1, seed=0, noise=-1)

"""calibrate(simulate(x)) covers x, predictions cover further runs, and planted faults are caught.

Coverage tests share one shape: 40 simulated data sets, intervals of level 0.95; the null is that each interval covers
with probability at least 0.95, judged by an exact binomial test at a false-alarm rate of 1e-6 over all quantities.
"""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from specsim import catalog
from specsim.acceptance import Acceptance
from specsim.calibrate import calibrate, calibration, fit, measured_round_seconds, measured_speedup, measured_tau
from specsim.calibrate.depths import acceptance_depths
from specsim.calibrate.rows import columns
from specsim.drafters import MeasuredDrafter
from specsim.errors import InputError
from specsim.records import PARTS, RoundRecord
from specsim.roofline import Efficiency, Roofline, Staircase
from specsim.scenario import Scenario
from specsim.simulate import simulate_records
from specsim.speedup import speedup
from specsim.stats import exact_binomial

DATA_SETS = 40
FALSE_ALARM = 1e-6
ALPHAS = (0.8, 0.7, 0.75, 0.6, 0.5, 0.5)
RATES = (0.8, 0.7, 0.6, 0.6, 0.6, 0.6)
STAIRS = Staircase(
    tokens=tuple(range(1, 8)), seconds=(0.036, 0.037, 0.0385, 0.040, 0.0415, 0.043, 0.0445), source="test"
)
GPU = catalog.hardware("H100-SXM")
LOSSES = {"bandwidth_fraction": 0.7, "flop_fraction": 0.5, "overhead_seconds": 4e-4}
ROOFLINE = Roofline(
    model=catalog.model("Llama-3.1-8B"),
    hardware=GPU,
    efficiency=replace(Efficiency.assumed(GPU), **LOSSES, source="the truth"),
)
SHARED_TRUTH = {
    "per_round_seconds": 0.001,
    "per_token_seconds": 0.004,
    "sample_seconds": 0.001,
    "sample_per_token_seconds": 0.0002,
    "host_seconds": 0.0005,
    **{f"acceptance[{depth}]": alpha for depth, alpha in enumerate(ALPHAS, start=1)},
}


def scenario(gamma, *, proposed=(), acceptance=None, target=STAIRS, **change):
    drafter = MeasuredDrafter(name="small", per_round_seconds=0.001, per_token_seconds=0.004, proposed=proposed)
    parts = {"target": target, "drafter": drafter, "acceptance": acceptance or Acceptance.by_depth(ALPHAS)}
    seconds = {"sample_seconds": 0.001, "sample_per_token_seconds": 0.0002, "host_seconds": 0.0005}
    return Scenario(**parts | seconds | {"gamma": gamma} | change)


def simulated(seed, *, gammas=(0, 2, 6), requests=8, rounds=30, noise=0.05, **change):
    return [
        row
        for place, gamma in enumerate(gammas)
        for row in simulate_records(
            scenario(gamma, **change),
            requests=requests,
            rounds_per_request=rounds,
            seed=100 * seed + place,
            noise=noise,
        )
    ]


def uneven(seed, *, gammas, requests=12, rounds=30):
    """Texts that differ: one alpha each from Beta(4, 2), the same under every gamma."""
    rng = np.random.default_rng(seed)
    alphas = rng.beta(4, 2, requests)
    return [
        replace(row, request=f"text {text}")
        for gamma in gammas
        for text, alpha in enumerate(alphas)
        for row in simulate_records(
            scenario(gamma, acceptance=Acceptance.constant(float(alpha))),
            requests=1,
            rounds_per_request=rounds,
            seed=int(rng.integers(2**31)),
        )
    ]


def check_coverage(covered):
    """Every quantity covered often enough; AssertionError names those that were not."""
    pvalues = {
        name: exact_binomial(hits, DATA_SETS, probability=0.95, alternative="less").pvalue
        for name, hits in covered.items()
    }
    failed = {name: covered[name] for name, pvalue in pvalues.items() if pvalue < FALSE_ALARM / len(pvalues)}
    assert not failed, f"covered in {failed} of {DATA_SETS} data sets"


def part_coverage(truth, data, **how):
    covered = Counter(dict.fromkeys(truth, 0))
    for seed in range(DATA_SETS):
        estimates = calibrate(data(seed), seed=seed, replicates=200, **how).estimates
        for name, value in truth.items():
            covered[name] += estimates[name].low <= value <= estimates[name].high
    return covered


def stairs_truth():
    steps = {f"pass_seconds[{n}]": STAIRS.pass_seconds(tokens=n) for n in (1, 3, 7)}
    return SHARED_TRUTH | steps | {"plain_seconds": 0.0375}


def test_own_stairs_cover_every_part():
    check_coverage(part_coverage(stairs_truth(), simulated))


def test_a_lookup_and_a_benchmarked_staircase_cover_every_part():
    truth = SHARED_TRUTH | {f"proposed[{depth}]": rate for depth, rate in enumerate(RATES, start=1)} | {"scale": 1.25}
    slower = replace(STAIRS, scale=1.25)
    check_coverage(
        part_coverage(truth, lambda seed: simulated(seed, proposed=RATES, target=slower, rounds=60), staircase=STAIRS)
    )


def roofline_rows(seed):
    return [
        row
        for batch in (1, 32, 128)
        for context in (512, 4096)
        for row in simulated(
            100 * seed + batch + context // 512, rounds=3, target=ROOFLINE, batch=batch, context=context
        )
    ]


def test_model_and_hardware_cover_every_part():
    how = {"model": ROOFLINE.model, "hardware": ROOFLINE.hardware}
    check_coverage(part_coverage(SHARED_TRUTH | LOSSES, roofline_rows, **how))


def test_planted_miscounted_trials_are_caught(monkeypatch):
    def no_trial_at_the_last_depth_unless_accepted(rows, *, weights):
        missed = (rows.judged == rows.asked) & (rows.accepted < rows.judged)
        return acceptance_depths(replace(rows, judged=rows.judged - missed), weights=weights)

    monkeypatch.setattr(fit, "acceptance_depths", no_trial_at_the_last_depth_unless_accepted)
    with pytest.raises(AssertionError, match=r"acceptance\[2\]"):
        check_coverage(part_coverage(stairs_truth(), simulated))


def test_planted_slow_drafter_is_caught():
    def slower(seed):
        return [replace(row, draft_seconds=1.1 * row.draft_seconds) for row in simulated(seed)]

    with pytest.raises(AssertionError, match="per_token_seconds"):
        check_coverage(part_coverage(stairs_truth(), slower))


def uneven_coverage(*, rounds_as_requests):
    law = Acceptance.beta(4, 2).conditional(6)
    covered = Counter({"acceptance[1]": 0, "acceptance[2]": 0})
    for seed in range(DATA_SETS):
        rows = uneven(seed, gammas=(0, 2, 6))
        if rounds_as_requests:
            rows = [replace(row, request=f"{row.request}/{row.gamma}/{row.round}") for row in rows]
        estimates = calibrate(rows, seed=seed, replicates=200).estimates
        for depth in (1, 2):
            estimate = estimates[f"acceptance[{depth}]"]
            covered[f"acceptance[{depth}]"] += estimate.low <= law[depth - 1] <= estimate.high
    return covered


def test_texts_that_differ_are_covered():
    check_coverage(uneven_coverage(rounds_as_requests=False))


def test_planted_resampling_of_rounds_is_caught():
    with pytest.raises(AssertionError, match="acceptance"):
        check_coverage(uneven_coverage(rounds_as_requests=True))


def prediction_coverage(*, run, planned):
    """A held-out gamma on `run` further texts, against the interval for a run of `planned` texts."""
    covered = Counter({"tau": 0, "round_seconds": 0, "speedup": 0})
    for seed in range(DATA_SETS):
        predicted = calibrate(uneven(seed, gammas=(0, 2, 6)), seed=seed, replicates=200, staircase=STAIRS).predict(
            4, requests=planned
        )
        further = uneven(1000 + seed, gammas=(0, 4), requests=run)
        drafting = [row for row in further if row.gamma]
        measured = {
            "tau": measured_tau(drafting, replicates=50),
            "round_seconds": measured_round_seconds(drafting, replicates=50),
            "speedup": measured_speedup(drafting, [row for row in further if not row.gamma], replicates=50),
        }
        for name, estimate in measured.items():
            interval = getattr(predicted, name)
            covered[name] += interval.low <= estimate.value <= interval.high
    return covered


def test_predictions_cover_further_texts():
    check_coverage(prediction_coverage(run=4, planned=4))


def test_planted_neglect_of_the_runs_own_chance_is_caught():
    with pytest.raises(AssertionError, match="tau"):
        check_coverage(prediction_coverage(run=2, planned=10**9))


def drifting(rows, rng, *, shared):
    """The same rounds on a machine whose speed wanders by 5 % from text to text, or as one for a whole run."""
    names = sorted({row.request for row in rows})
    pace = (
        dict.fromkeys(names, rng.lognormal(0, 0.05))
        if shared
        else dict(zip(names, rng.lognormal(0, 0.05, len(names)), strict=True))
    )
    return [replace(row, **{part: getattr(row, part) * pace[row.request] for part in PARTS}) for row in rows]


def drift_coverage():
    """Calibrate while the machine wanders; predict the round seconds of a run that shares one drift."""
    covered = Counter({"round_seconds": 0})
    for seed in range(DATA_SETS):
        rng = np.random.default_rng(seed)
        predicted = calibrate(drifting(simulated(seed), rng, shared=False)).predict(4).round_seconds
        run = drifting(simulated(500 + seed, gammas=(4,)), rng, shared=True)
        covered["round_seconds"] += predicted.low <= measured_round_seconds(run).value <= predicted.high
    return covered


def test_predictions_allow_for_a_machine_that_drifts():
    check_coverage(drift_coverage())


def test_planted_neglect_of_drift_is_caught(monkeypatch):
    still = calibration.Calibration.predict

    def blind(self, gamma, **how):
        spread = replace(self.draws.spread, drift=0.0)
        return still(replace(self, draws=replace(self.draws, spread=spread)), gamma, **how)

    monkeypatch.setattr(calibration.Calibration, "predict", blind)
    with pytest.raises(AssertionError, match="round_seconds"):
        check_coverage(drift_coverage())


def test_measured_values_cover_the_scenario():
    """tau, round seconds and speedup of 40 simulated runs against the closed forms."""
    truth = scenario(4, proposed=RATES)
    covered = Counter({"tau": 0, "round_seconds": 0, "speedup": 0})
    for seed in range(DATA_SETS):
        drafting = simulated(seed, gammas=(4,), proposed=RATES)
        plain = simulated(1000 + seed, gammas=(0,))
        for name, estimate, value in (
            ("tau", measured_tau(drafting, seed=seed), truth.tokens_per_round),
            ("round_seconds", measured_round_seconds(drafting, seed=seed), truth.cost.seconds),
            ("speedup", measured_speedup(drafting, plain, seed=seed), speedup(truth)),
        ):
            covered[name] += estimate.low <= value <= estimate.high
    check_coverage(covered)


def test_a_calibration_gives_the_scenario_back():
    """Without noise in the times, and with the law of accepted drafts as counted, only chance in the counts is left."""
    rows = simulated(1, noise=0.0, requests=6, rounds=50)
    fitted = calibrate(rows)
    assert fitted.gammas == (2, 6)
    assert fitted.proposer == "small"
    assert fitted.drafter.proposed == ()
    back = fitted.scenario(4)
    assert back.cost.seconds == pytest.approx(scenario(4).cost.seconds, rel=1e-9)
    assert back.plain_seconds == pytest.approx(0.0375)
    predicted = fitted.predict(4)
    assert predicted.tau.value == pytest.approx(back.tokens_per_round)
    assert predicted.round_seconds.value == pytest.approx(back.cost.seconds)
    assert predicted.speedup.value == pytest.approx(speedup(back))
    assert predicted.requests == 6


def test_batches_and_contexts_go_through_the_roofline():
    fitted = calibrate(roofline_rows(1), model=ROOFLINE.model, hardware=GPU)
    assert fitted.batch is None
    with pytest.raises(InputError, match="batch must be given"):
        fitted.predict(4)
    elsewhere = {"batch": 16, "context": 2000}
    assert fitted.scenario(4, **elsewhere).cost.verify_seconds == pytest.approx(
        scenario(4, target=ROOFLINE, **elsewhere).cost.verify_seconds, rel=0.05
    )


def test_a_prediction_narrows_with_texts_and_stays_possible():
    fitted = calibrate(uneven(3, gammas=(0, 2, 6)))
    few, many = (fitted.predict(4, requests=count).tau for count in (1, 100))
    assert few.low < many.low < many.value < many.high < few.high
    assert few.low >= 1
    assert few.high <= 5


def test_the_same_seed_gives_the_same_intervals():
    rows = simulated(1)
    one, same, other = (calibrate(rows, seed=seed).estimates for seed in (1, 1, 2))
    assert one == same
    assert one != other
    assert {name: estimate.value for name, estimate in one.items()} == {
        name: estimate.value for name, estimate in other.items()
    }


def row(request, turn, *, gamma=4, drafted=None, accepted=0, bonus=1, proposer="small", seconds=0.04):
    return RoundRecord(
        request=str(request),
        round=turn,
        proposer=proposer,
        verifier="greedy",
        gamma=gamma,
        drafted=gamma if drafted is None else drafted,
        accepted=accepted,
        committed=accepted + bonus,
        verify_seconds=seconds,
    )


def plain(requests=3, rounds=4):
    return [row(request, turn, gamma=0, proposer="none") for request in range(requests) for turn in range(rounds)]


def texts(requests=3, **change):
    """Two full rounds, one that ends the text on an accepted draft, and none after it."""
    return [
        replaced
        for request in range(requests)
        for replaced in (
            row(request, 0, accepted=4, **change),
            row(request, 1, accepted=1, **change),
            row(request, 2, accepted=2, bonus=0, **change),
        )
    ]


def test_a_draft_behind_the_end_of_text_was_not_on_trial():
    fitted = calibrate([*texts(), *plain()])
    # Depth 3 was judged in the first round alone: the text ended before it in the third.
    assert fitted.acceptance.reached == (9, 9, 3, 3)
    assert fitted.acceptance.accepted == (9, 6, 3, 3)


def test_a_round_that_the_end_of_text_cut_is_left_out_of_tau():
    assert measured_tau(texts()).value == (5 + 2) / 2


def test_rounds_near_a_length_limit_are_left_out_of_tau():
    cut = [
        row(request, turn, gamma=gamma, accepted=0)
        for request in range(3)
        for turn, gamma in ((0, 4), (1, 4), (2, 1), (3, 0))
    ]
    rows = columns(cut)
    assert rows.full.tolist() == [True, True, False, False] * 3
    assert measured_tau(cut).value == 1
    # Their judged drafts still count for acceptance, the round that asked for none does not.
    assert calibrate([*cut, *plain()]).acceptance.reached == (9,)


def test_texts_of_one_request_at_several_gammas_are_told_apart_and_may_interleave():
    first = [row("a", turn, gamma=2) for turn in range(3)]
    second = [row("a", turn, gamma=6) for turn in range(3)]
    other = [row("b", turn, gamma=2) for turn in range(3)]
    mixed = [*(pair for both in zip(first, other, strict=True) for pair in both), *second]
    assert columns(mixed).asked.tolist() == [2] * 6 + [6] * 3


def test_the_odd_stall_moves_nothing_much():
    rows = simulated(5)
    stalled = [
        replace(each, verify_seconds=50 * each.verify_seconds) if place % 50 == 0 else each
        for place, each in enumerate(rows)
    ]
    quiet, loud = calibrate(rows), calibrate(stalled)
    for name in ("pass_seconds[3]", "pass_seconds[7]", "plain_seconds"):
        assert loud.estimates[name].value == pytest.approx(quiet.estimates[name].value, rel=0.02)


def test_stalls_do_not_move_fitted_losses_much():
    rows = roofline_rows(2)
    stalled = [
        replace(each, verify_seconds=50 * each.verify_seconds) if place % 50 == 0 else each
        for place, each in enumerate(rows)
    ]
    how = {"model": ROOFLINE.model, "hardware": GPU}
    quiet, loud = calibrate(rows, **how).estimates, calibrate(stalled, **how).estimates
    for name in ("bandwidth_fraction", "flop_fraction"):
        assert loud[name].value == pytest.approx(quiet[name].value, rel=0.03)


def test_all_accepted_and_all_rejected_keep_open_intervals():
    everything = calibrate([*(row(r, t, accepted=4) for r in range(4) for t in range(9)), *plain(4)])
    nothing = calibrate([*(row(r, t) for r in range(4) for t in range(9)), *plain(4)])
    one, zero = everything.estimates["acceptance[1]"], nothing.estimates["acceptance[1]"]
    assert (one.value, one.high) == (1, 1)
    assert 0.5 < one.low < 1
    assert (zero.value, zero.low) == (0, 0)
    assert 0 < zero.high < 0.5
    assert everything.predict(4).tau.low < 5
    assert nothing.predict(4).tau.high > 1
    assert nothing.scenario(4).tokens_per_round == 1


def test_plain_texts_may_be_others_than_the_drafted_ones():
    apart = [replace(each, request=f"plain {each.request}") for each in plain()]
    fitted = calibrate([*texts(), *apart])
    assert fitted.requests == 3
    assert fitted.plain_seconds.n == 3
    assert fitted.predict(4).speedup.value > 1


def test_one_number_of_drafts_puts_the_cost_on_the_tokens():
    rows = [replace(each, draft_seconds=0.02) for each in texts()]
    assert calibrate([*rows, *plain()]).drafter.per_token_seconds == pytest.approx(0.005)


def test_an_interval_of_one_level_holds_that_of_a_lower_one():
    rows = simulated(7)
    narrow, wide = (calibrate(rows, level=level).estimates["acceptance[1]"] for level in (0.8, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


BAD_ROWS = {
    "at least one row": [],
    "plain rows": texts(),
    "full drafting rounds": plain(),
    "of one proposer, got ngram, small": [*texts(), *texts(proposer="ngram"), *plain()],
    "of one verifier, got greedy, typical": [*texts(), *(replace(r, verifier="typical") for r in texts()), *plain()],
    "gamma of proposer 'small' must be at least 1": [*(row(r, 0, gamma=0) for r in range(3)), *plain()],
    "must be 0, since they are plain": [*texts(), *texts(proposer="none")],
    "full drafting rounds of at least two requests.*interval needs two": [*texts(1), *plain()],
    "plain rows.*of at least two requests.*interval needs two": [*texts(), *plain(1)],
    "batch must be 1 in all rows, got 2": [*texts(), *(replace(each, batch=2) for each in plain())],
    "verify_seconds must be above 0": [*texts(seconds=0.0), *(replace(r, verify_seconds=0.0) for r in plain())],
    "a draft that was judged": [*(row(r, t, drafted=0) for r in range(3) for t in range(4)), *plain()],
}


@pytest.mark.parametrize("message", BAD_ROWS)
def test_rows_that_cannot_be_calibrated(message):
    with pytest.raises(InputError, match=message):
        calibrate(BAD_ROWS[message])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"model": ROOFLINE.model}, "model and hardware must be given together"),
        ({"hardware": GPU}, "model and hardware must be given together"),
        ({"model": ROOFLINE.model, "hardware": GPU, "staircase": STAIRS}, "got both"),
        ({"model": ROOFLINE.model, "hardware": GPU}, "must be told by the rows"),
        ({"staircase": Staircase(tokens=(1, 3), seconds=(0.04, 0.05), source="short")}, r"measured 1\.\.3, got 5"),
        ({"level": 1.0}, "level must be in"),
        ({"replicates": 10}, "replicates must be at least 50"),
    ],
)
def test_questions_that_cannot_be_answered(how, message):
    with pytest.raises(InputError, match=message):
        calibrate([*texts(), *plain()], **how)


def test_passes_faster_than_the_hardware_are_refused():
    rows = [replace(each, verify_seconds=each.verify_seconds / 4) for each in roofline_rows(1)]
    with pytest.raises(InputError, match="faster than model and hardware allow"):
        calibrate(rows, model=ROOFLINE.model, hardware=GPU)


def test_predictions_refuse():
    fitted = calibrate([*texts(), *plain()])
    for bad, message in (
        ({"gamma": 0}, "gamma"),
        ({"gamma": 5}, r"measured 1\.\.5"),
        ({"gamma": 2, "requests": 0}, "re"),
    ):
        with pytest.raises(InputError, match=message):
            fitted.predict(**bad)


def test_measurements_refuse():
    for rows, message in (
        ([], "at least one row"),
        ([*texts(), *plain()], "plain rows"),
        ([*texts(), *(row(r, t, gamma=2) for r in range(3) for t in range(3))], "gamma must be one"),
        (texts(1), "interval needs two"),
        ([row(r, 0, accepted=2, bonus=0) for r in range(3)], "no full round"),
    ):
        with pytest.raises(InputError, match=message):
            measured_tau(rows)
    for beside, message in ((texts(), "drafting rows"), (plain(1), "interval needs two"), ([], "interval needs two")):
        with pytest.raises(InputError, match=message):
            measured_speedup(texts(), beside)
    with pytest.raises(InputError, match="seconds of rounds must be above 0"):
        measured_speedup(texts(seconds=0.0), plain())

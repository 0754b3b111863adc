"""The serving simulator: whole stories, what must be conserved, and queueing theory where it has an answer."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from specsim.acceptance import Acceptance
from specsim.catalog import hardware, model
from specsim.checks import IntArray
from specsim.cost import round_cost
from specsim.drafters import Eagle3, MeasuredDrafter, NGram
from specsim.errors import InfeasibleError, InputError
from specsim.placement import Placement
from specsim.policies import POLICIES, ByBatch, Fixed, GammaPolicy, Goodput, Load
from specsim.roofline import Count, Efficiency
from specsim.scenario import Scenario
from specsim.simulate.serving import (
    Cache,
    Promise,
    Requests,
    Served,
    Server,
    Traffic,
    latencies,
    over_time,
    poisson_traffic,
    saturation,
    serve,
    server_on,
    study,
    totals,
)
from specsim.simulate.serving.times import StepTimes
from specsim.speedup import crossover_batch
from specsim.stats.chi_square import goodness_of_fit
from specsim.stats.homogeneity import homogeneity
from specsim.tau import accepted_pmf

LEVEL = 1e-7  # false-alarm rate of each random test here


@dataclass(frozen=True)
class Affine:
    """A pass whose seconds are linear in all that it does, but not below a floor."""

    fixed: float = 1.0
    per_token: float = 0.01
    per_cached: float = 0.0
    floor: float = 0.0

    def pass_seconds(self, *, tokens: Count, batch: Count = 1, context: Count = 0) -> Any:
        work = self.fixed + self.per_token * np.multiply(tokens, batch) + self.per_cached * np.multiply(batch, context)
        return np.maximum(self.floor, work)


DRAFTER = MeasuredDrafter(name="example", per_round_seconds=0.0, per_token_seconds=0.1)
LOOKUP = MeasuredDrafter(name="lookup", per_round_seconds=0.05, per_token_seconds=0.1, proposed=(0.6, 0.5))


def scenario(**changes: Any) -> Scenario:
    parts = {"target": Affine(), "drafter": DRAFTER, "acceptance": Acceptance.constant(1.0), "gamma": 2}
    return Scenario(**(parts | changes))


def server(way: Scenario, **changes: Any) -> Server:
    longest = changes.setdefault("longest", 40)
    room = changes.pop("room", 10_000)
    parts = {"policy": Fixed(depth=way.gamma), "cache": Cache.of_tokens(room, longest=longest + 20), "max_batch": 4}
    return Server(scenario=way, **(parts | changes))


def traffic(arrivals: Sequence[float], prompts: Sequence[int], outputs: Sequence[int]) -> Traffic:
    return Traffic(arrival_seconds=arrivals, prompt_tokens=prompts, output_tokens=outputs)  # type: ignore[arg-type]


def rows(frame: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(np.round(row, 9).tolist()) for row in frame[list(columns)].to_numpy()]


# --- whole stories --------------------------------------------------------------------------------------------------


def test_the_story_of_three_requests() -> None:
    """Passes take 1 s and 10 ms a token, drafts 0.1 s each and all stand; two run at once, four prompt tokens a pass.

    A (prompt 6, answer 5) comes at 0 s, B (3, 2) at 0.5 s, C (2, 1) at 1 s.
    """
    one = server(scenario(), room=40, max_batch=2, chunk_tokens=4)
    served = serve(one, traffic([0.0, 0.5, 1.0], [6, 3, 2], [5, 2, 1]), seed=0)
    columns = ["start_seconds", "seconds", "batch", "prompts", "waiting", "prompt_tokens", "gamma", "drafted"]
    assert rows(served.steps, *columns, "accepted", "in_flight", "made", "cache_bytes", "preempted") == [
        (0.00, 1.04, 0, 1, 0, 4, 0, 0, 0, 4, 0, 9, 0),  # A: first four of its prompt
        (1.04, 1.04, 0, 2, 1, 4, 0, 0, 0, 4, 1, 15, 0),  # its last two, and two of B; C has to wait; A's first token
        (2.08, 1.24, 1, 1, 1, 1, 2, 2, 2, 4, 4, 15, 0),  # a round of A beside B's last: three tokens, and B's first
        (3.32, 1.26, 2, 0, 1, 0, 2, 4, 4, 6, 2, 18, 0),  # a round of both, of which each needs one token
        (4.58, 1.02, 0, 1, 0, 2, 0, 0, 0, 2, 1, 5, 0),  # C
    ]
    assert rows(served.requests, "queue_seconds", "first_token_seconds", "per_token_seconds", "request_seconds")[
        :2
    ] == [
        (0.0, 2.08, 0.625, 4.58),
        (0.54, 2.82, 1.26, 4.08),
    ]
    last = served.requests.iloc[2]
    assert last[["queue_seconds", "first_token_seconds", "request_seconds"]].round(9).tolist() == [3.58, 4.6, 4.6]
    assert np.isnan(last["per_token_seconds"])
    assert rows(served.requests, "rounds", "drafted", "accepted", "preemptions") == [
        (2, 4, 4, 0),
        (1, 2, 2, 0),
        (0, 0, 0, 0),
    ]
    assert served.cache_bytes == 0


def test_the_last_admitted_gives_way_when_caches_outgrow_the_memory() -> None:
    """Plain decoding with room for 19 tokens. A (8, 6) and B (6, 4) need 20 in the fourth step."""
    one = server(scenario(gamma=0), room=19, max_batch=2, longest=14)
    served = serve(one, traffic([0.0, 0.0], [8, 6], [6, 4]), seed=0)
    assert rows(served.steps, "batch", "prompts", "prompt_tokens", "cache_bytes", "preempted", "waiting") == [
        (0, 2, 14, 16, 0, 0),
        (2, 0, 0, 16, 0, 0),
        (2, 0, 0, 18, 0, 0),
        (1, 0, 0, 11, 1, 1),
        (1, 0, 0, 12, 0, 1),
        (1, 0, 0, 13, 0, 1),
        (0, 1, 9, 10, 0, 0),  # B again, with the three tokens that it had
    ]
    assert served.requests["preemptions"].tolist() == [0, 1]
    assert served.requests["first_token_seconds"].round(9).tolist() == [1.14, 1.14]
    assert served.cache_bytes == 0


def test_nothing_happens_while_nobody_waits() -> None:
    served = serve(server(scenario(gamma=0)), traffic([1.0, 50.0], [2, 2], [1, 1]), seed=0)
    assert rows(served.steps, "start_seconds", "seconds") == [(1.0, 1.02), (50.0, 1.02)]


# --- queueing theory ------------------------------------------------------------------------------------------------

PROMPTS, OUTPUTS = ([10, 400], [0.75, 0.25]), ([1, 3], [0.75, 0.25])
PASS = Affine(fixed=0.01, per_token=0.001)


def one_slot(count: int, *, load: float, seed: int) -> tuple[Served, np.ndarray, tuple[float, float]]:
    """A server that takes one request at a time; seconds that each needs, and their exact first two moments."""
    laws = itertools.product(zip(*PROMPTS, strict=True), zip(*OUTPUTS, strict=True))
    needs = [(weight * share, needed(prompt, output)) for (prompt, weight), (output, share) in laws]
    mean, square = (sum(weight * seconds**power for weight, seconds in needs) for power in (1, 2))
    rng = np.random.default_rng(seed)
    prompts, outputs = (rng.choice(values, size=count, p=weights) for values, weights in (PROMPTS, OUTPUTS))
    arrivals = np.cumsum(rng.exponential(mean / load, size=count))
    way = server(scenario(target=PASS, gamma=0), max_batch=1, longest=403)
    return serve(way, traffic(arrivals, prompts, outputs), seed=0), needed(prompts, outputs), (mean, square)


def needed(prompt: Any, output: Any) -> Any:
    return 0.01 + 0.001 * prompt + (output - 1) * 0.011


def test_one_slot_is_a_single_server_queue_path_by_path() -> None:
    """Lindley: what the next waits is what the last waited and took, less what lay between them."""
    served, seconds, _ = one_slot(3000, load=0.7, seed=1)
    gaps = np.diff(served.requests["arrival_seconds"])
    wait = [0.0]
    for taken, gap in zip(seconds, gaps, strict=False):
        wait.append(max(0.0, wait[-1] + taken - gap))
    np.testing.assert_allclose(served.requests["queue_seconds"], wait, atol=1e-8)
    np.testing.assert_allclose(served.requests["request_seconds"], np.add(wait, seconds), atol=1e-8)


def test_one_slot_with_poisson_arrivals_waits_as_pollaczek_and_khinchine_say() -> None:
    """Null: mean wait lambda E[S^2] / (2 (1 - rho)), rho 0.5, n = 12000 in 40 runs of 300 that follow each other.

    Student's interval of the means of the runs, which are nearly independent and normal: false-alarm rate 1e-6.
    """
    served, _, (mean, square) = one_slot(12_000, load=0.5, seed=2)
    expected = 0.5 / mean * square / (2 * (1 - 0.5))
    means = served.requests["queue_seconds"].to_numpy().reshape(40, 300).mean(axis=1)
    low, high = stats.t.interval(1 - 1e-6, 39, loc=means.mean(), scale=stats.sem(means))
    assert low < expected < high
    assert high < 2 * expected  # power: the interval is short enough to exclude the wait of ...
    assert low > expected * mean**2 / square  # ... service that always takes its mean (M/D/1)


def test_time_in_service_is_the_same_by_step_and_by_request() -> None:
    """Little's law of those that run, exactly: their number integrated over time is the sum of their stays."""
    requests = poisson_traffic(300, requests_per_second=0.6, prompt_tokens=10, output_tokens=9, spread=0.8, seed=3)
    served = serve(server(scenario(acceptance=Acceptance.constant(0.6)), longest=requests.longest), requests, seed=4)
    steps, done = served.steps, served.requests
    running = float(((steps["batch"] + steps["prompts"]) * steps["seconds"]).sum())
    stays = float((done["request_seconds"] - done["queue_seconds"]).sum())
    assert steps["preempted"].sum() == 0
    assert running == pytest.approx(stays, rel=1e-9)
    assert steps["waiting"].max() > 5  # they do queue


def test_a_span_of_time_holds_the_mean_of_its_steps() -> None:
    served = serve(
        server(scenario(), room=40, max_batch=2, chunk_tokens=4), traffic([0.0, 9.0], [6, 2], [4, 1]), seed=0
    )
    steps = served.steps
    for bins in (1, 7):
        frame = over_time(served, bins=bins)
        width = served.requests["finish_seconds"].max() / bins
        for column in ("batch", "waiting", "cache_share"):
            assert (frame[column] * width).sum() == pytest.approx((steps[column] * steps["seconds"]).sum())
    assert frame["gamma"].dropna().tolist() == pytest.approx([2.0] * frame["gamma"].notna().sum())
    assert frame["gamma"].isna().any()  # nothing decodes between the two requests


# --- what is conserved ----------------------------------------------------------------------------------------------


def test_all_tokens_are_made_once_and_all_room_is_given_back() -> None:
    """Many requests in little room, with a drafter that often proposes nothing, and acceptance by request."""
    requests = poisson_traffic(400, requests_per_second=0.5, prompt_tokens=12, output_tokens=12, spread=0.7, seed=5)
    way = scenario(drafter=LOOKUP, acceptance=Acceptance.beta(2, 1), gamma=4)
    one = server(way, longest=requests.longest, room=140, max_batch=8, varies="request")
    served = serve(one, requests, seed=6)
    steps, done = served.steps, served.requests
    assert steps["preempted"].sum() == done["preemptions"].sum() > 10
    assert steps["made"].sum() == requests.output_tokens.sum()
    assert served.cache_bytes == 0
    assert steps["cache_share"].max() <= 1
    assert steps["cache_share"].max() > 0.9
    assert steps["batch"].max() <= 8
    for column in ("drafted", "accepted"):
        assert steps[column].sum() == done[column].sum()
    assert (done["accepted"] <= done["drafted"]).all()
    assert (done["drafted"] < 4 * done["rounds"]).any()  # proposes less than it is asked
    assert (done["rounds"] + done["accepted"] >= done["output_tokens"] - 1 - done["preemptions"]).all()
    assert (done["queue_seconds"] >= 0).all()
    assert (done["first_token_seconds"] > done["queue_seconds"]).all()
    assert (np.diff(steps["start_seconds"]) >= steps["seconds"].to_numpy()[:-1] - 1e-9).all()


def test_accepted_lengths_follow_the_law() -> None:
    """Null: lengths of rounds of a single request follow `accepted_pmf`; n about 5000; false-alarm rate 1e-7."""
    law = Acceptance.by_depth([0.8, 0.6, 0.5])
    one = server(scenario(acceptance=law, gamma=3), longest=12_000, room=20_000)
    served = serve(one, traffic([0.0], [1], [11_000]), seed=7)
    rounds = served.steps[served.steps["batch"] == 1]
    counts = np.bincount(rounds["accepted"], minlength=4)
    assert counts.sum() > 4000
    assert goodness_of_fit(counts, accepted_pmf(law, gamma=3)).passed(LEVEL)
    wrong = Acceptance.by_depth([0.8, 0.68, 0.5])  # power: one depth off by 0.08
    assert not goodness_of_fit(counts, accepted_pmf(wrong, gamma=3)).passed(LEVEL)


@pytest.mark.parametrize(("varies", "alike"), [("round", True), ("request", False)])
def test_a_beta_law_can_differ_by_round_or_by_request(varies: str, alike: bool) -> None:
    """Null: all requests accept first drafts alike; 40 requests of 150 to 300 rounds; false-alarm rate 1e-7."""
    way = scenario(acceptance=Acceptance.beta(2, 2), gamma=1)
    requests = traffic([0.0] * 40, [1] * 40, [300] * 40)
    done = serve(server(way, longest=400, max_batch=40, varies=varies), requests, seed=8).requests
    whose = [[np.repeat(done["request"], counts)] for counts in (done["accepted"], done["rounds"] - done["accepted"])]
    assert homogeneity(*whose).passed(LEVEL) is alike


@pytest.mark.parametrize("policy", [Fixed(depth=0), ByBatch(rows=((1, 8, 0),))])
def test_without_speculation_the_drafter_changes_nothing(policy: GammaPolicy) -> None:
    requests = poisson_traffic(60, requests_per_second=0.4, prompt_tokens=9, output_tokens=9, spread=0.5, seed=9)
    plain = serve(server(scenario(gamma=0), longest=requests.longest), requests, seed=1)
    for drafter in (DRAFTER, LOOKUP):
        way = scenario(drafter=drafter, acceptance=Acceptance.constant(0.3), gamma=4)
        found = serve(server(way, longest=requests.longest, policy=policy), requests, seed=2)
        pd.testing.assert_frame_equal(found.requests, plain.requests)
        pd.testing.assert_frame_equal(found.steps, plain.steps)


def test_the_seed_decides() -> None:
    requests = poisson_traffic(50, requests_per_second=0.5, prompt_tokens=9, output_tokens=9, spread=0.5, seed=1)
    one = server(scenario(acceptance=Acceptance.constant(0.5)), longest=requests.longest)
    first, again, other = (serve(one, requests, seed=seed).requests for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert (first["accepted"] != other["accepted"]).any()


# --- load -----------------------------------------------------------------------------------------------------------

BENT = Affine(fixed=0.0, per_token=1e-4, floor=0.01)  # memory-bound up to 100 tokens in flight
CHEAP = MeasuredDrafter(name="cheap", per_round_seconds=0.0, per_token_seconds=5e-4)


def seconds_to_serve(policy: GammaPolicy, *, at_once: int, seed: int = 3) -> float:
    way = scenario(target=BENT, drafter=CHEAP, acceptance=Acceptance.constant(0.6), gamma=4)
    one = server(way, longest=200, max_batch=at_once, policy=policy)
    count = 3 * at_once
    requests = traffic([0.0] * count, [1] * count, [100] * count)
    return float(serve(one, requests, seed=seed).requests["finish_seconds"].max())


def test_beyond_the_crossover_fixed_drafts_hurt_and_adaptive_ones_do_not() -> None:
    way = scenario(target=BENT, drafter=CHEAP, acceptance=Acceptance.constant(0.6), gamma=4)
    crossover = crossover_batch(way)
    goodput = Goodput(survival=tuple(way.accepted_survival))
    assert crossover is not None
    for batch, gains in ((crossover // 4, True), (3 * crossover, False)):
        plain, fixed, adaptive = (
            seconds_to_serve(policy, at_once=batch) for policy in (Fixed(depth=0), Fixed(depth=4), goodput)
        )
        assert (fixed < 0.8 * plain) if gains else (fixed > 1.2 * plain)
        assert adaptive < 1.02 * min(plain, fixed)


def test_goodput_learns_what_is_accepted() -> None:
    """Drafts that never stand are given up although they were expected to, and the other way round."""
    hopeless, splendid = (
        scenario(target=BENT, drafter=CHEAP, acceptance=Acceptance.constant(a), gamma=4) for a in (0.0, 1.0)
    )
    for way, expected, end in ((hopeless, (0.9, 0.8, 0.7, 0.6), 0), (splendid, (0.2, 0.1, 0.05, 0.02), 4)):
        one = server(way, longest=500, policy=Goodput(survival=expected, weight=20))
        steps = serve(one, traffic([0.0] * 4, [1] * 4, [400] * 4), seed=0).steps
        assert steps["gamma"].iloc[1] != end
        assert steps["gamma"].iloc[-1] == end


@dataclass
class Spy:
    """Asks for what it is told, and remembers what it could see."""

    gammas: Sequence[int]
    seen: list[IntArray] = field(default_factory=list)
    name: str = "spy"
    deepest: int = 3

    def gamma(self, load: Load) -> int:
        self.seen.append(load.lengths.copy())
        return self.gammas[len(self.seen) % len(self.gammas)]


def test_a_policy_sees_past_rounds_alone() -> None:
    spy = Spy(gammas=(3, 1, 0, 2))
    way = scenario(acceptance=Acceptance.constant(0.6), gamma=3)
    steps = serve(server(way, longest=200, policy=spy), traffic([0.0], [1], [150]), seed=1).steps
    rounds = steps[steps["batch"] == 1].reset_index(drop=True)
    counted = np.zeros((4, 4), dtype=int)
    assert len(spy.seen) == len(rounds) > 30
    for seen, turn in zip(spy.seen, rounds.itertuples(), strict=True):
        np.testing.assert_array_equal(seen, counted)
        if turn.gamma:
            counted[turn.gamma, turn.accepted] += 1


def load(seconds: Sequence[float], *, prompts: Sequence[float] | None = None, batch: int = 1) -> Load:
    rounds = np.asarray(seconds)
    steps = rounds if prompts is None else rounds + np.asarray(prompts)
    none = np.zeros((len(rounds),) * 2, dtype=int)
    return Load(batch=batch, waiting=0, round_seconds=rounds, step_seconds=steps, lengths=none)


EACH_POLICY: dict[str, GammaPolicy] = {
    "fixed": Fixed(depth=3),
    "by_batch": ByBatch(rows=((1, 2, 3), (3, 9, 1))),
    "goodput": Goodput(survival=(0.7, 0.5, 0.3)),
}


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_policy_serves(name: str) -> None:
    policy = EACH_POLICY[name]
    assert isinstance(policy, POLICIES[name])
    assert isinstance(policy, GammaPolicy)
    one = server(scenario(gamma=4, acceptance=Acceptance.constant(0.7)), policy=policy)
    steps = serve(one, traffic([0.0, 1.0, 2.0], [5, 5, 5], [20, 20, 20]), seed=0).steps
    assert steps["gamma"].max() == policy.deepest == 3
    assert steps["made"].sum() == 60


def test_goodput_asks_what_drafts_add_to_a_pass_over_prompts() -> None:
    policy = Goodput(survival=(0.8, 0.6))
    assert policy.gamma(load([1.0, 1.5, 2.2])) == 1  # 1, 1.8 / 1.5, 2.4 / 2.2
    assert (
        policy.gamma(load([1.0, 1.5, 2.2], prompts=[9.0, 8.6, 8.0])) == 2
    )  # weights are read anyway: drafts add little
    assert policy.gamma(load([1.0, 1.5, 2.2], prompts=[9.0, 10.0, 11.0])) == 0  # compute is full: each token costs


def test_a_schedule_goes_by_the_batch() -> None:
    schedule = ByBatch(rows=((1, 1, 5), (2, 8, 2), (9, 64, 0)))
    assert [schedule.gamma(load([1.0] * 6, batch=batch)) for batch in (1, 2, 8, 9, 64, 500)] == [5, 2, 2, 0, 0, 0]
    assert schedule.deepest == 5


# --- seconds --------------------------------------------------------------------------------------------------------

GPU = hardware("H100-SXM")
PLACE = Placement(target=model("Llama-3.1-8B"), hardware=GPU, efficiency=Efficiency.default(GPU))


def test_rounds_cost_what_the_scenario_says() -> None:
    way = Scenario(
        target=PLACE.cost(PLACE.target), drafter=PLACE.drafter(Eagle3()), acceptance=Acceptance.constant(0.7), gamma=5
    )
    times = StepTimes(scenario=way, max_batch=64, chunk_tokens=2048, longest=8000)
    for batch, context in itertools.product((1, 7, 64), (0, 777, 5000, 8000)):
        exact = [replace(way, gamma=g, batch=batch, context=context).cost.seconds for g in range(6)]
        np.testing.assert_allclose(times.rounds(batch=batch, context=context), exact, rtol=0.01)
    for tokens, context in ((17, 100), (1000, 500), (2048, 6000)):
        exact_pass = way.target.pass_seconds(tokens=tokens, context=context)
        assert times.prompts_alone(tokens=tokens, context=context) == pytest.approx(exact_pass, rel=0.01)
    beside = times.prompts(tokens=512, context=256, beside=np.array([8, 64]))
    alone = times.prompts_alone(tokens=512, context=256)
    assert (beside > 0).all()
    assert (beside < alone).all()  # the weights are read once


def test_a_drafter_that_proposes_less_costs_its_mean() -> None:
    way = scenario(drafter=LOOKUP, gamma=3, sample_seconds=0.2, sample_per_token_seconds=0.03, host_seconds=0.1)
    times = StepTimes(scenario=way, max_batch=2, chunk_tokens=8, longest=50)
    parts = {"sample_seconds": 0.2, "sample_per_token_seconds": 0.03, "host_seconds": 0.1}
    exact = [round_cost(way.target, LOOKUP, gamma=g, batch=2, **parts).seconds for g in range(4)]  # type: ignore[arg-type]
    np.testing.assert_allclose(times.rounds(batch=2, context=10), exact)
    assert times.round(drafted=1.5, batch=2, context=10) == pytest.approx(1.0 + 0.05 + 0.05 + 0.15 + 0.345)


def test_a_lookup_drafter_on_a_gpu_is_served() -> None:
    requests = Requests(prompt_tokens=300, output_tokens=60, spread=0.4, seconds=4)
    law = Acceptance.constant(0.5)
    method = NGram.default(PLACE.target)
    servers = {
        policy.name: server_on(PLACE, method, acceptance=law, policy=policy, longest=requests.longest, max_batch=32)
        for policy in (Fixed(depth=0), Fixed(depth=4))
    }
    found = study(
        servers, requests, rates=[5.0, 20.0], promise=Promise(first_token_seconds=1, per_token_seconds=0.05), seed=1
    )
    assert found.loads[["requests_per_second", "policy"]].to_numpy().tolist() == [
        [5.0, "plain"],
        [5.0, "gamma 4"],
        [20.0, "plain"],
        [20.0, "gamma 4"],
    ]
    assert found.most("plain") == 20.0
    assert (found.loads["kept_requests_per_second"] == found.loads["requests_per_second"]).all()
    assert set(found.timelines["policy"]) == {"plain", "gamma 4"}
    assert saturation(servers["plain"], requests) > 20


def test_memory_holds_weights_and_pages() -> None:
    """One eighth of a MiB a token of Llama-3.1-8B, in pages of 16; the drafter's weights and cache come on top."""
    plain, drafted = (Cache.of(PLACE, method, longest=64) for method in (None, Eagle3()))
    assert plain.bytes_by_tokens[[0, 1, 16, 17]].tolist() == [0, 16 * 131_072, 16 * 131_072, 32 * 131_072]
    use = PLACE.memory(Eagle3(), batch=1, context=0)
    assert plain.capacity_bytes - drafted.capacity_bytes == pytest.approx(use.draft_weight_bytes)
    assert drafted.bytes_by_tokens[16] / plain.bytes_by_tokens[16] == pytest.approx(1 + 1 / 32)


# --- summaries ------------------------------------------------------------------------------------------------------


def test_totals_of_a_story() -> None:
    one = server(scenario(), max_batch=1)
    served = serve(one, traffic([0.0, 10.0, 20.0], [1, 1, 1], [7, 7, 7]), seed=0)  # 1.01 + 2 * 1.23 = 3.47 s each
    found = totals(served, Promise(first_token_seconds=1.5, per_token_seconds=0.4))
    assert found["tokens_per_second"] == pytest.approx(14 / 20)
    assert found["user_tokens_per_second"] == pytest.approx(6 / 2.46)
    assert (found["batch"], found["gamma"], found["preemptions"], found["kept"]) == (1.0, 2.0, 0, 0.0)
    assert totals(served, Promise(first_token_seconds=1.5, per_token_seconds=0.42))["kept"] == 1.0
    assert totals(served, Promise(first_token_seconds=1.0, per_token_seconds=0.42))["kept"] == 0.0
    waits = {(row["latency"], row["quantile"]): row["seconds"] for row in latencies(served)}
    assert waits["first_token", 0.99] == pytest.approx(1.01)
    assert waits["per_token", 0.5] == pytest.approx(0.41)
    assert waits["request", 0.95] == pytest.approx(3.47)


def test_the_highest_load_that_keeps_a_promise_has_no_gap_below_it() -> None:
    found = study(
        {"plain": server(scenario(gamma=0), longest=20)},
        Requests(prompt_tokens=5, output_tokens=5, seconds=20),
        rates=[0.1],
        promise=Promise(first_token_seconds=9, per_token_seconds=9),
        seed=0,
    )
    loads = pd.DataFrame({"policy": "a", "requests_per_second": [4.0, 1.0, 2.0, 3.0], "kept": [0.99, 1.0, 0.96, 0.9]})
    assert replace(found, loads=loads).most("a") == 2.0
    assert replace(found, loads=loads.assign(kept=0.5)).most("a") is None


def test_lengths_have_their_mean_and_spread() -> None:
    """Null: log-normal with mean 400 and standard deviation 200; n = 40000, normal limit; false-alarm rate 1e-6."""
    lengths = poisson_traffic(40_000, requests_per_second=1, prompt_tokens=400, output_tokens=1, spread=0.5, seed=4)
    prompts = lengths.prompt_tokens
    assert abs(prompts.mean() - 400) < 4.9 * 200 / 200
    assert prompts.std() == pytest.approx(200, rel=0.05)
    rate = lengths.size / lengths.arrival_seconds[-1]
    assert abs(rate - 1) < 4.9 / 200
    slower = poisson_traffic(100, requests_per_second=0.5, prompt_tokens=400, output_tokens=1, spread=0.5, seed=4)
    np.testing.assert_array_equal(slower.prompt_tokens, prompts[:100])
    np.testing.assert_allclose(slower.arrival_seconds, 2 * lengths.arrival_seconds[:100])


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arrivals", "prompts", "outputs", "message"),
    [
        ([], [], [], "one request at least"),
        ([0.0, 1.0], [1], [1, 1], r"prompt_tokens must hold one number for each of 2 requests"),
        ([1.0, 0.5], [1, 1], [1, 1], r"arrival_seconds\[1\] must be at least the one before and 0, got 0.5"),
        ([-1.0], [1], [1], r"arrival_seconds\[0\]"),
        ([0.0], [0], [1], r"prompt_tokens\[0\] must be at least 1"),
        ([0.0], [1], [0], r"output_tokens\[0\] must be at least 1"),
        ([float("nan")], [1], [1], r"arrival_seconds\[0\] must be finite"),
    ],
)
def test_traffic_that_cannot_be(arrivals: list[float], prompts: list[int], outputs: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        traffic(arrivals, np.array(prompts, dtype=int), np.array(outputs, dtype=int))  # type: ignore[arg-type]


def test_servers_that_cannot_be() -> None:
    way = scenario()
    for changes, message in (
        ({"policy": Fixed(depth=3)}, "gamma 3 must go at most as deep as the scenario, 2, got 3"),
        ({"varies": "day"}, "varies 'day' is unknown"),
        ({"varies": "request"}, "must go with a Beta law"),
        ({"max_batch": 0}, "max_batch must be at least 1"),
        ({"chunk_tokens": 0}, "chunk_tokens must be at least 1"),
        ({"cache": Cache.of_tokens(9, longest=9)}, "cache longest must be at least 43, got 9"),
    ):
        with pytest.raises(InputError, match=message):
            server(way, **changes)
    with pytest.raises(InputError, match="at most 40 tokens, as the server, got 41"):
        serve(server(way), traffic([0.0], [40], [1]), seed=0)
    with pytest.raises(InfeasibleError, match=r"request 1 of 20 tokens needs 23.0 B of cache, .* for 20"):
        serve(server(way, room=20), traffic([0.0, 0.0], [1, 10], [1, 10]), seed=0)
    with pytest.raises(InputError, match=r"gamma of the policy must be in 0\.\.3, got 7"):
        serve(server(scenario(gamma=3), policy=Spy(gammas=(7,))), traffic([0.0], [1], [9]), seed=0)
    with pytest.raises(InfeasibleError, match="leaves no room for caches on 1 H100-SXM"):
        Cache.of(replace(PLACE, target=model("Llama-3.1-70B")), longest=10)


def test_policies_that_cannot_be() -> None:
    for make, message in (
        (lambda: Fixed(depth=-1), "depth must be at least 0"),
        (lambda: ByBatch(rows=()), "one range of batches at least"),
        (lambda: ByBatch(rows=((1, 4, 2), (6, 9, 1))), r"rows\[1\] must begin at batch 5, got 6"),
        (lambda: ByBatch(rows=((1, 4, -2),)), r"rows\[0\] gamma must be at least 0"),
        (lambda: ByBatch(rows=((1, 0, 2),)), r"rows\[0\] last batch must be at least 1"),
        (lambda: Goodput(survival=(0.5, 0.6)), "survival must never rise"),
        (lambda: Goodput(survival=(0.5,), weight=0), "weight must be above 0"),
        (lambda: Promise(first_token_seconds=0, per_token_seconds=1), "first_token_seconds must be above 0"),
        (lambda: Requests(prompt_tokens=0.5, output_tokens=9), "prompt_tokens must be at least 1"),
    ):
        with pytest.raises(InputError, match=message):
            make()

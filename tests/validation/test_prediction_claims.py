"""Claims that predict numbers: they stand in worlds that are as the model says, and fall in worlds that are not.

Seconds come from laws here, never from a clock, so that a busy machine changes nothing. Null of every passing run: the
world follows the model; its false-alarm rate is the claims' level, 1e-6.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import pytest

from specsim.acceptance import Acceptance
from specsim.checks import FloatArray
from specsim.cost import RoundCost
from specsim.drafters import MeasuredDrafter
from specsim.errors import InputError
from specsim.records import RoundRecord
from specsim.roofline import PassCost, Staircase
from specsim.scenario import Scenario
from specsim.simulate import simulate_records
from specsim.tau import variance_tokens
from validation.claims import (
    CLAIMS,
    BestGamma,
    Crossover,
    IidFormula,
    RoundSeconds,
    Settings,
    Speedup,
    Tau,
    best_gamma,
    crossover,
    draft_step,
    fitting,
    pass_seconds,
    round_seconds,
    speculation,
    tau,
)
from validation.claims.iid_formula import judged
from validation.claims.prediction import Row
from validation.decoder.load import Loaded
from validation.decoder.loop import Decoding
from validation.decoder.tiny import tiny_model
from validation.demo.bench import PLAIN, Bench, Run, Setting, decode_groups
from validation.train.text import Writing, seed_prompts, unseen_prompts

MINE = (
    "tau",
    "iid_formula",
    "round_seconds",
    "speedup",
    "best_gamma",
    "pass_seconds",
    "draft_step",
    "shared_exit",
    "crossover",
)
NOISE = 0.03


@pytest.fixture(scope="module")
def tiny() -> Loaded:
    model, tokenizer = tiny_model(layers=12)
    return Loaded(model=model, tokenizer=tokenizer, name="tiny", is_real=False)


@pytest.fixture
def settings(tiny: Loaded) -> Settings:
    return Settings(seed=1, loaded=tiny)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """No test sees what another has measured."""
    speculation._study.cache_clear()
    yield
    speculation._study.cache_clear()


STAIRS = Staircase(tokens=tuple(range(1, 17)), seconds=tuple(0.04 + 0.003 * n for n in range(16)), source="world")


@dataclass
class World:
    """A target and drafters that follow the model, but for what `changed` does to held-out rounds."""

    changed: Callable[[Scenario], Scenario] = lambda scenario: scenario
    drafters: Mapping[str, tuple[MeasuredDrafter, Acceptance]] = field(
        default_factory=lambda: {
            "ngram": (_drafter("ngram", 1e-4, 0.0, (0.8, 0.75, 0.7, 0.65, 0.6, 0.55)), _depths(0.6, 0.8)),
            "early exit": (_drafter("early exit", 0.0, 0.03), _depths(0.55, 0.65)),
            "int4": (_drafter("int4", 0.0, 0.012), _depths(0.9, 0.85)),
        }
    )
    phases: int = 0

    def decode_groups(
        self, bench: Bench, groups: Sequence[Sequence[Setting]], *, seed: int, progress: Any
    ) -> list[list[Run]]:
        """In place of `bench.decode_groups`."""
        found = [self._decoded(bench, settings) for settings in groups]
        progress(1.0)
        return found

    def _decoded(self, bench: Bench, settings: Sequence[Setting]) -> list[Run]:
        self.phases += 1
        runs = []
        for place, setting in enumerate(settings):
            rows = simulate_records(
                self.scenario(setting),
                requests=len(bench.prompts),
                rounds_per_request=40,
                seed=1000 * self.phases + place,
                noise=NOISE,
            )
            for number, prompt in enumerate(bench.prompts):
                passes = 0 if setting.proposer == "ngram" else setting.gamma
                own = tuple(
                    replace(row, request=prompt.name, draft_passes=passes) for row in rows if row.request == str(number)
                )
                runs.append(Run(prompt=prompt, setting=setting, decoding=_decoding(own)))
        return runs

    def scenario(self, setting: Setting) -> Scenario:
        drafter, acceptance = self.drafters[setting.proposer or "ngram"]
        made = Scenario(
            target=STAIRS,
            drafter=drafter,
            acceptance=acceptance,
            gamma=setting.gamma,
            sample_seconds=1e-3,
            host_seconds=5e-4,
        )
        return self.changed(made) if self.phases == 2 and setting.gamma else made

    def pass_rows(self, model: object, *, tokens: Sequence[int], **options: Any) -> list[dict[str, float]]:
        """In place of `pass_rows`."""
        return [{"tokens": count, "seconds": float(STAIRS.pass_seconds(tokens=count))} for count in tokens]

    def installed(self, monkeypatch: pytest.MonkeyPatch) -> World:
        monkeypatch.setattr(speculation, "decode_groups", self.decode_groups)
        monkeypatch.setattr(speculation, "pass_rows", self.pass_rows)
        return self


def _drafter(name: str, fixed: float, each: float, proposed: tuple[float, ...] = ()) -> MeasuredDrafter:
    return MeasuredDrafter(name=name, per_round_seconds=fixed, per_token_seconds=each, proposed=proposed)


def _depths(first: float, later: float) -> Acceptance:
    return Acceptance.by_depth([first, *[later] * 5])


def _decoding(records: tuple[RoundRecord, ...]) -> Decoding:
    return Decoding(tokens=(), records=records, finish="length", prefill_seconds=0.0)


def _slower(scenario: Scenario) -> Scenario:
    """Held-out rounds take half as long again."""
    assert isinstance(scenario.target, Staircase)
    return replace(scenario, target=replace(scenario.target, scale=1.6), host_seconds=0.03)


@pytest.mark.parametrize(
    "claim", [Tau(), IidFormula(), RoundSeconds(), Speedup(), BestGamma()], ids=lambda claim: str(claim.name)
)
def test_claims_stand_where_the_model_holds(claim: Any, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    World().installed(monkeypatch)
    seen: list[float] = []
    result = claim.run(replace(settings, progress=seen.append))
    assert result.verdict == "passed", result
    assert result.controls
    assert all(control.caught for control in result.controls)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    row = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert row["rows"]
    if claim.name != "best_gamma":
        assert len(row["rows"]) == 3 * len(speculation.HELD_OUT_GAMMAS)
        assert {one["gamma"] for one in row["rows"]} == set(speculation.HELD_OUT_GAMMAS)
        assert row["median_abs_error"] < 0.05


def test_no_gamma_is_both_calibrated_and_held_out() -> None:
    assert not set(speculation.CALIBRATED_GAMMAS) & set(speculation.HELD_OUT_GAMMAS)
    assert max(speculation.HELD_OUT_GAMMAS) < max(speculation.CALIBRATED_GAMMAS)
    for device in ("cpu", "cuda"):
        assert not set(pass_seconds.FITTED[device].within(10**6)) & set(pass_seconds.HELD_OUT[device].within(10**6))
        assert not set(crossover.BATCHES[device].calibrated) & set(crossover.BATCHES[device].held_out)
        assert not set(draft_step.FITTED_CONTEXTS[device]) & set(draft_step.HELD_OUT_CONTEXTS[device])


@pytest.mark.parametrize(
    ("claim", "changed"),
    [
        (Tau(), lambda scenario: replace(scenario, acceptance=_depths(0.15, 0.2))),
        (RoundSeconds(), _slower),
        (Speedup(), _slower),
        (BestGamma(), _slower),
        (IidFormula(), lambda scenario: replace(scenario, acceptance=Acceptance.constant(0.72))),
    ],
    ids=lambda value: str(getattr(value, "name", "")),
)
def test_claims_fall_where_held_out_rounds_are_others(
    claim: Any, changed: Callable[[Scenario], Scenario], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the iid formula: held-out rounds that really have one alpha, while the calibrated ones had not."""
    World(changed=changed).installed(monkeypatch)
    assert claim.run(settings).verdict == "failed"


def test_claims_share_what_they_measure(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is told of the progress, and whether seconds matter, makes no difference on a processor."""
    world = World().installed(monkeypatch)
    first = speculation.study(settings, is_timed=False)
    assert speculation.study(replace(settings, progress=print, level=0.5), is_timed=True) is first
    assert world.phases == 2
    assert speculation.study(replace(settings, seed=2), is_timed=True) is not first


def test_the_iid_formula_is_reported_beside(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    World().installed(monkeypatch)
    result = IidFormula().run(settings)
    assert result.figures["nats_gained"] > 0
    errors = [result.figures[f"median_abs_error_{name}"] for name in ("iid", "utilisation")]
    assert result.median_abs_error is not None
    assert result.median_abs_error < errors[0] < errors[1]


def _round(accepted: int, *, drafted: int = 3, ended: bool = False) -> RoundRecord:
    return RoundRecord(
        request="a",
        round=0,
        proposer="x",
        verifier="greedy",
        gamma=3,
        drafted=drafted,
        accepted=accepted,
        committed=accepted + (not ended),
    )


def test_drafts_are_judged_up_to_the_first_that_falls() -> None:
    found = judged([_round(1), _round(3), _round(0, drafted=0), _round(2, ended=True)], depths=4)
    assert found.trials.tolist() == [3, 3, 1, 0]
    assert found.hits.tolist() == [3, 2, 1, 0]
    assert found.by_depth.tolist() == [3.5 / 4, 2.5 / 4, 1.5 / 2, 0.5]
    assert found.pooled == 6.5 / 8
    even = judged([_round(1), _round(0)], depths=1)
    assert even.log_likelihood(0.5) == pytest.approx(2 * np.log(0.5))


def test_the_interval_of_tau_is_the_chance_of_rounds(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Around the same prediction, within what a round can commit, by the variance that `specsim.tau` knows."""
    World().installed(monkeypatch)
    found = speculation.study(settings, is_timed=False)
    for other in found.compared("tau", seed=1):
        same, gamma = tau.same_requests(found, other), other.setting["gamma"]
        assert 1 <= same.low < same.predicted == other.predicted < same.high <= gamma + 1
        if found.has_passes(other):
            calibration = found.calibrations[other.setting["proposer"]]
            own = variance_tokens(calibration.acceptance, gamma=gamma) / same.predicted**2
            rounds = 12 * 40 / same.predicted - 12
            variance = calibration.draws.independent_variance(gamma) + own / rounds
            assert np.log(same.predicted / same.low) == pytest.approx(1.959964 * np.sqrt(variance), rel=1e-6)


def test_a_lookup_has_no_passes_to_forget(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    World().installed(monkeypatch)
    controls = {one.fault: one.n for one in RoundSeconds().run(settings).controls}
    assert controls == {"the drafter's passes forgotten": 8, "verification taken as free": 12}


def test_planted_predictions_keep_their_relative_width() -> None:
    row = Row(setting={}, quantity="tau", predicted=2.0, low=1.0, high=3.0, measured=2.0, n=1)
    moved = speculation.planted([row], lambda row: 4.0)[0]
    assert (moved.predicted, moved.low, moved.high, moved.measured) == (4.0, 2.0, 6.0, 2.0)


def test_forgotten_parts_are_parts_of_a_round() -> None:
    cost = RoundCost(draft_seconds=1.0, verify_seconds=2.0, sample_seconds=0.0, host_seconds=0.5)
    left = {fault: round_seconds.without(part, cost) for fault, part in round_seconds.FORGOTTEN.items()}
    assert left == {"the drafter's passes forgotten": 2.5, "verification taken as free": 1.5}


def test_a_pick_is_judged_by_what_it_loses() -> None:
    rng = np.random.default_rng(0)
    level = 1e-6  # false-alarm rate; 12 requests
    logs = {"x": {0: np.zeros(12), 2: rng.normal(0.5, 0.03, 12), 4: rng.normal(0.48, 0.03, 12)}}
    assert best_gamma.losing("flat", logs, {"x": 4}, tolerance=0.05).passed(level)
    assert not best_gamma.losing("wrong", logs, {"x": 0}, tolerance=0.05).passed(level)
    logs["x"][4][3] = np.nan  # a request without a full round
    assert best_gamma.losing("gap", logs, {"x": 4}, tolerance=0.05).n == 11


@pytest.mark.parametrize("tolerance", [-0.1, 0.6, float("nan")])
def test_a_pick_may_lose_a_share_only(tolerance: float) -> None:
    with pytest.raises(InputError, match=r"tolerance must be in \[0, 0.5\]"):
        BestGamma(tolerance=tolerance)


def test_groups_of_settings_take_turns(tiny: Loaded) -> None:
    """Each prompt is done with all settings of all groups before the next; one in two groups is run for both."""
    whole = speculation.open_bench(tiny, drafter=None, tokens=4)
    bench = dataclasses.replace(whole, prompts=dict(list(whole.prompts.items())[:3]))
    lookup = Setting(proposer="ngram", gamma=2)
    fractions: list[float] = []
    first, second = decode_groups(bench, [[PLAIN, lookup], [PLAIN]], seed=0, progress=fractions.append)
    assert [run.setting for run in second] == [PLAIN] * 3
    assert sorted(run.setting.gamma for run in first) == [0, 0, 0, 2, 2, 2]
    assert [run.prompt for run in first[::2]] == [run.prompt for run in second] == list(bench.prompts)
    assert [run.decoding.tokens for run in second] == [run.decoding.tokens for run in first if run.setting == PLAIN]
    assert fractions == pytest.approx([done / 9 for done in range(1, 10)])


def test_a_real_study_on_a_tiny_model(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Structure alone: what its seconds are does not matter."""
    some = speculation._prompts()[:2]
    monkeypatch.setattr(speculation, "_prompts", lambda: some)
    small = {"TOKENS": 8, "CALIBRATED_GAMMAS": (1, 3), "HELD_OUT_GAMMAS": (2,), "GAMMAS": (1, 2, 3)}
    for constant, value in small.items():
        monkeypatch.setattr(speculation, constant, value)
    found = speculation.study(settings, is_timed=True)
    assert set(found.calibrations) == {"ngram", "early exit", "int4"}
    assert all(one.gammas == speculation.CALIBRATED_GAMMAS for one in found.calibrations.values())
    for runs, gammas in (
        (found.calibrated, speculation.CALIBRATED_GAMMAS),
        (found.held_out, speculation.HELD_OUT_GAMMAS),
    ):
        assert {run.setting.gamma for run in runs} == {PLAIN.gamma, *gammas}
        assert len(runs) == 2 * (1 + 3) * len(gammas)
    rows = found.compared("round_seconds", seed=0)
    assert len(rows) == 3
    assert all(0 < row.low < row.predicted < row.high for row in rows)
    assert all(1 <= row.measured <= row.setting["gamma"] + 1 for row in found.compared("tau", seed=0))


def test_prompts_are_a_dozen_requests_of_different_names() -> None:
    assert len({prompt.name for prompt in speculation._prompts()}) == len(speculation._prompts()) == 12


def test_drafters_follow_what_was_asked(tiny: Loaded, tmp_path: Any) -> None:
    folder = tmp_path / "drafter"
    tiny.model.save_pretrained(folder)
    tiny.tokenizer.save_pretrained(folder)
    bench = speculation.open_bench(tiny, drafter=str(folder), tokens=4)
    assert list(bench.proposers) == ["ngram", "early exit", "independent"]
    with pytest.raises(InputError, match="found nothing at"):
        speculation.open_bench(tiny, drafter=str(tmp_path / "nothing"), tokens=4)
    with pytest.raises(InputError, match=r"none\.safetensors"):
        speculation.open_bench(tiny, drafter=str(tmp_path / "none.safetensors"), tokens=4)


def test_the_random_target_has_the_shape_and_no_end_of_its_own() -> None:
    shape = speculation.LARGE | {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
    shape |= {"num_attention_heads": 4, "num_key_value_heads": 2}
    made = speculation.random_target(shape, device="cpu")
    config = made.model.config
    assert (config.hidden_size, config.num_hidden_layers, config.vocab_size) == (64, 2, 32_000)
    assert str(made.model.dtype) == "torch.bfloat16"
    assert made.name == "random Llama of 0.0042B parameters"
    assert made.eos_ids == {256}
    assert not made.is_real


def _played(
    law: PassCost, *, slower: Callable[[int], float], per_row: float = 2e-4
) -> Callable[..., list[RoundRecord]]:
    """In place of `crossover.Player.play`: all drafts are made, and a pass is as wide as any of them."""

    def play(player: object, asked: crossover.Play, *, first: int) -> list[RoundRecord]:
        name, batch, _, gamma, rounds = asked
        rng = np.random.default_rng([batch, first, gamma, len(name or "")])
        records = []
        for turn in range(rounds):
            stands = rng.random((batch, gamma if name else 0)) < ACCEPTANCE
            accepted = np.cumprod(stands, axis=1).sum(axis=1)
            rest = float(law.pass_seconds(tokens=stands.shape[1] + 1, batch=batch, context=30)) * _jitter(rng)
            draft = stands.shape[1] * (1e-3 + per_row * batch) * _jitter(rng)
            records += [
                RoundRecord(
                    request=str(first + row),
                    round=turn,
                    proposer=name or "none",
                    verifier="greedy",
                    gamma=stands.shape[1],
                    drafted=stands.shape[1],
                    accepted=int(accepted[row]),
                    committed=int(accepted[row]) + 1,
                    batch=batch,
                    context_tokens=30,
                    draft_seconds=draft,
                    verify_seconds=rest * (slower(batch) if name else 1.0),
                )
                for row in range(batch)
            ]
        return records

    return play


ACCEPTANCE = 0.6


def _jitter(rng: np.random.Generator) -> float:
    return float(rng.lognormal(0, 0.01))


BATCH_LAW = pass_seconds.PassLaw(
    fixed_seconds=0.005, token_seconds=1e-3, free_tokens=20.0, cached_seconds=0.0, pair_seconds=0.0
)


def _exact_speedup(batch: int) -> float:
    plain, full = (float(BATCH_LAW.pass_seconds(tokens=count, batch=batch)) for count in (1, crossover.GAMMA + 1))
    tau = sum(ACCEPTANCE**depth for depth in range(crossover.GAMMA + 1))
    return tau * plain / (full + crossover.GAMMA * (1e-3 + 2e-4 * batch))


def test_crossover_is_foretold_from_small_batches(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Null: what small batches show holds for all; the bound is five standard errors of tau at the least."""
    monkeypatch.setattr(crossover.Player, "play", _played(BATCH_LAW, slower=lambda batch: 1.0))
    result = Crossover().run(settings)
    assert result.verdict == "passed", result
    assert len(result.rows) == 2 * (5 + 3)
    assert all(control.caught for control in result.controls)
    gains = {batch: _exact_speedup(batch) for batch in range(1, 18)}
    for name in ("ngram", "int4"):
        foretold = int(result.figures[f"crossover_predicted_at[{name}]"])
        assert gains[foretold] > 0.75
        assert gains[foretold + 1] < 1 / 0.75
        assert gains[int(result.figures[f"crossover_measured_from[{name}]"])] > 0.75
        assert gains[int(result.figures[f"crossover_measured_below[{name}]"])] < 1 / 0.75
    assert "ngram pays up to batch" in result.detail
    json.dumps(result.as_dict(), allow_nan=False)


def test_crossover_falls_where_large_batches_are_slower(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossover.Player, "play", _played(BATCH_LAW, slower=lambda batch: 2.0 if batch > 4 else 1.0))
    assert Crossover().run(settings).verdict == "failed"


def test_crossover_beyond_what_is_measured_is_a_bound(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where passes cost the same at all sizes, speculation pays at every batch, and the fault is none."""
    flat = replace(BATCH_LAW, token_seconds=0.0, free_tokens=0.0, fixed_seconds=0.05)
    monkeypatch.setattr(crossover.Player, "play", _played(flat, slower=lambda batch: 1.0, per_row=0.0))
    result = Crossover().run(settings)
    assert result.verdict == "inconclusive"
    assert result.figures["crossover_predicted_above[ngram]"] == 16
    assert "crossover_measured_below[ngram]" not in result.figures
    assert "ngram pays beyond batch 16 as predicted, beyond 16, the largest measured" in result.detail


@pytest.fixture(scope="module")
def player(tiny: Loaded) -> crossover.Player:
    return crossover.Player(speculation.open_bench(tiny, drafter=None, tokens=1), tiny.prompt_tokens)


@pytest.mark.parametrize("name", [None, "ngram", "int4"])
def test_played_rounds_have_full_batches(name: str | None, player: crossover.Player) -> None:
    records = player.play(crossover.Play(name, 3, gamma=2, rounds=4), first=3)
    assert [record.round for record in records] == [turn for turn in range(4) for _ in range(3)]
    assert {record.batch for record in records} == {3}
    assert {record.gamma for record in records} == {2 if name else 0}
    assert {record.request for record in records} == {"3", "4", "5"}


def test_every_request_has_a_prompt_of_its_own(player: crossover.Player) -> None:
    """Otherwise texts of a batch would be one text at temperature 0, and held-out ones those calibrated with."""
    for batches in crossover.BATCHES.values():
        count = crossover.TURNS * batches.prompts
        asked = [player._request(place, tokens=8) for place in range(count)]
        assert len({tuple(request.prompt) for request in asked}) == len({request.name for request in asked}) == count
        assert not any(request.eos_ids for request in asked)


@pytest.mark.parametrize("device", sorted(crossover.BATCHES))
def test_no_text_of_a_turn_is_calibrated_with_and_held_out(device: str) -> None:
    batches = crossover.BATCHES[device]
    runs = [range(play.first, play.first + play.batch) for play in crossover._schedule([], batches)]
    calibrated = [place for run in runs[: -len(batches.held_out)] for place in run]
    held_out = {place for run in runs[-len(batches.held_out) :] for place in run}
    assert sorted(calibrated) == list(range(len(calibrated)))
    assert held_out == set(range(len(calibrated), batches.prompts))


@pytest.mark.parametrize(("budget", "turns", "rounds"), [(0.01, 2, 4), (1, 3, 4), (10, 30, 4), (40, 52, 9)])
def test_batches_take_turns_as_long_as_there_are_prompts(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, budget: float, turns: int, rounds: int
) -> None:
    asked: list[tuple[int, int, int]] = []

    def play(player: object, play: crossover.Play, *, first: int) -> list[RoundRecord]:
        asked.append((play.batch, first, play.rounds))
        return []

    monkeypatch.setattr(crossover.Player, "play", play)
    bench = speculation.open_bench(settings.loaded, drafter=None, tokens=1)  # type: ignore[arg-type]
    player, batches = crossover.Player(bench, lambda text: [0]), crossover.BATCHES["cpu"]
    crossover._played(player, [], batches, settings=dataclasses.replace(settings, budget=budget))
    batch_order = [batch for batch, _, _ in asked]
    assert batch_order == [play.batch for play in crossover._schedule([], batches)] * turns
    assert {length for _, _, length in asked} == {rounds}
    assert max(first + batch for batch, first, _ in asked) <= player.prompts


def test_more_texts_make_a_narrower_interval_of_tau() -> None:
    part = dataclasses.replace(_part(), between=0.09, requests=10**9)
    few, many = (np.log(part.interval(4, texts=texts)) for texts in (4, 16))
    assert np.ptp(few) == pytest.approx(2 * np.ptp(many), rel=1e-6)


def test_no_trained_head_saw_the_prompts_of_a_cpu() -> None:
    """Those of the held-out shards of training text, with default rows and seed."""
    writing, every = Writing(), list(unseen_prompts())
    written = list(islice(seed_prompts(writing.seed), len(every)))
    apart = writing.rows * writing.held_out  # prompts from the start of one held-out shard to that of the next
    held_out = {text for start in range(0, len(every), apart) for text in written[start : start + writing.rows]}
    assert set(every[: crossover.TURNS * crossover.BATCHES["cpu"].prompts]) <= held_out
    assert len(every) == len(set(every)) == 1883


def test_rounds_in_which_all_texts_draft_make_no_other_round_wider() -> None:
    """All draft in every second round: half of the rounds are wide at every batch."""
    together = np.repeat([[1.0], [0.0]], 3, axis=1)
    part = dataclasses.replace(_part(), proposed=together)
    for batch in (1, 4, 64):
        assert part.speedup(batch) == pytest.approx(1 / (0.5 + 0.5 * 4))


def test_wider_batches_make_wider_passes() -> None:
    """With drafts found half the time, a pass of many sequences is nearly always as wide as gamma allows."""
    part = _part()
    assert part.speedup(1) == pytest.approx(1 / (0.5 + 0.5 * 4))
    assert part.speedup(64) == pytest.approx(1 / 4)
    assert part.crossover(top=8) == 0


def _part() -> crossover.Parts:
    return crossover.Parts(
        acceptance=Acceptance.constant(0.0),
        proposed=np.full((1, 3), 0.5),
        law=replace(BATCH_LAW, fixed_seconds=0.0, free_tokens=0.0),
        law_fit=_exact(),
        draft_fit=replace(_exact(), coefficients=np.zeros(2)),
        between=0.0,
        requests=4,
        context=24,
    )


def _exact() -> fitting.Fit:
    none: FloatArray = np.zeros(4)
    return fitting.Fit(coefficients=none, spread=0.0, points=9, freedom=5)


def test_all_claims_of_this_kind_are_registered() -> None:
    assert set(MINE) <= set(CLAIMS)

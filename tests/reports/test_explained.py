"""The explanatory pictures: their frames are what the library computes, and the page follows its slider."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reports.build import write_page
from reports.pages.explained import frames, language, page, sections
from reports.pages.explained.tree import tree_frame
from specsim.charts.drawing import svg
from specsim.charts.explain import EXPLANATIONS
from specsim.charts.live import slider
from specsim.cli.main import run
from specsim.distributions import overlap, softmax
from specsim.errors import InputError
from specsim.stats import exact_binomial, goodness_of_fit
from specsim.verifiers.coupling import gumbel_match, minhash_match
from tests.reports.browsing import Visit

pytest.importorskip("vl_convert")

FALSE_ALARMS = 1e-6
"""Rate at which a random test of this file fails without a fault."""


@pytest.fixture(scope="module")
def given() -> dict[str, tuple[pd.DataFrame, dict[str, Any]]]:
    """Frame and options of each picture."""
    rates, exact = frames.match_frames()
    return {
        "acceptance_areas": (frames.areas_frame(), {}),
        "draft_and_verify": (frames.round_frame(), {}),
        "lengths_by_rule": (frames.lengths_frame(), {}),
        "match_rate": (rates, {"exact": exact}),
        "race": (frames.race_frame(shared=True), {}),
        "standing_by_rule": (frames.standing_frame(), {}),
        "token_tree": (tree_frame(), {}),
    }


Given = dict[str, tuple[pd.DataFrame, dict[str, Any]]]


def test_every_explanation_is_tested(given: Given) -> None:
    assert sorted(given) == sorted(EXPLANATIONS)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", sorted(EXPLANATIONS))
def test_every_picture_is_drawn_and_described(given: Given, name: str, theme: str) -> None:
    frame, options = given[name]
    chart = EXPLANATIONS[name](frame, **options, theme=theme)
    drawn = svg(chart.to_dict())
    assert len(re.findall(r"<(?:path|line|rect|text)", drawn)) > 15
    assert "NaN" not in drawn
    assert len(str(chart.description)) > 80


@pytest.mark.parametrize("name", sorted(EXPLANATIONS))
def test_bad_frames_are_refused_by_column(given: Given, name: str) -> None:
    frame, options = given[name]
    draw = EXPLANATIONS[name]
    for column in frame.columns:
        with pytest.raises(InputError, match=f"{name} needs the column {column!r}"):
            draw(frame.drop(columns=column), **options)
    with pytest.raises(InputError, match=f"{name} needs at least one row, got none"):
        draw(frame.iloc[:0], **options)
    number = next(column for column in frame.columns if frame[column].dtype == float)
    with pytest.raises(InputError, match=f"{name} column {number!r} row 0 must be a finite number, got .*nan"):
        draw(frame.assign(**{number: float("nan")}), **options)


def test_unknown_fates_are_refused(given: Given) -> None:
    with pytest.raises(InputError, match="fate 'lost' is unknown"):
        EXPLANATIONS["draft_and_verify"](given["draft_and_verify"][0].assign(fate="lost"))


def test_markup_in_tokens_stays_text(given: Given) -> None:
    frame = given["race"][0].assign(token=lambda rows: rows["token"] + "<script>")
    assert "<script>" not in svg(EXPLANATIONS["race"](frame).to_dict())


def test_a_round_gives_what_plain_decoding_gives(given: Given) -> None:
    frame = given["draft_and_verify"][0]
    plain, drafts, scoring = (frame[frame["lane"] == lane] for lane in ("plain decoding", "drafter", "target"))
    assert scoring["text"].item() == " ".join(plain["text"])
    assert scoring["start_seconds"].item() == pytest.approx(drafts["end_seconds"].max())
    stands = [fate.endswith("stands") for fate in drafts["fate"]]
    assert stands == sorted(stands, reverse=True)
    assert list(plain["text"])[: sum(stands)] == list(drafts["text"])[: sum(stands)]
    place = frames.machine()
    assert plain["end_seconds"].iloc[0] == place.cost(place.target).pass_seconds(tokens=1)


def test_shared_noise_draws_one_token_and_own_noise_another() -> None:
    shared, apart = (frames.race_frame(shared=shared) for shared in (True, False))
    for frame in (shared, apart):
        first = frame.loc[frame.groupby("law")["time"].idxmin()]
        assert first["wins"].all()
        assert frame["wins"].sum() == 2
    assert shared.loc[shared["wins"], "token"].nunique() == 1
    assert apart.loc[apart["wins"], "token"].nunique() == 2
    of_target = [frame.loc[frame["law"] == "target", "time"].tolist() for frame in (shared, apart)]
    assert of_target[0] == of_target[1]


def test_match_rates_tend_to_their_exact_values(given: Given) -> None:
    """Null: matches are binomial with the exact rate; n = 10,000 draws each."""
    rates, options = given["match_rate"]
    last = rates.groupby("way")["rate"].last() * frames.DRAWS
    for row in options["exact"].itertuples():
        found = exact_binomial(round(last[row.way]), frames.DRAWS, probability=row.rate)
        assert found.pvalue > FALSE_ALARMS / 2, row.way
    p, q = frames.laws()
    shared, apart = options["exact"]["rate"]
    assert minhash_match(p, q) <= shared <= overlap(p, q)
    assert shared == gumbel_match(p, q)
    assert apart == pytest.approx(p @ q)


def test_a_match_rate_with_another_limit_is_caught(given: Given) -> None:
    rates, _ = given["match_rate"]
    matches = round(rates.groupby("way")["rate"].last()["shared noise"] * frames.DRAWS)
    p, q = frames.laws()
    assert exact_binomial(matches, frames.DRAWS, probability=float(overlap(p, q)) + 0.03).pvalue < FALSE_ALARMS


def test_lengths_follow_their_exact_law(given: Given) -> None:
    """Null: the accepted length of each rule has its exact law; n = 20,000 rounds each."""
    frame = given["lengths_by_rule"][0]
    for rule, rows in frame.groupby("rule"):
        counts = np.round(rows["share"].to_numpy() * frames.ROUNDS).astype(int)
        assert goodness_of_fit(counts, rows["exact"].to_numpy()).pvalue > FALSE_ALARMS / 2, rule
    swapped = frame[frame["rule"] == "as a block"]["exact"].to_numpy()
    counts = np.round(frame[frame["rule"] == "token by token"]["share"].to_numpy() * frames.ROUNDS).astype(int)
    assert goodness_of_fit(counts, swapped).pvalue < FALSE_ALARMS  # the rules differ by more than chance
    token, block = frames.tokens_by_rule(frame).values()
    assert 1 < token < block < 1 + frames.GAMMA


def test_chances_of_both_rules_follow_their_recursions(given: Given) -> None:
    frame = given["standing_by_rule"][0]
    token, block = (frame[frame["rule"] == rule].sort_values("depth") for rule in frames.RULES)
    ratios = token["ratio"].to_numpy()[1:]
    by_token, by_block = [1.0], [1.0]
    for ratio in ratios:
        by_token.append(by_token[-1] * min(1.0, ratio))
        by_block.append(min(1.0, by_block[-1] * ratio))
    assert token["chance"].tolist() == pytest.approx(by_token)
    assert block["chance"].tolist() == pytest.approx(by_block)
    assert (block["chance"].to_numpy() > token["chance"].to_numpy() + 0.05).any()


def test_tree_values_are_products_of_the_targets_probabilities(given: Given) -> None:
    frame = given["token_tree"][0]
    at = {(row.depth, row.place): row for row in frame.itertuples()}
    assert len(at) == len(frame)
    law = language.target()
    for row in frame[frame["depth"] > 0].itertuples():
        parent = at[(row.parent_depth, row.parent_place)]
        before, word = (language.WORDS.index(token) for token in (parent.token, row.token))
        assert row.value == pytest.approx(parent.value * law[before, word])
        assert row.depth == parent.depth + 1
        assert not row.stands or parent.stands
    assert sorted(frame.loc[frame["stands"], "depth"]) == [0, 1, 2, 3]


def test_slider_is_bound_under_its_label() -> None:
    bound = slider("heat", "temperature", low=0.5, high=2.0, step=0.5, value=1.0).to_dict()
    assert bound["bind"] == {"input": "range", "min": 0.5, "max": 2.0, "step": 0.5, "name": "temperature"}


@pytest.fixture(scope="module")
def seen(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    path = write_page(tmp_path_factory.mktemp("explained") / "explained.html", page())
    visit = Visit(browser, path, theme="dark", width=400)
    yield visit
    visit.context.close()


@pytest.mark.browser
def test_page_is_drawn_offline_on_a_narrow_screen(seen: Visit) -> None:
    assert len(seen.marks()) == sum(len(section.figures) for section in sections()) == 8
    assert min(seen.marks().values()) >= 6
    assert seen.tab.evaluate("document.documentElement.scrollWidth") <= 400
    assert seen.complaints == []
    assert seen.foreign == []


@pytest.mark.browser
def test_temperature_moves_the_areas_to_what_the_library_computes(seen: Visit, given: Given) -> None:
    frame = given["acceptance_areas"][0]
    shown = []
    for temperature in (1.0, 0.3, 2.5):
        seen.move("temperature", temperature)
        q = softmax(frame["draft_logit"].to_numpy(), temperature=temperature)
        wanted = f"α = {float(overlap(frame['p'].to_numpy(), q)):.3f} of drafts stand"
        seen.tab.wait_for_function(
            "(wanted) => [...document.querySelectorAll('#areas-1 text')].some((text) => text.textContent === wanted)",
            arg=wanted,
            timeout=5000,
        )
        shown.append(wanted)
    assert len(set(shown)) == 3
    assert seen.complaints == []


def test_command_writes_the_page_and_its_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "explained", "--out", str(tmp_path), "--svg", "--json"]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert len(outcome["result"]["pictures"]) == 8
    assert Path(outcome["result"]["page"]).read_text(encoding="utf-8").startswith("<!doctype html>")

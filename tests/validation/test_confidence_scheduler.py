"""The scheduler's claim: drafts that are cut keep the law, and what it drafts with."""

from __future__ import annotations

import dataclasses
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError
from specsim.policies import anticipated_depth
from validation.claims import Settings
from validation.claims.confidence_scheduler import ConfidenceScheduler, Round, calibrated, judged_rounds
from validation.claims.drafting import Drafting, Judged, Texts
from validation.claims.scheduling import ScheduledProposer, early_stopping, law_holds, retrospective
from validation.decoder.layers import early_exit
from validation.decoder.loop import decode_all, stream
from validation.decoder.model import CachedModel
from validation.decoder.proposers import PROPOSERS, ModelProposer
from validation.decoder.proposers.layer_skip import LayerSkipProposer
from validation.decoder.table_model import TableModel
from validation.decoder.text import Request, Text
from validation.heads import HEADS, Setup
from validation.heads.files import fingerprint, save_head
from validation.heads.parts import Sizes


def test_the_prefix_schedule_anticipates_nothing_and_the_retrospective_one_does() -> None:
    """All chains of the table's torn text beside the sure one: lengths by the drafts of the first."""

    def seconds(tokens):  # type: ignore[no-untyped-def]
        return np.interp(tokens, [2, 3, 4, 5, 6], [1.0, 1.2, 1.4, 1.65, 1.7])

    def lengths(make):  # type: ignore[no-untyped-def]
        found = [
            make(seconds)(np.array([[1.0, 1.0], [0.5, 1.0 if first == 0 else 0.5]]), np.array([2, 2]))[1]
            for first in (0, 1)
        ]
        return np.repeat(np.array(found)[:, None], 2, axis=1)

    assert anticipated_depth(lengths(early_stopping)) is None
    assert anticipated_depth(lengths(retrospective)) == 1


def test_the_retrospective_scheduler_is_caught_as_lossy() -> None:
    """400 texts, one of whose first two tokens is 0.15 off: the noncentrality of the chi-square is about 43."""
    assert law_holds(retrospective, texts=400, seed=2).pvalue < 1e-6


def test_a_scheduled_draft_is_cut_with_its_laws() -> None:
    model = TableModel([0.6, 0.4])
    proposer = ScheduledProposer(
        ModelProposer(model), confidence=lambda peaks: peaks, schedule=lambda chances, drafted: np.array([1, 0])
    )
    texts = [Text(Request(prompt=[0], seed=seed)) for seed in (0, 1)]
    proposer.begin(texts, None)
    first, second = proposer.propose(texts, gammas=[3, 3])
    assert (len(first.tokens), np.shape(first.q)) == (1, (1, 2))
    assert (second.tokens, second.q) == ((), None)


@pytest.fixture(scope="module")
def head_file(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained head for the tiny target."""
    assert settings.loaded is not None
    model = settings.loaded.model
    head = HEADS["eagle"](Setup(sizes=Sizes.of(model.config), drafts=60, depth=3))
    head.vocabulary.copy_(torch.arange(60))
    path = tmp_path_factory.mktemp("heads") / "eagle.safetensors"
    return Path(save_head(head, path, target=fingerprint(model, "tiny"), training={}))


def test_drafts_of_a_head_are_scheduled_where_there_is_one(settings: Settings, head_file: Path) -> None:
    claim = ConfidenceScheduler(texts=8, tokens=8, gamma=2, table_texts=100)
    result = claim.run(dataclasses.replace(settings, drafter=str(head_file)))
    assert result.model == "tiny, drafter eagle"
    assert [row["drafts"] for row in result.rows] == ["all", "scheduled", "scheduled"]
    assert result.pvalue > 1e-6


class Noted(ModelProposer):
    """Keeps what it is told."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.told: list[str] = []

    def meet(self, *arguments: Any) -> None:
        self.told.append("meet")

    def begin(self, *arguments: Any) -> None:
        self.told.append("begin")
        super().begin(*arguments)

    def absorb(self, *arguments: Any) -> None:
        self.told.append("absorb")

    def keep(self, *arguments: Any) -> None:
        self.told.append("keep")
        super().keep(*arguments)


def admit_one_or_two(chances: FloatArray, drafted: IntArray) -> IntArray:
    return np.minimum(drafted, 1 + np.arange(len(drafted)) % 2)


def test_the_drafter_behind_a_schedule_is_told_of_every_round(pair: Drafting) -> None:
    drafter = Noted(pair.draft)
    cut = ScheduledProposer(drafter, confidence=lambda peaks: peaks, schedule=admit_one_or_two)
    asked = [
        dataclasses.replace(request, max_tokens=tokens)
        for request, tokens in zip(Texts(count=3, tokens=12).requests(pair.loaded), (4, 12, 8), strict=True)
    ]
    found = decode_all(pair.target, cut, asked, gamma=3)
    assert [len(text.tokens) for text in found] == [4, 12, 8]
    assert {record.drafted for text in found for record in text.records} >= {1, 2}
    rounds = max(len(text.records) for text in found)
    assert drafter.told[:2] == ["meet", "begin"]
    assert (drafter.told.count("begin"), drafter.told.count("absorb")) == (1, rounds)
    assert drafter.told.count("keep") in (1, 2)


def test_an_exit_in_the_targets_cache_may_have_its_drafts_cut(pair: Drafting) -> None:
    """The target then reads less than was read ahead."""
    model = pair.loaded.model
    drafters = [ModelProposer(CachedModel(early_exit(model, layers=3))), LayerSkipProposer(layers=3)]
    asked = Texts(count=3, tokens=12).requests(pair.loaded)
    texts = [
        decode_all(
            CachedModel(model),
            ScheduledProposer(drafter, confidence=lambda peaks: peaks, schedule=admit_one_or_two),
            asked,
            gamma=3,
        )
        for drafter in drafters
    ]
    own, shared = ([(text.tokens, [record.accepted for record in text.records]) for text in found] for found in texts)
    assert shared == own
    assert {record.drafted for text in texts[1] for record in text.records} >= {1, 2}


def test_a_head_has_read_all_but_the_last_token_when_its_drafts_are_cut(
    settings: Settings, pair: Drafting, head_file: Path
) -> None:
    head = PROPOSERS["head"](pair.loaded, path=head_file)
    cut = ScheduledProposer(head, confidence=lambda peaks: peaks, schedule=admit_one_or_two)
    asked = Texts(count=2, tokens=30).requests(pair.loaded)
    written = [len(request.prompt) for request in asked]
    for step in islice(stream(pair.target, cut, asked, gamma=3), 6):
        written[step.place] += len(step.tokens)
    known = [read + sum(map(len, fresh)) for read, fresh in zip(head._read, head._fresh, strict=True)]
    assert known == [tokens - 1 for tokens in written]


def test_only_sampled_chains_are_scheduled() -> None:
    certain = ModelProposer(TableModel([0.6, 0.4]), argmax=True)
    cut = ScheduledProposer(certain, confidence=lambda peaks: peaks, schedule=admit_one_or_two)
    texts = [Text(Request(prompt=[0]))]
    cut.begin(texts, None)
    with pytest.raises(InputError, match="must be sampled chains, proposer model gave others"):
        cut.propose(texts, gammas=[2])


def test_confidence_is_the_share_that_stood_of_those_reached() -> None:
    """Peaks 0.2 and 0.8: of the second drafts, reached with chance 0.5, all stood; an empty draft says nothing."""
    drafted, empty = Round(np.array([0.2, 0.8]), np.array([0.5, 0.5])), Round(np.zeros(0), np.zeros(0))
    judged: list[Any] = [Judged(0, None, seen) for seen in (*[drafted] * 8, empty)]  # type: ignore[arg-type]
    confidence = calibrated([judged])
    np.testing.assert_allclose(confidence(np.array([0.2, 0.5, 0.8])), [0.5, 0.75, 1.0])


def test_confidence_never_falls_with_the_drafters_largest_probability(pair: Drafting) -> None:
    texts = Texts(count=8, tokens=10)
    confidence = calibrated(judged_rounds(pair, pair.proposer(), texts, gamma=2, batch=4))
    values = confidence(np.linspace(0, 1, 50))
    assert (np.diff(values) >= 0).all()
    assert 0 <= values[0] <= values[-1] <= 1

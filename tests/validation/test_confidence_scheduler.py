"""The scheduler's claim: drafts that are cut keep the law, and what it drafts with."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from specsim.distributions import Sampling
from specsim.policies import anticipated_depth
from validation.claims import Settings
from validation.claims.confidence_scheduler import ConfidenceScheduler, calibrated, judged_rounds
from validation.claims.drafting import Drafting, Texts, open_drafting
from validation.claims.scheduling import ScheduledProposer, early_stopping, law_holds, retrospective
from validation.decoder.load import Loaded
from validation.decoder.loop import decode_all
from validation.decoder.proposers import PROPOSERS, ModelProposer
from validation.decoder.table_model import TableModel
from validation.decoder.text import Request, Text
from validation.decoder.tiny import tiny_model
from validation.heads import HEADS, Setup
from validation.heads.files import fingerprint, save_head
from validation.heads.parts import Sizes


@pytest.fixture(scope="module")
def settings() -> Settings:
    model, tokenizer = tiny_model()
    return Settings(seed=1, loaded=Loaded(model=model, tokenizer=tokenizer, name="tiny", is_real=False))


@pytest.fixture(scope="module")
def pair(settings: Settings) -> Drafting:
    return open_drafting(settings)


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


def test_a_head_goes_on_behind_drafts_that_were_cut(settings: Settings, pair: Drafting, head_file: Path) -> None:
    head = PROPOSERS["head"](pair.loaded, path=head_file)
    cut = ScheduledProposer(
        head,
        confidence=lambda peaks: peaks,
        schedule=lambda chances, drafted: np.minimum(drafted, 1 + np.arange(len(drafted)) % 2),
    )
    asked = [
        dataclasses.replace(request, sampling=Sampling(temperature=0.0))
        for request in Texts(count=3, tokens=12).requests(pair.loaded)
    ]
    found = decode_all(pair.target, cut, asked, gamma=3)
    assert [text.tokens for text in found] == [text.tokens for text in decode_all(pair.target, None, asked)]
    assert {record.drafted for text in found for record in text.records} >= {1, 2}


def test_confidence_never_falls_with_the_drafters_largest_probability(pair: Drafting) -> None:
    texts = Texts(count=8, tokens=10)
    confidence = calibrated(judged_rounds(pair, pair.proposer(), texts, gamma=2, batch=4))
    values = confidence(np.linspace(0, 1, 50))
    assert (np.diff(values) >= 0).all()
    assert 0 <= values[0] <= values[-1] <= 1

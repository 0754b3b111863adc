"""What packages from the Python Package Index are given and give back, and that their cases are what they say."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from specsim.conformance import Parameters
from specsim.conformance.decoder import TableDecoder
from specsim.conformance.protocol import Request
from specsim.conformance.verdict import CONFORMS, FAILS
from validation.claims.engines import ENGINES, engine
from validation.claims.engines.protocol import CRASHES
from validation.claims.engines.pypi.adapters import Digits, in_rounds
from validation.claims.engines.pypi.grid import Mode, grid, tables
from validation.claims.engines.pypi.lazy_annotations import annotations_of

PACKAGES = [name for name, module in ENGINES.items() if ".pypi." in module]
FINDINGS = Path(engine(PACKAGES[0]).__file__ or "").parents[1] / "findings"  # type: ignore[attr-defined]


def _lossless(models: Any, gamma: int) -> Any:
    decoder = TableDecoder(models, gammas=(gamma,))
    return lambda prompt, asked, seed: decoder.generate(
        [Request(id="", prompt=tuple(prompt), parameters=asked, seed=seed)]
    )[0]


def _drafts(models: Any, gamma: int) -> Any:
    """Texts of the draft, judged by nobody."""
    swapped = type(models)(target=models.draft, draft=models.draft)
    return _lossless(swapped, gamma)


def test_a_grid_tells_a_lossless_mode_from_a_lossy_one() -> None:
    """Null: a lossless decoder, false alarms at most 1e-6 by construction, n = 1,000; the draft's law is caught."""
    settings = (("bad", 1.0, 2), ("bad", 0.0, 2))
    modes = [
        Mode(name="right", rule="rejection", make=_lossless, settings=settings),
        Mode(name="wrong", rule="none", make=_drafts, settings=settings, expect=FAILS),
    ]
    cases = grid(modes)
    assert [case.name for case in cases[:2]] == [
        "right, bad draft, temperature 1, gamma 2",
        "right, bad draft, temperature 0, gamma 2",
    ]
    assert [case.run(1000, 0).outcome for case in cases] == [CONFORMS, CONFORMS, FAILS, FAILS]


def test_rounds_go_on_until_the_text_ends_and_are_cut_there() -> None:
    generate = in_rounds(lambda ids, temperature: [ids.shape[1] % 8, 7], gamma=3)
    made = generate([1, 2], Parameters(max_tokens=5), 0)
    assert (made.tokens, made.blocks, made.drafted) == ((2, 7, 4, 7, 6), (2, 2, 1), (3, 3, 3))
    ended = generate([1, 2], Parameters(max_tokens=5, eos_ids=(4,)), 0)
    assert (ended.tokens, ended.blocks, ended.finish_reason) == ((2, 7, 4), (2, 1), "stop")


def test_digits_are_words() -> None:
    words = Digits(eos_id=3)
    assert words.eos_token_id == 3
    assert words.apply_chat_template([{"role": "user", "content": "5 1"}], tokenize=False) == "5 1"
    assert torch.equal(words.encode("5 1"), torch.tensor([[5, 1]]))
    assert words.decode([5, 1]) == "5 1"


def test_annotations_may_name_what_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "lazily_annotated"
    package.mkdir()
    (package / "__init__.py").write_text("from typing import override\ndef f(x: Absent) -> Later:\n    return x\n")
    monkeypatch.syspath_prepend(tmp_path)
    with annotations_of("lazily_annotated"):
        import lazily_annotated  # type: ignore[import-not-found]

        assert lazily_annotated.f(2) == 2
    assert not any(type(finder).__module__.endswith("lazy_annotations") for finder in sys.meta_path)


@pytest.mark.parametrize("name", PACKAGES)
def test_cases_are_made_without_the_package(name: str) -> None:
    cases = engine(name).cases()
    names = [case.name for case in cases]
    assert len(set(names)) == len(names)
    assert {case.expect for case in cases} <= {CONFORMS, FAILS, CRASHES}
    for case in cases:
        assert case.finding or case.expect == CONFORMS or "on purpose" in case.note
        for script in re.findall(r"findings/(\w+\.py)", case.finding):
            assert (FINDINGS / script).exists()


def test_drafts_are_good_or_bad() -> None:
    assert (tables("good").target == tables("bad").target).all()
    assert (tables("bad").draft == -tables("bad").target).all()

"""What the package's entry points name for `specsim conform`, and a model of transformers from its options."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from specsim.cli import conform_run, conform_sources
from specsim.cli.conform_run import judge
from specsim.cli.conform_sources import source
from specsim.conformance import Parameters, Request
from specsim.errors import InputError
from validation.conformance.from_options import transformers_source
from validation.decoder.tiny import tiny_model

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
DEFAULTS: dict[str, Any] = {"seeded": False, "timeout_seconds": 60.0, "workers": 1, "top": 20}


def declared(group: str, name: str | None = None) -> list[EntryPoint]:
    """The entry points of pyproject.toml, whether or not they are installed."""
    points = PROJECT["entry-points"].get(group, {})
    return [EntryPoint(one, value, group) for one, value in points.items() if name in (None, one)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny model on disk."""
    place = tmp_path_factory.mktemp("model")
    model, tokenizer = tiny_model(layers=2)
    model.save_pretrained(place)
    tokenizer.save_pretrained(place)
    return str(place)


@pytest.mark.parametrize("group", ["pytest11", "specsim.pages", "specsim.sources"])
def test_every_entry_point_can_be_loaded(group: str) -> None:
    points = declared(group)
    assert points
    for point in points:
        assert point.load() is not None


@pytest.mark.parametrize("way", [{}, {"lookup": 3}, {"early_exit": 1}, {"assistant": True}])
def test_a_model_of_transformers_from_options(
    folder: str, monkeypatch: pytest.MonkeyPatch, way: dict[str, Any]
) -> None:
    monkeypatch.setattr(conform_sources, "metadata", SimpleNamespace(entry_points=declared))
    chosen = {**DEFAULTS, "hf": folder, **way, **({"assistant": folder} if "assistant" in way else {})}
    made = source(chosen, seed=0)
    assert (made.vocabulary, made.eos_id, made.is_seeded, made.name) == (257, 256, True, folder)
    request = Request(id="a", prompt=(65, 66, 65, 66), parameters=Parameters(max_tokens=6))
    (output,) = made.decoder.generate([request])
    assert made.oracle is not None
    assert len(output.tokens) == 6
    rows = made.oracle.score([request], [output])
    assert (rows.log_q is not None) == ("assistant" in way)


def test_ways_to_draft_exclude_each_other_and_folders_must_hold_a_model(folder: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"assistant, lookup and early_exit exclude each other, got 2 of them"):
        transformers_source(folder, lookup=3, early_exit=1)
    with pytest.raises(InputError, match=r"cannot load .*: the folder holds no config.json"):
        transformers_source(str(tmp_path))


def test_without_the_package_installed_the_option_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conform_sources, "metadata", SimpleNamespace(entry_points=lambda **_: []))
    with pytest.raises(InputError, match=r"--hf needs transformers: pip install 'specsim\[validation\]'"):
        source({**DEFAULTS, "hf": "x"}, seed=0)


def test_the_page_is_written_through_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = {**DEFAULTS, "table": "good", "plant": "accept.always", "html": tmp_path / "page.html"}
    monkeypatch.setattr(conform_run, "metadata", SimpleNamespace(entry_points=lambda **_: []))
    with pytest.raises(InputError, match=r"--html needs the pages of specsim"):
        judge(chosen, tokens=1000, seed=0, as_json=False)
    monkeypatch.setattr(conform_run, "metadata", SimpleNamespace(entry_points=declared))
    assert judge(chosen, tokens=1000, seed=0, as_json=False) == 1
    html = (tmp_path / "page.html").read_text()
    assert "<h1>does not conform after" in html
    assert "table decoder, good draft, accept.always" in html
    assert capsys.readouterr().out.startswith("does not conform")

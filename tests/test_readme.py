"""The README's examples are run: Python as doctests, `specsim` lines for their exit code and what they print."""

from __future__ import annotations

import doctest
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
ENGINES = {"hf_assisted": "transformers", "llama_cpp": "llama.cpp", "vllm_cpu": "vllm"}
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README.read_text(), flags=re.DOTALL)


def commands():
    """`$ specsim ...` lines with what is shown below them."""
    for language, block in BLOCKS:
        if language == "console":
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                line, _, shown = part.partition("\n")
                if line.startswith("specsim "):
                    yield line, shown.strip()


def test_the_python_examples_hold():
    text = "\n".join(block for language, block in BLOCKS if language == "python")
    examples = doctest.DocTestParser().get_doctest(text, {}, "README", str(README), 0)
    assert examples.examples
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples).failed == 0


@pytest.mark.parametrize(("line", "shown"), list(commands()))
def test_the_commands_print_what_is_shown(cli, tmp_path, monkeypatch, line, shown):
    monkeypatch.chdir(tmp_path)
    ran = cli(*shlex.split(line)[1:])
    assert (ran.code, ran.err) == (0, "")
    assert " ".join(shown.split()) in " ".join(ran.out.split())


def test_every_command_is_in_the_readme():
    from specsim.cli.main import COMMANDS

    text = README.read_text()
    assert [name for name in [*COMMANDS, "demo", "validate"] if f"specsim {name}" not in text] == []


def test_the_pasted_conformance_test_passes(tmp_path):
    (pasted,) = (block for language, block in BLOCKS if language == "py" and "def test_lossless" in block)
    (tmp_path / "test_pasted.py").write_text(pasted)
    words = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", "-q", "test_pasted.py"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "conforms after 4000 tokens" in ran.stdout


def test_the_table_of_engines_is_that_of_the_results():
    """Cases and how many conform, as kept in validation/results/engines."""
    section = README.read_text().partition("## Is this decoder still lossless?")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \| (\d+) \| [^|]+ \|$", section, flags=re.MULTILINE)
    shown = {name.split()[0].rstrip(",").lower(): (int(cases), int(conform)) for name, cases, conform in rows}
    kept = {}
    for path in (README.parent / "validation" / "results" / "engines").glob("*.json"):
        cases = json.loads(path.read_text())["cases"]
        name = ENGINES.get(path.stem, path.stem.replace("_", "-"))
        kept[name] = (len(cases), sum(case["verdict"] == "conforms" for case in cases))
    assert shown == kept


def test_the_table_of_claims_is_that_of_the_results():
    """Settings, stated intervals that held and median error, as kept in the folder that the text names."""
    section = README.read_text().partition("## The decoder, and whether the model is right")[2].partition("\n## ")[0]
    folder = README.parent / re.search(r"validation/results/[\w-]+", section).group()
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| (\d+) \| (\d+) \| ([\d.]+) % \|$", section, flags=re.MULTILINE)
    assert len(rows) >= 9
    for name, settings, held, error in rows:
        kept = json.loads((folder / f"{name}.json").read_text())["result"]
        assert int(settings) == kept["n"], name
        assert int(held) == kept["figures"]["inside_interval"], name
        assert float(error) == round(100 * kept["median_abs_error"], 1), name
    shown = {name for name, *_ in rows}
    predicting = {path.stem for path in folder.glob("*.json") if "inside_interval" in path.read_text()}
    assert shown == predicting

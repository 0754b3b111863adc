"""The pytest plugin, run by pytest on small projects."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest

from specsim import pytest_plugin

pytest_plugins = ["pytester"]
import_module("specsim.conformance.sources")  # pytester forgets what it loads itself, and numpy cannot load twice

HEAD = """
    from specsim.conformance import TableDecoder, TableModels, TableOracle
    from specsim.conformance.faults import FAULTS

    MODELS = TableModels.random(seed=0)
"""
GOOD = """
    def test_it_conforms(conformance):
        verdict = conformance.check(TableDecoder(MODELS), TableOracle(MODELS), eos_id=7)
        assert verdict.tokens == 1000
"""
BAD = """
    def test_it_does_not(conformance):
        conformance.check(FAULTS["accept.always"](MODELS), TableOracle(MODELS))
"""


@pytest.fixture
def run(pytester: pytest.Pytester, pytestconfig: pytest.Config):  # type: ignore[no-untyped-def]
    """Run pytest on a file, with the plugin whether or not the package is installed with its entry point."""

    def call(*parts: str, arguments: tuple[str, ...] = ()) -> pytest.RunResult:
        pytester.makepyfile("".join([HEAD, *parts]))
        plugin = () if pytestconfig.pluginmanager.has_plugin("specsim") else ("-p", "specsim.pytest_plugin")
        return pytester.runpytest_inprocess(*plugin, "-p", "no:cacheprovider", "--conformance-tokens=1000", *arguments)

    return call


def test_a_lossless_decoder_passes_and_is_summed_up(run) -> None:  # type: ignore[no-untyped-def]
    result = run(GOOD)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "*= conformance =*",
            "*::test_it_conforms: conforms after 1000 tokens; a mean total variation of 0.* would have been caught*",
            "1 checks; a session without faults fails with probability 1e-06",
        ]
    )


def test_a_faulty_decoder_fails_and_says_where_to_look(run) -> None:  # type: ignore[no-untyped-def]
    result = run(GOOD, BAD)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "does not conform after * tokens: *",
            "expected: conforms",
            "found by: *, at a false-alarm rate of 3e-07",  # of two tests, and the first of this test's checks
            "smallest total variation that this run is sure to catch: *",
            "request *, prompt *, seed *: token * at place * *",
        ]
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_planted_fault_can_be_expected(run) -> None:  # type: ignore[no-untyped-def]
    result = run(
        """
    def test_faults_are_seen(conformance):
        conformance.check(FAULTS["accept.always"](MODELS), TableOracle(MODELS), expect="does not conform")

    def test_a_right_decoder_is_none(conformance):
        conformance.check(TableDecoder(MODELS), TableOracle(MODELS), expect="does not conform")
"""
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["conforms after 1000 tokens*", "expected: does not conform"])


def test_too_few_tokens_are_no_pass(run) -> None:  # type: ignore[no-untyped-def]
    result = run(
        """
    def test_it(conformance):
        conformance.check(TableDecoder(MODELS), TableOracle(MODELS), tokens=20)
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["inconclusive after 20 tokens: *"])


def test_bad_input_and_broken_decoders_are_errors_of_their_own(run) -> None:  # type: ignore[no-untyped-def]
    result = run(
        """
    class Blind:
        def score(self, requests, outputs):
            return None

    def test_vocabulary(conformance):
        conformance.check(TableDecoder(MODELS), Blind())

    def test_crash(conformance):
        class Broken:
            def generate(self, requests):
                raise MemoryError("no room")
        conformance.check(Broken(), TableOracle(MODELS))
"""
    )
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*InputError: vocabulary must be given, for this oracle does not tell it"])
    result.stdout.fnmatch_lines(["*AdapterError: *MemoryError: no room"])


def test_other_sessions_are_left_alone(run) -> None:  # type: ignore[no-untyped-def]
    result = run("\n    def test_nothing():\n        pass\n")
    result.assert_outcomes(passed=1)
    assert "conformance" not in result.stdout.str()


def test_checks_stand_in_the_junit_file(run, pytester: pytest.Pytester) -> None:  # type: ignore[no-untyped-def]
    run(GOOD, arguments=("--junitxml=out.xml",))
    found = ElementTree.parse(pytester.path / "out.xml").findall(".//property[@name='specsim_conformance']")
    assert len(found) == 1
    assert "'outcome': 'conforms'" in found[0].get("value", "")


def test_the_session_is_corrected_by_holm() -> None:
    """p-values 1e-9, 6e-7, 0.5 at 1e-6: Holm doubles the second one, and leaves it; 4e-7 it does not."""
    session = pytest_plugin._Session()
    one = {"expect": "conforms", "outcome": "conforms", "test": "t", "sentence": ""}
    session.checks = [
        {**one, "pvalue": 1e-9, "outcome": "does not conform"},
        {**one, "pvalue": 6e-7},
        {**one, "pvalue": 0.5},
    ]
    assert session.late() == []
    session.checks[1] = {**one, "pvalue": 4e-7}
    assert session.late() == [session.checks[1]]
    session.checks = [{**one, "pvalue": 0.0, "expect": "does not conform"}]
    assert session.late() == []


def test_shares_of_the_level_sum_to_the_session_level_at_most() -> None:
    shares = [6 / (3.141592653589793 * (k + 1)) ** 2 for k in range(100_000)]
    assert 0.9999 < sum(shares) <= 1


def test_the_package_names_the_plugin() -> None:
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\nspecsim = "specsim.pytest_plugin"' in text

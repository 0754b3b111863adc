"""The pytest plugin: a `conformance` fixture with one false-alarm rate over the whole session.

It is loaded by every pytest that has this package installed, so it imports nothing else until a test asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from specsim.conformance import Decoder, Oracle, Plan, Verdict

LEVEL = 1e-6
"""Probability that a session over lossless decoders alone has a failure [1]."""
NAME = "specsim_conformance"


class Conformance:
    """What the `conformance` fixture gives to a test.

    Parameters
    ----------
    name : str
        Of the test.
    level : float
        This test's share of the session's false-alarm rate [1].
    tokens, seed : int
        Of checks that do not say otherwise.
    """

    def __init__(self, *, name: str, level: float, tokens: int, seed: int) -> None:
        self.name, self.level, self.tokens, self.seed = name, level, tokens, seed
        self.checks: list[dict[str, Any]] = []

    def check(
        self,
        decoder: Decoder,
        oracle: Oracle,
        *,
        vocabulary: int | None = None,
        eos_id: int | None = None,
        prompts: Sequence[Sequence[int]] | None = None,
        tokens: int | None = None,
        tolerance: float = 0.0,
        is_seeded: bool = True,
        timeout_seconds: float | None = None,
        claims: str | None = None,
        plan: Plan | None = None,
        expect: str = "conforms",
    ) -> Verdict:
        """Check a decoder, and fail the test unless the verdict is the expected one.

        Parameters
        ----------
        decoder, oracle
            As of `specsim.conformance.check`.
        vocabulary, eos_id, prompts, tolerance, is_seeded, timeout_seconds
            As of `specsim.conformance.plan`; an oracle that knows its vocabulary need not be told. Kinds of requests
            that decoder or oracle refuse are left out.
        tokens : int or None
            Budget; by default that of `--conformance-tokens` [1].
        claims : str or None
            As of `specsim.conformance.check`.
        plan : Plan or None
            Instead of these; its level is lowered to this test's share.
        expect : str
            "does not conform" for a decoder with a planted fault.
        """
        from dataclasses import replace

        from specsim import conformance
        from specsim.conformance.sources import fitting

        share = (
            self.level * 6 / (math.pi * (len(self.checks) + 1)) ** 2
        )  # however many there will be, they sum to level
        if plan is None:
            plan, _ = fitting(
                conformance.plan(
                    tokens=tokens or self.tokens,
                    vocabulary=_vocabulary(oracle) if vocabulary is None else vocabulary,
                    eos_id=eos_id,
                    prompts=prompts,
                    tolerance=tolerance,
                    seed=self.seed,
                    is_seeded=is_seeded,
                    timeout_seconds=timeout_seconds,
                ),
                decoder,
                oracle,
            )
        verdict = conformance.check(decoder, oracle, replace(plan, level=min(plan.level, share)), claims=claims)
        self.checks.append(_summary(self.name, verdict, expect))
        if verdict.outcome != expect:
            pytest.fail(_story(verdict, expect), pytrace=False)
        return verdict


@pytest.fixture
def conformance(request: pytest.FixtureRequest) -> Iterator[Conformance]:
    """Check decoders for losslessness: `conformance.check(decoder, oracle, vocabulary=V)`."""
    config = request.config
    made = Conformance(
        name=request.node.nodeid,
        level=LEVEL / max(1, getattr(config, "_conformance_tests", 1)),
        tokens=config.getoption("conformance_tokens"),
        seed=config.getoption("conformance_seed"),
    )
    yield made
    request.node.user_properties += [(NAME, one) for one in made.checks]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Budget and seed of checks that do not say otherwise."""
    group = parser.getgroup("conformance", "losslessness of speculative decoders (specsim)")
    group.addoption("--conformance-tokens", type=int, default=4000, help="Tokens of each check (default: 4000).")
    group.addoption("--conformance-seed", type=int, default=0, help="Seed of each check (default: 0).")


def pytest_configure(config: pytest.Config) -> None:
    """Gather what checks report, from this process or from workers."""
    config.pluginmanager.register(_Session(), NAME)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count the tests that share the false-alarm rate."""
    config._conformance_tests = sum("conformance" in getattr(item, "fixturenames", ()) for item in items)  # type: ignore[attr-defined]


class _Session:
    """All checks of the session, with Holm's correction at its end."""

    def __init__(self) -> None:
        self.checks: list[Mapping[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self.checks += [value for name, value in report.user_properties if name == NAME and isinstance(value, dict)]

    def late(self) -> list[Mapping[str, Any]]:
        """Checks that passed by themselves and are rejected once the others are known."""
        from specsim.stats import holm

        judged = [one for one in self.checks if one["expect"] == "conforms"]
        if not judged:
            return []
        adjusted = holm([one["pvalue"] for one in judged])
        return [one for one, p in zip(judged, adjusted, strict=True) if p <= LEVEL and one["outcome"] == "conforms"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.late():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.checks:
            return
        terminalreporter.section("conformance")
        for one in self.checks:
            terminalreporter.line(f"{one['test']}: {one['sentence']}")
        for one in self.late():
            terminalreporter.line(f"{one['test']}: does not conform after all, by Holm's correction over the session")
        terminalreporter.line(f"{len(self.checks)} checks; a session without faults fails with probability {LEVEL:g}")


def _summary(name: str, verdict: Verdict, expect: str) -> dict[str, Any]:
    return {
        "test": name,
        "outcome": verdict.outcome,
        "expect": expect,
        "sentence": verdict.sentence,
        "tokens": verdict.tokens,
        "smallest_tv": verdict.smallest_tv,
        "pvalue": min((result.pvalue for result in verdict.results.values()), default=1.0),
    }


def _story(verdict: Verdict, expect: str) -> str:
    """What a failed check says."""
    lines = [verdict.sentence, f"expected: {expect}"]
    if verdict.test:
        lines.append(f"found by: {verdict.test}, at a false-alarm rate of {verdict.level:.2g}")
    lines.append(f"smallest total variation that this run is sure to catch: {verdict.smallest_tv:.2g}")
    for one in verdict.replays:
        lines.append(
            f"request {one.request.id} ({', '.join(one.request.tags)}), prompt {list(one.request.prompt)}, seed "
            f"{one.request.seed}: token {one.output.tokens[one.place]} at place {one.place} {one.why}"
        )
    return "\n".join(lines)


def _vocabulary(oracle: object) -> int:
    from specsim.errors import InputError

    known = getattr(oracle, "vocabulary", None) or getattr(getattr(oracle, "models", None), "vocabulary", None)
    if known is None:
        raise InputError("vocabulary must be given, for this oracle does not tell it")
    return int(known)

"""A verdict as JUnit XML: one case for each property that was tested."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from specsim.conformance.verdict import FAILS, INCONCLUSIVE, Replay, Verdict
from specsim.stats import TestResult

CLASS = "specsim.conformance"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(verdict: Verdict, *, suite: str = "conformance", seconds: float | None = None) -> str:
    """The XML text.

    Parameters
    ----------
    verdict : Verdict
        Of one run.
    suite : str
        Name of the suite, such as the engine's.
    seconds : float or None
        What the run took [s].

    Returns
    -------
    str
        One suite. A case fails where its test rejects at the run's level, and says what the fault looks like, the
        smallest total variation that the run would have caught, and which requests show it; the case "verdict" is an
        error where the run is inconclusive, so that no CI server takes that for a pass.

    Examples
    --------
    >>> text = junit(Verdict(outcome="conforms", tokens=4000, requests=170, level=1e-6, smallest_tv=0.03))
    >>> 'tests="1" failures="0" errors="0"' in text
    True
    """
    cases = [_case(name, result, verdict) for name, result in verdict.results.items()]
    if verdict.outcome == FAILS and verdict.test not in verdict.results:
        cases.append(_failed(_element(verdict.test), verdict))
    cases.append(_verdict(verdict))
    counts = {f"{tag}s": sum(case.find(tag) is not None for case in cases) for tag in ("failure", "error")}
    attributes = {"name": _clean(suite), "tests": str(len(cases)), **{name: str(n) for name, n in counts.items()}}
    if seconds is not None:
        attributes["time"] = f"{seconds:.3f}"
    root = ElementTree.Element("testsuite", attributes)
    properties = ElementTree.SubElement(root, "properties")
    for name in ("outcome", "tokens", "requests", "level", "smallest_tv", "log_evalue"):
        ElementTree.SubElement(properties, "property", name=name, value=str(getattr(verdict, name)))
    root.extend(cases)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _case(name: str, result: TestResult, verdict: Verdict) -> ElementTree.Element:
    case = _element(name)
    rejects = verdict.outcome == FAILS and (name == verdict.test or result.pvalue <= verdict.level)
    if rejects:
        return _failed(case, verdict)
    ElementTree.SubElement(case, "system-out").text = _clean(f"p {result.pvalue:.3g}, n {result.n}: {result.detail}")
    return case


def _verdict(verdict: Verdict) -> ElementTree.Element:
    case = _element("verdict")
    if verdict.outcome == FAILS:
        return _failed(case, verdict)
    if verdict.outcome == INCONCLUSIVE:
        ElementTree.SubElement(case, "error", type=INCONCLUSIVE, message=_clean(verdict.sentence))
    return case


def _failed(case: ElementTree.Element, verdict: Verdict) -> ElementTree.Element:
    caught = f"; smallest total variation that this run is sure to catch: {verdict.smallest_tv:.2g}"
    failure = ElementTree.SubElement(case, "failure", type=FAILS, message=_clean(verdict.sentence + caught))
    failure.text = _clean("\n".join(map(_line, verdict.replays)))
    return case


def _line(replay: Replay) -> str:
    where = f"token {replay.output.tokens[replay.place]} at place {replay.place}"
    return f"request {replay.request.id}, seed {replay.request.seed}, {where}: {replay.why}"


def _element(name: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", classname=CLASS, name=_clean(name))


def _clean(text: str) -> str:
    """Without characters that XML cannot hold."""
    return _FORBIDDEN.sub("�", text)

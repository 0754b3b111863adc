"""From a rejection to what the fault looks like, where it shows, and which requests show it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specsim.conformance.evidence import Evidence
from specsim.conformance.negative_controls import gains
from specsim.conformance.protocol import Output, Request
from specsim.conformance.trial import IMPOSSIBLE, NO_CHOICE, Finding
from specsim.conformance.verdict import Replay
from specsim.stats import TestResult, directional_scores, likeliest_cause
from specsim.stats.directions import scores

SYMPTOMS = ("log_p", "argmax_p", "overlap", "residual")
"""Directions that every kind of wrong token moves."""
_OF_DRAFTS = ("q", "sign", "overlap", "residual")
CLEAR = 4.0
"""A direction whose score is so many standard deviations off names the cause."""
_MOST_REPLAYS = 5
_LEAST_TOKENS = 30
_SAY_ENOUGH = ("texts that end", "pairs", "requests by p", "requests by r", "drafts that stand", "drafts behind")

CAUSES = {
    IMPOSSIBLE: "tokens that the target forbids: a parameter does not reach every row, or a row is wrong",
    "drafts": "drafts do not stand as often as the rule says",
    "texts that end": "texts do not end as often as they should: end of text is treated apart",
    "tokens below": "unlikely tokens come at the wrong rate: coarse random numbers, or a wrong row now and then",
    "first": "the law after single prompts is wrong",
    "requests by token_id": "inverse-CDF coupling: one random number drew two things",
    "requests by": "some requests are wrong as a whole: another request's cache or parameters",
    "pairs by token_id across": "requests share a random stream",
    "pairs by p_descending across": "requests share a random stream",
    "pairs by ratio across": "requests share a random stream",
    "pairs": "random numbers are used twice: tokens of one text depend on each other's",
    "PIT by token_id": "inverse-CDF coupling: one random number drew two things",
    "PIT by ratio": "drafts are accepted, or replaced, by the wrong law",
    "PIT by p_descending": "tokens follow another law than the target's: row, context or parameters",
}
"""What a test points to where no direction is clear, by how its name begins."""


def hypothesis(finding: Finding, evidence: Evidence) -> str:
    """What the fault looks like."""
    direction = finding.result.details.get("direction")
    if finding.test.startswith(("betting", "score")) and direction not in SYMPTOMS:
        return finding.result.detail
    named = next((cause for start, cause in CAUSES.items() if finding.test.startswith(start)), "")
    if finding.test.startswith(_SAY_ENOUGH):
        return named
    drawn_to = _attractor(evidence)
    if finding.test == NO_CHOICE and (drawn_to is None or drawn_to.details["direction"] in _OF_DRAFTS):
        return finding.result.detail
    return drawn_to.detail if drawn_to else named or finding.result.detail


def _attractor(evidence: Evidence) -> TestResult | None:
    """The direction that tokens are drawn to, if that is clear.

    Any wrong token is likely to be an unlikely one, so low scores of what the target likes are symptoms; what tokens
    come too often is the cause.
    """
    scored = directional_scores(evidence.observed)
    drawn_to = {name: result for name, result in scored.items() if result.statistic > 0 or name == "seen"}
    best = likeliest_cause(drawn_to) if drawn_to else None
    return best if best is not None and abs(best.statistic) >= CLEAR else None


def where(finding: Finding, evidence: Evidence) -> str:
    """The group in which the fault shows more than among all tokens, or an empty name."""
    groups = {name: mask for name, mask in evidence.strata().items() if mask.any()}
    if finding.test == IMPOSSIBLE:
        zero = evidence.observed.mass == 0
        tags = [name for name in groups if name.startswith("requests") and groups[name][zero].any()]
        return tags[0] if len(tags) == 1 else ""
    named = next((name for name in groups if finding.test.endswith(name)), "")
    if named:
        return named
    direction = _direction(evidence)
    total = abs(_standardised(evidence, direction, np.ones(len(evidence), dtype=bool)))
    sizes = {
        name: abs(_standardised(evidence, direction, mask))
        for name, mask in groups.items()
        if mask.sum() >= _LEAST_TOKENS
    }
    best = max(sizes, key=lambda name: sizes[name], default="")
    return best if best and sizes[best] > total else ""


def replays(
    finding: Finding, evidence: Evidence, requests: Sequence[Request], outputs: Sequence[Output]
) -> tuple[Replay, ...]:
    """Requests with impossible tokens, or else those that contribute most to the winning direction."""
    if finding.test == IMPOSSIBLE:
        rows, why = np.flatnonzero(evidence.observed.mass == 0), ["this token has probability 0"] * len(evidence)
        _, first = np.unique(evidence.request[rows], return_index=True)
        chosen = rows[first][:_MOST_REPLAYS]
    else:
        direction = _direction(evidence)
        gain = gains(evidence, direction)[np.arange(len(evidence)), evidence.observed.cell]
        gain *= np.sign(gain.sum()) or 1.0
        totals = np.bincount(evidence.request, weights=gain, minlength=len(evidence.room))
        worst = np.argsort(-totals, kind="stable")[:_MOST_REPLAYS]
        members = [np.flatnonzero(evidence.request == number) for number in worst]
        chosen = np.array([rows[gain[rows].argmax()] for rows in members if rows.size], dtype=np.intp)
        why = [f"contributes most to the score of {direction}"] * len(evidence)
    return tuple(
        Replay(
            request=requests[evidence.request[row]],
            output=outputs[evidence.request[row]],
            place=int(evidence.place[row]),
            why=why[row],
        )
        for row in chosen
    )


def _direction(evidence: Evidence) -> str:
    return str(likeliest_cause(directional_scores(evidence.observed)).details["direction"])


def _standardised(evidence: Evidence, direction: str, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    g, p = scores(evidence.observed, direction)[mask], evidence.observed.p[mask]
    centred = g - np.einsum("nk,nk->n", p, g)[:, None]
    total = centred[np.arange(len(g)), evidence.observed.cell[mask]].sum()
    variance = np.einsum("nk,nk,nk->", p, centred, centred)
    return float(total / np.sqrt(variance)) if variance > 0 else 0.0

"""Recordings: texts that were made elsewhere, played back as a decoder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from specsim.conformance.evidence import Evidence
from specsim.conformance.protocol import Output, Request
from specsim.errors import AdapterError, InputError
from specsim.stats import accepted_drafts

FILTERED = 1e-6
"""Where a recording's ends are less likely than this, and all of one kind, it is refused."""


class Recorded:
    """A decoder that gives back what was recorded; its requests are the plan: `recorded_plan`.

    Parameters
    ----------
    pairs : iterable of Request and Output
        Every text, however it ended.

    Raises
    ------
    InputError
        No pairs, or two requests with one id.

    Examples
    --------
    >>> pair = Request(id="a", prompt=(1,)), Output(tokens=(2,), finish_reason="stop")
    >>> Recorded([pair]).generate([pair[0]]) == [pair[1]]
    True
    """

    def __init__(self, pairs: Iterable[tuple[Request, Output]]) -> None:
        kept = list(pairs)
        self.requests = tuple(request for request, _ in kept)
        self._outputs = {request.id: output for request, output in kept}
        if not kept or len(self._outputs) != len(kept):
            raise InputError(f"pairs must have ids of their own, at least one, got {len(kept)} pairs")

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """See `Decoder.generate`."""
        missing = [request.id for request in requests if request.id not in self._outputs]
        if missing:
            raise AdapterError(f"the recording has no text for request {missing[0]}: keep every text, however it ended")
        return [self._outputs[request.id] for request in requests]


def refuse_filtered(outputs: Sequence[Output], evidence: Evidence | None) -> None:
    """Refuse recordings of which only texts with one finish reason were kept.

    Raises
    ------
    AdapterError
        All texts ended for one reason, and tokens that end texts come more often, or more rarely, than chance allows.

    Notes
    -----
    Whether a text goes on says something about its tokens, so the texts that are left follow another law, and a
    perfect decoder would fail.
    """
    reasons = {output.finish_reason for output in outputs}
    if evidence is None or len(reasons) != 1:
        return
    some = np.flatnonzero(evidence.end_mass > 0)
    if not some.size:
        return
    result = accepted_drafts(evidence.ended[some], np.minimum(evidence.end_mass[some], 1.0))
    if result.pvalue <= FILTERED:
        raise AdapterError(
            f"the recording looks filtered: all {len(outputs)} texts finished with {reasons.pop()!r}, and "
            f"{result.detail.replace('accepted', 'ended there')}; keep every text, however it ended"
        )

"""The requests that show a fault, as a small recording: to be asked again, or judged again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specsim.conformance.sources.recording import SCHEMA, answer_line
from specsim.conformance.verdict import Verdict
from specsim.files import write_whole


def replay_lines(verdict: Verdict, *, vocabulary: int) -> list[Mapping[str, Any]]:
    """Lines of a recording, each answer with the `place` of the token that shows the fault, the `token`, and `why`.

    Examples
    --------
    >>> replay_lines(Verdict(outcome="conforms", tokens=1, requests=1, level=1e-6), vocabulary=8)
    [{'kind': 'recording', 'schema': 1, 'vocabulary': 8}]
    """
    head: Mapping[str, Any] = {"kind": "recording", "schema": SCHEMA, "vocabulary": vocabulary}
    return [
        head,
        *(
            {
                **answer_line(one.request, one.output),
                "place": one.place,
                "token": one.output.tokens[one.place],
                "why": one.why,
            }
            for one in verdict.replays
        ),
    ]


def write_replay(path: str | Path, verdict: Verdict, *, vocabulary: int) -> Path:
    """Write these lines, whole or not at all; `read_recording` reads them."""
    lines = replay_lines(verdict, vocabulary=vocabulary)
    return write_whole(path, "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines))

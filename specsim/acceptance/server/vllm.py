"""vLLM's counters.

References
----------
.. [1] vLLM, `vllm/v1/spec_decode/metrics.py`: "acceptance rate" is accepted over drafted tokens, "mean acceptance
   length" is 1 + accepted over drafts, and the "per-position acceptance rate" is accepted there over drafts: s_k.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from specsim import checks
from specsim.acceptance.base import Acceptance
from specsim.acceptance.server.metrics import ServerMetrics
from specsim.errors import InputError

COUNTERS = ("num_drafts", "num_draft_tokens", "num_accepted_tokens")
PER_POSITION = "num_accepted_tokens_per_pos"
SAMPLE = re.compile(r"^vllm:spec_decode_(\w+?)(?:_total)?(?:\{(.*)\})?\s+(\S+)", re.MULTILINE)
POSITION = re.compile(r'position="(\d+)"')


def from_vllm(
    *,
    num_drafts: int,
    num_draft_tokens: int,
    num_accepted_tokens: int,
    num_accepted_tokens_per_pos: Sequence[int] | None = None,
) -> ServerMetrics:
    """From the counters `vllm:spec_decode_...` [1]; give differences of two scrapes for the time between them.

    Raises
    ------
    InputError
        No draft, or counts that contradict one another.

    Notes
    -----
    Where drafts differ in length (lookups, ends of texts) the counts by depth are of drafts that were made and stood:
    their product is still s_k of the rounds as they were, to be put beside a drafter that always proposes.

    Examples
    --------
    >>> metrics = from_vllm(num_drafts=100, num_draft_tokens=300, num_accepted_tokens=150,
    ...     num_accepted_tokens_per_pos=[80, 45, 25])
    >>> metrics.draft_utilisation, metrics.E_tokens, metrics.acceptance().conditional(2)
    (0.5, 2.5, array([0.8   , 0.5625]))
    """
    drafts = checks.integer("num_drafts", num_drafts, low=1)
    drafted = checks.integer("num_draft_tokens", num_draft_tokens, low=1)
    accepted = checks.integer("num_accepted_tokens", num_accepted_tokens, high=drafted)
    counts = None
    if num_accepted_tokens_per_pos is not None:
        stood = checks.integers(PER_POSITION, list(num_accepted_tokens_per_pos)).tolist()
        if sum(stood) != accepted:
            raise InputError(f"{PER_POSITION} must sum to num_accepted_tokens {accepted}, got {sum(stood)}")
        checks.integer("num_draft_tokens", drafted, low=accepted, high=drafts * len(stood))
        counts = Acceptance.from_counts([drafts, *stood[:-1]], stood, source="vLLM, accepted per position")
    return ServerMetrics(
        server="vLLM",
        draft_utilisation=accepted / drafted,
        drafted_per_round=drafted / drafts,
        accepted_per_round=accepted / drafts,
        counts=counts,
    )


def from_vllm_metrics(text: str) -> ServerMetrics:
    """From the text of vLLM's `/metrics` page, all engines and models on it taken together.

    Raises
    ------
    InputError
        A counter that is missing or no count, or counts that contradict one another.

    Examples
    --------
    >>> from_vllm_metrics('''vllm:spec_decode_num_drafts_total{engine="0"} 100.0
    ... vllm:spec_decode_num_draft_tokens_total{engine="0"} 200.0
    ... vllm:spec_decode_num_accepted_tokens_total{engine="0"} 120.0
    ... vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="0"} 80.0
    ... vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="1"} 40.0''').E_tokens
    2.2
    """
    totals: dict[str, int] = defaultdict(int)
    stood: dict[int, int] = defaultdict(int)
    for name, labels, value in SAMPLE.findall(text):
        place = POSITION.search(labels)
        if name == PER_POSITION and place:
            stood[int(place[1])] += _count(name, value)
        elif name in COUNTERS:
            totals[name] += _count(name, value)
    for name in COUNTERS:
        if name not in totals:
            raise InputError(f"metrics page must hold vllm:spec_decode_{name}; is speculation on?")
    return from_vllm(
        num_drafts=totals["num_drafts"],
        num_draft_tokens=totals["num_draft_tokens"],
        num_accepted_tokens=totals["num_accepted_tokens"],
        num_accepted_tokens_per_pos=[stood[place] for place in range(max(stood) + 1)] if stood else None,
    )


def _count(name: str, value: str) -> int:
    try:
        count = float(value)
    except ValueError:
        count = -1.0
    if not (count >= 0 and count.is_integer()):
        raise InputError(f"vllm:spec_decode_{name} must be a count, got {value!r}")
    return int(count)

"""Drafting while the target verifies: cycles of drafters that run beside it.

References
----------
.. [1] "PEARL", arXiv 2408.11850: the drafter goes on while the target verifies.
.. [2] "Distributed speculative inference", arXiv 2405.14105.
.. [3] arXiv 2603.03251: drafts for likely outcomes are made before the outcome is known, on hardware of their own.
"""

from __future__ import annotations

from specsim import checks


def overlapped_cycle_seconds(*, draft_seconds: float, verify_seconds: float, hit_rate: float) -> float:
    """Expected seconds of a round whose draft may have been made during the verification before.

    Parameters
    ----------
    draft_seconds, verify_seconds : float
        Of one round each [s].
    hit_rate : float
        Probability h that the draft made ahead fits what was then accepted and emitted [1].

    Returns
    -------
    float
        h max(draft, verify) + (1 - h) (draft + verify) [s].

    Notes
    -----
    Drafting and verifying are taken not to slow each other down, which needs hardware of its own for the drafter; see
    `overlapped_speedup` for what that costs.

    Examples
    --------
    >>> round(overlapped_cycle_seconds(draft_seconds=0.6, verify_seconds=1.0, hit_rate=0.8), 9)
    1.12
    """
    hit = checks.probability("hit_rate", hit_rate)
    draft, verify = (
        checks.non_negative("draft_seconds", draft_seconds),
        checks.positive("verify_seconds", verify_seconds),
    )
    return hit * max(draft, verify) + (1 - hit) * (draft + verify)


def overlapped_speedup(
    *,
    E_tokens: float,
    draft_seconds: float,
    verify_seconds: float,
    hit_rate: float,
    plain_seconds: float,
    hardware_share: float = 1.0,
) -> float:
    """Tokens per second with drafting ahead over those of plain decoding.

    Parameters
    ----------
    E_tokens : float
        Tokens per round, bonus included, at least 1 [1].
    draft_seconds, verify_seconds, hit_rate
        As for `overlapped_cycle_seconds`.
    plain_seconds : float
        Of a step of plain decoding [s].
    hardware_share : float
        Accelerators of plain decoding over all those used here, in (0, 1]; it makes the speedup one per accelerator,
        which is what a deployment compares [1].

    Examples
    --------
    >>> ahead = dict(E_tokens=2.7731, draft_seconds=0.6, verify_seconds=1.0, hit_rate=0.8, plain_seconds=1.0)
    >>> round(overlapped_speedup(**ahead), 4), round(overlapped_speedup(**ahead, hardware_share=0.5), 4)
    (2.476, 1.238)
    """
    cycle = overlapped_cycle_seconds(draft_seconds=draft_seconds, verify_seconds=verify_seconds, hit_rate=hit_rate)
    tokens = checks.number("E_tokens", E_tokens, low=1)
    share = checks.number("hardware_share", hardware_share, low=0, high=1, open_low=True)
    return share * tokens * checks.positive("plain_seconds", plain_seconds) / cycle

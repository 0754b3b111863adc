"""A check at one temperature; at temperature 0 held to the likeliest token, where rounding may decide between ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from specsim import checks
from specsim.conformance.check import check
from specsim.conformance.negative_controls import POWER
from specsim.conformance.parameters import Parameters
from specsim.conformance.plan import Cell, Plan
from specsim.conformance.protocol import Decoder, Oracle, Output, Request, Rows
from specsim.conformance.sources import fitting
from specsim.conformance.verdict import CONFORMS, Verdict


def check_at(
    temperature: float,
    decoder: Decoder,
    oracle: Oracle,
    plan: Plan,
    *,
    margin: float = 0.0,
    claims: str | None = None,
    banned_ids: Sequence[int] = (),
) -> Verdict:
    """The verdict on warm and cold prefixes at one temperature.

    Parameters
    ----------
    temperature : float
        Of every request; at 0 the text is settled, and any token but the likeliest ends the run [1].
    decoder, oracle, plan, claims
        As of `specsim.conformance.check`; the plan's own cells are not asked, and parameters are fitted to the decoder.
    margin : float
        At temperature 0, tokens so much less likely than the likeliest count as likeliest, too [nat].
    banned_ids
        Tokens that no text may hold; few that are left make texts that repeat themselves.

    Returns
    -------
    Verdict
        At temperature 0 its `smallest_tv` is the share of wrong tokens that shows at least once with probability 0.99.

    Examples
    --------
    >>> from specsim.conformance import TableDecoder, TableModels, TableOracle, plan
    >>> models = TableModels.random(seed=0)
    >>> verdict = check_at(0.0, TableDecoder(models), TableOracle(models), plan(tokens=1000, vocabulary=8))
    >>> verdict.outcome, round(verdict.smallest_tv, 4)
    ('conforms', 0.0046)
    """
    asked = fitting(replace(plan, cells=_cells(temperature, tuple(banned_ids))), decoder, oracle)[0]
    if temperature > 0:
        return check(decoder, oracle, asked, claims=claims)
    held = Likeliest(oracle, margin=margin)
    verdict = check(decoder, held, asked, negative_controls=False)  # laws without chance cannot be bent by degrees
    if verdict.outcome != CONFORMS:
        return verdict
    return replace(verdict, smallest_tv=1 - (1 - POWER) ** (1 / max(1, verdict.tokens - held.ties)))


class Likeliest:
    """Laws that are certain of the likeliest token, or of the one that was emitted where the two are all but equal.

    Parameters
    ----------
    oracle : Oracle
        Asked at temperature 1.
    margin : float
        What counts as all but equal [nat].
    """

    def __init__(self, oracle: Oracle, *, margin: float) -> None:
        self.oracle, self.margin = oracle, checks.non_negative("margin", margin)
        self.ties = 0

    def score(self, requests: Sequence[Request], outputs: Sequence[Output]) -> Rows:
        """See `Oracle.score`."""
        warm = [replace(one, parameters=replace(one.parameters, temperature=1.0)) for one in requests]
        rows = self.oracle.score(warm, outputs)
        log_p = np.asarray(rows.log_p)
        emitted = np.array([token for output in outputs for token in output.tokens])[:, None]
        ids = np.arange(log_p.shape[1])[None] if rows.ids is None else np.asarray(rows.ids)
        near = log_p >= log_p.max(axis=1, keepdims=True) - self.margin
        is_fine = ((ids == emitted) & near).any(axis=1)
        self.ties += int((near.sum(axis=1) > 1).sum())
        column = np.where(is_fine, (ids == emitted).argmax(axis=1), log_p.argmax(axis=1))
        certain = np.where(np.arange(log_p.shape[1]) == column[:, None], 0.0, -np.inf)
        return Rows(log_p=certain, ids=rows.ids)


def _cells(temperature: float, banned_ids: tuple[int, ...]) -> tuple[Cell, ...]:
    warm, cold = (Parameters(temperature=temperature, max_tokens=length, banned_ids=banned_ids) for length in (12, 24))
    return (
        Cell(name="warm prefix", parameters=warm, weight=4.0, is_fixed=True),
        Cell(name="cold prefix", parameters=cold, weight=2.0),
    )

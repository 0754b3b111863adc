"""Laws of table models for requests with parameters of their own, and the oracle that knows them exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from specsim.checks import FloatArray, IntArray
from specsim.conformance.parameters import Parameters
from specsim.conformance.protocol import Output, Request, Rows
from specsim.conformance.tables import TableModels
from specsim.distributions import History
from specsim.stats.rows import BoolArray

NONE = -1


class TableLaws:
    """Laws of one side of table models for requests with mixed parameters.

    What depends on the state alone is computed once; penalties are computed when they are asked for.

    Parameters
    ----------
    models : TableModels
    side : str
        "target" or "draft".
    parameters : sequence of Parameters
        The kinds of requests that rows will be asked for.
    """

    def __init__(self, models: TableModels, side: str, parameters: Sequence[Parameters]) -> None:
        self.parameters = tuple(parameters)
        states = np.arange(models.vocabulary**3)
        logits, last = models.logits(side, states), models.last(states)
        self._masked = np.stack([_masked(logits, last, one) for one in self.parameters])
        self._static = np.zeros(self._masked.shape)
        self._penalised = [kind for kind, one in enumerate(self.parameters) if one.sampling.needs_history]
        for kind, one in enumerate(self.parameters):
            if kind not in self._penalised:
                self._static[kind] = one.sampling.probabilities(self._masked[kind])

    def rows(
        self, kind: IntArray, *, state: IntArray, is_early: BoolArray, history: Callable[[IntArray], History]
    ) -> FloatArray:
        """Laws of the next tokens.

        Parameters
        ----------
        kind : array of int, shape (M,)
            Which of the parameters.
        state : array of int, shape (M, R)
            After which states.
        is_early : array of bool, shape (M, R)
            Whether `min_tokens` is not reached yet.
        history : callable
            The history of some of the M requests, for R rows each; asked for where there is a penalty.

        Returns
        -------
        array, shape (M, R, V)
        """
        laws = self._static[kind[:, None], is_early.astype(np.intp), state]
        for penalised in self._penalised:
            here = np.flatnonzero(kind == penalised)
            if here.size:
                logits = self._masked[penalised, is_early[here].astype(np.intp), state[here]]
                laws[here] = self.parameters[penalised].sampling.probabilities(logits, history=history(here))
        return laws


class TableOracle:
    """Exact laws before every token of any texts, by teacher forcing: no cache, no rounds.

    Parameters
    ----------
    models : TableModels
    with_draft : bool
        Whether the draft's laws are told, too.

    Examples
    --------
    >>> oracle = TableOracle(TableModels.random(vocabulary=4, seed=0))
    >>> rows = oracle.score([Request(id="a", prompt=(1, 2))], [Output(tokens=(3, 0), finish_reason="length")])
    >>> np.shape(rows.log_p), bool(np.allclose(np.exp(rows.log_p).sum(axis=1), 1))
    ((2, 4), True)
    """

    def __init__(self, models: TableModels, *, with_draft: bool = True) -> None:
        self.models = models
        self.sides = ("target", "draft") if with_draft else ("target",)

    def score(self, requests: Sequence[Request], outputs: Sequence[Output]) -> Rows:
        """See `Oracle.score`."""
        counts = np.array([len(output.tokens) for output in outputs])
        starts = np.concatenate(([0], np.cumsum(counts)[:-1])) if len(counts) else counts
        rows = {side: np.empty((int(counts.sum()), self.models.vocabulary)) for side in self.sides}
        for parameters, members in _groups(requests).items():
            places, laws = self._laws(parameters, [requests[i] for i in members], [outputs[i] for i in members])
            where = np.concatenate([np.arange(starts[i], starts[i] + counts[i]) for i in members])
            for side in self.sides:
                rows[side][where] = laws[side][places]
        with np.errstate(divide="ignore"):
            logs = {side: np.log(values) for side, values in rows.items()}
        return Rows(log_p=logs["target"], log_q=logs.get("draft"))

    def _laws(
        self, parameters: Parameters, requests: Sequence[Request], outputs: Sequence[Output]
    ) -> tuple[BoolArray, dict[str, FloatArray]]:
        """Laws (n, T, V) of requests with the same parameters, and which of the T places each of them has."""
        prompts = padded([request.prompt for request in requests])
        tokens = padded([output.tokens for output in outputs])
        there = tokens != NONE
        states = np.empty(tokens.shape, dtype=np.intp)
        for length in np.unique((prompts != NONE).sum(axis=1)):
            some = (prompts != NONE).sum(axis=1) == length
            texts = np.concatenate((prompts[some, :length], np.maximum(tokens[some], 0)), axis=1)
            states[some] = self.models.states(texts)[:, length - 1 : -1]
        early = np.arange(tokens.shape[1]) < parameters.min_tokens
        history = History(prompt=prompts, output=np.zeros((len(prompts), 0), dtype=int), draft=tokens)
        laws = {}
        for side in self.sides:
            logits = self.models.logits(side, states)
            last = self.models.last(states)
            masked = np.where(early[:, None], *(_masked(logits, last, parameters)[flag] for flag in (1, 0)))
            laws[side] = parameters.sampling.probabilities(masked, history=history)
        return there, laws


def padded(texts: Sequence[Sequence[int]]) -> IntArray:
    """Texts of different lengths as one array, shape (N, longest), with -1 after the end.

    Examples
    --------
    >>> padded([[4], [5, 6]]).tolist()
    [[4, -1], [5, 6]]
    """
    lengths = np.array([len(text) for text in texts])
    table = np.full((len(texts), int(lengths.max(initial=0))), NONE)
    table[np.arange(table.shape[1]) < lengths[:, None]] = [token for text in texts for token in text]
    return table


def _masked(logits: FloatArray, last: IntArray, parameters: Parameters) -> FloatArray:
    """Logits after grammar and early bans, shape (2, ..., V): late and early."""
    allowed = [parameters.allowed(logits.shape[-1], is_early=flag) for flag in (False, True)]
    return np.stack([np.where(table[last], logits, -np.inf) for table in allowed])


def _groups(requests: Sequence[Request]) -> Mapping[Parameters, list[int]]:
    groups: dict[Parameters, list[int]] = {}
    for place, request in enumerate(requests):
        groups.setdefault(request.parameters, []).append(place)
    return groups

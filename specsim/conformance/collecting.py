"""From a batch of texts and their reference laws to evidence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specsim.checks import FloatArray, IntArray
from specsim.conformance.evidence import CUT, UNKNOWN, Evidence
from specsim.conformance.protocol import Output, Request, Rows
from specsim.stats import Observed, observe, observe_top
from specsim.stats.rows import BoolArray

_MOST = 1e12  # a ratio p / q counts up to this
_BLOCK_CELLS = 1 << 22
_SAME = 1e-9  # rows that differ by no more are one row but for rounding


def collect(requests: Sequence[Request], outputs: Sequence[Output], rows: Rows, *, tags: Sequence[str]) -> Evidence:
    """Evidence of one batch.

    Parameters
    ----------
    requests, outputs, rows
        As asked, answered and scored.
    tags : sequence of str
        Those to keep apart, fixed before the run.

    Raises
    ------
    InputError
        Rows that are no laws, or that do not fit the tokens.
    """
    counts = np.array([len(output.tokens) for output in outputs])
    request = np.repeat(np.arange(len(outputs)), counts)
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    tokens = np.array([token for output in outputs for token in output.tokens], dtype=np.intp)
    depth, accepted = (np.concatenate(parts) for parts in zip(*map(_rounds, outputs), strict=True))
    observed = _observed(requests, outputs, rows, tokens, place)
    draft_mass = _draft_mass(rows, tokens)
    reach = _reach(observed.mass, draft_mass, depth)
    ending = [(row, id_) for row, ids in enumerate(_ending(requests, outputs)) for id_ in ids]
    end_mass, overlap = _masses(rows, np.array(ending, dtype=np.intp).reshape(-1, 2), reach)
    return Evidence(
        observed=observed,
        request=request,
        place=place,
        depth=depth,
        accepted=accepted,
        reach=reach,
        draft_mass=draft_mass,
        overlap=overlap,
        ended=_hits(ending, tokens),
        end_mass=end_mass,
        room=np.array([one.parameters.max_tokens for one in requests]),
        least=np.array([one.parameters.min_tokens for one in requests]),
        tags={tag: np.array([tag in one.tags for one in requests])[request] for tag in tags},
    )


def _observed(
    requests: Sequence[Request], outputs: Sequence[Output], rows: Rows, tokens: IntArray, place: IntArray
) -> Observed:
    if rows.ids is not None:
        return observe_top(tokens, ids=rows.ids, log_p=rows.log_p, log_q=rows.log_q)
    log_p = np.asarray(rows.log_p)
    if log_p.ndim != 2 or len(log_p) != len(tokens):
        return observe(tokens, log_p=log_p)  # which says what is wrong with it
    seen = _seen(requests, outputs, log_p.shape[-1])
    return observe(tokens, log_p=log_p, log_q=rows.log_q, log_previous=_previous(log_p, place), seen=seen)


def _previous(log_p: FloatArray, place: IntArray) -> FloatArray:
    """The row before each; of no mass where there is none or where it is the same row, for then nothing can be told."""
    before = np.roll(log_p, 1, axis=0)
    same = (np.exp(before) - np.exp(log_p)).max(axis=-1) < _SAME
    before[same | (place == 0)] = -np.inf
    return before


def _seen(requests: Sequence[Request], outputs: Sequence[Output], vocabulary: int) -> BoolArray:
    """Whether each token stands in the text already, shape (N, V)."""
    seen = np.zeros((sum(len(output.tokens) for output in outputs), vocabulary), dtype=bool)
    row = 0
    for request, output in zip(requests, outputs, strict=True):
        end = row + len(output.tokens)
        seen[row:end, list(request.prompt)] = True
        for step, token in enumerate(output.tokens[:-1], start=row + 1):
            seen[step:end, token] = True
        row = end
    return seen


def _rounds(output: Output) -> tuple[IntArray, IntArray]:
    """Depth and acceptance of each token of one output."""
    count = len(output.tokens)
    if output.blocks is None:
        return np.full(count, UNKNOWN), np.full(count, UNKNOWN)
    blocks = np.array(output.blocks)
    ends = np.cumsum(blocks)
    depth = np.arange(count) - np.repeat(ends - blocks, blocks)
    if output.drafted is None:
        return depth, np.full(count, UNKNOWN)
    had_draft = depth < np.repeat(np.array(output.drafted), blocks)
    accepted = np.where(had_draft, 1, UNKNOWN)
    accepted[ends - 1] = np.where(had_draft[ends - 1], 0, UNKNOWN)
    if had_draft[-1]:
        accepted[-1] = CUT
    return depth, accepted


def _draft_mass(rows: Rows, tokens: IntArray) -> FloatArray:
    if rows.log_q is None or rows.ids is not None:
        return np.full(len(tokens), np.nan)
    return np.exp(np.asarray(rows.log_q)[np.arange(len(tokens)), tokens].astype(np.float64))


def _reach(p: FloatArray, q: FloatArray, depth: IntArray) -> FloatArray:
    """See `Evidence.reach`."""
    reach = np.ones(len(p))
    if np.isnan(q).any():
        return reach
    ratio = np.divide(p, q, out=np.full_like(p, _MOST), where=q > p / _MOST)
    for step in range(1, int(depth.max(initial=0)) + 1):
        here = np.flatnonzero(depth == step)
        reach[here] = np.minimum(1.0, reach[here - 1] * ratio[here - 1])
    return reach


def _ending(requests: Sequence[Request], outputs: Sequence[Output]) -> list[tuple[int, ...]]:
    """Which tokens would have ended the text at each place."""
    found: list[tuple[int, ...]] = []
    for request, output in zip(requests, outputs, strict=True):
        eos, sequences = request.parameters.eos_ids, request.parameters.stop_sequences
        for place in range(len(output.tokens)):
            if not sequences:
                found.append(eos)
                continue
            before = output.tokens[:place]
            found.append(tuple({*eos, *(one[-1] for one in sequences if before[place + 1 - len(one) :] == one[:-1])}))
    return found


def _hits(ending: Sequence[tuple[int, int]], tokens: IntArray) -> BoolArray:
    hits = np.zeros(len(tokens), dtype=bool)
    hits[[row for row, id_ in ending if tokens[row] == id_]] = True
    return hits


def _masses(rows: Rows, ending: IntArray, reach: FloatArray) -> tuple[FloatArray, FloatArray]:
    """`end_mass` and `overlap` of `Evidence`."""
    log_p = np.asarray(rows.log_p)
    end_mass: FloatArray = np.full(len(reach), np.nan)
    overlap: FloatArray = np.full((len(reach), 2), np.nan)
    if rows.ids is not None:
        return end_mass, overlap
    row, column = ending.T
    end_mass = np.asarray(np.bincount(row, weights=np.exp(log_p[row, column].astype(float)), minlength=len(reach)))
    if rows.log_q is None:
        return end_mass, overlap
    log_q = np.asarray(rows.log_q)
    step = max(1, _BLOCK_CELLS // log_p.shape[1])
    for start in range(0, len(reach), step):
        part, scale = slice(start, start + step), reach[start : start + step, None]
        p, q = np.exp(log_p[part]), np.exp(log_q[part])
        inside = (row >= start) & (row < start + step)
        p[row[inside] - start, column[inside]] = 0
        overlap[part, 0] = np.minimum(p, q).sum(axis=1, dtype=np.float64)
        np.divide(np.minimum(scale * p, q).sum(axis=1), scale[:, 0], out=overlap[part, 1], where=scale[:, 0] > 0)
    return end_mass, overlap

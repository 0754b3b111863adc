"""Prompts that are asked over and over: the first tokens of their texts against their joint law."""

from __future__ import annotations

import itertools
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

import numpy as np

from specsim.checks import FloatArray
from specsim.conformance.asking import score
from specsim.conformance.plan import Plan
from specsim.conformance.protocol import Oracle, Output, Request
from specsim.errors import InputError
from specsim.stats import TestResult, fixed_prompt

LENGTHS = (1, 2, 3)
MOST_TEXTS = 1 << 10
"""Joint laws over more texts than this are not asked for."""

Prompt = tuple[int, ...]


def first_tokens(
    requests: Sequence[Request], outputs: Sequence[Output], *, of: Container[Request]
) -> list[tuple[Request, Prompt]]:
    """The kind of each request (the request without name and seed), and its first tokens if the kind is fixed."""
    kinds = [replace(request, id="", seed=0) for request in requests]
    return [
        (kind, output.tokens[: max(LENGTHS)] if kind in of else ()) for kind, output in zip(kinds, outputs, strict=True)
    ]


def kinds(plan: Plan) -> list[Request]:
    """The kinds of requests that are asked over and over, and whose texts have three tokens at least."""
    return [
        Request(id="", prompt=prompt, parameters=cell.parameters, tags=(cell.name,))
        for cell in plan.cells
        for prompt in plan.fixed
        if cell.is_fixed and not cell.parameters.eos_ids and not cell.parameters.stop_sequences
    ]


def joint_laws(kind: Request, oracle: Oracle, *, vocabulary: int) -> dict[int, FloatArray]:
    """Joint law of the first L tokens after a prompt, by L, as far as there are few enough texts.

    Examples
    --------
    >>> from specsim.conformance.table_laws import TableOracle
    >>> from specsim.conformance.tables import TableModels
    >>> laws = joint_laws(Request(id="", prompt=(1,)), TableOracle(TableModels.random(seed=0)), vocabulary=8)
    >>> laws[3].shape, bool(np.allclose(laws[3].sum(axis=(1, 2)), laws[1]))
    ((8, 8, 8), True)
    """
    laws: dict[int, FloatArray] = {}
    joint = np.ones(())
    for length in LENGTHS:
        if vocabulary**length > MOST_TEXTS:
            break
        texts = [(*text, 0) for text in itertools.product(range(vocabulary), repeat=length - 1)]
        outputs = [Output(tokens=text, finish_reason="length") for text in texts]
        rows = np.asarray(score(oracle, [kind] * len(texts), outputs).log_p)
        last = np.exp(rows.reshape(len(texts), length, vocabulary)[:, -1])
        joint = joint[..., None] * last.reshape((vocabulary,) * length)
        laws[length] = joint
    return laws


def fixed_prompt_tests(
    texts: Sequence[tuple[Request, Prompt]], laws: Mapping[Request, Mapping[int, FloatArray]], *, tolerance: float
) -> dict[str, TestResult]:
    """Chi-square of the first token and of the first two and three jointly, summed over prompts."""
    by_kind: dict[Request, list[Prompt]] = {kind: [] for kind in laws}
    for kind, tokens in texts:
        if kind in by_kind:
            by_kind[kind].append(tokens)
    found = {}
    for length in LENGTHS:
        kept = [kind for kind, runs in by_kind.items() if runs and length in laws[kind]]
        try:
            found[f"first {length} of fixed prompts"] = fixed_prompt(
                [np.array([run[:length] for run in by_kind[kind]]) for kind in kept],
                [laws[kind][length] for kind in kept],
                tolerance=tolerance,
            )
        except InputError:  # too few texts for this length
            continue
    return found

"""What is asked of an engine, and the settings that answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from specsim import checks
from specsim.errors import InputError

METHODS = (
    "model",
    "quantised",
    "ngram",
    "suffix",
    "rest",
    "lookahead",
    "draft_verify",
    "layer_skip",
    "sparse_kv",
    "medusa",
    "hydra",
    "eagle1",
    "eagle2",
    "eagle3",
    "mtp",
    "gloeckle",
    "pard",
    "p_eagle",
    "dflash",
    "dspark",
)
# Methods that need no `draft_model`: nothing is loaded, or the target's checkpoint may hold it. The others need one.
WITHOUT_DRAFT_MODEL = ("ngram", "suffix", "lookahead", "draft_verify", "layer_skip", "sparse_kv")
EITHER = ("mtp", "dspark", "gloeckle")


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Settings of one engine.

    Parameters
    ----------
    engine, version : str
        The engine, and the version of it whose source the flags were checked against.
    command : str
        One shell line that starts a server.
    config : Mapping[str, Any]
        The same settings as a dictionary that JSON can hold: vLLM's `speculative_config`, SGLang's server arguments,
        llama.cpp's flags.
    snippet : str
        Python for in-process use; empty where the engine has none.
    notes : tuple[str, ...]
        Where the engine differs from the plan, and what to know before pasting.
    """

    engine: str
    version: str
    command: str
    config: Mapping[str, Any]
    snippet: str = ""
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A plan: the keywords of every function in `ENGINES`.

    Parameters
    ----------
    method : str
        The drafter, one of `METHODS`.
    target : str
        What is served: a Hugging Face name, a folder, or a GGUF file for llama.cpp.
    gamma : int
        Tokens drafted per round at most [1].
    max_batch, max_context : int
        Sequences at once, and tokens per sequence, at most [1].
    draft_model : str, optional
        The drafter's weights, named like `target`; for "rest" the corpus (JSON Lines).
    tensor_parallel, draft_tensor_parallel : int
        Devices that the target and the drafter are split over [1].
    tree : tuple[int, int, int], optional
        Nodes that are verified (the root apart), children per node, depth. The depth then stands for gamma.
    schedule : sequence of tuple[int, int, int], optional
        (first batch, last batch, gamma) from batch 1 on, without gaps.
    acceptance : sequence of float, optional
        Conditional acceptance by depth; the settings then rehearse: the engine accepts by these numbers instead of by
        what the models say, so that speed can be measured before a drafter is trained. Its text is worthless.

    Raises
    ------
    InputError
        An unknown method, a count below 1, a tree that cannot be, a schedule with gaps or above gamma, acceptance that
        is no probability or too short, a draft model that is missing or that the method has no use for.

    Examples
    --------
    >>> plan = {"method": "ngram", "target": "Qwen/Qwen3-8B", "gamma": 2, "max_batch": 8, "max_context": 4096}
    >>> Asked(**plan, acceptance=[0.8, 0.5]).survival()
    [0.8, 0.4]
    """

    method: str
    target: str
    gamma: int
    max_batch: int
    max_context: int
    draft_model: str | None = None
    tensor_parallel: int = 1
    draft_tensor_parallel: int = 1
    tree: tuple[int, int, int] | None = None
    schedule: Sequence[tuple[int, int, int]] | None = None
    acceptance: Sequence[float] | None = None

    def __post_init__(self) -> None:
        checks.one_of("method", self.method, METHODS)
        for name in ("gamma", "max_batch", "max_context", "tensor_parallel", "draft_tensor_parallel"):
            checks.integer(name, getattr(self, name), low=1)
        if not self.target:
            raise InputError("target must be a model's name or path, got ''")
        self._check_draft_model()
        if self.tree is not None:
            _check_tree(self.tree)
        if self.schedule is not None:
            _check_schedule(self.schedule, gamma=self.gamma)
        if self.acceptance is not None:
            given = checks.probabilities("acceptance", self.acceptance, ndim=1)
            if len(given) < self.depth:
                raise InputError(f"acceptance must have {self.depth} values, one by depth, got {len(given)}")

    @property
    def depth(self) -> int:
        """Tokens on the longest path of a round [1]."""
        return self.gamma if self.tree is None else self.tree[2]

    def survival(self) -> list[float]:
        """P(the first k drafts are all accepted), k = 1.. depth; empty without `acceptance` [1]."""
        if self.acceptance is None:
            return []
        # Twelve digits keep the products non-increasing and readable.
        return [round(float(s), 12) for s in np.cumprod(np.asarray(self.acceptance, dtype=float)[: self.depth])]

    def _check_draft_model(self) -> None:
        if self.draft_model is None:
            if self.method not in (*WITHOUT_DRAFT_MODEL, *EITHER):
                raise InputError(f"draft_model must name the weights (or corpus) for {self.method}, got None")
        elif not self.draft_model or self.method in WITHOUT_DRAFT_MODEL:
            raise InputError(f"draft_model must be None for {self.method} or a name, got {self.draft_model!r}")


def _check_tree(tree: tuple[int, int, int]) -> None:
    if len(tree) != 3:
        raise InputError(f"tree must be (nodes, top_k, depth), got {tree!r}")
    nodes, top_k, depth = (checks.integer(f"tree[{place}]", value, low=1) for place, value in enumerate(tree))
    # Each of depth - 1 further passes extends top_k nodes by top_k children.
    most = top_k + (depth - 1) * top_k**2
    if not depth <= nodes <= most:
        raise InputError(f"tree of top_k {top_k} and depth {depth} must have {depth}..{most} nodes, got {nodes}")


def _check_schedule(schedule: Sequence[tuple[int, int, int]], *, gamma: int) -> None:
    if not schedule:
        raise InputError("schedule must have a row (first batch, last batch, gamma), got none")
    first = 1
    for place, row in enumerate(schedule):
        if len(row) != 3:
            raise InputError(f"schedule[{place}] must be (first batch, last batch, gamma), got {row!r}")
        if checks.integer(f"schedule[{place}][0]", row[0], low=1) != first:
            raise InputError(f"schedule[{place}] must start at batch {first}, got {row[0]}")
        first = checks.integer(f"schedule[{place}][1]", row[1], low=first) + 1
        checks.integer(f"schedule[{place}][2]", row[2], high=gamma)

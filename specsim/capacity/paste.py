"""From a plan to the settings of an engine: the best candidate that it can run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from specsim import checks
from specsim.capacity.candidate import Candidate, best_candidate
from specsim.capacity.plan import Plan
from specsim.capacity.schedule import gamma_schedule
from specsim.capacity.variants import Variant
from specsim.drafters import Eagle2, Eagle3
from specsim.engines import ENGINES, Settings
from specsim.engines.settings import WITHOUT_DRAFT_MODEL
from specsim.errors import InfeasibleError

DRAFTER = "PATH/TO/DRAFTER"
"""Stands for weights that a plan does not know."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Pasted:
    """Settings, and the candidate that they run."""

    candidate: Candidate
    settings: Settings


def engine_settings(
    found: Plan,
    engine: str,
    *,
    target: str | None = None,
    draft_model: str | None = None,
    max_context: int | None = None,
    with_schedule: bool = False,
    rehearse: bool = False,
) -> Pasted:
    """Settings of an engine for the best candidate of a plan that it can run.

    Parameters
    ----------
    found : Plan
        The plan.
    engine : str
        Name of `ENGINES`.
    target, draft_model : str, optional
        What the engine is to load; by default the target's name, and a word to replace.
    max_context : int, optional
        Tokens per sequence at most; by default twice the workload's average [1].
    with_schedule : bool
        Whether the depth goes by batch size, where the engine can.
    rehearse : bool
        Whether the engine is to accept by the assumed law instead of by what models say, to time a drafter that is not
        trained yet.

    Raises
    ------
    InputError
        An unknown engine.
    InfeasibleError
        The engine offers none of the plan's methods.

    Examples
    --------
    >>> from specsim.capacity import Workload, plan
    >>> from specsim.catalog import hardware, model
    >>> from specsim.roofline import Efficiency
    >>> gpu, work = hardware("H100-SXM"), Workload(batch=8, context=1024)
    >>> found = plan(model("Llama-3.1-8B"), gpu, work, methods=["ngram"], efficiency=Efficiency.ideal())
    >>> engine_settings(found, "vllm").settings.config["method"]
    'ngram'
    """
    offer = ENGINES[checks.one_of("engine", engine, ENGINES)]
    refusals = []
    for candidate in _runnable(found):
        law = candidate.variant.acceptance if candidate.variant else None
        batch = max(1, candidate.memory.max_batch)
        chain = not _tree(candidate)
        try:
            settings = offer(
                method=candidate.name,
                target=target or candidate.place.target.name,
                gamma=candidate.gamma,
                max_batch=min(batch, 2 * candidate.workload.batch),
                max_context=max_context or max(1, 2 * candidate.workload.context),
                draft_model=None if candidate.name in WITHOUT_DRAFT_MODEL else draft_model or DRAFTER,
                tensor_parallel=candidate.place.tensor_parallel,
                draft_tensor_parallel=_draft_split(candidate),
                tree=_tree(candidate),
                schedule=gamma_schedule(candidate, max_batch=batch) if with_schedule and chain else None,
                acceptance=law.conditional(candidate.gamma).tolist() if rehearse and law else None,
            )
        except InfeasibleError as refusal:
            refusals.append(f"{candidate.name}: {refusal}")
        else:
            return Pasted(candidate=candidate, settings=settings)
    raise InfeasibleError(
        f"{engine} runs none of the plan's methods: {'; '.join(refusals) or 'plain decoding is best'}"
    )


def _runnable(found: Plan) -> Iterator[Candidate]:
    """Candidates by rank, each followed by itself as a chain; methods behind plain decoding are left out."""
    for candidate in found.candidates:
        if candidate.variant is None or candidate.assumed is None:
            return
        yield candidate
        if candidate.method is not None and candidate.method.tree_nodes:
            plain = type(candidate.method).default(candidate.place.target)
            if not plain.tree_nodes:
                chain = Variant(method=plain, acceptance=candidate.assumed.acceptance)
                yield best_candidate(candidate.name, candidate.place, [chain], candidate.assumed, candidate.workload)


def _tree(candidate: Candidate) -> tuple[int, int, int] | None:
    """Nodes, children, depth of a tree; None for a chain."""
    method = candidate.method
    if method is None or not method.tree_nodes:
        return None
    top_k = method.tree.top_k if isinstance(method, Eagle2 | Eagle3) and method.tree else method.tree_nodes
    return candidate.nodes, top_k, candidate.gamma


def _draft_split(candidate: Candidate) -> int:
    own = candidate.method.model(candidate.place.target) if candidate.method else None
    return candidate.place.draft_tensor_parallel(own) if own else candidate.place.tensor_parallel

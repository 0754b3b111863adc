"""What a drafter report looks at: a plan, and those of its drafters that pictures have room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reports.scenario import ReportScenario
from specsim.acceptance import Comparison, compare
from specsim.capacity import Candidate, Plan, plan
from specsim.placement import Placement

MOST_SHOWN = 6
"""Colours that can be told apart."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Study:
    """A scenario with its plan and fits.

    Parameters
    ----------
    scenario : ReportScenario
        What is served, on what.
    plan : Plan
        Its drafters, ranked.
    laws : mapping of str to Comparison
        Laws fitted to what was counted, by drafter.
    """

    scenario: ReportScenario
    plan: Plan
    laws: Mapping[str, Comparison]

    @property
    def place(self) -> Placement:
        """The model on its accelerators."""
        return self.plan.best.place

    @property
    def drafters(self) -> Sequence[Candidate]:
        """All that draft, best first."""
        return [one for one in self.plan.candidates if one.variant is not None]

    @property
    def shown(self) -> Sequence[Candidate]:
        """The best of them, and those that were counted or given, as many as there are colours."""
        given = self.scenario.acceptances
        known = [one for one in self.drafters if one.name in given][:MOST_SHOWN]
        rest = [one for one in self.drafters if one.name not in given][: MOST_SHOWN - len(known)]
        return [one for one in self.drafters if one in known or one in rest]


def study(scenario: ReportScenario) -> Study:
    """Plan the scenario.

    Raises
    ------
    InputError
        A name or value that the plan refuses.
    InfeasibleError
        Nothing fits, or is fast enough.

    Examples
    --------
    >>> found = study(ReportScenario(model="Llama-3.1-8B", hardware="H100-SXM", methods=["ngram"], efficiency="ideal"))
    >>> [one.name for one in found.shown]
    ['ngram']
    """
    found = plan(
        scenario.place.target,
        scenario.accelerator,
        scenario.workload,
        methods=scenario.methods or None,
        acceptance=scenario.acceptances,
        tensor_parallel=[scenario.tensor_parallel],
        efficiency=scenario.reached,
        objective=scenario.objective,
    )
    laws = {name: compare(counted) for name, counted in scenario.counted.items()}
    return Study(scenario=scenario, plan=found, laws=laws)

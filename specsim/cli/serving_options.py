"""The options that describe a serving study, and the parts that they name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import click

from specsim import catalog, checks
from specsim.acceptance import Acceptance
from specsim.capacity import Assumed, Candidate, Variant, Workload, assumed_acceptance, gamma_schedule
from specsim.cli import parts
from specsim.cli.output import seed_option
from specsim.drafters import METHODS
from specsim.errors import InputError
from specsim.placement import Placement
from specsim.policies import POLICIES, ByBatch, Fixed, GammaPolicy, Goodput
from specsim.roofline import Efficiency
from specsim.simulate.serving import (
    CHUNK_TOKENS,
    MAX_BATCH,
    Promise,
    Requests,
    Server,
    server_on,
)

Command = TypeVar("Command", bound=Callable[..., Any])

PLAIN = "plain"


def study_options(command: Command) -> Command:
    """All options of a serving study, by the names of `StudyOptions`."""
    hardware, _, *machine = parts.machine_options()  # no context: requests bring theirs
    known = ", ".join((PLAIN, *POLICIES))
    return parts.options(
        click.option("--model", required=True, help="Catalogue name, or a Hugging Face config.json."),
        hardware,
        *machine,
        click.option("--method", default="eagle3", show_default=True, help="Drafter of `specsim plan`."),
        parts.law_options,
        click.option("--per-request", is_flag=True, help="With --beta: acceptance differs by request, not by round."),
        click.option("--gamma", type=int, default=4, show_default=True, help="Most drafted tokens per round."),
        click.option(
            "--policy",
            "policies",
            multiple=True,
            default=(PLAIN, "fixed", "goodput"),
            show_default=True,
            help=f"How deep rounds draft; repeat it: {known}.",
        ),
        click.option("--rate", "rates", help="Requests per second, several by commas.  [default: around saturation]"),
        click.option(
            "--seconds", type=float, default=60, show_default=True, help="How long requests come, at each rate."
        ),
        click.option("--prompt", type=float, default=1024, show_default=True, help="Mean tokens of a prompt."),
        click.option("--output", type=float, default=256, show_default=True, help="Mean tokens of an answer."),
        click.option(
            "--spread", type=float, default=0.5, show_default=True, help="Standard deviation of both over their means."
        ),
        click.option(
            "--max-batch", type=int, default=MAX_BATCH, show_default=True, help="Most requests that run at once."
        ),
        click.option(
            "--chunk", type=int, default=CHUNK_TOKENS, show_default=True, help="Most prompt tokens in a pass."
        ),
        click.option(
            "--first-token", type=float, default=1.0, show_default=True, help="Promise: seconds to the first token."
        ),
        click.option(
            "--per-token", type=float, default=0.05, show_default=True, help="Promise: seconds for each further token."
        ),
        click.option("--workers", type=int, default=1, show_default=True, help="Processes."),
        seed_option,
    )(command)


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """What `study_options` hand over, and the parts that they name."""

    model: str
    hardware: str
    tensor_parallel: str | None
    ideal: bool
    kernels: str | None
    method: str
    alpha: str | None
    decay: tuple[float, ...] | None
    beta: tuple[float, ...] | None
    markov: tuple[float, ...] | None
    per_request: bool
    gamma: int
    policies: tuple[str, ...]
    rates: str | None
    seconds: float
    prompt: float
    output: float
    spread: float
    max_batch: int
    chunk: int
    first_token: float
    per_token: float
    workers: int
    seed: int
    place: Placement = field(init=False)
    assumed: Assumed = field(init=False)

    def __post_init__(self) -> None:
        gpu = catalog.hardware_from(self.hardware)
        place = Placement(
            target=catalog.model_from(self.model),
            hardware=gpu,
            efficiency=parts.efficiency(gpu, ideal=self.ideal, kernels=self.kernels) or Efficiency.default(gpu),
            tensor_parallel=parts.degree(self.tensor_parallel),
        )
        object.__setattr__(self, "place", place)
        object.__setattr__(self, "assumed", self._assumed())
        checks.integer("gamma", self.gamma, low=1)
        for name in self.policies:
            checks.one_of("policy", name, (PLAIN, *POLICIES))

    @property
    def requests(self) -> Requests:
        """What comes."""
        return Requests(prompt_tokens=self.prompt, output_tokens=self.output, spread=self.spread, seconds=self.seconds)

    @property
    def promise(self) -> Promise:
        """What it is promised."""
        return Promise(first_token_seconds=self.first_token, per_token_seconds=self.per_token)

    @property
    def law(self) -> Acceptance:
        """Of accepted lengths."""
        return self.assumed.acceptance

    def servers(self) -> dict[str, Server]:
        """One for each policy, by its name."""
        built = {}
        for name in self.policies:
            policy = self._policy(name)
            built[policy.name] = server_on(
                self.place,
                METHODS[self.method].default(self.place.target),
                acceptance=self.law,
                policy=policy,
                longest=self.requests.longest,
                max_batch=self.max_batch,
                chunk_tokens=self.chunk,
                varies="request" if self.per_request and policy.deepest else "round",
            )
        return built

    def given_rates(self) -> list[float] | None:
        """Those asked for; None where none are [1/s]."""
        if self.rates is None:
            return None
        try:
            return [checks.positive("rate", float(part)) for part in self.rates.split(",")]
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"rate must be numbers separated by commas, got {self.rates!r}") from None

    def _assumed(self) -> Assumed:
        law = {"alpha": self.alpha, "decay": self.decay, "beta": self.beta, "markov": self.markov}
        if all(value is None for value in law.values()):
            return assumed_acceptance(self.method, {}, task=None)
        checks.one_of("method", self.method, METHODS)
        return Assumed(acceptance=parts.law(**law), error=0.0, source="given")  # type: ignore[arg-type]

    def _policy(self, name: str) -> GammaPolicy:
        if name == PLAIN:
            return Fixed(depth=0)
        if name == "fixed":
            return Fixed(depth=self.gamma)
        if name == "by_batch":
            return ByBatch(rows=gamma_schedule(self._candidate(), max_batch=self.max_batch))
        drafter = self.place.drafter(METHODS[self.method].default(self.place.target))
        survival = drafter.proposed_survival(self.gamma) * self.law.survival(self.gamma)
        return Goodput(survival=tuple(survival.tolist()))

    def _candidate(self) -> Candidate:
        """The drafter as a plan would have it, at the mean context of a request."""
        method = METHODS[self.method].default(self.place.target)
        workload = Workload(batch=1, context=round(self.prompt + self.output / 2))
        counts = {"batch": workload.batch, "context": workload.context}
        return Candidate(
            name=self.method,
            place=self.place,
            variant=Variant(method=method, acceptance=self.law),
            assumed=self.assumed,
            workload=workload,
            gamma=self.gamma,
            found=self.place.rates(method, acceptance=self.law, gamma=self.gamma, **counts),
            memory=self.place.memory(method, gamma=self.gamma, **counts),
        )

"""Server: everything that says how a server answers requests, checked together."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from specsim import checks
from specsim.acceptance import Acceptance, BetaAcceptance
from specsim.checks import FloatArray
from specsim.drafters import DraftMethod
from specsim.errors import InputError
from specsim.placement import Placement
from specsim.policies import GammaPolicy
from specsim.scenario import Scenario
from specsim.simulate.serving.cache import Cache
from specsim.simulate.serving.times import StepTimes

VARIES = ("round", "request")
MAX_BATCH = 256
CHUNK_TOKENS = 2048


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Server:
    """One replica of a target that batches requests continuously.

    Parameters
    ----------
    scenario : Scenario
        Target, drafter, acceptance and fixed seconds of a round; its gamma is the deepest that is drafted. Its batch
        and context are not used: those of each round come from the requests.
    cache : Cache
        Room for the caches of sequences that run.
    policy : GammaPolicy
        How deep each round drafts.
    longest : int
        Longest request that comes, prompt and output together [1].
    max_batch : int
        Most requests that run at once [1].
    chunk_tokens : int
        Most prompt tokens in a pass; longer prompts take several [1].
    varies : str
        Where the probability of a Beta law is drawn anew: every "round", as the law says, or once a "request", which
        makes some texts easy throughout and others hard.

    Raises
    ------
    InputError
        A policy that may go deeper than the scenario, a count below its least, a cache that does not say what the
        longest request takes, another word for `varies`, or "request" with a law that is no Beta.

    Examples
    --------
    >>> from specsim.drafters import RatioDrafter
    >>> from specsim.policies import Fixed
    >>> from specsim.roofline import Staircase
    >>> flat = Staircase(tokens=(1, 99), seconds=(0.04, 0.04), source="example")
    >>> drafter = RatioDrafter(c=0.1, step_seconds=0.04)
    >>> scenario = Scenario(target=flat, drafter=drafter, acceptance=Acceptance.constant(0.7), gamma=2)
    >>> cache = Cache.of_tokens(100, longest=50)
    >>> Server(scenario=scenario, cache=cache, policy=Fixed(depth=2), longest=40, max_batch=1, chunk_tokens=64).look
    3
    """

    scenario: Scenario
    cache: Cache
    policy: GammaPolicy
    longest: int
    max_batch: int = MAX_BATCH
    chunk_tokens: int = CHUNK_TOKENS
    varies: str = "round"
    times: StepTimes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.policy.deepest > self.scenario.gamma:
            raise InputError(
                f"policy {self.policy.name} must go at most as deep as the scenario, {self.scenario.gamma}, "
                f"got {self.policy.deepest}"
            )
        if checks.one_of("varies", self.varies, VARIES) == "request" and not isinstance(
            self.scenario.acceptance, BetaAcceptance
        ):
            raise InputError(f"varies 'request' must go with a Beta law, got {self.scenario.acceptance.name}")
        times = StepTimes(
            scenario=self.scenario, max_batch=self.max_batch, chunk_tokens=self.chunk_tokens, longest=self.longest
        )
        object.__setattr__(self, "times", times)
        if self.cache.longest < self.longest + self.look:
            raise InputError(f"cache longest must be at least {self.longest + self.look}, got {self.cache.longest}")

    @property
    def look(self) -> int:
        """Tokens that a round may add to a cache: the last one committed and all that are drafted [1]."""
        return int(self.times.in_flight[self.policy.deepest])

    def survival(self, requests: int, *, rng: np.random.Generator) -> FloatArray:
        """P(draft k stands), a row for each request or one for all, shape (N or 1, G) [1]."""
        law, gamma = self.scenario.acceptance, self.scenario.gamma
        if self.varies == "round" or not isinstance(law, BetaAcceptance):
            return law.survival(gamma)[None, :]
        alphas = rng.beta(law.a, law.b, size=requests)
        return np.asarray(alphas[:, None] ** np.arange(1, gamma + 1))


def server_on(
    place: Placement,
    method: DraftMethod,
    *,
    acceptance: Acceptance,
    policy: GammaPolicy,
    longest: int,
    max_batch: int = MAX_BATCH,
    chunk_tokens: int = CHUNK_TOKENS,
    varies: str = "round",
) -> Server:
    """A server on a placement; where the policy never drafts, the drafter takes no memory.

    Raises
    ------
    InfeasibleError
        The weights leave no room for caches.
    InputError
        As of `Server`.

    Examples
    --------
    >>> from specsim.catalog import hardware, model
    >>> from specsim.drafters import Eagle3
    >>> from specsim.policies import Fixed
    >>> from specsim.roofline import Efficiency
    >>> gpu = hardware("H100-SXM")
    >>> place = Placement(target=model("Llama-3.1-8B"), hardware=gpu, efficiency=Efficiency.ideal())
    >>> law = Acceptance.constant(0.7)
    >>> server = server_on(place, Eagle3(), acceptance=law, policy=Fixed(depth=3), longest=2000, max_batch=8)
    >>> f"{server.cache.capacity_bytes / 1e9:.0f} GB for caches"
    '55 GB for caches'
    """
    gamma = policy.deepest
    scenario = Scenario(
        target=place.cost(place.target), drafter=place.drafter(method), acceptance=acceptance, gamma=gamma
    )
    look = int(method.target_tokens(gamma))
    return Server(
        scenario=scenario,
        cache=Cache.of(place, method if gamma else None, longest=longest + look),
        policy=policy,
        longest=longest,
        max_batch=max_batch,
        chunk_tokens=chunk_tokens,
        varies=varies,
    )

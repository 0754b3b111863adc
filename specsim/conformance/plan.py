"""The plan of a run: which requests, how many tokens, when to look."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.conformance.parameters import Parameters
from specsim.conformance.protocol import Request
from specsim.errors import InputError

LEVEL = 1e-6
FIRST_LOOK = 1000
FIXED = "fixed prompt"
_FIRST_BATCH = 8
_PROMPTS = 256
_LARGEST_BATCH = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One kind of request.

    Parameters
    ----------
    name : str
        Its tag.
    parameters : Parameters
    weight : float
        Its share of requests is this over the sum of all weights [1].
    is_fixed : bool
        Whether it asks the plan's fixed prompts over and over; their entries in a prefix cache are warm.
    """

    name: str
    parameters: Parameters
    weight: float = 1.0
    is_fixed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What a run asks and how long it goes on; made by `plan`.

    Parameters
    ----------
    tokens : int
        Budget [1].
    cells : tuple of Cell
    prompts : tuple of prompts
        For cells that are not fixed: taken at random.
    fixed : tuple of prompts
        For those that are.
    level : float
        Probability that a lossless decoder fails the run, at most [1].
    tolerance : float
        Total variation by which each token's law may be off, for rounding of the engine [1].
    seed : int
        Of prompts, of the requests' seeds, and of the randomised tests.
    is_seeded : bool
        Whether the decoder promises that a seed settles the text.
    timeout_seconds : float or None
        For one batch [s].
    given : tuple of Request
        Requests that are already made, instead of cells and prompts: those of a recording.
    """

    tokens: int
    cells: tuple[Cell, ...]
    prompts: tuple[tuple[int, ...], ...]
    fixed: tuple[tuple[int, ...], ...]
    level: float = LEVEL
    tolerance: float = 0.0
    seed: int = 0
    is_seeded: bool = True
    timeout_seconds: float | None = None
    given: tuple[Request, ...] = ()

    def __post_init__(self) -> None:
        checks.integer("tokens", self.tokens, low=1)
        checks.number("level", self.level, low=0, high=1, open_low=True)
        checks.probability("tolerance", self.tolerance)
        if not self.given and not (self.cells and self.prompts and self.fixed):
            raise InputError("a plan must have cells, prompts and fixed prompts, at least one each")
        if any(not prompt for prompt in (*self.prompts, *self.fixed)):
            raise InputError("prompts must hold a token each, got an empty one")

    @property
    def tags(self) -> tuple[str, ...]:
        """All tags that requests may have."""
        given = sorted({tag for request in self.given for tag in request.tags})
        return (*(cell.name for cell in self.cells), *given)

    @property
    def looks(self) -> tuple[int, ...]:
        """Tokens after which the whole recording is judged: a thousand, then fourfold, and the end."""
        looks: list[int] = []
        while (look := FIRST_LOOK * 4 ** len(looks)) < self.tokens:
            looks.append(look)
        return (*looks, self.tokens)

    @property
    def sizes(self) -> dict[str, int]:
        """Tokens that each cell is likely to get, if texts run to their full length [1]."""
        lengths = {cell.name: cell.weight * cell.parameters.max_tokens for cell in self.cells}
        return {name: round(self.tokens * length / sum(lengths.values())) for name, length in lengths.items()}

    def requests(self, first: int, count: int) -> list[Request]:
        """Requests number `first` to `first + count - 1`: the same whoever asks, and in whatever portions."""
        weights = np.array([cell.weight for cell in self.cells])
        made = []
        for number in range(first, first + count):
            rng = np.random.default_rng([self.seed, number])
            cell = self.cells[int(rng.choice(len(self.cells), p=weights / weights.sum()))]
            pool = self.fixed if cell.is_fixed else self.prompts
            made.append(
                Request(
                    id=str(number),
                    prompt=pool[int(rng.integers(len(pool)))],
                    parameters=cell.parameters,
                    seed=int(rng.integers(2**62)),
                    tags=(cell.name,),
                )
            )
        return made

    def next_requests(self, asked: int, tokens: int) -> list[Request]:
        """What to ask when `asked` requests have given `tokens` tokens; nothing when the budget is used up.

        Few at first, so that gross faults are cheap, then as many again as there were, up to a thousand; no more than
        the next look is likely to need.
        """
        if self.given:
            return list(self.given[asked : asked + _LARGEST_BATCH])
        if tokens >= self.tokens:
            return []
        goal = next(look for look in self.looks if look > tokens)
        needed = math.ceil((goal - tokens) * asked / tokens) + 1 if tokens else _FIRST_BATCH
        return self.requests(asked, min(_LARGEST_BATCH, max(_FIRST_BATCH, asked), needed))


def plan(
    *,
    vocabulary: int,
    tokens: int | None = None,
    seconds: float | None = None,
    tokens_per_second: float | None = None,
    eos_id: int | None = None,
    prompts: Sequence[Sequence[int]] | None = None,
    level: float = LEVEL,
    tolerance: float = 0.0,
    seed: int = 0,
    is_seeded: bool = True,
    timeout_seconds: float | None = None,
) -> Plan:
    """A plan for a decoder of a given vocabulary.

    Parameters
    ----------
    vocabulary : int
        V [1].
    tokens : int or None
        Budget: 1,000 for smoke, 4,000 for a pull request, 64,000 for a night, 256,000 for a release [1].
    seconds, tokens_per_second : float or None
        The budget as time and as what the decoder and the oracle make of it, instead of `tokens` [s, 1/s].
    eos_id : int or None
        The token that ends a text; None leaves out what needs one.
    prompts : sequence of prompts or None
        Token ids; random ones by default. The first four are asked over and over.
    level, tolerance, seed, is_seeded, timeout_seconds
        See `Plan`. With a tolerance there are no greedy requests: rounding decides between tokens of equal logits.

    Raises
    ------
    InputError
        No budget, or two; prompts outside the vocabulary.

    Examples
    --------
    >>> chosen = plan(tokens=4000, vocabulary=8, eos_id=7)
    >>> chosen.looks, len(chosen.cells), chosen.requests(5, 1) == chosen.requests(0, 6)[5:]
    ((1000, 4000), 16, True)
    >>> plan(seconds=60, tokens_per_second=500, vocabulary=8).tokens
    30000
    """
    size = checks.integer("vocabulary", vocabulary, low=2)
    rng = np.random.default_rng([checks.integer("seed", seed), size])
    random = [rng.integers(size, size=rng.integers(3, 9)).tolist() for _ in range(_PROMPTS)]
    pool = random if prompts is None else prompts
    kept = tuple(tuple(checks.integer("prompts", token, high=size - 1) for token in prompt) for prompt in pool)
    return Plan(
        tokens=_budget(tokens, seconds, tokens_per_second),
        cells=tuple(parameter_matrix(size, eos_id=eos_id, with_greedy=tolerance == 0)),
        prompts=kept,
        fixed=kept[:4],
        level=level,
        tolerance=tolerance,
        seed=seed,
        is_seeded=is_seeded,
        timeout_seconds=timeout_seconds,
    )


def _budget(tokens: int | None, seconds: float | None, tokens_per_second: float | None) -> int:
    if tokens is not None and seconds is None and tokens_per_second is None:
        return tokens
    if tokens is not None or seconds is None or tokens_per_second is None:
        raise InputError("give tokens, or seconds and tokens_per_second")
    return max(1, int(checks.positive("seconds", seconds) * checks.positive("tokens_per_second", tokens_per_second)))


def recorded_plan(
    requests: Sequence[Request], *, tokens: int, level: float = LEVEL, tolerance: float = 0.0, seed: int = 0
) -> Plan:
    """The plan of a recording: its requests, and at most so many of its tokens."""
    return Plan(
        tokens=tokens,
        cells=(),
        prompts=(),
        fixed=(),
        level=level,
        tolerance=tolerance,
        seed=seed,
        given=tuple(requests),
    )


def parameter_matrix(vocabulary: int, *, eos_id: int | None = None, with_greedy: bool = True) -> list[Cell]:
    """Parameters that engines get wrong, one kind at a time and some together.

    Examples
    --------
    >>> [cell.name for cell in parameter_matrix(8)][:3]
    ['warm prefix', 'cold prefix', 'low temperature']
    """
    few = max(2, min(vocabulary // 2, 20))
    a, b = vocabulary // 4, vocabulary // 2
    every = tuple(range(vocabulary)) if vocabulary <= 64 else ()
    ends = () if eos_id is None else (eos_id,)
    sequences = ((a, b), (b, b), (a + 1, a))
    cells = [
        Cell(name="warm prefix", parameters=Parameters(max_tokens=12), weight=4.0, is_fixed=True),
        Cell(name="cold prefix", parameters=Parameters(max_tokens=24)),
        Cell(name="low temperature", parameters=Parameters(temperature=0.6, max_tokens=24)),
        Cell(name="top-k", parameters=Parameters(top_k=few)),
        Cell(name="top-p", parameters=Parameters(top_p=0.8)),
        Cell(name="min-p", parameters=Parameters(min_p=0.15)),
        Cell(name="repetition", parameters=Parameters(repetition_penalty=1.4)),
        Cell(name="presence and frequency", parameters=Parameters(presence_penalty=0.6, frequency_penalty=0.5)),
        Cell(name="bias", parameters=Parameters(logit_bias={a: 1.5, b: -1.5})),
        Cell(name="bans", parameters=Parameters(banned_ids=(a, b))),
        Cell(name="stop sequences", parameters=Parameters(stop_sequences=sequences, max_tokens=40)),
        Cell(name="together", parameters=Parameters(temperature=0.8, top_p=0.9, min_p=0.02, repetition_penalty=1.2)),
    ]
    if with_greedy:
        cells.append(Cell(name="greedy", parameters=Parameters(temperature=0.0, max_tokens=16), weight=0.5))
    if every:
        grammar = {token: tuple(x for x in every if (x + token) % 2 or x in ends) for token in every}
        cells.append(Cell(name="grammar", parameters=Parameters(allowed_after=grammar)))
    if eos_id is not None:
        heavy = {eos_id: 1.5}
        cells.append(Cell(name="end of text", parameters=Parameters(eos_ids=ends, logit_bias=heavy), weight=1.5))
        cells.append(
            Cell(name="least length", parameters=Parameters(eos_ids=ends, logit_bias=heavy, min_tokens=4), weight=1.5)
        )
    return cells

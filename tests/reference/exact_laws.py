"""Laws of the accepted length by slow exact enumeration, written to mirror the definitions and nothing else.

Numbers are fractions; lengths are laws over 0..gamma. Nothing here imports specsim.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import comb, prod

ONE, ZERO = Fraction(1), Fraction(0)
Lengths = list[Fraction]


def lengths(survival: Sequence[Fraction]) -> Lengths:
    """P(accepted = k), k = 0..gamma, from P(accepted >= k), k = 1..gamma."""
    reached = [ONE, *survival, ZERO]
    return [here - deeper for here, deeper in pairwise(reached)]


def mean(law: Lengths) -> Fraction:
    return sum((k * share for k, share in enumerate(law)), ZERO)


# --- survival by law -----------------------------------------------------------------------------------------------


def by_depth(alphas: Sequence[Fraction]) -> list[Fraction]:
    return [prod(alphas[: k + 1], start=ONE) for k in range(len(alphas))]


def decay(a: Fraction, b: Fraction, *, gamma: int) -> list[Fraction]:
    return by_depth([a * b**k for k in range(gamma)])


def beta(a: int, b: int, *, gamma: int) -> list[Fraction]:
    """E[alpha^k] for whole a and b, from the integral of the density times x^k, term by term."""
    return [_moment(a + k, b) / _moment(a, b) for k in range(1, gamma + 1)]


def _moment(a: int, b: int) -> Fraction:
    """The integral of x^(a - 1) (1 - x)^(b - 1) over [0, 1]."""
    return sum((Fraction((-1) ** j * comb(b - 1, j), a + j) for j in range(b)), ZERO)


def markov(
    *,
    start_good: Fraction,
    stay_good: Fraction,
    stay_bad: Fraction,
    alpha_good: Fraction,
    alpha_bad: Fraction,
    gamma: int,
) -> list[Fraction]:
    """Over every path of states: the chance of the path times that of all drafts standing on it."""
    stay, alpha = (stay_good, stay_bad), (alpha_good, alpha_bad)
    survival = []
    for depth in range(1, gamma + 1):
        total = ZERO
        for path in product((0, 1), repeat=depth):
            chance = start_good if path[0] == 0 else 1 - start_good
            for here, there in pairwise(path):
                chance *= stay[here] if here == there else 1 - stay[here]
            total += chance * prod((alpha[state] for state in path), start=ONE)
        survival.append(total)
    return survival


def likelihood(alphas: Sequence[Fraction], rounds: Sequence[tuple[int, int]]) -> Fraction:
    """Probability of rounds (drafts judged, drafts that stood), one after the other."""
    total = ONE
    for judged, stood in rounds:
        total *= prod(alphas[:stood], start=ONE) * (ONE if stood == judged else 1 - alphas[stood])
    return total


def sensitivity(alphas: Sequence[Fraction]) -> list[Fraction]:
    """dE_tokens/dalpha_k: E_tokens is linear in each alpha_k, so the slope is what 1 gives more than 0."""
    ends = [[[*alphas[:k], end, *alphas[k + 1 :]] for end in (ONE, ZERO)] for k in range(len(alphas))]
    return [sum(by_depth(one)) - sum(by_depth(zero)) for one, zero in ends]


# --- batches, cycles, experts --------------------------------------------------------------------------------------


def extreme(law: Lengths, *, batch: int, of: Callable[[int, int], int]) -> Lengths:
    """Law of the least or largest of `batch` independent lengths, one joined after the other."""
    joined = law
    for _ in range(batch - 1):
        found = [ZERO] * len(law)
        for (one, p), (other, q) in product(enumerate(joined), enumerate(law)):
            found[of(one, other)] += p * q
        joined = found
    return joined


def cycle(*, draft: Fraction, verify: Fraction, hit_rate: Fraction) -> Fraction:
    """A hit hides the shorter of the two, a miss hides nothing."""
    return hit_rate * max(draft, verify) + (1 - hit_rate) * (draft + verify)


def distinct_experts(experts: int, active: int, tokens: int) -> Fraction:
    """Mean of how many experts are awake, from its law: each token wakes a uniform set of `active`."""
    awake: dict[int, Fraction] = {0: ONE}
    for _ in range(tokens):
        after: dict[int, Fraction] = defaultdict(Fraction)
        for count, share in awake.items():
            for new in range(min(active, experts - count) + 1):
                ways = comb(experts - count, new) * comb(count, active - new)
                after[count + new] += share * Fraction(ways, comb(experts, active))
        awake = after
    return sum((count * share for count, share in awake.items()), ZERO)

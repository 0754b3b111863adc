"""Warps, divergences and objectives again, slowly: fractions where they are rational, else forty digits.

Nothing here imports specsim. A law given by weights w has the logits log w, so that a bias of log b is a factor b.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from mpmath import mp, mpf

from tests.reference.exact import Law, Table, Text, normalised

mp.dps = 40


# --- warps, in fractions -------------------------------------------------------------------------------------------


def top_k(law: Law, k: int) -> Law:
    """The k largest and whatever ties with the k-th."""
    cut = sorted(law, reverse=True)[min(k, len(law)) - 1]
    return normalised([x if x >= cut else Fraction(0) for x in law])


def top_p(law: Law, mass: Fraction) -> Law:
    """The fewest most probable tokens that reach the mass; of tied ones the lower ids."""
    kept: set[int] = set()
    for token in sorted(range(len(law)), key=lambda x: (-law[x], x)):
        if sum((law[x] for x in kept), Fraction(0)) >= mass:
            break
        kept.add(token)
    return normalised([x if token in kept else Fraction(0) for token, x in enumerate(law)])


def min_p(law: Law, share: Fraction) -> Law:
    """Tokens with at least that share of the largest probability."""
    return normalised([x if x >= share * max(law) else Fraction(0) for x in law])


def penalised_table(
    weights: Law,
    *,
    prompt: Text = (),
    bias: dict[int, Fraction] | None = None,
    repetition_is_two: bool = False,
    presence: Fraction = Fraction(1),
    frequency: Fraction = Fraction(1),
) -> Table:
    """The table of texts after `prompt`: factors for bias and for having been said, per kind of penalty.

    With a repetition penalty of 2 a weight above 1 becomes its square root, one below its square: take perfect squares.
    """

    def table(text: Text) -> Law:
        said = [text.count(token) for token in range(len(weights))]
        row = [weight * (bias or {}).get(token, Fraction(1)) for token, weight in enumerate(weights)]
        if repetition_is_two:
            row = [_halved(w) if said[x] or x in prompt else w for x, w in enumerate(row)]
        return normalised([w / frequency ** said[x] / (presence if said[x] else 1) for x, w in enumerate(row)])

    return table


def _halved(weight: Fraction) -> Fraction:
    if weight < 1:
        return weight**2
    root = Fraction(round(weight.numerator**0.5), round(weight.denominator**0.5))
    assert root**2 == weight
    return root


def alpha(p: Iterable, q: Iterable):
    return sum(min(a, b) for a, b in zip(p, q, strict=True))


def alpha_argmax(p: Law, q: Law) -> Fraction:
    return p[q.index(max(q))]


# --- real numbers, in forty digits ---------------------------------------------------------------------------------


def softmax(logits: list, temperature=1) -> list[mpf]:
    weights = [mp.exp(mpf(z) / mpf(temperature)) for z in logits]
    return [weight / sum(weights) for weight in weights]


def kl(p: list, q: list) -> mpf:
    return sum((_real(a) * mp.log(_real(a) / _real(b)) for a, b in zip(p, q, strict=True) if a), mpf(0))


def _real(x: Fraction | mpf) -> mpf:
    return mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mpf(x)


def bounds(divergence: mpf) -> dict[str, mpf]:
    """What alpha is at least, by Pinsker, by Bretagnolle and Huber, and by the simple form of the latter."""
    return {
        "pinsker": max(mpf(0), 1 - mp.sqrt(divergence / 2)),
        "bretagnolle_huber": 1 - mp.sqrt(1 - mp.exp(-divergence)),
        "exponential": mp.exp(-divergence) / 2,
    }


def tv(p: list, q: list) -> mpf:
    return 1 - alpha(p, q)


LOSSES: dict[str, Callable[[list, list], mpf]] = {
    "forward_kl": kl,
    "reverse_kl": lambda p, q: kl(q, p),
    "tv": tv,
    "nla": lambda p, q: -mp.log(alpha(p, q)),
}


def mixed(share: mpf) -> Callable[[list, list], mpf]:
    """The hybrid loss with its share of KL held fixed."""
    return lambda p, q: share * kl(p, q) + (1 - share) * tv(p, q)


def gradient(loss: Callable[[list, list], mpf], p: list, logits: list) -> list[float]:
    """Central differences of a loss of q = softmax(logits), right to more digits than a double holds."""
    target, step = [mpf(x) for x in p], mpf(10) ** -13
    slopes = []
    for token in range(len(logits)):
        ends = []
        for sign in (1, -1):
            moved = [mpf(z) + (sign * step if j == token else 0) for j, z in enumerate(logits)]
            ends.append(loss(target, softmax(moved)))
        slopes.append(float((ends[0] - ends[1]) / (2 * step)))
    return slopes


def family_optima(p: list[float], *, low: int, high: int, steps: int) -> dict[str, dict[str, float]]:
    """Where in q_theta(i) ~ exp(-theta i) the two divergences are least and alpha is largest, theta on a grid."""
    target = [mpf(x) for x in p]
    grid = [Fraction(low) + Fraction(high - low, steps) * step for step in range(steps + 1)]
    drafts = {}
    for theta in grid:
        factor = mp.exp(-mpf(theta.numerator) / theta.denominator)
        weights = [factor**i for i in range(len(target))]
        drafts[theta] = [weight / sum(weights) for weight in weights]
    goals = {
        "forward_KL": LOSSES["forward_kl"],
        "reverse_KL": LOSSES["reverse_kl"],
        "TV": tv,
    }
    best = {name: min(grid, key=lambda theta: goal(target, drafts[theta])) for name, goal in goals.items()}
    return {
        name: {
            "theta": float(theta),
            "alpha": float(alpha(target, drafts[theta])),
            "KL": float(kl(target, drafts[theta])),
        }
        for name, theta in best.items()
    }

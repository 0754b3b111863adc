"""Speculative decoding by slow exact enumeration, written to mirror the definitions and nothing else.

Laws are tuples of fractions. A table maps a text (a tuple of token ids) to the law of the next token. A rule maps the
target's rows, the draft's rows and a draft to the law of (accepted drafts, next token). Nothing here imports specsim.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from math import prod

Law = tuple[Fraction, ...]
Text = tuple[int, ...]
Table = Callable[[Text], Law]
Rule = Callable[[list[Law], list[Law], Text], dict[tuple[int, int], Fraction]]
ONE, ZERO = Fraction(1), Fraction(0)


def normalised(weights: Iterator[Fraction] | list[Fraction]) -> Law:
    weights = list(weights)
    return tuple(weight / sum(weights) for weight in weights)


def one_hot(token: int, vocabulary: int) -> Law:
    return tuple(ONE if other == token else ZERO for other in range(vocabulary))


def argmax(law: Law) -> int:
    return law.index(max(law))


def random_table(seed: int, vocabulary: int, *, zeros: bool = False) -> Table:
    """A table of twelfths that depends on the whole text; with `zeros`, some tokens are forbidden."""

    @cache
    def table(text: Text) -> Law:
        draw = random.Random(f"{seed} {text}")
        cuts = draw.choices(range(13), k=vocabulary - 1) if zeros else draw.sample(range(1, 12), vocabulary - 1)
        return tuple(Fraction(high - low, 12) for low, high in pairwise([0, *sorted(cuts), 12]))

    return table


def iid(law: Law) -> Table:
    return lambda text: law


def greedy_table(table: Table) -> Table:
    """The table of greedy decoding: all mass on the first argmax."""
    return lambda text: one_hot(argmax(table(text)), len(table(text)))


# --- rules ---------------------------------------------------------------------------------------------------------


def residual(p: Law, q: Law) -> Law:
    """(p - q)+ normalised; p where nothing is left, which a right rule never draws from."""
    left = [max(a - b, ZERO) for a, b in zip(p, q, strict=True)]
    return normalised(left) if any(left) else p


def rejection(p_rows: list[Law], q_rows: list[Law], draft: Text) -> dict[tuple[int, int], Fraction]:
    """Accept x with min(1, p/q); else y ~ (p - q)+ normalised and the round ends; all accepted: y ~ the last row."""
    return _chain(p_rows, q_rows, draft, accept=lambda p, q, x: min(ONE, p[x] / q[x]), correction=residual)


def lookup(p_rows: list[Law], q_rows: list[Law], draft: Text) -> dict[tuple[int, int], Fraction]:
    """Drafts that are no draw: accept x with p(x); else y ~ p without x, normalised. Draft rows are not read."""
    outcomes: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    reached = ONE
    for k, x in enumerate(draft):
        p = p_rows[k]
        if p[x] < 1:
            for y, share in enumerate(normalised([ZERO if y == x else p[y] for y in range(len(p))])):
                outcomes[k, y] += reached * (1 - p[x]) * share
        reached *= p[x]
    for y, share in enumerate(p_rows[len(draft)]):
        outcomes[len(draft), y] += reached * share
    return _possible(outcomes)


def greedy(p_rows: list[Law], q_rows: list[Law], draft: Text) -> dict[tuple[int, int], Fraction]:
    """The longest prefix of the draft that is the target's argmax, then the target's argmax."""
    best = [argmax(row) for row in p_rows]
    accepted = next((k for k, x in enumerate(draft) if x != best[k]), len(draft))
    return {(accepted, best[accepted]): ONE}


def residual_is_p(p_rows: list[Law], q_rows: list[Law], draft: Text) -> dict[tuple[int, int], Fraction]:
    """Planted fault: the correction is drawn from p."""
    return _chain(p_rows, q_rows, draft, accept=lambda p, q, x: min(ONE, p[x] / q[x]), correction=lambda p, q: p)


def bonus_from_q(p_rows: list[Law], q_rows: list[Law], draft: Text) -> dict[tuple[int, int], Fraction]:
    """Planted fault: the bonus is drawn from the last row of the draft."""
    return rejection([*p_rows[:-1], q_rows[-1]], q_rows, draft)


def no_ratio(p_rows: list[Law], q_rows: list[Law], draft: Text) -> dict[tuple[int, int], Fraction]:
    """Planted fault: a drawn draft is accepted with p(x), not p(x)/q(x)."""
    return _chain(p_rows, q_rows, draft, accept=lambda p, q, x: p[x], correction=residual)


def _chain(
    p_rows: list[Law],
    q_rows: list[Law],
    draft: Text,
    *,
    accept: Callable[[Law, Law, int], Fraction],
    correction: Callable[[Law, Law], Law],
) -> dict[tuple[int, int], Fraction]:
    outcomes: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    reached = ONE
    for k, x in enumerate(draft):
        stands = accept(p_rows[k], q_rows[k], x)
        if stands < 1:
            fallen = reached * (1 - stands)
            for y, share in enumerate(correction(p_rows[k], q_rows[k])):
                if share:
                    outcomes[k, y] += fallen * share
        reached *= stands
    for y, share in enumerate(p_rows[len(draft)]):
        outcomes[len(draft), y] += reached * share
    return _possible(outcomes)


def _possible(outcomes: dict[tuple[int, int], Fraction]) -> dict[tuple[int, int], Fraction]:
    return {outcome: share for outcome, share in outcomes.items() if share}


# --- rounds and texts ----------------------------------------------------------------------------------------------


def cut(committed: Text, eos: int | None) -> Text:
    """What is committed: nothing after the first end-of-text token."""
    return committed[: committed.index(eos) + 1] if eos in committed else committed


def outcomes(
    p: Table, q: Table, rule: Rule, *, gamma: int, context: Text = ()
) -> Iterator[tuple[Text, int, int, Fraction]]:
    """Every (draft, accepted, token) of a round with its probability."""
    vocabulary = len(p(context))
    for draft in product(range(vocabulary), repeat=gamma):
        q_rows = [q(context + draft[:k]) for k in range(gamma)]
        drawn = prod((row[x] for row, x in zip(q_rows, draft, strict=True)), start=ONE)
        if drawn:
            p_rows = [p(context + draft[:k]) for k in range(gamma + 1)]
            for (accepted, token), share in rule(p_rows, q_rows, draft).items():
                yield draft, accepted, token, drawn * share


def round_law(p: Table, q: Table, rule: Rule, *, gamma: int, context: Text = ()) -> dict[Text, Fraction]:
    """Law of what one round commits, end-of-text apart."""
    law: dict[Text, Fraction] = defaultdict(Fraction)
    for draft, accepted, token, share in outcomes(p, q, rule, gamma=gamma, context=context):
        law[(*draft[:accepted], token)] += share
    return dict(law)


def accepted_pmf(p: Table, q: Table, rule: Rule, *, gamma: int) -> list[Fraction]:
    """Law of the accepted length of the first round."""
    pmf = [ZERO] * (gamma + 1)
    for _, accepted, _, share in outcomes(p, q, rule, gamma=gamma):
        pmf[accepted] += share
    return pmf


def text_law(
    p: Table,
    q: Table,
    rule: Rule,
    *,
    gamma: int,
    length: int,
    eos: int | None = None,
    ended: Callable[[Text, int | None], Text] = cut,
    seen: Callable[[Text], Text] = lambda text: text,
) -> dict[Text, Fraction]:
    """Law of the first `length` tokens of a text, over as many rounds as that takes.

    `ended` and `seen` (the context that a round works with) are there for faults to be planted.
    """
    law: dict[Text, Fraction] = defaultdict(Fraction)
    waiting: dict[Text, Fraction] = {(): ONE}
    while waiting:
        text, weight = waiting.popitem()
        for committed, share in round_law(p, q, rule, gamma=gamma, context=seen(text)).items():
            grown = text + ended(committed, eos)
            if len(grown) >= length or eos in grown:
                law[grown[:length]] += weight * share
            else:
                waiting[grown] = waiting.get(grown, ZERO) + weight * share
    return dict(law)


def target_law(p: Table, *, length: int, eos: int | None = None) -> dict[Text, Fraction]:
    """Law of the first `length` tokens of plain decoding."""
    law: dict[Text, Fraction] = {(): ONE}
    for _ in range(length):
        law = {
            grown: share * chance
            for text, share in law.items()
            for grown, chance in (
                [(text, ONE)] if eos in text else [((*text, x), chance) for x, chance in enumerate(p(text))]
            )
            if chance
        }
    return law


def total_variation(one: dict[Text, Fraction], other: dict[Text, Fraction]) -> Fraction:
    return sum((abs(one.get(text, ZERO) - other.get(text, ZERO)) for text in one.keys() | other.keys()), ZERO) / 2


# --- closed forms from their definitions ---------------------------------------------------------------------------


def survival_pmf(survival: list[Fraction]) -> list[Fraction]:
    """P(accepted = k) from P(accepted >= k), k = 1..gamma."""
    reached = [ONE, *survival, ZERO]
    return [here - deeper for here, deeper in pairwise(reached)]


def running_products(alphas: list[Fraction]) -> list[Fraction]:
    return [prod(alphas[: k + 1], start=ONE) for k in range(len(alphas))]


def moments(pmf: list[Fraction]) -> tuple[Fraction, Fraction]:
    """Mean and variance of the accepted length."""
    mean = sum((k * share for k, share in enumerate(pmf)), ZERO)
    return mean, sum(((k - mean) ** 2 * share for k, share in enumerate(pmf)), ZERO)

"""Chain rules beyond rejection, and draft-length decisions, by slow exact enumeration; see `exact`.

Nothing here imports specsim. Rules map the target's rows, the draft's rows and a draft to the law of (accepted drafts,
next token), in fractions; only the entropy of typical acceptance and the linear programme are floats.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from math import prod

import numpy as np
from scipy.optimize import linprog

from tests.reference.exact import ONE, ZERO, Law, Rule, Table, Text, argmax, normalised, one_hot, residual

Outcomes = dict[tuple[int, int], Fraction]
Lengths = Callable[[Text], int]


# --- block verification --------------------------------------------------------------------------------------------


def reaches(p_rows: list[Law], q_rows: list[Law], draft: Text) -> list[Fraction]:
    """p_0..p_G: p_i = min(1, p_(i-1) p/q)."""
    reach = [ONE]
    for p, q, x in zip(p_rows, q_rows, draft, strict=False):
        reach.append(min(ONE, reach[-1] * p[x] / q[x]))
    return reach


def chances(p_rows: list[Law], q_rows: list[Law], draft: Text) -> list[Fraction]:
    """h_1..h_G: h_i = Z_i / (Z_i + 1 - p_i) with Z_i = sum (p_i p - q)+, and h_G = p_G; 0/0 is 1."""
    reach = reaches(p_rows, q_rows, draft)
    found = []
    for i in range(1, len(draft)):
        z = sum((max(reach[i] * a - b, ZERO) for a, b in zip(p_rows[i], q_rows[i], strict=True)), ZERO)
        found.append(z / (z + 1 - reach[i]) if z + 1 - reach[i] else ONE)
    return [*found, reach[-1]] if draft else []


def last_that_passes(coins: tuple[bool, ...]) -> int:
    return max((i for i, passes in enumerate(coins, start=1) if passes), default=0)


def first_that_fails(coins: tuple[bool, ...]) -> int:
    return next((i for i, passes in enumerate(coins) if not passes), len(coins))


def block(
    p_rows: list[Law],
    q_rows: list[Law],
    draft: Text,
    *,
    accepted_of: Callable[[tuple[bool, ...]], int] = last_that_passes,
    chances_of: Callable[[list[Law], list[Law], Text], list[Fraction]] = chances,
    scaled: bool = True,
) -> Outcomes:
    """Every combination of coins; the mutants are in the arguments."""
    outcomes: Outcomes = defaultdict(Fraction)
    h, reach = chances_of(p_rows, q_rows, draft), reaches(p_rows, q_rows, draft)
    for coins in product((False, True), repeat=len(draft)):
        weight = prod((chance if passes else 1 - chance for chance, passes in zip(h, coins, strict=True)), start=ONE)
        if not weight:
            continue
        tau = accepted_of(coins)
        law = p_rows[tau]
        if tau < len(draft):
            kept = reach[tau] if scaled else ONE
            left = [max(kept * a - b, ZERO) for a, b in zip(law, q_rows[tau], strict=True)]
            law = normalised(left) if sum(left) else law
        for y, share in enumerate(law):
            outcomes[tau, y] += weight * share
    return _possible(outcomes)


def early_exit(p_rows: list[Law], q_rows: list[Law], draft: Text) -> Outcomes:
    """Planted fault: the first coin that fails ends the round."""
    return block(p_rows, q_rows, draft, accepted_of=first_that_fails)


def unscaled_residual(p_rows: list[Law], q_rows: list[Law], draft: Text) -> Outcomes:
    """Planted fault: the next token comes from (p - q)+."""
    return block(p_rows, q_rows, draft, scaled=False)


def no_h(p_rows: list[Law], q_rows: list[Law], draft: Text) -> Outcomes:
    """Planted fault: p_i is taken for the chance to pass."""
    return block(p_rows, q_rows, draft, chances_of=lambda p, q, x: reaches(p, q, x)[1:])


def late_clamp(p_rows: list[Law], q_rows: list[Law], draft: Text) -> Outcomes:
    """Planted fault: ratios are multiplied first, and cut at 1 only then."""

    def unclamped(p: list[Law], q: list[Law], x: Text) -> list[Fraction]:
        reach = [ONE]
        for a, b, token in zip(p, q, x, strict=False):
            reach.append(reach[-1] * a[token] / b[token])
        cut = [min(ONE, r) for r in reach]
        found = []
        for i in range(1, len(x)):
            z = sum((max(cut[i] * a - b, ZERO) for a, b in zip(p[i], q[i], strict=True)), ZERO)
            found.append(z / (z + 1 - cut[i]) if z + 1 - cut[i] else ONE)
        return [*found, cut[-1]]

    return block(p_rows, q_rows, draft, chances_of=unclamped)


def full_information(p: Table, q: Table, *, gamma: int) -> list[Fraction]:
    """Sum over x_1..x_k of min(p(x_1..x_k), q(x_1..x_k)), for k = 1..gamma."""
    size = len(p(()))
    return [
        sum((min(path(p, x), path(q, x)) for x in product(range(size), repeat=k)), ZERO) for k in range(1, gamma + 1)
    ]


def path(table: Table, text: Text) -> Fraction:
    return prod((table(text[:k])[x] for k, x in enumerate(text)), start=ONE)


def best_expected_accepted(p: Table, q: Table, *, gamma: int) -> float:
    """The most that any rule accepts whose text is the target's, by linear programme over everything it may do.

    A variable for each (draft, accepted, token); what is not committed in this round comes from the target.
    """
    size = len(p(()))
    drafts = list(product(range(size), repeat=gamma))
    texts = list(product(range(size), repeat=gamma + 1))
    variables = [(x, k, y) for x in drafts for k in range(gamma + 1) for y in range(size)]
    rows, bounds = [], []
    for x in drafts:  # the rule answers every draft
        rows.append([float(variable[0] == x) for variable in variables])
        bounds.append(float(path(q, x)))
    for text in texts:  # and the text has the target's law
        rest = [
            float(prod((p(text[:j])[text[j]] for j in range(k + 1, gamma + 1)), start=ONE)) for k in range(gamma + 1)
        ]
        rows.append([rest[k] * ((*x[:k], y) == text[: k + 1]) for x, k, y in variables])
        bounds.append(float(path(p, text)))
    gain = [-float(k) for _, k, _ in variables]
    return float(-linprog(gain, A_eq=np.array(rows), b_eq=bounds, bounds=(0, None), method="highs").fun)


# --- Gumbel coupling -----------------------------------------------------------------------------------------------


def gumbel_match(p: Law, q: Law) -> Fraction:
    """Sum over j of 1 / sum over i of max(p_i/p_j, q_i/q_j), as the paper has it."""
    return sum((both_pick(p, q, j) for j in range(len(p))), ZERO)


def both_pick(p: Law, q: Law, j: int) -> Fraction:
    if not p[j] or not q[j]:
        return ZERO
    return 1 / sum(max(a / p[j], b / q[j]) for a, b in zip(p, q, strict=True))


def picks(p: Law, q: Law, x: int, v: int) -> Fraction:
    """P(the draft picks x, the target v) in a race with shared exponential noise.

    With x the first under q at time s and v the first under p at time t = r s, the density in (s, r) is
    q_x p_v s exp(-s C(r)), C(r) = sum of max(q_i, p_i r), for q_v / p_v <= r <= q_x / p_x; s integrates to C^-2.
    """
    if x == v:
        return both_pick(p, q, x)
    if not q[x] or not p[v] or (p[x] and q[x] / p[x] <= q[v] / p[v]):
        return ZERO
    low, high = q[v] / p[v], q[x] / p[x] if p[x] else None
    inside = {b / a for a, b in zip(p, q, strict=True) if a and b / a > low and (high is None or b / a < high)}
    ends = [low, *sorted(inside), *([high] if high is not None else [])]

    def height(r: Fraction) -> Fraction:
        return sum((max(b, a * r) for a, b in zip(p, q, strict=True)), ZERO)

    area = sum(((b - a) / (height(a) * height(b)) for a, b in pairwise(ends)), ZERO)
    if high is None:  # past the last ratio C rises by all of p
        area += 1 / height(ends[-1])
    return q[x] * p[v] * area


def gumbel(p_rows: list[Law], q_rows: list[Law], draft: Text) -> Outcomes:
    """The target's pick given the draft's, row by row, until they differ."""
    outcomes: Outcomes = defaultdict(Fraction)
    reached = ONE
    for k, x in enumerate(draft):
        p, q = p_rows[k], q_rows[k]
        for v in range(len(p)):
            if v != x:
                outcomes[k, v] += reached * picks(p, q, x, v) / q[x]
        reached *= both_pick(p, q, x) / q[x]
    for v, share in enumerate(p_rows[len(draft)]):
        outcomes[len(draft), v] += reached * share
    return _possible(outcomes)


# --- lossy rules ---------------------------------------------------------------------------------------------------


def judged(
    p_rows: list[Law],
    q_rows: list[Law],
    draft: Text,
    *,
    stands: Callable[[Law, Law, int], Fraction],
    replaced: Callable[[Law, Law, int], Law],
    bonus: Callable[[Law], Law] = lambda p: p,
) -> Outcomes:
    """Token by token, with any chance to stand and any law of what replaces a draft."""
    outcomes: Outcomes = defaultdict(Fraction)
    reached = ONE
    for k, x in enumerate(draft):
        chance = stands(p_rows[k], q_rows[k], x)
        if chance < 1:
            for y, share in enumerate(replaced(p_rows[k], q_rows[k], x)):
                outcomes[k, y] += reached * (1 - chance) * share
        reached *= chance
    for y, share in enumerate(bonus(p_rows[len(draft)])):
        outcomes[len(draft), y] += reached * share
    return _possible(outcomes)


def lenient(factor: Fraction, *, scaled: bool = False) -> Rule:
    """min(1, p / (l q)); replaced from (p - q)+, or with `scaled` from (p - l q)+."""
    share = factor if scaled else ONE

    def replaced(p: Law, q: Law, x: int) -> Law:
        return residual(p, tuple(share * b for b in q))

    return partial(judged, stands=lambda p, q, x: min(ONE, p[x] / (factor * q[x])), replaced=replaced)


def greedily_lenient(factor: Fraction) -> Rule:
    """At temperature 0: p(x) >= l max p; else, and after the chain, the argmax."""
    return partial(
        judged,
        stands=lambda p, q, x: ONE if p[x] >= factor * max(p) else ZERO,
        replaced=lambda p, q, x: one_hot(argmax(p), len(p)),
        bonus=lambda p: one_hot(argmax(p), len(p)),
    )


def typical_threshold(p: Law, *, epsilon: float = 0.3, delta: float = 0.09) -> float:
    entropy = -sum(float(a) * math.log(a) for a in p if a)
    return min(epsilon, delta * math.exp(-entropy))


def typical(p_rows: list[Law], q_rows: list[Law], draft: Text, **limits: float) -> Outcomes:
    """A draft above the threshold stands; the next token comes from what is above it."""

    def cut(p: Law, q: Law = (), x: int = 0) -> Law:
        return normalised([a if a > typical_threshold(p, **limits) else ZERO for a in p])

    def stands(p: Law, q: Law, x: int) -> Fraction:
        return ONE if p[x] > typical_threshold(p, **limits) else ZERO

    return judged(p_rows, q_rows, draft, stands=stands, replaced=cut, bonus=cut)


def threshold(single: Fraction, accumulated: Fraction) -> Rule:
    """p(x) >= single, or a coin below p(x) / accumulated; replaced by p without x."""

    def stands(p: Law, q: Law, x: int) -> Fraction:
        return ONE if p[x] >= single else min(ONE, p[x] / accumulated)

    def replaced(p: Law, q: Law, x: int) -> Law:
        return normalised([ZERO if y == x else a for y, a in enumerate(p)])

    return partial(judged, stands=stands, replaced=replaced)


# --- draft-length decisions ----------------------------------------------------------------------------------------


def completed(p: Table, q: Table, rule: Rule, draft: Text, *, judging: int, context: Text = ()) -> dict[Text, Fraction]:
    """Law of the first G + 1 tokens given a draft of which only the first `judging` are judged."""
    law: dict[Text, Fraction] = defaultdict(Fraction)
    seen = draft[:judging]
    p_rows = [p(context + seen[:k]) for k in range(judging + 1)]
    q_rows = [q(context + seen[:k]) for k in range(judging)]
    for (accepted, token), share in rule(p_rows, q_rows, seen).items():
        for text, rest in _continued(p, (*seen[:accepted], token), length=len(draft) + 1, context=context):
            law[text] += share * rest
    return law


def _continued(p: Table, text: Text, *, length: int, context: Text) -> Iterator[tuple[Text, Fraction]]:
    for tail in product(range(len(p(context))), repeat=length - len(text)):
        whole = text + tail
        share = prod((p(context + whole[:k])[whole[k]] for k in range(len(text), length)), start=ONE)
        if share:
            yield whole, share


def round_text(p: Table, q: Table, rule: Rule, *, gamma: int, lengths: Lengths | None = None) -> dict[Text, Fraction]:
    """Law of the first G + 1 tokens where the drafts decide how many of them are judged."""
    law: dict[Text, Fraction] = defaultdict(Fraction)
    for draft in product(range(len(p(()))), repeat=gamma):
        drawn = path(q, draft)
        if drawn:
            judging = gamma if lengths is None else lengths(draft)
            for text, share in completed(p, q, rule, draft, judging=judging).items():
                law[text] += drawn * share
    return dict(law)


def round_accepted(p: Table, q: Table, rule: Rule, *, gamma: int, lengths: Lengths) -> Fraction:
    """E_accepted where the drafts decide how many of them are judged."""
    total = ZERO
    for draft in product(range(len(p(()))), repeat=gamma):
        seen = draft[: lengths(draft)]
        rows = [p(seen[:k]) for k in range(len(seen) + 1)], [q(seen[:k]) for k in range(len(seen))]
        if path(q, draft):
            total += path(q, draft) * sum(k * share for (k, _), share in rule(*rows, seen).items())
    return total


def joint_text(
    requests: list[tuple[Table, Table]], rule: Rule, *, gamma: int, lengths: Callable[[tuple[Text, ...]], list[int]]
) -> dict[tuple[Text, ...], Fraction]:
    """Joint law of the first G + 1 tokens of several requests, whose drafts together decide how many are judged."""
    law: dict[tuple[Text, ...], Fraction] = defaultdict(Fraction)
    chains = [list(product(range(len(p(()))), repeat=gamma)) for p, _ in requests]
    for drafts in product(*chains):
        drawn = prod((path(q, draft) for (_, q), draft in zip(requests, drafts, strict=True)), start=ONE)
        parts = [
            completed(p, q, rule, draft, judging=judging).items()
            for (p, q), draft, judging in zip(requests, drafts, lengths(drafts), strict=True)
        ]
        for outcome in product(*parts):
            law[tuple(text for text, _ in outcome)] += drawn * prod((share for _, share in outcome), start=ONE)
    return dict(law)


def joint_target(requests: list[tuple[Table, Table]], *, length: int) -> dict[tuple[Text, ...], Fraction]:
    """Independent plain decoding of several requests."""
    texts = [list(product(range(len(p(()))), repeat=length)) for p, _ in requests]
    return {
        several: prod((path(p, text) for (p, _), text in zip(requests, several, strict=True)), start=ONE)
        for several in product(*texts)
    }


def likeliest(confidences: list[list[Fraction]], *, budget: int) -> list[int]:
    """Drafts of each request among the `budget` largest running products, ties to the earlier request and depth."""
    products = [
        (-prod(row[: k + 1], start=ONE), request, k) for request, row in enumerate(confidences) for k in range(len(row))
    ]
    admitted = [request for _, request, _ in sorted(products)[:budget]]
    return [admitted.count(request) for request in range(len(confidences))]


def throughputs(confidences: list[list[Fraction]], rate: Callable[[int], Fraction]) -> list[Fraction]:
    """(R + the B largest running products) times rate(R + B), for B = 0, 1, 2.."""
    products = sorted((prod(row[: k + 1], start=ONE) for row in confidences for k in range(len(row))), reverse=True)
    count = len(confidences)
    return [(count + sum(products[:b], ZERO)) * rate(count + b) for b in range(len(products) + 1)]


def early_stop(thetas: list[Fraction]) -> int:
    """How many are admitted before the first that does not raise the throughput."""
    return next((b for b, (here, more) in enumerate(pairwise(thetas)) if more <= here), len(thetas) - 1)


def _possible(outcomes: Outcomes) -> Outcomes:
    return {outcome: share for outcome, share in outcomes.items() if share}

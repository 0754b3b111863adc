"""Rounds played with tokens, against exact enumeration of the same rounds."""

from __future__ import annotations

import tracemalloc
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from specsim import tau
from specsim.acceptance import Acceptance
from specsim.errors import InputError
from specsim.simulate import (
    DepthSource,
    MarkovSource,
    first_round_pmf,
    read_source,
    simulate_source,
    simulate_source_records,
)
from specsim.stats.chi_square import goodness_of_fit
from specsim.verifiers import VERIFIERS
from tests.reference import exact

LEVEL = 1e-7  # false-alarm rate of each random test here
P = [
    [Fraction(7, 10), Fraction(2, 10), Fraction(1, 10)],
    [Fraction(1, 3)] * 3,
    [Fraction(0), Fraction(1, 4), Fraction(3, 4)],
]
Q = [
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)],
    [Fraction(1, 10), Fraction(1, 10), Fraction(8, 10)],
    [Fraction(1, 3)] * 3,
]
GAMMA = 2


def floats(table: list[list[Fraction]]) -> np.ndarray:
    return np.array(table, dtype=np.float64)


def source() -> MarkovSource:
    return MarkovSource(p=floats(P), q=floats(Q), start=(1,))


def by_depth() -> DepthSource:
    rng = np.random.default_rng(3)
    return DepthSource(p=rng.dirichlet(np.ones(4), 4), q=rng.dirichlet(np.ones(4), 3))


def two_rounds(rule: exact.Rule) -> dict[tuple[int, int], float]:
    """Exact law of the accepted drafts of a text's first two rounds, by enumeration."""
    p, q = (lambda text: tuple(P[text[-1]])), (lambda text: tuple(Q[text[-1]]))
    law: dict[tuple[int, int], float] = defaultdict(float)
    for draft, first, token, share in exact.outcomes(p, q, rule, gamma=GAMMA, context=(1,)):
        text = (1, *draft[:first], token)
        for _, second, _, chance in exact.outcomes(p, q, rule, gamma=GAMMA, context=text):
            law[first, second] += float(share * chance)
    return law


def pairs(verifier: str, requests: int) -> dict[tuple[int, int], int]:
    """How often the first two rounds of a text accepted which two lengths."""
    counts: dict[tuple[int, int], int] = defaultdict(int)
    records = simulate_source_records(
        source(), gamma=GAMMA, requests=requests, rounds_per_request=2, seed=1, verifier=verifier
    )
    for one, two in zip(records[::2], records[1::2], strict=True):
        counts[one.accepted, two.accepted] += 1
    return counts


@pytest.mark.parametrize(("verifier", "rule"), [("rejection", exact.rejection), ("greedy", exact.greedy)])
def test_two_rounds_of_a_text_follow_their_joint_law(verifier: str, rule: exact.Rule) -> None:
    """Null: the enumerated law of the lengths of two rounds, across their boundary; n = 30000 texts; level 1e-7.

    Power: a text that starts over in its second round is caught.
    """
    law, counts = two_rounds(rule), pairs(verifier, 30_000)
    cells = sorted(law)
    seen, hoped = [counts[cell] for cell in cells], [law[cell] for cell in cells]
    assert sum(seen) == 30_000
    assert goodness_of_fit(seen, hoped, min_expected=20).passed(LEVEL)
    first = [sum(share for (one, _), share in law.items() if one == length) for length in range(GAMMA + 1)]
    assert not goodness_of_fit(seen, [first[one] * first[two] for one, two in cells], min_expected=20).passed(LEVEL)


@pytest.mark.parametrize("draft", ["sampled", "argmax"])
@pytest.mark.parametrize("verifier", VERIFIERS)
def test_every_rule_accepts_as_its_law_says(verifier: str, draft: str) -> None:
    """Null: the rule's exact law of the accepted length; n = 60000; false-alarm rate 1e-7. Power: the law at p = q."""
    arguments = {"gamma": 3, "verifier": verifier, "draft": draft}
    counts = simulate_source(by_depth(), requests=600, rounds_per_request=100, seed=2, **arguments)
    law = first_round_pmf(by_depth(), **arguments)
    assert counts.sum() == 60_000
    if np.count_nonzero(law > 1e-12) > 1:
        assert goodness_of_fit(counts, law.clip(0), min_expected=20).passed(LEVEL)
        wrong = np.roll(law, 1)
        assert not goodness_of_fit(counts, wrong.clip(0), min_expected=20).passed(LEVEL)
    else:
        assert counts[law.argmax()] == 60_000


def test_the_first_round_is_that_of_the_tables() -> None:
    """Against enumeration, for laws that look back two tokens and a start of two."""
    rng = np.random.default_rng(5)
    deep = MarkovSource(p=rng.dirichlet(np.ones(3), (3, 3)), q=rng.dirichlet(np.ones(3), 3), start=(2, 0))
    fractions = [[[Fraction(x) for x in row] for row in rows] for rows in deep.p.tolist()]
    drafts = [[Fraction(x) for x in row] for row in deep.q.tolist()]
    p, q = (lambda text: tuple(fractions[text[-2]][text[-1]])), (lambda text: tuple(drafts[text[-1]]))
    pmf = [0.0] * 3
    for _, accepted, _, share in exact.outcomes(p, q, exact.rejection, gamma=2, context=(2, 0)):
        pmf[accepted] += float(share)
    np.testing.assert_allclose(first_round_pmf(deep, gamma=2), pmf, rtol=1e-9)
    acceptance = Acceptance.from_tables(*deep.tables(2))
    np.testing.assert_allclose(tau.accepted_pmf(acceptance, gamma=2), pmf, rtol=1e-9)


def test_records_are_the_rounds_that_the_counts_count() -> None:
    arguments = {"gamma": 3, "requests": 40, "rounds_per_request": 7, "seed": 4}
    records = simulate_source_records(source(), **arguments)
    lengths = np.bincount([record.accepted for record in records], minlength=4)
    np.testing.assert_array_equal(lengths, simulate_source(source(), **arguments))
    assert [(record.request, record.round) for record in records[:8]] == [*[("0", k) for k in range(7)], ("1", 0)]
    for before, after in pairwise(records):
        if after.request == before.request:
            assert after.context_tokens == before.context_tokens + before.committed
        assert after.committed == after.accepted + 1
        assert (after.gamma, after.drafted, after.draft_passes, after.proposer) == (3, 3, 3, "sampled")


def test_the_seed_alone_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specsim.simulate.play.BLOCK_NUMBERS", 300)  # many blocks, the last one short
    arguments = {"gamma": 3, "requests": 1001, "rounds_per_request": 5}
    alone = simulate_source(source(), **arguments, seed=5)
    with ThreadPoolExecutor(3) as executor:
        together = simulate_source(source(), **arguments, seed=5, executor=executor)
    np.testing.assert_array_equal(alone, together)
    assert (alone != simulate_source(source(), **arguments, seed=6)).any()
    assert alone.sum() == 5005


def test_more_texts_leave_the_first_ones_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specsim.simulate.play.BLOCK_NUMBERS", 300)
    few, many = (
        simulate_source_records(source(), gamma=3, requests=requests, rounds_per_request=3, seed=7)
        for requests in (28, 90)  # 300 // (7 * 3) = 14 in a block
    )
    assert many[: len(few)] == few


def test_memory_does_not_grow_with_the_texts() -> None:
    peaks = []
    for requests in (140_000, 560_000):  # two blocks, eight
        tracemalloc.start()
        simulate_source(source(), gamma=2, requests=requests, rounds_per_request=1, seed=8)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0] < 1.1e8


def test_one_law_for_both_accepts_everything() -> None:
    same = MarkovSource(p=floats(P), q=floats(P))
    counts = simulate_source(same, gamma=4, requests=50, rounds_per_request=4, seed=9)
    assert counts.tolist() == [0, 0, 0, 0, 200]


def test_laws_that_share_nothing_accept_nothing() -> None:
    apart = MarkovSource(p=[1.0, 0.0], q=[0.0, 1.0])
    assert simulate_source(apart, gamma=3, requests=5, rounds_per_request=4, seed=0).tolist() == [20, 0, 0, 0]


def test_edges() -> None:
    only = MarkovSource(p=[[1.0]], q=[[1.0]])
    assert simulate_source(only, gamma=2, requests=3, rounds_per_request=2, seed=0).tolist() == [0, 0, 6]
    assert simulate_source(source(), gamma=0, requests=3, rounds_per_request=2, seed=0).tolist() == [6]
    assert simulate_source(source(), gamma=2, requests=0, rounds_per_request=2, seed=0).tolist() == [0, 0, 0]
    assert simulate_source_records(source(), gamma=2, requests=3, rounds_per_request=0, seed=0) == []
    plain = simulate_source_records(source(), gamma=0, requests=1, rounds_per_request=1, seed=0)[0]
    assert (plain.proposer, plain.committed, plain.context_tokens) == ("none", 1, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MarkovSource(p=[[0.5, 0.6], [0.5, 0.5]], q=[0.5, 0.5]), r"p\[0\] must sum to 1, got 1.1"),
        (lambda: MarkovSource(p=[0.5, 0.5], q=[1.0]), "one vocabulary on every axis"),
        (lambda: MarkovSource(p=[[0.5, 0.5]], q=[0.5, 0.5]), "one vocabulary on every axis"),
        (
            lambda: MarkovSource(p=floats(P), q=floats(Q), start=(0, 0)),
            "the 1 tokens that the laws look back at, got 2",
        ),
        (lambda: MarkovSource(p=floats(P), q=floats(Q), start=(3,)), r"start\[0\] must be in 0..2, got 3"),
        (lambda: DepthSource(p=floats(P), q=floats(Q)), r"shapes \(G \+ 1, V\) and \(G, V\)"),
        (lambda: DepthSource(p=[[0.5, float("nan")]], q=np.ones((0, 2))), "p.* must be finite"),
        (
            lambda: simulate_source(by_depth(), gamma=4, requests=1, rounds_per_request=1, seed=0),
            "gamma must be in 0..3, the depths of the source, got 4",
        ),
        (
            lambda: simulate_source(source(), gamma=1, requests=1, rounds_per_request=1, seed=0, verifier="blok"),
            "did you mean block",
        ),
        (
            lambda: simulate_source(source(), gamma=1, requests=1, rounds_per_request=1, seed=0, draft="best"),
            "draft 'best' is unknown",
        ),
        (lambda: simulate_source(source(), gamma=1, requests=-1, rounds_per_request=1, seed=0), "requests must be"),
    ],
)
def test_bad_input_is_named(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]


def test_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "markov.npz", p=floats(P), q=floats(Q))
    np.savez(tmp_path / "depth.npz", p=by_depth().p, q=by_depth().q)
    np.savez(tmp_path / "half.npz", p=floats(P))
    np.savez(tmp_path / "objects.npz", p=np.array([None]), q=np.array([None]))
    np.save(tmp_path / "bare.npy", floats(P))
    np.savez(tmp_path / "sum.npz", p=[[0.5, 0.6]] * 3, q=[[0.5, 0.5]] * 2)
    np.savez(tmp_path / "depths.npz", p=[[0.5, 0.5]] * 3, q=[[0.5, 0.5]] * 3)
    np.savez(tmp_path / "complex.npz", p=np.full((3, 2), 0.5 + 0j), q=[[0.5, 0.5]] * 2)
    (tmp_path / "text.npz").write_text("p,q\n")
    (tmp_path / "torn.npz").write_bytes((tmp_path / "markov.npz").read_bytes()[:100])
    assert isinstance(read_source(tmp_path / "markov.npz"), MarkovSource)
    assert isinstance(read_source(tmp_path / "depth.npz"), DepthSource)
    for name, message in (
        ("half.npz", "must hold the arrays p and q"),
        ("objects.npz", "is no .npz of numbers"),
        ("bare.npy", "is no .npz of numbers"),
        ("text.npz", "is no .npz of numbers"),
        ("torn.npz", "is no .npz of numbers"),
        ("none.npz", "No such file"),
        ("sum.npz", r"sum.npz: p\[0\] must sum to 1, got 1.1"),
        ("depths.npz", r"depths.npz: p and q must have shapes \(G \+ 1, V\) and \(G, V\), got \(3, 2\) and \(3, 2\)"),
        ("complex.npz", "complex.npz: p must be an array of numbers"),
    ):
        with pytest.raises(InputError, match=message):
            read_source(tmp_path / name)

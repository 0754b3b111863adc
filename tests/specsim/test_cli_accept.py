"""`specsim accept`, and the comparison of rules behind it."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specsim.comparison import Rows, compare_candidates, compare_chains, compare_depths, full_information, read_rows
from specsim.comparison import candidates as candidates_module
from specsim.comparison import chains as chains_module
from specsim.distributions import argmax_overlap, overlap, softmax
from specsim.errors import InputError
from specsim.verifiers import VERIFIERS, Rejection
from specsim.verifiers.multi_draft import MULTI_DRAFT
from tests.reference import exact

TOY_P, TOY_Q = (1 / 3, 2 / 3), (2 / 3, 1 / 3)
TABLE_A = Rows(p=[[0.5, 0.3, 0.2]] * 3, q=[[0.2, 0.3, 0.5]] * 2)


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """The example of the block verification paper, gamma 2."""
    path = tmp_path / "toy.npz"
    np.savez(path, p=[TOY_P] * 3, q=[TOY_Q] * 2)
    return path


@st.composite
def rows(draw: st.DrawFn) -> Rows:
    """Laws of a small vocabulary, zeros included, differing by depth."""
    size, gamma = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    weights = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
    p = np.array([draw(weights) for _ in range(gamma + 1)], float)
    q = np.array([draw(weights) for _ in range(gamma)], float)
    return Rows(p=p / p.sum(axis=1, keepdims=True), q=q / q.sum(axis=1, keepdims=True))


# --- the answer ----------------------------------------------------------------------------------------------------


def test_the_block_papers_toy(cli, toy: Path) -> None:
    result = cli("accept", toy, "--json").result
    assert result["rules"]["rejection"]["E_accepted"] == pytest.approx(10 / 9, rel=1e-12)
    assert result["rules"]["block"]["E_accepted"] == pytest.approx(11 / 9, rel=1e-12)
    assert result["E_accepted_full_information"] == pytest.approx(12 / 9, rel=1e-12)
    assert result["rules"]["block"]["E_tokens"] == pytest.approx(20 / 9, rel=1e-12)
    assert result["rules"]["rejection"]["E_accepted_argmax"] == pytest.approx(1 / 3 + 1 / 9, rel=1e-12)
    assert (result["gamma"], result["vocabulary"], result["multi_draft"]) == (2, 2, None)
    assert set(result["rules"]) == set(VERIFIERS)
    first = result["depths"][0]
    assert (first["depth"], first["alpha"], first["argmax_alpha"]) == pytest.approx((1, 2 / 3, 1 / 3))
    assert first["gumbel_lower_bound"] == pytest.approx(1 / 2)
    assert first["gumbel_lower_bound"] <= first["gumbel"] <= first["alpha"] + 1e-12
    assert first["independent"] == pytest.approx(4 / 9)


def test_the_answer_for_people(cli, toy: Path) -> None:
    ran = cli("accept", toy, "--drafts", 2)
    assert (ran.code, ran.err) == (0, "")
    assert "token verification accepts 1.111 and block verification 1.222" in " ".join(ran.out.split())
    for rule in (*VERIFIERS, *MULTI_DRAFT, "(optimum_without_replacement)"):
        assert rule in ran.out
    (greedy,) = (line for line in ran.out.splitlines() if line.startswith("│ greedy "))
    assert "greedy text" in greedy
    assert "2 candidates a token" in ran.out


def test_the_envelope(cli, toy: Path) -> None:
    answer = cli("accept", toy, "--drafts", 2, "--seed", 5, "--json").json
    assert set(answer) == {"schema", "command", "inputs", "result", "assumptions", "version"}
    assert answer["inputs"] == {"file": str(toy), "drafts": 2, "seed": 5}
    assert any("K children" in line for line in answer["assumptions"])
    assert set(answer["result"]["multi_draft"]) == {
        *MULTI_DRAFT,
        "optimum_with_replacement",
        "optimum_without_replacement",
    }


def test_lines_and_arrays_give_the_same_answer(cli, toy: Path, tmp_path: Path) -> None:
    lines = [*({"p": TOY_P, "q": TOY_Q} for _ in range(2)), {"p": TOY_P}]
    text = "\n".join(json.dumps(line) for line in lines) + "\n\n"
    (tmp_path / "toy.jsonl").write_text(text)
    (tmp_path / "toy.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    answers = [cli("accept", tmp_path / name, "--json").result for name in ("toy.npz", "toy.jsonl", "toy.jsonl.gz")]
    assert answers[0] == answers[1] == answers[2]


def test_float32_and_whole_numbers_are_laws_too(cli, tmp_path: Path) -> None:
    law = softmax(np.random.default_rng(0).normal(size=(3, 50)).astype(np.float32))
    np.savez(tmp_path / "single.npz", p=law, q=law[:2])
    assert cli("accept", tmp_path / "single.npz", "--json").result["rules"]["rejection"]["E_accepted"] == pytest.approx(
        2, abs=1e-5
    )
    np.savez(tmp_path / "whole.npz", p=[[1, 0]] * 2, q=[[0, 1]])
    result = cli("accept", tmp_path / "whole.npz", "--json").result
    assert result["rules"]["rejection"]["E_accepted"] == result["rules"]["block"]["E_accepted"] == 0


# --- the comparison ------------------------------------------------------------------------------------------------


def test_multi_draft_on_the_table_of_the_literature() -> None:
    """Two candidates on (.5, .3, .2) against (.2, .3, .5)."""
    answers = {answer.rule: answer for answer in compare_candidates(TABLE_A, candidates=2)}
    for rule, alpha in (
        ("recursive_with_replacement", 0.76),
        ("k_seq", 0.7914),
        ("recursive_without_replacement", 0.82),
        ("optimal", 0.86),
        ("optimum_with_replacement", 0.86),
        ("optimum_without_replacement", 0.9857),
        ("top_k", 0.5),
    ):
        assert answers[rule].alpha == pytest.approx((alpha, alpha), abs=1e-4)
        assert answers[rule].E_accepted == pytest.approx(alpha + alpha**2, abs=2e-4)
        assert answers[rule].E_tokens == answers[rule].E_accepted + 1
        assert answers[rule].standard_error == 0


@given(rows())
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
def test_what_must_hold_between_rules(laws: Rows) -> None:
    chains = {answer.rule: answer for answer in compare_chains(laws)}
    slack = 1e-9
    bound = full_information(laws)
    assert bound is not None
    token, block = chains["rejection"].E_accepted, chains["block"].E_accepted
    assert chains["gumbel"].E_accepted <= token + slack
    assert token <= block + slack
    assert block <= bound + slack
    for depth in compare_depths(laws):
        assert depth.gumbel_lower_bound <= depth.gumbel + slack
        assert depth.gumbel <= depth.alpha + slack
        assert depth.independent <= depth.alpha + slack
    for answer in chains.values():
        assert 0 <= answer.E_accepted <= laws.gamma + slack
        if answer.is_lossless and answer.rule != "greedy":
            assert answer.output_tv == pytest.approx(0, abs=1e-9)
            assert answer.output_tokens == laws.gamma + 1
    alone, pair = (
        {answer.rule: answer.E_accepted for answer in compare_candidates(laws, candidates=count)} for count in (1, 2)
    )
    assert alone["recursive_with_replacement"] == pytest.approx(token, abs=1e-9)
    assert alone["optimal"] == pytest.approx(token, abs=1e-9)
    for rule, limit in (
        ("recursive_with_replacement", "optimum_with_replacement"),
        ("k_seq", "optimum_with_replacement"),
        ("optimal", "optimum_with_replacement"),
        ("recursive_without_replacement", "optimum_without_replacement"),
    ):
        assert pair[rule] <= pair[limit] + slack
        assert pair[rule] >= alone[rule] - slack


@given(st.lists(st.integers(1, 9), min_size=3, max_size=3), st.lists(st.integers(1, 9), min_size=3, max_size=3))
@settings(max_examples=20)
def test_chains_are_those_of_the_enumerating_twin(p: list[int], q: list[int]) -> None:
    """Gamma 2, one law at all depths; what a sampled and an argmax draft get under token verification."""
    target, draft = (exact.normalised([Fraction(w) for w in side]) for side in (p, q))
    pair = exact.iid(target), exact.iid(draft)
    answers = {
        answer.rule: answer
        for answer in compare_chains(Rows(p=[[float(x) for x in target]] * 3, q=[[float(x) for x in draft]] * 2))
    }
    sampled, _ = exact.moments(exact.accepted_pmf(*pair, exact.rejection, gamma=2))
    certain, _ = exact.moments(exact.accepted_pmf(pair[0], exact.greedy_table(pair[1]), exact.lookup, gamma=2))
    text = {}
    for begun, share in exact.round_law(*pair, exact.greedy, gamma=2).items():
        for rest, chance in exact.target_law(pair[0], length=3 - len(begun)).items():
            text[begun + rest] = text.get(begun + rest, Fraction(0)) + share * chance
    away = exact.total_variation(text, exact.target_law(pair[0], length=3))
    assert answers["rejection"].E_accepted == pytest.approx(float(sampled), rel=1e-12)
    assert answers["rejection"].E_accepted_argmax == pytest.approx(float(certain), rel=1e-12)
    assert answers["greedy"].output_tv == pytest.approx(float(away), abs=1e-9)


def test_what_is_estimated_agrees_with_what_is_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within six standard errors, a false alarm of 2e-9; and far from token verification, so that it could fail."""
    laws = Rows(p=[TOY_P] * 5, q=[TOY_Q] * 4)
    right = {answer.rule: answer for answer in compare_chains(laws)}
    monkeypatch.setattr(chains_module, "MOST_PATHS", 1)
    found = {answer.rule: answer for answer in compare_chains(laws, chains=20_000, seed=3)}
    error = found["block"].standard_error
    assert 0 < error < 0.02
    assert abs(found["block"].E_accepted - right["block"].E_accepted) < 6 * error
    assert abs(found["block"].E_accepted - right["rejection"].E_accepted) > 6 * error
    assert found["rejection"] == right["rejection"]
    assert full_information(laws) is None


def test_candidates_that_are_estimated_agree_with_exact_ones() -> None:
    """Recursive rejection without replacement, three candidates; within six standard errors."""
    laws = softmax(np.random.default_rng(1).normal(size=(3, 8)) * 2)
    pairs = Rows(p=laws, q=laws[[1, 2]])
    (right,) = (a for a in compare_candidates(pairs, candidates=4) if a.rule == "recursive_without_replacement")
    rule = MULTI_DRAFT["recursive_without_replacement"]
    alpha, error = candidates_module._estimated(rule, pairs, candidates=4, seed=2)  # type: ignore[arg-type]
    assert (np.abs(alpha - right.alpha) < 6 * error).all()
    assert 0 < error < 0.02


def test_a_large_vocabulary_is_answered(cli, tmp_path: Path) -> None:
    """Nothing is enumerated: block verification is estimated, texts are compared by their first token."""
    logits = np.random.default_rng(4).normal(size=(2, 3, 600)) * 3
    p, q = softmax(logits[0]), softmax(logits[0] + logits[1] / 3)[:2]
    np.savez(tmp_path / "large.npz", p=p, q=q)
    result = cli("accept", tmp_path / "large.npz", "--drafts", 4, "--json").result
    rules = result["rules"]
    assert rules["block"]["standard_error"] > 0
    assert rules["rejection"]["standard_error"] == 0
    assert rules["rejection"]["output_tokens"] == 1
    assert [depth["alpha"] for depth in result["depths"]] == pytest.approx(overlap(p[:2], q).tolist())
    assert [depth["argmax_alpha"] for depth in result["depths"]] == pytest.approx(argmax_overlap(p[:2], q).tolist())
    for name, rule in VERIFIERS.items():
        if rule.is_lossless and name != "greedy":
            assert rules[name]["output_tv"] == pytest.approx(0, abs=1e-9)
    assert rules["lenience"]["output_tv"] > 0.01
    assert result["multi_draft"]["recursive_without_replacement"]["standard_error"] > 0


def test_the_first_token_of_lossy_rules_is_that_of_their_enumerated_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shortcut for large vocabularies against enumeration, gamma 1: the law of the first token."""
    from specsim.verifiers.law import target_law, text_law

    laws = Rows(p=TABLE_A.target[:2], q=TABLE_A.draft[:1])
    monkeypatch.setattr(chains_module, "MOST_TEXTS", 0)
    for answer in compare_chains(laws):
        rule, sides = VERIFIERS[answer.rule], (list(laws.target), list(laws.draft))
        first = text_law(rule, *sides).sum(axis=1) - target_law(*sides).sum(axis=1)
        assert answer.output_tokens == 1
        assert answer.output_tv == pytest.approx(float(np.abs(first).sum() / 2), abs=1e-12)


def test_laws_that_agree_are_accepted_and_laws_apart_are_not() -> None:
    same = Rows(p=[[0.5, 0.5]] * 3, q=[[0.5, 0.5]] * 2)
    apart = Rows(p=[[0.0, 1.0]] * 3, q=[[1.0, 0.0]] * 2)
    for laws, expected in ((same, 2.0), (apart, 0.0)):
        answers = {answer.rule: answer.E_accepted for answer in compare_chains(laws)}
        for rule in ("rejection", "gumbel", "block"):
            assert answers[rule] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("p", "q", "lossless"),
    [
        ([0.5, 0.3, 0.2], [0.5, 0.3, 0.2], 2.0),
        ([0.5, 0.5, 0.0], [0.0, 0.0, 1.0], 0.0),
        ([0.5 + 1e-12, 0.5 - 1e-12, 0.0], [0.5, 0.5, 0.0], 2.0),
    ],
    ids=["p = q", "disjoint supports", "underflowing residual"],
)
def test_laws_at_the_edge_are_answered_on_the_command_line(
    cli, tmp_path: Path, p: list, q: list, lossless: float
) -> None:
    np.savez(tmp_path / "edge.npz", p=[p] * 3, q=[q] * 2)
    ran = cli("accept", tmp_path / "edge.npz", "--drafts", 2, "--json")
    assert (ran.code, ran.err) == (0, "")
    for rule in ("rejection", "gumbel", "block"):
        assert ran.result["rules"][rule]["E_accepted"] == pytest.approx(lossless, abs=1e-9)
        assert ran.result["rules"][rule]["output_tv"] == pytest.approx(0, abs=1e-9)
    for rule in ("recursive_with_replacement", "recursive_without_replacement", "k_seq", "optimal"):
        assert ran.result["multi_draft"][rule]["E_accepted"] == pytest.approx(lossless, abs=1e-9)


# --- bad input -----------------------------------------------------------------------------------------------------

HALF = [0.5, 0.5]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"p": [HALF] * 2}, "has no array q; arrays: p"),
        ({"q": [HALF]}, "has no array p; arrays: q"),
        ({}, "has no array p; arrays: none"),
        (
            {"p": [HALF] * 2, "q": [HALF] * 2},
            "p must have shape (gamma + 1, V) and q (gamma, V), got (2, 2) and (2, 2)",
        ),
        ({"p": [HALF] * 2, "q": [[0.2, 0.3, 0.5]]}, "p must have shape (gamma + 1, V)"),
        ({"p": HALF, "q": [HALF]}, "p must have 2 axes, got shape (2,)"),
        ({"p": [[0.5, 0.6]] * 2, "q": [HALF]}, "p[0] must sum to 1, got 1.1"),
        ({"p": [HALF] * 2, "q": [[1.5, -0.5]]}, "q[0, 1] must be at least 0, got -0.5"),
        ({"p": [HALF, [np.nan, 1]], "q": [HALF]}, "p[1, 0] must be finite, got nan"),
        ({"p": [HALF, [np.inf, 1]], "q": [HALF]}, "p[1, 0] must be finite, got inf"),
        ({"p": [HALF], "q": np.zeros((0, 2))}, "p must have 2 rows at least (gamma of 1 or more), got 1"),
        ({"p": [HALF] * 2, "q": np.zeros((0, 2))}, "q must have 1 rows at least (gamma of 1 or more), got 0"),
        ({"p": [[1.0]] * 2, "q": [[1.0]]}, "p must have two tokens at least, got 1"),
        ({"p": np.zeros((2, 0)), "q": np.zeros((1, 0))}, "p must have two tokens at least, got 0"),
        ({"p": [["a", "b"]] * 2, "q": [HALF]}, "p must be an array of numbers"),
        ({"p": np.array([HALF] * 2, complex), "q": [HALF]}, "p must be an array of numbers"),
        ({"p": np.array([HALF, None], object), "q": [HALF]}, "cannot read"),
    ],
    ids=str,
)
def test_arrays_that_are_no_laws(cli, tmp_path: Path, arrays: dict, message: str) -> None:
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)
    refused(cli("accept", path), message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "bad.jsonl holds no laws"),
        ('{"p": [0.5, 0.5]}\n', "p must have 2 rows at least (gamma of 1 or more), got 1"),
        ('{"p": [0.5, 0.5], "q": [0.5, 0.5]}\n', "must end with a line without q"),
        ('{"p": [0.5, 0.5]}\n{"p": [0.5, 0.5]}\n', "line 2 follows a line without q"),
        ('{"p": [0.5, 0.5], "q": [0.5, 0.5]}\n{"p": [0.5, 0', "line 2 is not JSON"),
        ('{"p": [0.5, 0.5], "q": [0.5, 0.5]}\n{"p": [0.5, 0.25, 0.25]}\n', "p must be an array of numbers"),
        ('{"p": [0.5, 0.5], "q": [0.2, 0.3, 0.5]}\n{"p": [0.5, 0.5]}\n', "p must have shape (gamma + 1, V)"),
        ('{"p": [0.5, NaN], "q": [0.5, 0.5]}\n{"p": [0.5, 0.5]}\n', "p[0, 1] must be finite, got nan"),
        ('{"p": [0.5, "x"], "q": [0.5, 0.5]}\n{"p": [0.5, 0.5]}\n', "line 1: p must be a list of numbers"),
        ('{"p": 0.5, "q": [0.5, 0.5]}\n{"p": [0.5, 0.5]}\n', "line 1: p must be a list of numbers"),
        ('{"p": null}\n', "p must be a list of numbers"),
        ('{"q": [0.5, 0.5]}\n', "line 1 must be a JSON object with p"),
        ("[0.5, 0.5]\n", "line 1 must be a JSON object with p"),
        ('{"p": [0.5, 0.5], "Q": [0.5, 0.5]}\n', "line 1: field 'Q' is unknown"),
    ],
    ids=str,
)
def test_lines_that_are_no_laws(cli, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    refused(cli("accept", path), message)


def test_files_that_cannot_be_read(cli, toy: Path, tmp_path: Path) -> None:
    whole = toy.read_bytes()
    (tmp_path / "torn.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "flipped.npz").write_bytes(whole.replace(b"\x93NUMPY", b"\x93numpy", 1))
    (tmp_path / "empty.npz").write_bytes(b"")
    (tmp_path / "text.npz").write_text("no archive")
    (tmp_path / "bytes.jsonl").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "torn.jsonl.gz").write_bytes(gzip.compress(b'{"p": [0.5, 0.5]}' * 50)[:-9])
    (tmp_path / "folder.npz").mkdir()
    with (tmp_path / "single.npz").open("wb") as stream:
        np.save(stream, np.eye(2))
    for name in (
        *("torn.npz", "flipped.npz", "empty.npz", "text.npz", "bytes.jsonl", "torn.jsonl.gz", "folder.npz"),
        *("single.npz", "missing.npz", "missing.jsonl"),
    ):
        refused(cli("accept", tmp_path / name), "")
    refused(cli("accept", tmp_path / "missing.npz"), "missing.npz: No such file")
    refused(cli("accept", tmp_path / "text.npz"), "it is no .npz of numbers")
    refused(cli("accept", tmp_path / "laws.csv"), "must end in .npz, .jsonl, .jsonl.gz")


def test_options_outside_their_range(cli, toy: Path) -> None:
    refused(cli("accept", toy, "--drafts", 0), "drafts must be at least 1, got 0")
    refused(cli("accept", toy, "--drafts", "two"), "two")
    refused(cli("accept"), "Missing argument 'FILE'")


def test_from_memory_laws_are_checked_alike(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="p must have shape"):
        Rows(p=[HALF] * 3, q=[HALF])
    with pytest.raises(InputError, match="must end in"):
        read_rows(tmp_path / "laws.txt")
    with pytest.raises(InputError, match="candidates must be at least 1"):
        compare_candidates(TABLE_A, candidates=0)
    assert Rejection().name in {answer.rule for answer in compare_chains(TABLE_A)}


def refused(ran, message: str) -> None:
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1

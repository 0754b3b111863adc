"""`specsim tree` answers people and programs, and refuses what makes no tree."""

from __future__ import annotations

import pytest

from specsim.cli.tree import METHODS


def test_the_optimal_tree_as_json(cli):
    ran = cli("tree", "--accept", "0.6,0.15,0.08,0.04", "--nodes", 15, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["command"] == "tree"
    result = ran.result
    assert result["E_tokens"] == pytest.approx(96813 / 31250, rel=1e-12)  # Sequoia's tree of 16 with the root
    assert result["kind"] == "exact"
    assert len(result["parents"]) == len(result["rank_paths"]) == len(result["standing"]) == 15
    assert sum(result["standing"]) == pytest.approx(result["E_accepted"])
    assert result["E_tokens"] == pytest.approx(1 + result["E_accepted"])
    assert sum(result["pmf_accepted"]) == pytest.approx(1)
    assert len(result["pmf_accepted"]) == result["depth"] + 1


def test_a_depth_limit(cli):
    result = cli("tree", "--accept", "0.6,0.15,0.08,0.04", "--nodes", 7, "--max-depth", 2, "--json").result
    assert result["E_tokens"] == pytest.approx(1209 / 500, rel=1e-12)
    assert result["depth"] == 2


def test_the_drawing(cli):
    ran = cli("tree", "--accept", "0.6,0.2", "--nodes", 4)
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "2.3760 tokens per round (exact: acceptance depends on rank alone, not on context)"
        " with 4 nodes down to depth 3.",
        "committed text",
        "├─ rank 0: 60.0 %",
        "│  └─ rank 0: 36.0 %",
        "│     └─ rank 0: 21.6 %",
        "└─ rank 1: 20.0 %",
    ]


def test_a_chain_is_what_tau_says(cli):
    tree = cli("tree", "--accept", 0.7, "--nodes", 4, "--method", "chain", "--json").result
    tau = cli("tau", "--alpha", 0.7, "--gamma", 4, "--json").result
    assert tree["E_tokens"] == pytest.approx(tau["E_tokens"])
    assert tree["pmf_accepted"] == pytest.approx(tau["pmf_accepted"])
    assert tree["parents"] == [-1, 0, 1, 2]


def test_eagle1_is_fixed(cli):
    result = cli("tree", "--accept", "0.5,0.2,0.1,0.05", "--nodes", 25, "--method", "eagle1", "--json").result
    assert (result["nodes"], result["depth"], result["kind"]) == (25, 5, "exact")


@pytest.mark.parametrize("method", ["medusa", "ddtree"])
def test_products_of_positions_are_a_surrogate(cli, method):
    command = ("tree", "--accept", "0.6,0.2", "--accept", "0.5", "--nodes", 4, "--method", method, "--json")
    result = cli(*command).result
    assert result["kind"] == "surrogate"
    assert result["rank_paths"] == [[0], [0, 0], [1], [1, 0]]
    assert result["E_accepted"] == pytest.approx(0.6 + 0.3 + 0.2 + 0.1)


def test_no_drafts(cli):
    result = cli("tree", "--accept", 0.6, "--nodes", 0, "--json").result
    assert (result["parents"], result["E_tokens"], result["pmf_accepted"]) == ([], 1, [1])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_answers(cli, method):
    ran = cli("tree", "--accept", "0.5,0.2,0.1,0.05", "--nodes", 25, "--method", method)
    assert ran.code == 0
    assert len(ran.out.splitlines()) == 27


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--accept", "0.6,0.5", "--nodes", 4), 2, "acceptance must be of one rank at least and sum to at most 1"),
        (("--accept", "0.6,x", "--nodes", 4), 2, "accept must be numbers separated by commas, got '0.6,x'"),
        (("--accept", "nan", "--nodes", 4), 2, "acceptance[0] must be finite"),
        (("--accept", "-0.1", "--nodes", 4), 2, "acceptance[0] must be in [0, 1], got -0.1"),
        (("--accept", "0.6", "--nodes", -1), 2, "nodes must be at least 0, got -1"),
        (("--accept", "0.6", "--nodes", 4, "--max-depth", 0), 2, "max_depth must be at least 1, got 0"),
        (("--accept", "0.6", "--nodes", 4, "--method", "sequoya"), 2, "did you mean sequoia?"),
        (("--accept", "0.6", "--accept", "0.5", "--nodes", 4), 2, "accept must be given once for this method"),
        (("--accept", "0.6", "--nodes", 4, "--method", "eagle1"), 2, "nodes must be 25 for eagle1"),
        (("--accept", "0.6", "--nodes", 25, "--method", "eagle1"), 2, "acceptance must know 4 ranks"),
        (("--nodes", 4), 2, "Missing option '--accept'"),
        (("--accept", "0.6,0.2", "--nodes", 4, "--max-depth", 1), 1, "at most 2 do, so allow more of either"),
        (("--accept", "0.6", "--nodes", 4, "--max-depth", 2, "--method", "chain"), 1, "allow --max-depth 4"),
        (("--accept", "0.6", "--nodes", 4, "--max-depth", 2, "--method", "medusa"), 1, "at most 2 do"),
    ],
    ids=str,
)
def test_what_makes_no_tree(cli, arguments, code, message):
    ran = cli("tree", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1

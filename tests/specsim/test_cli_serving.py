"""`specsim simulate serving`: one sentence, a row for each load and policy, one line for whatever is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

MACHINE = ("--model", "Llama-3.1-8B", "--hardware", "H100-SXM", "--ideal")
SMALL = ("--prompt", 128, "--output", 40, "--seconds", 2, "--max-batch", 32)
Cli = Callable[..., Any]


def serving(cli: Cli, *more: object) -> Any:
    return cli("simulate", "serving", *MACHINE, *SMALL, *more)


def test_people_get_a_sentence_and_a_row_for_each_load_and_policy(cli: Cli) -> None:
    ran = serving(cli, "--alpha", 0.7, "--rate", "5,40")
    assert (ran.code, ran.err) == (0, "")
    assert " ".join(ran.out.split()).startswith(
        "A first token within 1 s and 50 ms for each further one, kept to 95 % of requests: "
        "plain at least 40 requests/s, gamma 4 at least 40 requests/s, goodput at least 40 requests/s."
    )
    cells = [[cell.strip() for cell in line.split("│")[1:4]] for line in ran.out.splitlines() if line.startswith("│")]
    assert [row[:2] for row in cells] == [
        ["5.0", "plain"],
        ["", "gamma 4"],
        ["", "goodput"],
        ["40", "plain"],
        ["", "gamma 4"],
        ["", "goodput"],
    ]


def test_json_holds_loads_and_percentiles(cli: Cli) -> None:
    ran = serving(
        cli, "--alpha", "0.8,0.6", "--gamma", 2, "--rate", 20, "--policy", "plain", "--policy", "by_batch", "--json"
    )
    result = ran.result
    assert [row["policy"] for row in result["frames"]["loads"]] == ["plain", "by batch"]
    assert result["most_requests_per_second"] == {"plain": 20.0, "by batch": 20.0}
    assert result["promise"] == {"first_token_seconds": 1.0, "per_token_seconds": 0.05}
    for row in result["frames"]["latencies"]:
        assert 0 < row["seconds"] < 1
    kinds = {(row["policy"], row["latency"], row["quantile"]) for row in result["frames"]["latencies"]}
    assert len(kinds) == len(result["frames"]["latencies"]) == 18
    assert ran.json["inputs"]["alpha"] == "0.8,0.6"
    assert "acceptance by depth, 2 known: given" in ran.json["assumptions"]


def test_the_seed_decides_and_workers_do_not(cli: Cli) -> None:
    asked = ("--alpha", 0.7, "--rate", "10,20", "--policy", "fixed", "--json")
    first, again, other = (
        serving(cli, *asked, *more).result["frames"]["loads"] for more in ((), ("--workers", 2), ("--seed", 1))
    )
    assert first == again
    assert first != other


def test_loads_lie_around_saturation_where_none_are_given(cli: Cli) -> None:
    ran = serving(cli, "--policy", "plain", "--spread", 0, "--seconds", 0.5, "--json")
    rates = [row["requests_per_second"] for row in ran.result["frames"]["loads"]]
    assert len(rates) == 7
    assert rates[-1] == pytest.approx(12 * rates[0], rel=0.05)


def test_beta_can_differ_by_request(cli: Cli) -> None:
    asked = ("--beta", 2, 1, "--rate", 20, "--policy", "plain", "--policy", "fixed", "--json")
    by_round, by_request = (serving(cli, *asked, *more).result["frames"]["loads"] for more in ((), ("--per-request",)))
    assert by_round[0] == by_request[0]  # plain
    assert by_round[1] != by_request[1]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--policy", "adaptive"), 2, "policy 'adaptive' is unknown; known: by_batch, fixed, goodput, plain"),
        (("--method", "eagel3"), 2, "'eagel3' is unknown; did you mean eagle3?"),
        (("--alpha", "0.7", "--method", "eagel3"), 2, "method 'eagel3' is unknown; did you mean eagle3?"),
        (("--alpha", "0.8,0.7"), 2, "gamma must be in 0..2, the depths that are known, got 4"),
        (("--alpha", "1.7"), 2, "alpha must be in [0, 1], got 1.7"),
        (("--alpha", "0.7", "--per-request"), 2, "varies 'request' must go with a Beta law, got constant 0.7"),
        (("--rate", "fast"), 2, "rate must be numbers separated by commas, got 'fast'"),
        (("--rate", "0"), 2, "rate must be above 0, got 0"),
        (("--gamma", "0"), 2, "gamma must be at least 1, got 0"),
        (("--prompt", "0"), 2, "prompt_tokens must be at least 1, got 0"),
        (("--spread", "-1"), 2, "spread must be at least 0, got -1"),
        (("--seconds", "0"), 2, "seconds must be above 0, got 0"),
        (("--max-batch", "0"), 2, "max_batch must be at least 1, got 0"),
        (("--chunk", "0"), 2, "chunk_tokens must be at least 1, got 0"),
        (("--first-token", "0"), 2, "first_token_seconds must be above 0, got 0"),
        (("--workers", "0"), 2, "workers must be at least 1, got 0"),
        (("--seed", "-1"), 2, "seed must be at least 0, got -1"),
        (("--tensor-parallel", "3"), 2, "3"),
        (("--model", "Llama-3.1-70B"), 1, "Llama-3.1-70B leaves no room for caches on 1 H100-SXM: 141 GB of weights"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(cli: Cli, options: tuple[str, ...], code: int, message: str) -> None:
    ran = serving(cli, *options)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err
    assert ran.err.count("\n") == 1

"""`specsim fit`, the laws of `specsim tau` and `specsim simulate rounds`, and the tables that they read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from specsim import tau
from specsim.acceptance import Acceptance, CountedAcceptance, MeanLengths, read_lengths
from specsim.errors import InputError

COUNTS = "depth,reached,accepted\n1,1000,702\n2,702,480\n3,480,352\n4,352,240\n"
MEANS = "gamma,tau\n1,1.71\n2,2.18\n3,2.54\n4,2.78\n6,3.05\n"


@pytest.fixture
def table(tmp_path: Path) -> Callable[[str], Path]:
    """A CSV file of the given text."""

    def write(text: str) -> Path:
        path = tmp_path / "lengths.csv"
        path.write_text(text)
        return path

    return write


# --- answers -------------------------------------------------------------------------------------------------------


def test_means_are_fitted_and_predicted(cli: Callable, table: Callable) -> None:
    result = cli("fit", table(MEANS), "--predict-gamma", 8, "--json").result
    exact = tau.expected_tokens(Acceptance.constant(0.7), gamma=8)
    assert result["chosen"] == "constant"
    assert result["gamma"] == 8
    assert result["low"] <= exact <= result["high"]
    assert result["E_tokens"] == pytest.approx(exact, abs=0.02)
    assert [law["law"] for law in result["laws"]] == ["constant", "decay", "beta", "markov", "by_depth"]
    alpha = result["laws"][0]["parameters"]["alpha"]
    assert alpha["low"] < 0.7 < alpha["high"]
    assert result["laws"][0]["low"] >= result["low"]


def test_counts_are_fitted_and_predicted(cli: Callable, table: Callable) -> None:
    ran = cli("fit", table(COUNTS), "--predict-gamma", 8, "--json")
    exact = tau.expected_tokens(Acceptance.constant(0.7), gamma=8)
    assert ran.code == 0
    assert ran.result["chosen"] == "constant"
    assert ran.result["low"] <= exact <= ran.result["high"]
    assert ran.json["schema"] == 1
    assert ran.json["assumptions"]


def test_people_read_the_same(cli: Callable, table: Callable) -> None:
    ran = cli("fit", table(COUNTS), "--predict-gamma", 8)
    assert ran.code == 0
    for text in ("Read as 1000 rounds, counted to depth 4", "constant", "by_depth", "alpha 0.70", "95 % interval"):
        assert text in ran.out
    assert "tau at gamma 8: 3.19" in " ".join(ran.out.split())
    means = cli("fit", table(MEANS)).out
    assert "5 means of tau of unknown noise, at 5 gammas up to 6" in means
    assert "tau at gamma 6" in means


def test_a_level_and_a_law_may_be_asked_for(cli: Callable, table: Callable) -> None:
    path = table(COUNTS)
    wide, narrow = (
        cli("fit", path, "--law", "decay", "--law", "constant", "--level", level, "--json").result
        for level in (0.99, 0.5)
    )
    assert {law["law"] for law in wide["laws"]} == {"decay", "constant"}
    assert wide["high"] - wide["low"] > narrow["high"] - narrow["low"]


def test_what_data_cannot_tell_has_no_interval(cli: Callable, table: Callable) -> None:
    ran = cli("fit", table("gamma,tau\n2,2.19\n5,2.94\n"), "--predict-gamma", 8, "--json")
    decay = next(law for law in ran.result["laws"] if law["law"] == "decay")
    assert decay["low"] is None
    assert decay["parameters"]["a"]["high"] is None
    assert ran.result["left_open"] == ["constant"]


@pytest.mark.parametrize(
    ("options", "law"),
    [
        (("--decay", 0.9, 0.8), Acceptance.decay(0.9, 0.8)),
        (("--beta", 7, 3), Acceptance.beta(7, 3)),
        (
            ("--markov", 0.5, 0.9, 0.9, 0.9, 0.5),
            Acceptance.markov(start_good=0.5, stay_good=0.9, stay_bad=0.9, alpha_good=0.9, alpha_bad=0.5),
        ),
    ],
    ids=["decay", "beta", "markov"],
)
def test_tau_and_simulate_take_every_law(cli: Callable, options: tuple, law: Acceptance) -> None:
    result = cli("tau", *options, "--gamma", 4, "--json").result
    exact = tau.expected_tokens(law, gamma=4)
    assert result["E_tokens"] == pytest.approx(exact)
    assert result["conditional"] == pytest.approx(law.conditional(4).tolist())
    assert result["survival"] == pytest.approx(law.survival(4).tolist())
    assert result["draft_utilisation"] == pytest.approx((exact - 1) / 4)
    played = cli("simulate", "rounds", *options, "--gamma", 4, "--rounds", 200_000, "--json").result
    assert played["E_tokens_exact"] == pytest.approx(exact)
    assert abs(played["E_tokens"] - exact) < 7 * played["standard_error"]  # false alarm 1e-11


def test_simulate_plays_with_tokens(cli: Callable, tmp_path: Path) -> None:
    """The toy of the block verification paper: 10/9 and 11/9 accepted drafts."""
    np.savez(tmp_path / "toy.npz", p=np.tile([1 / 3, 2 / 3], (3, 1)), q=np.tile([2 / 3, 1 / 3], (2, 1)))
    for verifier, accepted in (("rejection", 10 / 9), ("block", 11 / 9)):
        arguments = ("--laws", tmp_path / "toy.npz", "--gamma", 2, "--verifier", verifier, "--rounds", 50_000)
        result = cli("simulate", "rounds", *arguments, "--json").result
        assert result["E_tokens_exact"] == pytest.approx(1 + accepted)
        assert abs(result["E_tokens"] - 1 - accepted) < 7 * result["standard_error"]
        assert sum(result["counts"]) == 50_000


def test_simulating_a_lossy_rule_says_so(cli: Callable, tmp_path: Path) -> None:
    np.savez(tmp_path / "toy.npz", p=np.tile([1 / 3, 2 / 3], (3, 1)), q=np.tile([2 / 3, 1 / 3], (2, 1)))
    arguments = ("simulate", "rounds", "--laws", tmp_path / "toy.npz", "--gamma", 2, "--rounds", 1000, "--verifier")
    assert cli(*arguments, "typical", "--json").json["assumptions"][-1].startswith("typical is lossy")
    assert "typical is lossy" in cli(*arguments, "typical").out
    assert "lossy" not in cli(*arguments, "block").out


def test_rounds_of_one_text_are_said_to_depend(cli: Callable, tmp_path: Path) -> None:
    np.savez(tmp_path / "chain.npz", p=[[0.9, 0.1], [0.5, 0.5]], q=[[0.5, 0.5], [0.5, 0.5]])
    arguments = ("simulate", "rounds", "--laws", tmp_path / "chain.npz", "--gamma", 2, "--rounds", 1000)
    assert cli(*arguments, "--json").result["E_tokens_exact"] is None
    assert "of one text are not" in cli(*arguments, "--json").json["assumptions"][0]
    alone = cli(*arguments, "--rounds-per-text", 1, "--json").result
    assert alone["E_tokens_exact"] == pytest.approx(2.0)
    assert "exact" in cli(*arguments, "--rounds-per-text", 1).out


# --- tables --------------------------------------------------------------------------------------------------------


def test_columns_in_any_order_and_spaces_and_a_mark(table: Callable) -> None:
    data = read_lengths(table("\ufeffAccepted, Depth ,reached\n40,2,80\n\n80,1,100\n"))
    assert isinstance(data, CountedAcceptance)
    assert (data.reached, data.accepted) == ((100, 80), (80, 40))


def test_rounds_behind_means_are_read(table: Callable) -> None:
    data = read_lengths(table("gamma,tau,rounds\n2,2.2,100\n4,2.8,50\n"))
    assert isinstance(data, MeanLengths)
    assert data.rounds == (100, 50)


def test_whole_tau_at_repeated_gammas_are_rounds(table: Callable) -> None:
    text = "gamma,tau\n" + "".join(f"{gamma},{tokens}\n" for gamma, tokens in [(2, 3), (2, 1), (3, 2), (3, 4), (1, 2)])
    data = read_lengths(table(text))
    assert isinstance(data, CountedAcceptance)
    assert data.reached == (5, 3, 1)
    assert data.accepted == (4, 2, 1)
    assert isinstance(read_lengths(table(text), each="means"), MeanLengths)
    one_gamma = table("gamma,tau\n2,3\n2,1\n2,2\n")
    assert read_lengths(one_gamma, each="rounds").size == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have the columns depth,reached,accepted or gamma,tau"),
        ("gamma,tau\n", "holds no rows"),
        ("gamma,speed\n1,2\n", "must have the columns .* got gamma,speed"),
        ("1,2\n3,4\n", "must have the columns"),
        ("gamma,tau,tau\n1,2,2\n", "must have the columns"),
        ("gamma,tau\n1,1.7\n2\n", "line 3 must have 2 fields, got 1: the line may be torn"),
        ("gamma,tau\n1,1.7\n2,2.1,9\n", "line 3 must have 2 fields, got 3"),
        ("gamma,tau\n1,1.7\n2,\n", "line 3: tau must be a number, got ''"),
        ("gamma,tau\n1,1.7\n2.5,2.1\n", "line 3: gamma must be a whole number, got '2.5'"),
        ("gamma,tau\n1,1.7\n2,nan\n", "line 3: tau must be finite, got nan"),
        ("gamma,tau\n1,1.7\n0,1.0\n", "line 3: gamma must be at least 1, got 0"),
        ("gamma,tau\n1,1.7\n2,3.5\n", r"line 3: tau, which counts the bonus, must be in \[1, 3\], got 3.5"),
        ("gamma,tau\n1,0.7\n2,1.2\n", r"line 2: tau, which counts the bonus, must be in \[1, 2\], got 0.7"),
        ("gamma,tau\n4,2.7\n", "means at two gammas at least, got 4 only"),
        ("gamma,tau\n4,2.7\n4,2.8\n", "means at two gammas at least, got 4 only"),
        ("gamma,tau\n4,3\n4,2\n", "means at two gammas at least, got 4 only"),
        ("gamma,tau,rounds\n2,2.2,0\n4,2.8,50\n", "line 2: rounds must be at least 1, got 0"),
        ("depth,reached,accepted\n1,100,80\n2,90,40\n", "line 3: reached must be in 0..80, got 90"),
        ("depth,reached,accepted\n1,100,180\n", "line 2: accepted must be in 0..100, got 180"),
        ("depth,reached,accepted\n1,100,-1\n", "line 2: accepted must be in 0..100, got -1"),
        ("depth,reached,accepted\n1,0,0\n", "line 2: reached must be at least 1, got 0"),
        ("depth,reached,accepted\n0,100,80\n1,80,40\n", r"line 2: depths must be 1..2, each once, got 0"),
        ("depth,reached,accepted\n1,100,80\n1,80,40\n", r"line 3: depths must be 1..2, each once, got 1"),
        ("depth,reached,accepted\n1,1e3,80\n", "line 2: reached must be a whole number, got '1e3'"),
        ('gamma,tau\n1,"1.7\n', "cannot read"),
    ],
)
def test_bad_tables_are_one_line_and_exit_2(cli: Callable, table: Callable, text: str, message: str) -> None:
    path = table(text)
    with pytest.raises(InputError, match=message):
        read_lengths(path)
    ran = cli("fit", path, "--predict-gamma", 8)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1


def test_bad_files_and_options_exit_2(cli: Callable, table: Callable, tmp_path: Path) -> None:
    path = table(COUNTS)
    (tmp_path / "bytes.csv").write_bytes(b"gamma,tau\n\xff\xfe")
    np.savez(tmp_path / "laws.npz", p=[0.5, 0.5], q=[0.5, 0.5])
    for arguments, message in (
        (("fit", tmp_path / "none.csv"), "No such file"),
        (("fit", tmp_path / "bytes.csv"), "cannot read"),
        (("fit", tmp_path), "directory"),
        (("fit", path, "--law", "betta"), "did you mean beta"),
        (("fit", path, "--level", 1.5), "level must be in"),
        (("fit", path, "--predict-gamma", 0), "predict-gamma must be at least 1, got 0"),
        (("fit", path, "--each", "mean"), "did you mean means"),
        (("fit", table("gamma,tau\n1,1.7\n2,2.1\n"), "--each", "rounds"), "must hold whole tau"),
        (("tau", "--gamma", 4), "give one of --alpha, --decay, --beta and --markov, got none"),
        (("tau", "--alpha", 0.7, "--beta", 7, 3, "--gamma", 4), "got --alpha and --beta"),
        (("tau", "--decay", 1.5, 0.5, "--gamma", 4), "a must be in [0, 1], got 1.5"),
        (("simulate", "rounds", "--gamma", 2), "got none"),
        (
            ("simulate", "rounds", "--alpha", 0.5, "--laws", tmp_path / "laws.npz", "--gamma", 2),
            "give either --laws or",
        ),
        (("simulate", "rounds", "--laws", path, "--gamma", 2), "is no .npz of numbers"),
        (
            ("simulate", "rounds", "--laws", tmp_path / "laws.npz", "--gamma", 2, "--rounds-per-text", 0),
            "rounds-per-text must be at least 1",
        ),
    ):
        ran = cli(*arguments)
        assert ran.code == 2, arguments
        assert message in ran.err, arguments
        assert ran.err.count("\n") == 1

"""Results of claims on disk, predictions that are judged, and the command that runs claims."""

import json

import numpy as np
import pytest

from specsim.cli.main import run as specsim
from specsim.errors import InputError
from validation.claims import CLAIMS, ClaimResult, LeftOutError, Settings
from validation.claims.prediction import Row, control, intervals_hold, predicted
from validation.claims.results import COMMITTED, Results, device_name, read_result

DEVICE = {"device": "cpu", "cpu": "A CPU (tm) 3.2 GHz", "threads": 2}


def result(**options):
    fields = {"test": "one", "model": "m", "n": 3, "unit": "u", "pvalue": 1.0, "level": 1e-6, "verdict": "passed"}
    return ClaimResult(**(fields | {"statistic": 0.0} | options))


def row(measured=2.0, **options):
    fields = {"setting": {"gamma": 2}, "quantity": "tau", "predicted": 2.0, "low": 1.9, "high": 2.1, "n": 9}
    return Row(**(fields | {"measured": measured} | options))


def test_results_are_kept_by_device_and_found_again(tmp_path):
    results = Results(tmp_path, inputs={"seed": 1}, device=DEVICE)
    kept = results.keep(result(rows=({"a": np.float64(1.5)},), median_abs_error=0.04))
    path = tmp_path / "a-cpu-tm-3-2-ghz-2-threads" / "one.json"
    assert read_result(path) == {**kept, "rows": [{"a": 1.5}], "device": DEVICE}
    assert set(results.known(["one", "two"])) == {"one"}
    assert json.loads(path.read_text())["inputs"] == {"seed": 1}


def test_a_torn_or_foreign_result_is_refused(tmp_path):
    path = tmp_path / "one.json"
    for text in ('{"result": {"te', "{}", '{"result": 3}'):
        path.write_text(text)
        with pytest.raises(InputError, match="must be a result of specsim validate run"):
            read_result(path)
    path.write_text('{"result": {"test": "a", "n": 1}}')
    with pytest.raises(InputError, match="it lacks passed"):
        read_result(path)


def test_a_gpu_names_the_folder():
    assert device_name(DEVICE | {"device": "NVIDIA H200"}) == "nvidia-h200"


def test_predictions_pass_where_intervals_hold_and_faults_are_caught():
    good, bad = [row(2.05)] * 40, [row(2.5)] * 40
    planted = control("doubled", bad, level=1e-6)
    assert planted.caught
    found = predicted("one", good, model="m", settings=Settings(), controls=[planted])
    assert (found.verdict, found.n, round(found.median_abs_error, 4)) == ("passed", 40, 0.0244)
    assert found.figures["share_inside"] == 1.0
    assert predicted("one", bad, model="m", settings=Settings(), controls=[planted]).verdict == "failed"
    blind = control("none", good, level=1e-6)
    assert predicted("one", good, model="m", settings=Settings(), controls=[blind]).verdict == "inconclusive"


@pytest.mark.parametrize(("inside", "pvalue"), [(20, 1.0), (19, 0.6415), (15, 0.002574)])
def test_the_test_of_intervals_is_binomial(inside, pvalue):
    rows = [row(2.0)] * inside + [row(3.0)] * (20 - inside)
    assert intervals_hold(rows, name="x").pvalue == pytest.approx(pvalue, rel=1e-3)


def test_no_settings_prove_nothing():
    with pytest.raises(InputError, match="number of held-out settings must be at least 1"):
        intervals_hold([], name="x")


class Quick:
    """A claim with a name and a verdict, nothing else."""

    def __init__(self, name, verdict="passed"):
        self.name, self.verdict, self.runs = name, verdict, 0

    def run(self, settings):
        self.runs += 1
        if self.verdict == "left out":
            raise LeftOutError("layers must be many, got few")
        return result(test=self.name, verdict=self.verdict)


@pytest.fixture
def quick(monkeypatch):
    claims = {name: Quick(name, verdict) for name, verdict in (("one", "passed"), ("two", "failed"))}
    monkeypatch.setattr("validation.claims.CLAIMS", claims)
    return claims


def test_all_claims_run_and_the_worst_decides(quick, tmp_path, capsys):
    assert specsim(["validate", "run", "one", "--out", str(tmp_path)]) == 0
    assert specsim(["validate", "run", "all", "--out", str(tmp_path), "--resume"]) == 1
    assert (quick["one"].runs, quick["two"].runs) == (1, 1)
    assert "two failed on m" in capsys.readouterr().out
    assert specsim(["validate", "run", "one", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [claim["test"] for claim in shown["result"]["claims"]] == ["one"]
    assert quick["one"].runs == 2


def test_a_claim_that_the_target_is_not_made_for_does_not_end_the_others(quick, tmp_path, capsys):
    quick["one"].verdict, quick["two"].verdict = "left out", "passed"
    assert specsim(["validate", "run", "all", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "two passed on m" in shown
    assert "one left out: layers must be many, got few" in shown
    assert specsim(["validate", "run", "all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["left_out"] == {"one": "layers must be many, got few"}
    assert specsim(["validate", "run", "one"]) == 2
    assert "layers must be many" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["three"], "claim 'three' is unknown"),
        (["all", "one"], "claim 'all' is unknown"),
        (["--resume"], "resume needs out"),
    ],
)
def test_what_cannot_be_run_is_refused(quick, arguments, message, capsys):
    assert specsim(["validate", "run", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_committed_results_are_of_known_claims():
    found = [read_result(path) for path in COMMITTED.glob("*/*.json") if path.parent.name != "engines"]
    assert {one["test"] for one in found} <= set(CLAIMS)

"""`specsim simulate serving`: latencies under load, with and without speculation."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import click
import pandas as pd

from specsim.cli.output import emit, json_option, table
from specsim.cli.serving_options import StudyOptions, study_options
from specsim.cli.serving_study import percentiles, run_study, study_outcome
from specsim.simulate.serving import LATENCIES
from specsim.units import percent, significant


@click.command()
@study_options
@json_option
def serving(as_json: bool, **given: Any) -> None:
    """Latency percentiles against load, with and without speculation, of one server that batches continuously."""
    options = StudyOptions(**given)
    found = run_study(options)
    outcome = study_outcome("simulate serving", options, found)
    columns = ["requests/s", "policy", "gamma", "batch", "tokens/s", "first token", "per token", "request", "kept"]
    note = "Times are the 50th, 95th and 99th percentile; kept is the share of requests within the promise."
    lines = [_line(row, found.latencies) for row in found.loads.to_dict(orient="records")]
    for before, line in reversed(list(pairwise(lines))):
        line[0] = "" if line[0] == before[0] else line[0]
    emit(outcome, as_json=as_json, tables=[outcome["result"]["answer"], table(columns, lines), note])


def _line(row: Mapping[Any, Any], latencies: pd.DataFrame) -> list[str]:
    here = latencies[
        (latencies["policy"] == row["policy"]) & (latencies["requests_per_second"] == row["requests_per_second"])
    ]
    return [
        significant(row["requests_per_second"], digits=2),
        row["policy"],
        significant(row["gamma"], digits=2),
        significant(row["batch"], digits=2),
        f"{row['tokens_per_second']:.0f}",
        *(percentiles(here[here["latency"] == latency]["seconds"].tolist()) for latency in LATENCIES),
        percent(row["kept"], digits=0),
    ]

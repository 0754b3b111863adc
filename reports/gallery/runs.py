"""Small runs that several scripts of the gallery draw, each computed once."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from specsim import catalog
from specsim.acceptance import Acceptance
from specsim.conformance import TableDecoder, TableModels, TableOracle, check, plan
from specsim.conformance.report import Follower, picture
from specsim.drafters import METHODS
from specsim.placement import Placement
from specsim.policies import Fixed
from specsim.roofline import Efficiency
from specsim.simulate import simulate_accepted
from specsim.simulate.serving import Promise, Requests, Study, server_on, study


@cache
def conformance_rows() -> dict[str, Any]:
    """A lossless decoder of a table model, tested for 4000 tokens; see `specsim.conformance.report.picture`."""
    models, follower = TableModels.random(seed=0), Follower()
    asked = plan(tokens=4000, vocabulary=8, eos_id=7)
    return picture(check(TableDecoder(models), TableOracle(models), asked, watch=follower), follower)


@cache
def serving_study() -> Study:
    """Llama-3.1-8B on an H100, plain and with four drafts of EAGLE-3 a round, under four loads."""
    gpu = catalog.hardware("H100-SXM")
    place = Placement(target=catalog.model("Llama-3.1-8B"), hardware=gpu, efficiency=Efficiency.ideal())
    requests = Requests(prompt_tokens=256, output_tokens=64, spread=0.5, seconds=4)
    law = catalog.published_acceptance("eagle3").acceptance
    servers = {
        policy.name: server_on(
            place,
            METHODS["eagle3"].default(place.target),
            acceptance=law,
            policy=policy,
            longest=requests.longest,
            max_batch=64,
        )
        for policy in (Fixed(depth=0), Fixed(depth=4))
    }
    promise = Promise(first_token_seconds=0.05, per_token_seconds=0.01)
    return study(servers, requests, rates=[10, 40, 80, 120], promise=promise, seed=0)


@cache
def _tokens() -> pd.DataFrame:
    """Of a constant law: expected tokens per round at eight depths, and the mean of 400 simulated rounds of each."""
    law, rounds = Acceptance.constant(0.7), 400
    rows = []
    for gamma in range(1, 9):
        lengths = np.arange(gamma + 1)
        pmf = -np.diff([1.0, *law.survival(gamma), 0.0])
        mean = float(lengths @ pmf)
        spread = float(np.sqrt(((lengths - mean) ** 2) @ pmf / rounds))
        counts = simulate_accepted(law, gamma=gamma, rounds=rounds, seed=gamma)
        found = float(lengths @ counts) / rounds
        error = float(np.sqrt(((lengths - found) ** 2) @ counts) / rounds)
        rows.append({"gamma": gamma, "predicted": 1 + mean, "spread": spread, "measured": 1 + found, "error": error})
    return pd.DataFrame(rows)


def simulated_tokens() -> pd.DataFrame:
    """Tokens per round, predicted with the 95 % interval of 400 rounds, and measured with its own."""
    rows = _tokens()
    wide, seen = 1.96 * rows["spread"], 1.96 * rows["error"]
    low, high = rows["predicted"] - wide, rows["predicted"] + wide
    return rows.assign(
        series="constant acceptance of 0.7",
        setting=[f"γ {gamma}" for gamma in rows["gamma"]],
        low=low,
        high=high,
        measured_low=rows["measured"] - seen,
        measured_high=rows["measured"] + seen,
        inside=(low <= rows["measured"]) & (rows["measured"] <= high),
        residual=rows["measured"] / rows["predicted"] - 1,
        residual_low=-wide / rows["predicted"],
        residual_high=wide / rows["predicted"],
    )

"""The folder that `specsim validate run all --out` writes, as rows: claims, their predictions, engines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scipy import stats

from specsim.errors import InputError

COMMITTED = Path(__file__).resolve().parents[3] / "validation" / "results"
"""The results that come with the project."""
ENGINES = "engines"
CLAIM = ("test", "model", "n", "unit", "pvalue", "verdict", "level", "controls")
ENGINE = ("engine", "versions", "cases")
NUMBERS = ("predicted", "low", "high", "measured")
NO_SETTING = {"quantity", *NUMBERS, "measured_low", "measured_high", "error", "inside", "n"}
BAND = 1e-3
"""Chance that a bin of uniform values lies outside its band [1]."""
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Results:
    """What a folder holds.

    Parameters
    ----------
    folder : Path
        Where it was read.
    claims : list of dict
        As of `ClaimResult.as_dict`, with `device`, the name of its folder.
    engines : list of dict
        What each engine was asked and how it ended.
    """

    folder: Path
    claims: list[Row] = field(default_factory=list)
    engines: list[Row] = field(default_factory=list)

    @property
    def devices(self) -> list[str]:
        """Machines that claims ran on."""
        return list(dict.fromkeys(claim["device"] for claim in self.claims))

    @property
    def controls(self) -> list[Row]:
        """All planted faults."""
        return [
            {**control, "device": claim["device"], "test": claim["test"]}
            for claim in self.claims
            for control in claim["controls"]
        ]

    @property
    def cases(self) -> list[Row]:
        """All runs on engines."""
        return [{**case, "engine": engine["engine"]} for engine in self.engines for case in engine["cases"]]

    @property
    def predictions(self) -> list[Row]:
        """What claims predicted before they measured it, with residuals as shares of what was predicted."""
        return [
            _prediction(row, claim)
            for claim in self.claims
            for row in claim.get("rows") or ()
            if all(_is_number(row.get(name)) for name in NUMBERS) and row["predicted"] > 0
        ]

    @property
    def bins(self) -> list[Row]:
        """Histograms of values that are uniform where a claim holds."""
        return [
            row
            for claim in self.claims
            for name, counts in (claim.get("histograms") or {}).items()
            for row in _bins(f"{claim['test']}, {name}, {claim['device']}", counts)
        ]


def read_results(folder: Path) -> Results:
    """Everything in a folder of results; a folder without any is empty, not wrong.

    Raises
    ------
    InputError
        No such folder, or a file that is no result.

    Examples
    --------
    >>> read_results(getfixture("tmp_path")).claims
    []
    """
    if not folder.is_dir():
        raise InputError(f"results must be a folder that specsim validate run --out has written, got {folder}")
    paths = sorted(folder.glob("*/*.json"))
    return Results(
        folder=folder,
        claims=[_claim(path) for path in paths if path.parent.name != ENGINES],
        engines=[_known(_read(path), ENGINE, path) for path in paths if path.parent.name == ENGINES],
    )


def residuals(row: Mapping[str, Any]) -> Row:
    """The row with what is measured, and the ends of its interval, over what is predicted, less 1 [1].

    Examples
    --------
    >>> row = residuals({"predicted": 2.0, "low": 1.9, "high": 2.2, "measured": 2.1})
    >>> [round(row[name], 3) for name in ("residual", "residual_low", "residual_high")]
    [0.05, -0.05, 0.1]
    """
    names = {"residual": "measured", "residual_low": "low", "residual_high": "high"}
    return {**row, **{name: row[column] / row["predicted"] - 1 for name, column in names.items()}}


def _prediction(row: Mapping[str, Any], claim: Mapping[str, Any]) -> Row:
    setting = ", ".join(f"{name} {_plain(value)}" for name, value in row.items() if name not in NO_SETTING)
    inside = bool(row.get("inside", row["low"] <= row["measured"] <= row["high"]))
    about = {"claim": claim["test"], "series": claim["device"], "setting": setting, "inside": inside}
    return residuals({**about, "quantity": row.get("quantity", "value"), **{name: row[name] for name in NUMBERS}})


def _claim(path: Path) -> Row:
    outcome = _read(path)
    result = outcome.get("result")
    if not isinstance(result, Mapping):
        raise InputError(f"{path} must be a result of specsim validate run: it lacks result")
    return {**_known(result, CLAIM, path), "device": path.parent.name}


def _known(result: Mapping[str, Any], needed: tuple[str, ...], path: Path) -> Row:
    missing = [name for name in needed if name not in result]
    if missing:
        raise InputError(f"{path} must be a result of specsim validate: it lacks {', '.join(missing)}")
    return dict(result)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        outcome = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} must be a result of specsim validate: {error}") from error
    if not isinstance(outcome, Mapping):
        raise InputError(f"{path} must be a result of specsim validate, got {type(outcome).__name__}")
    return outcome


def _bins(name: str, counts: list[int]) -> Iterator[Row]:
    n, bins = sum(counts), len(counts)
    low, high = stats.binom.interval(1 - BAND, n, 1 / bins)
    for place, count in enumerate(counts):
        edges = {"bin_low": place / bins, "bin_high": (place + 1) / bins}
        yield {"group": name, **edges, "observed": count, "expected": n / bins, "low": float(low), "high": float(high)}


def _plain(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)

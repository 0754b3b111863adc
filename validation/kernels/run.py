"""All laws of one engine on one GPU: fitted to its tables and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import pandas as pd

from specsim.catalog import Hardware, hardware
from specsim.errors import InputError
from specsim.roofline.laws import experts as experts_law
from specsim.roofline.laws import gemm as gemm_law
from validation.kernels import step, tables
from validation.kernels.all_reduce import all_reduce_frame, all_reduce_problem
from validation.kernels.attention import attention_frames, attention_problem
from validation.kernels.experts import experts_frames, experts_problem
from validation.kernels.gemm import gemm_frames, gemm_problem
from validation.kernels.gpus import GPUS, Gpu
from validation.kernels.held_out import Judged, judged
from validation.kernels.problem import Problem

KINDS = tuple(tables.FILES)


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineLaws:
    """What one engine's tables on one GPU gave.

    Parameters
    ----------
    gpu : Gpu
        Where it ran.
    engine : str
        What ran.
    versions : dict
        Version of the table by kind.
    laws : list of Judged
        Every law, fitted and judged.
    cases : DataFrame
        Decode steps, from `step_cases`; empty where a table is missing.
    """

    gpu: Gpu
    engine: str
    versions: dict[str, str]
    laws: list[Judged] = field(default_factory=list)
    cases: pd.DataFrame = field(default_factory=pd.DataFrame)


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """Tables of one engine on one GPU to fit: their versions by kind."""

    gpu: str
    engine: str
    versions: dict[str, str]


def jobs(folder: Path, *, gpus: list[str], engines: list[str], every_version: bool = False) -> list[Job]:
    """What there is to fit, the newest version of each engine first.

    Parameters
    ----------
    folder : Path
        From `tables_folder`.
    gpus, engines : list of str
        Folders of GPUs, names of engines.
    every_version : bool
        Also the older ones, each with the tables that it has.

    Raises
    ------
    InputError
        No table of matrix multiplications among those asked for.
    """
    found: list[Job] = []
    for name, engine in product(gpus, engines):
        newest = {kind: tables.newest(folder, name, kind, engine) for kind in KINDS}
        if newest["gemm"] is None:
            continue
        latest = {kind: version for kind, version in newest.items() if version is not None}
        found.append(Job(gpu=name, engine=engine, versions=latest))
        if every_version:
            found += _older(folder, found[-1])
    if not found:
        raise InputError(f"tables must hold matrix multiplications of {', '.join(engines)} on {', '.join(gpus)}")
    return found


def _older(folder: Path, latest: Job) -> list[Job]:
    by_version: dict[str, dict[str, str]] = {}
    for kind in KINDS:
        for version in tables.versions(folder, latest.gpu, kind, latest.engine):
            if version != latest.versions.get(kind):
                by_version.setdefault(version, {})[kind] = version
    ordered = sorted(by_version, key=tables.version_order, reverse=True)
    return [Job(gpu=latest.gpu, engine=latest.engine, versions=by_version[version]) for version in ordered]


def engine_laws(folder: Path, job: Job, *, only: Callable[[str], bool] | None = None) -> EngineLaws:
    """Fit and judge every law that the tables of one job hold.

    Parameters
    ----------
    folder : Path
        From `tables_folder`.
    job : Job
        GPU, engine and versions.
    only : callable, optional
        Whether to fit a law of that name; all by default.
    """
    part = GPUS[job.gpu]
    frames = {kind: tables.read(folder, job.gpu, kind, job.engine, version) for kind, version in job.versions.items()}
    laws: list[Judged] = []
    seen: dict[str, step.Measured] = {}
    for problem, frame, columns in _problems(frames, hardware(part.name), part.processors):
        if only is not None and not only(problem.name):
            continue
        laws.append(judged(problem))
        if columns:
            seen[problem.name] = step.Measured.of(laws[-1], frame, columns)
    cases = pd.DataFrame()
    if {"gemm.bfloat16", "attention.grouped"} <= set(seen):
        cases = step.step_cases(seen["gemm.bfloat16"], seen["attention.grouped"], seen.get("all_reduce"))
    return EngineLaws(gpu=part, engine=job.engine, versions=job.versions, laws=laws, cases=cases)


def _problems(
    frames: dict[str, pd.DataFrame], part: Hardware, processors: int
) -> Iterator[tuple[Problem, pd.DataFrame, tuple[str, ...]]]:
    """Every problem, its rows, and the columns that a decode step finds them by."""
    peaks = {"", *part.flop_per_second}
    if "gemm" in frames:
        for dtype, frame in gemm_frames(frames["gemm"]).items():
            if gemm_law.FORMATS[dtype][0] in peaks:
                columns = step.GEMM_COLUMNS if dtype == "bfloat16" else ()
                yield gemm_problem(frame, part, dtype=dtype, processors=processors), frame, columns
    for name, frame in attention_frames(frames.get("attention"), frames.get("latent")).items():
        columns = step.ATTENTION_COLUMNS if name == "grouped" else ()
        yield attention_problem(name, frame, part, processors=processors), frame, columns
    if "experts" in frames:
        for dtype, frame in experts_frames(frames["experts"]).items():
            if experts_law.FORMATS[dtype] in peaks:
                yield experts_problem(frame, part, dtype=dtype, processors=processors), frame, ()
    if "all_reduce" in frames:
        frame = all_reduce_frame(frames["all_reduce"])
        yield all_reduce_problem(frame, part), frame, step.ALL_REDUCE_COLUMNS

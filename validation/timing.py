"""Measuring seconds honestly: warm-up, interleaved repeats, medians with intervals, and what it was measured on."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
import torch
from scipy import stats

from specsim import checks
from validation.decoder.language_model import LanguageModel

Key = TypeVar("Key")

FAST_DTYPE_FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8", "asimd", "bf16", "i8mm")


@dataclass(frozen=True, kw_only=True, slots=True)
class Timing:
    """A median of repeated measurements and its distribution-free interval.

    Parameters
    ----------
    seconds, low, high
        Median and interval [s].
    repeats
        Measurements behind it [1].
    """

    seconds: float
    low: float
    high: float
    repeats: int


def median(samples: Sequence[float], *, level: float = 0.95) -> Timing:
    """Median with the order-statistic interval, exact for any distribution of independent samples.

    Notes
    -----
    The l-th smallest and l-th largest of n samples enclose the median with probability 1 - 2 P(Binomial(n, 1/2) < l);
    the largest l that keeps `level` is taken. Fewer than 6 samples cannot reach 95 %: their interval is their range.

    Examples
    --------
    >>> median([5.0, 1.0, 4.0, 2.0, 3.0, 9.0])
    Timing(seconds=3.5, low=1.0, high=9.0, repeats=6)
    """
    checks.integer("number of samples", len(samples), low=1)
    ordered = np.sort(checks.array("samples", samples, ndim=1))
    rank = max(1, int(stats.binom.ppf((1 - checks.probability("level", level)) / 2, len(ordered), 0.5)))
    return Timing(
        seconds=float(np.median(ordered)),
        low=float(ordered[rank - 1]),
        high=float(ordered[-rank]),
        repeats=len(ordered),
    )


def interleaved(
    actions: Mapping[Key, Callable[[], object]],
    *,
    repeats: int,
    warm_up: int = 2,
    before: Callable[[Key], object] | None = None,
    seed: int = 0,
) -> dict[Key, list[float]]:
    """Time several actions in turns, so that a slow spell of the machine falls on all of them.

    Parameters
    ----------
    actions
        What to time, by key.
    repeats, warm_up
        Timed and untimed turns [1].
    before
        Called with its key before each action, untimed.
    seed
        The order within a turn is drawn anew from it, so that no action always follows the same other.

    Returns
    -------
    dict
        Seconds of each action, in the order measured [s].

    Examples
    --------
    >>> {key: len(seconds) for key, seconds in interleaved({"a": list, "b": dict}, repeats=3).items()}
    {'a': 3, 'b': 3}
    """
    checks.integer("repeats", repeats, low=1)
    rng = np.random.default_rng(seed)
    keys = list(actions)
    seconds: dict[Key, list[float]] = {key: [] for key in keys}
    for turn in range(checks.integer("warm_up", warm_up) + repeats):
        for place in rng.permutation(len(keys)):
            if before is not None:
                before(keys[place])
            synchronize()
            started = perf_counter()
            actions[keys[place]]()
            synchronize()
            elapsed = perf_counter() - started
            if turn >= warm_up:
                seconds[keys[place]].append(elapsed)
    return seconds


def pass_rows(
    model: LanguageModel,
    *,
    tokens: Sequence[int],
    context: int,
    repeats: int = 30,
    warm_up: int = 3,
    level: float = 0.95,
    seed: int = 0,
) -> list[dict[str, float | int]]:
    """Seconds of one forward pass over each number of tokens, at the same cached context.

    Parameters
    ----------
    model
        The model measured; its cache holds `context` tokens afterwards.
    tokens
        Token counts, measured in turns [1].
    context
        Random tokens cached before each pass [1].
    repeats, warm_up, level, seed
        See `interleaved` and `median`.

    Returns
    -------
    list of dict
        `tokens` [1], `seconds`, `low`, `high` [s], `repeats` [1]; in the order of `tokens`.

    Raises
    ------
    InputError
        No counts, counts below 1, or more than fits into the context limit.

    Examples
    --------
    >>> from validation.decoder.table_model import TableModel
    >>> [row["tokens"] for row in pass_rows(TableModel([0.5, 0.5]), tokens=[1, 4], context=8, repeats=6)]
    [1, 4]
    """
    checks.integer("number of token counts", len(tokens), low=1)
    room = model.context_limit - checks.integer("context", context)
    for place, count in enumerate(tokens):
        checks.integer(f"tokens[{place}]", count, low=1, high=room)
    rng = np.random.default_rng(seed)
    text = rng.integers(model.vocabulary_size, size=context + max(tokens)).tolist()
    model.truncate(0)
    if context:
        model.score(text[:context], keep=1)
    actions = {count: (lambda new=text[context : context + count]: model.score(new)) for count in tokens}
    samples = interleaved(
        actions, repeats=repeats, warm_up=warm_up, before=lambda key: model.truncate(context), seed=seed
    )
    model.truncate(context)
    rows: list[dict[str, float | int]] = []
    for count in tokens:
        timing = median(samples[count], level=level)
        rows.append({"tokens": count} | {name: getattr(timing, name) for name in Timing.__slots__})
    return rows


def synchronize() -> None:
    """Wait for the GPU; nothing to wait for when CUDA is not in use."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def pin_threads(threads: int | None = None) -> int:
    """Set the number of threads of torch, by default to the physical cores that this process may use; returns it."""
    count = physical_cores() if threads is None else checks.integer("threads", threads, low=1)
    torch.set_num_threads(count)
    return count


def physical_cores() -> int:
    """Physical cores that this process may use; hyper-threads of one core count once [1]."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    usable = os.sched_getaffinity(0)
    siblings = [Path(f"/sys/devices/system/cpu/cpu{n}/topology/thread_siblings_list") for n in usable]
    return len({path.read_text() for path in siblings if path.exists()}) or len(usable)


def fingerprint() -> dict[str, Any]:
    """What a measurement was made on: machine, threads, versions, commit; goes into every result file."""
    cpu = _cpu_facts()
    flags = set((cpu.get("flags") or cpu.get("Features") or "").split())
    return {
        "cpu": cpu.get("model name") or platform.processor() or platform.machine(),
        "physical_cores": physical_cores(),
        "logical_cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "dtype_flags": [flag for flag in FAST_DTYPE_FLAGS if flag in flags],
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "platform": f"{platform.system()}-{platform.machine()}",
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("torch", "transformers", "numpy", "specsim")},
        "commit": _commit(Path(__file__).resolve().parents[1]),
    }


def has_fast_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 by itself."""
    return bool({"avx512_bf16", "amx_bf16", "bf16"} & set(fingerprint()["dtype_flags"]))


@cache
def is_intel() -> bool:
    """Whether Intel made the processor."""
    return _cpu_facts().get("vendor_id") == "GenuineIntel"


def _cpu_facts() -> dict[str, str]:
    """The first processor of /proc/cpuinfo, where there is one."""
    path = Path("/proc/cpuinfo")
    first = path.read_text().split("\n\n")[0] if path.exists() else ""
    pairs = (line.split(":", 1) for line in first.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def _commit(root: Path) -> str | None:
    """Commit of the checkout at `root`, marked when files differ from it; None when `root` is no checkout."""
    try:
        if Path(_git("rev-parse", "--show-toplevel", folder=root)) != root:
            return None
        return _git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*", folder=root)
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str, folder: Path) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()

"""The measured tables of the package aiconfigurator-core, read from where it is installed."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from specsim.errors import InputError

PACKAGE = "aiconfigurator_core"
NEEDED = "needs the package aiconfigurator-core: pip install 'specsim[kernels]'"
SOURCE = "tables of aiconfigurator-core 0.12.0 (Apache-2.0, PyPI)"
FILES = {
    "gemm": "gemm/{engine}/{version}/gemm_perf.parquet",
    "attention": "attention/{engine}/{version}/generation_attention_perf.parquet",
    "latent": "mla/{engine}/{version}/generation_mla_perf.parquet",
    "experts": "moe/{engine}/{version}/moe_perf.parquet",
    "all_reduce": "comm/{engine}/{version}/custom_allreduce_perf.parquet",
}
# A version with a table this much shorter than the longest measured an addition, not the engine.
WHOLE = 0.25


def tables_folder(given: Path | None = None) -> Path:
    """The folder that holds one folder per GPU: the given one, or the installed package's.

    Raises
    ------
    InputError
        The package is not installed, or the folder holds no tables.
    """
    folder = given if given is not None else _installed()
    if not folder.is_dir() or not any(folder.glob("*/*/*/*/*.parquet")):
        raise InputError(f"tables must be a folder GPU/KIND/ENGINE/VERSION/*.parquet, got {folder}")
    return folder


def _installed() -> Path:
    spec = find_spec(PACKAGE)  # finds it without running its code
    if spec is None or not spec.submodule_search_locations:
        raise InputError(NEEDED)
    return Path(next(iter(spec.submodule_search_locations))) / "systems" / "data"


def versions(folder: Path, gpu: str, kind: str, engine: str) -> list[str]:
    """Versions of an engine with a table of this kind, oldest first.

    Examples
    --------
    >>> versions(getfixture("tmp_path"), "h100_sxm", "gemm", "vllm")
    []
    """
    pattern = FILES[kind].format(engine=engine, version="*")
    return sorted((file.parent.name for file in (folder / gpu).glob(pattern)), key=version_order)


def version_order(version: str) -> tuple[int, ...]:
    """What versions sort by.

    Examples
    --------
    >>> sorted(["0.5.14", "0.5.6.post2", "1.3.0rc20", "1.3.0rc3"], key=version_order)
    ['0.5.6.post2', '0.5.14', '1.3.0rc3', '1.3.0rc20']
    """
    return tuple(int(number) for number in re.findall(r"\d+", version))


def newest(folder: Path, gpu: str, kind: str, engine: str) -> str | None:
    """The newest version with a whole table of this kind; None where there is none."""
    sizes = {version: rows(folder, gpu, kind, engine, version) for version in versions(folder, gpu, kind, engine)}
    whole = [version for version, size in sizes.items() if size >= WHOLE * max(sizes.values())]
    return whole[-1] if whole else None


def rows(folder: Path, gpu: str, kind: str, engine: str, version: str) -> int:
    """Rows of one table, from its footer."""
    return int(_parquet().ParquetFile(_file(folder, gpu, kind, engine, version)).metadata.num_rows)


def read(folder: Path, gpu: str, kind: str, engine: str, version: str) -> pd.DataFrame:
    """One table, with `seconds` for the measured time and without rows that hold none [s]."""
    frame = _parquet().read_table(_file(folder, gpu, kind, engine, version)).to_pandas()
    frame["seconds"] = frame.pop("latency").astype(float) * 1e-3
    return frame[frame["seconds"] > 0].reset_index(drop=True)


def _file(folder: Path, gpu: str, kind: str, engine: str, version: str) -> Path:
    return folder / gpu / FILES[kind].format(engine=engine, version=version)


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise InputError("needs the package pyarrow: pip install 'specsim[kernels]'") from None
    return pyarrow.parquet

"""Laws fitted to measured kernels, by GPU and engine."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from specsim import checks
from specsim.roofline.laws import AllReduceLaw, AttentionKernel, AttentionLaw, ExpertsKernel, ExpertsLaw, GemmLaw
from specsim.roofline.laws.kernels import KernelLaws

SUFFIX = ".toml"
GROUPS = ("gemm", "attention", "experts")


def fitted_names() -> list[str]:
    """Catalogue names of the GPUs with fitted laws.

    Examples
    --------
    >>> "H100-SXM" in fitted_names()
    True
    """
    return sorted(file.name.removesuffix(SUFFIX) for file in _folder().iterdir() if file.name.endswith(SUFFIX))


def fitted_engines(gpu_name: str) -> list[str]:
    """Engines whose kernels were measured on a GPU.

    Raises
    ------
    InputError
        A GPU without fitted laws; the message lists those with.

    Examples
    --------
    >>> fitted_engines("H100-SXM")
    ['sglang', 'trtllm', 'vllm']
    """
    return sorted(name for name, value in _table(gpu_name).items() if isinstance(value, dict))


@cache
def kernel_laws(gpu_name: str, engine: str = "vllm") -> KernelLaws:
    """Laws of one engine's kernels on one GPU.

    Parameters
    ----------
    gpu_name : str
        Name in the catalogue.
    engine : str
        "vllm", "sglang" or "trtllm", as far as it was measured there.

    Raises
    ------
    InputError
        A GPU or an engine without fitted laws; the message lists those with.

    Notes
    -----
    Rows of the files in `catalog/data/kernels/` hold [value, low, high]: a coefficient and its 95 % interval, or an
    error and its interval. `specsim kernels fit` writes them.

    Examples
    --------
    >>> laws = kernel_laws("H200-SXM")
    >>> sorted(laws.gemm)
    ['bfloat16', 'fp8', 'fp8_block']
    """
    table = _table(gpu_name)
    rows = table[checks.one_of(f"engine of kernels fitted on {gpu_name}", engine, fitted_engines(gpu_name))]
    return laws_from(rows, gpu=gpu_name, engine=engine, processors=table["processors"], source=table["source"])


def laws_from(rows: Mapping[str, Any], *, gpu: str, engine: str, processors: int, source: str) -> KernelLaws:
    """Laws from the rows of one engine, as `specsim kernels fit` writes them."""

    def kernels(kind: Any, group: str) -> dict[str, Any]:
        found = {name: _values(row) for name, row in rows.get(group, {}).items()}
        return {name: kind(**values, processors=processors) for name, values in found.items()}

    experts = kernels(ExpertsKernel, "experts")
    version = rows["versions"]["gemm"]
    return KernelLaws(
        gemm=kernels(GemmLaw, "gemm"),
        attention=AttentionLaw(kernels=kernels(AttentionKernel, "attention")),
        experts=ExpertsLaw(kernels=experts) if experts else None,
        all_reduce=AllReduceLaw(**_values(rows["all_reduce"])) if "all_reduce" in rows else None,
        source=f"fitted to kernels of {engine} {version} on {gpu}, {source}",
        engine=engine,
        version=version,
        gpu=gpu,
        intervals=_intervals(rows),
        held_out={name: value for name, (value, _, _) in rows["held_out"].items()},
    )


def stored_errors(gpu_name: str) -> list[dict[str, Any]]:
    """What the catalogue holds of the errors on unseen shapes, a row per engine and law.

    Examples
    --------
    >>> rows = [row for row in stored_errors("H100-SXM") if (row["engine"], row["law"]) == ("vllm", "step")]
    >>> rows[0]["error"] < 0.04 < rows[0]["naive"]
    True
    """
    found = []
    for engine in fitted_engines(gpu_name):
        rows = _table(gpu_name)[engine]
        for law, (error, low, high) in rows["held_out"].items():
            naive = dict(zip(("naive", "naive_low", "naive_high"), rows["naive"][law], strict=True))
            kind = "latent" if "latent" in law else law.split(".")[0].removesuffix("_8bit")
            version = rows["versions"].get(kind, rows["versions"]["gemm"])
            where = {"gpu": gpu_name, "engine": engine, "version": version, "law": law}
            found.append(
                {**where, **rows["measured"][law], "error": error, "error_low": low, "error_high": high, **naive}
            )
    return found


def _values(row: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(triple[0]) for name, triple in row.items()}


def _intervals(rows: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    laws = {f"{group}.{name}": row for group in GROUPS for name, row in rows.get(group, {}).items()}
    laws |= {"all_reduce": rows["all_reduce"]} if "all_reduce" in rows else {}
    return {
        f"{path}.{name}": (float(triple[1]), float(triple[2]))
        for path, row in laws.items()
        for name, triple in row.items()
    }


def _table(gpu_name: str) -> dict[str, Any]:
    return _read(checks.one_of("GPU with fitted kernels", gpu_name, fitted_names()))


@cache
def _read(gpu_name: str) -> dict[str, Any]:
    return tomllib.loads(_folder().joinpath(gpu_name + SUFFIX).read_text(encoding="utf-8"))


def _folder() -> Traversable:
    return resources.files("specsim.catalog").joinpath("data", "kernels")

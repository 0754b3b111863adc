"""What is said of fitted laws: rows of the report, and the catalogue's file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from validation.kernels import tables
from validation.kernels.held_out import mean_over_shapes
from validation.kernels.run import EngineLaws
from validation.kernels.step import step_error

WIDTHS = (("attention", ("grouped", "single")), ("attention_8bit", ("grouped_8bit", "single_8bit")))
KIND_OF = {"attention.latent": "latent", "attention.latent_8bit": "latent"}
HEADER = """# Kernels of {name}: coefficients of the laws in specsim/roofline/laws, each as [value, low, high] with the
# ends of its 95 % interval, a jackknife over five folds of shapes; errors are means of |predicted / measured - 1| over
# shapes that the fit had not seen, with their interval over shapes. Written by `specsim kernels fit`; do not edit.
"""


def error_rows(found: EngineLaws) -> list[dict[str, Any]]:
    """One row per law, per attention with all its kernels, and for the decode step."""
    rows = [
        _row(found, law.name, law.error(), law.error(of="naive"), law.shapes, int(law.scored.sum()))
        for law in found.laws
    ]
    rows += [_joined(found, name, kernels) for name, kernels in WIDTHS if _some(found, kernels)]
    if len(found.cases):
        groups = len(found.cases.groupby(["model", "tensor_parallel"]))
        errors = step_error(found.cases), step_error(found.cases, of="naive")
        rows.append(_row(found, "step", *errors, groups, len(found.cases)))
    return rows


def _some(found: EngineLaws, kernels: Iterable[str]) -> bool:
    return any(law.name == f"attention.{kernel}" for law in found.laws for kernel in kernels)


def _joined(found: EngineLaws, name: str, kernels: Iterable[str]) -> dict[str, Any]:
    """All kernels of one width together, as a step calls them."""
    laws = [law for law in found.laws if law.name in {f"attention.{kernel}" for kernel in kernels}]
    shape = np.concatenate([law.shape[law.scored] + 10_000 * place for place, law in enumerate(laws)])

    def error(of: str) -> tuple[float, float, float]:
        off = [np.abs(getattr(law, of)[law.scored] / law.seconds[law.scored] - 1) for law in laws]
        return mean_over_shapes(np.concatenate(off), shape)

    return _row(found, name, error("predicted"), error("naive"), len(np.unique(shape)), len(shape))


def _row(
    found: EngineLaws,
    law: str,
    error: tuple[float, float, float],
    naive: tuple[float, float, float],
    shapes: int,
    rows: int,
) -> dict[str, Any]:
    kind = KIND_OF.get(law, law.split(".")[0].removesuffix("_8bit"))
    return {
        "gpu": found.gpu.name,
        "engine": found.engine,
        "version": found.versions.get(kind, found.versions.get("gemm", "")),
        "law": law,
        "shapes": shapes,
        "rows": rows,
        "error": error[0],
        "error_low": error[1],
        "error_high": error[2],
        "naive": naive[0],
        "naive_low": naive[1],
        "naive_high": naive[2],
    }


def catalogue_file(found: Iterable[EngineLaws]) -> str:
    """The TOML file of one GPU, engines in order.

    Examples
    --------
    >>> catalogue_file([])
    ''
    """
    engines = list(found)
    if not engines:
        return ""
    gpu = engines[0].gpu
    lines = [HEADER.format(name=gpu.name), f'source = "{tables.SOURCE}"', f"processors = {gpu.processors}"]
    for each in engines:
        lines += _engine_lines(each)
    return "\n".join(lines) + "\n"


def _engine_lines(found: EngineLaws) -> list[str]:
    versions = {kind: f'"{version}"' for kind, version in found.versions.items()}
    lines = _table(f"{found.engine}.versions", versions)
    for law in found.laws:
        triples = {name: _triple((value, *law.intervals[name])) for name, value in law.values.items()}
        lines += _table(f"{found.engine}.{law.name}", triples)
    rows = error_rows(found)
    for title, keys in (("held_out", "error"), ("naive", "naive")):
        ends = {f'"{row["law"]}"': _triple([row[keys + end] for end in ("", "_low", "_high")]) for row in rows}
        lines += _table(f"{found.engine}.{title}", ends)
    counts = {f'"{row["law"]}"': f"{{ shapes = {row['shapes']}, rows = {row['rows']} }}" for row in rows}
    return lines + _table(f"{found.engine}.measured", counts)


def _table(name: str, values: Mapping[str, str]) -> list[str]:
    return ["", f"[{name}]", *(f"{key} = {value}" for key, value in values.items())]


def _triple(numbers: Iterable[float]) -> str:
    return f"[{', '.join(_number(number) for number in numbers)}]"


def _number(value: float) -> str:
    text = f"{value:.5g}"
    return text if any(sign in text for sign in ".e") else f"{text}.0"

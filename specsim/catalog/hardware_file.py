"""A user's own part, read from a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any

from specsim import checks
from specsim.catalog.hardware import Hardware, hardware
from specsim.errors import InputError

KNOWN = tuple(field.name for field in fields(Hardware))
TEXTS = ("name", "source", "generation", "vendor", "note", "confidence", "base")
NEEDED = tuple(field.name for field in fields(Hardware) if field.default is MISSING and field.name not in TEXTS)
# Far outside what exists: a figure beyond these is in another unit. (lowest, highest, how the unit is written)
UNITS = {
    "memory_bytes": (1e8, 1e14, "byte, so 80 GB is 80e9"),
    "bandwidth_bytes_per_second": (1e9, 1e15, "byte/s, so 3.35 TB/s is 3.35e12"),
    "link_bytes_per_second": (1e8, 1e14, "byte/s of one direction, so 450 GB/s is 450e9"),
    "l2_bytes": (1e4, 1e11, "byte, so 50 MB is 50e6"),
    "watts": (1.0, 1e5, "watt"),
}
PEAK = (1e10, 1e18, "FLOP/s, so 989 TFLOP/s is 989e12")


def hardware_from(name_or_file: str) -> Hardware:
    """A part by its catalogue name, or from a file whose name ends in `.toml`.

    Raises
    ------
    InputError
        An unknown name, or what `read_hardware` refuses.

    Examples
    --------
    >>> hardware_from("L4").watts
    72
    """
    return read_hardware(name_or_file) if name_or_file.endswith(".toml") else hardware(name_or_file)


def read_hardware(path: str | Path) -> Hardware:
    r"""A part from a TOML file with the fields of `Hardware`, alone or in one table named like the part.

    Parameters
    ----------
    path
        The file. `base = "NAME"` takes what it does not say from that row of the catalogue; its `flop_per_second` then
        adds to the row's or replaces single formats. The name defaults to the table's or the file's, the source to
        the file.

    Returns
    -------
    Hardware
        The part, checked.

    Raises
    ------
    InputError
        No such file, not TOML, several parts, unknown or missing keys, a figure out of range or in another unit.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "ours.toml"
    >>> _ = path.write_text('base = "H100-SXM"\nprice_per_hour = 2.5')
    >>> part = read_hardware(path)
    >>> part.name, part.price_per_hour, part.memory_bytes
    ('ours', 2.5, 80000000000.0)
    """
    file = Path(path)
    try:
        return _part(_one_table({"name": file.stem}, _toml(file)), file.name)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"must be TOML: {error}") from None


def _one_table(default: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    parts = [key for key, value in content.items() if isinstance(value, dict) and key != "flop_per_second"]
    if not parts:
        return default | content
    if len(content) > 1:
        raise InputError(f"must hold one part, in one table or in none; got {', '.join(content)}")
    return {"name": parts[0], **content[parts[0]]}


def _part(table: dict[str, Any], file: str) -> Hardware:
    for key, value in table.items():
        checks.one_of("key", key, (*KNOWN, "base"))
        if key in TEXTS and not isinstance(value, str):
            raise InputError(f"{key} must be text, got {value!r}")
    _in_si_units(table)
    source = f"file {file}"
    row: dict[str, Any] = {}
    if "base" in table:
        base = hardware(table.pop("base"))
        row = asdict(base)
        source += f"; the rest as {base.name}: {base.source}"
        table["flop_per_second"] = {**base.flop_per_second, **table.get("flop_per_second", {})}
    merged = {**row, "source": source, **table}
    missing = [key for key in NEEDED if key not in merged]
    if missing:
        raise InputError(f"must give {', '.join(missing)}, or the base = NAME of a catalogue row to take them from")
    return Hardware(**merged)


def _in_si_units(table: Mapping[str, Any]) -> None:
    peaks = table.get("flop_per_second", {})
    if not isinstance(peaks, dict):
        raise InputError(f"flop_per_second must be a table by number format, got {peaks!r}")
    figures = {key: (table[key], UNITS[key]) for key in UNITS if key in table}
    figures |= {f"flop_per_second.{dtype}": (peak, PEAK) for dtype, peak in peaks.items()}
    for key, (value, (low, high, unit)) in figures.items():
        figure = checks.non_negative(key, value)
        if figure and not low <= figure <= high:
            raise InputError(f"{key} must be in {unit}; got {figure:g}")

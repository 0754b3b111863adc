"""Results: what claims found on a device, one JSON file a claim."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from specsim.cli.output import envelope, to_json
from specsim.errors import InputError
from specsim.files import write_whole
from validation.claims.protocol import ClaimResult

COMMITTED = Path(__file__).resolve().parents[1] / "results"
"""The results that come with the project."""


class Results:
    """A folder of results on one device.

    Parameters
    ----------
    folder
        Results go to folder/DEVICE/CLAIM.json; None keeps none.
    inputs
        What was asked, for every file.
    device
        Fingerprint of the machine, `cpu` and `device` among it.
    """

    def __init__(self, folder: Path | None, *, inputs: Mapping[str, Any], device: Mapping[str, Any]) -> None:
        self._folder = None if folder is None else folder / device_name(device)
        self._inputs, self._device = dict(inputs), dict(device)

    def keep(self, result: ClaimResult) -> dict[str, Any]:
        """The result as plain values, written whole or not at all."""
        row = result.as_dict()
        if self._folder is not None:
            outcome = envelope("validate run", inputs=self._inputs, result=row | {"device": self._device})
            self._folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._folder / f"{result.test}.json", to_json(outcome, indent=1))
        return row

    def known(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Results of these claims that the folder has."""
        assert self._folder is not None
        paths = {name: self._folder / f"{name}.json" for name in names}
        return {name: read_result(path) for name, path in paths.items() if path.exists()}


def read_result(path: Path) -> dict[str, Any]:
    """The result in one file.

    Raises
    ------
    InputError
        No such file, or none of ours.
    """
    try:
        result = dict(json.loads(path.read_text())["result"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} must be a result of specsim validate run: {error}") from error
    missing = {"test", "passed", "n"} - set(result)
    if missing:
        raise InputError(f"{path} must be a result of specsim validate run: it lacks {', '.join(sorted(missing))}")
    return result


def device_name(device: Mapping[str, Any]) -> str:
    """A folder's name for a machine: its GPU where one was used, else its processor and threads.

    Examples
    --------
    >>> device_name({"device": "cpu", "cpu": "AMD EPYC", "threads": 2})
    'amd-epyc-2-threads'
    >>> device_name({"device": "NVIDIA H200", "cpu": "AMD EPYC", "threads": 2})
    'nvidia-h200'
    """
    shown = device["device"] if device["device"] != "cpu" else f"{device['cpu']} {device['threads']} threads"
    return re.sub(r"[^a-z0-9]+", "-", str(shown).lower()).strip("-")

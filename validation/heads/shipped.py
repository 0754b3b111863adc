"""The trained head that comes with this package, for the model that everything here runs on by default."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from validation.heads.files import about_head, fingerprint


def shipped_head(model: Any) -> Path | None:
    """The file of a head that was trained for this very target; None for other targets.

    Notes
    -----
    `specsim validate train eagle` made it; its header says from which text, by which recipe, and what was measured.

    Examples
    --------
    >>> from validation.decoder.tiny import tiny_model
    >>> shipped_head(tiny_model()[0]) is None
    True
    """
    folder = Path(str(resources.files("validation.heads"))) / "weights"
    found = fingerprint(model, "")["sha256"]
    return next((path for path in folder.glob("*.safetensors") if about_head(path)["target"]["sha256"] == found), None)

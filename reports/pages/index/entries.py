"""The pages that need nothing but what the project ships; each is a subcommand with its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "scenarios" / "llama8b_h100.toml"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A page of the index.

    Parameters
    ----------
    name : str
        Of the subcommand, which writes NAME.html.
    title, line : str
        What readers see.
    picture : str
        Script of the gallery that draws its picture.
    arguments : tuple of str
        What the subcommand is given.
    """

    name: str
    title: str
    line: str
    picture: str
    arguments: tuple[str, ...] = ()


ENTRIES = (
    Entry(
        name="calculator",
        title="Calculator",
        line="Choose a model, a GPU and a drafter, move acceptance, depth and batch, and see what it gains.",
        picture="gain_by_batch",
    ),
    Entry(
        name="explained",
        title="Explained",
        line="What happens in a round, and why the text stays the target's own: seven pictures.",
        picture="draft_and_verify",
    ),
    Entry(
        name="drafters",
        title="Which drafter",
        line="A worked example: Llama-3.1-8B on one H100, batch 16, context 4096; every drafter ranked, with reasons.",
        picture="device_speed_by_user_speed",
        arguments=("--scenario", str(EXAMPLE)),
    ),
    Entry(
        name="serving",
        title="Under load",
        line="A worked example: latency percentiles of the same server against load, with and without speculation.",
        picture="latency_by_load",
        arguments=("--model", "Llama-3.1-8B", "--hardware", "H100-SXM", "--seconds", "20"),
    ),
    Entry(
        name="validation",
        title="Is it right",
        line="Claims with planted faults, predicted against measured, published results, and engines under test.",
        picture="measured_by_predicted",
    ),
    Entry(
        name="gallery",
        title="Gallery",
        line="Every chart of the library, with the short script that draws it.",
        picture="token_tree",
    ),
)
"""In the order of the index."""

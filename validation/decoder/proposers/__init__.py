"""Who drafts: nobody, the text and others before it, the target's own weights, or a smaller model; one file each.

To add one: write its file with a class that derives from `Proposer` and a function `build`, and add its line here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from validation.decoder.proposers.model import ModelProposer
from validation.decoder.proposers.ngram import NgramProposer
from validation.decoder.proposers.protocol import Draft, NoProposer, Proposer

if TYPE_CHECKING:
    from validation.decoder.load import Loaded


class Build(Protocol):
    """How a proposer is made for a target."""

    def __call__(self, loaded: Loaded, **options: Any) -> Proposer:
        """For a loaded target; what options there are says the `build` of its file."""


def _of(module: str) -> Build:
    """The `build` of a file, which is imported when it is called: most of them need torch."""

    def build(loaded: Loaded, **options: Any) -> Proposer:
        made: Proposer = import_module(f"{__name__}.{module}").build(loaded, **options)
        return made

    return build


PROPOSERS: dict[str, Build] = {
    "ngram": _of("ngram"),
    "suffix": _of("suffix"),
    "rest": _of("rest"),
    "lookahead": _of("lookahead"),
    "jacobi": _of("jacobi"),
    "early_exit": _of("early_exit"),
    "layer_skip": _of("layer_skip"),
    "draft_verify": _of("draft_verify"),
    "quantised": _of("quantised"),
    "independent": _of("independent"),
    "dynamic_tree": _of("dynamic_tree"),
    "sampled_tree": _of("sampled_tree"),
    "head": _of("head"),
    "head_tree": _of("head_tree"),
    "head_sampled_tree": _of("head_sampled_tree"),
}

__all__ = ["PROPOSERS", "Build", "Draft", "ModelProposer", "NgramProposer", "NoProposer", "Proposer"]

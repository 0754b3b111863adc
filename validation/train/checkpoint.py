"""Checkpoints: everything that a training needs to go on as if it had never stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import nn
from torch.optim import Optimizer

from specsim.errors import InputError
from specsim.files import write_whole
from validation.decoder.pretrained import one_line

ENTRY = "specsim.checkpoint"


def write_checkpoint(path: Path, head: nn.Module, optimizers: Sequence[Optimizer], *, about: Mapping[str, Any]) -> None:
    """Write weights and moments in full precision, and `about` as JSON, whole or not at all."""
    tensors = {f"head.{name}": tensor.contiguous() for name, tensor in head.state_dict().items()}
    for index, optimizer in enumerate(optimizers):
        for place, state in optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{place}.{name}": value.contiguous() for name, value in state.items()}
    write_whole(path, save(tensors, metadata={ENTRY: json.dumps(about)}))


def read_about(path: Path) -> dict[str, Any]:
    """What was given as `about`.

    Raises
    ------
    InputError
        A damaged file, or one that is no checkpoint.
    """
    with _opened(path) as file:
        return dict(json.loads(file.metadata()[ENTRY]))


def restore(path: Path, head: nn.Module, optimizers: Sequence[Optimizer]) -> None:
    """Bring weights and moments back.

    Raises
    ------
    InputError
        A damaged file, or one of another head.
    """
    with _opened(path) as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
    states: list[dict[int, dict[str, Any]]] = [{} for _ in optimizers]
    for name, tensor in tensors.items():
        if name.startswith("optimizer."):
            _, index, place, moment = name.split(".")
            states[int(index)].setdefault(int(place), {})[moment] = tensor
    try:
        head.load_state_dict({name[5:]: tensor for name, tensor in tensors.items() if name.startswith("head.")})
        for optimizer, state in zip(optimizers, states, strict=True):
            optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    except (RuntimeError, ValueError) as error:
        raise InputError(f"{path} must be of the same head: {one_line(error)}") from error


def _opened(path: Path) -> Any:
    try:
        file = safe_open(path, framework="pt")
    except (SafetensorError, OSError) as error:
        raise InputError(f"cannot read {path}: {one_line(error)}; remove it to start anew") from error
    if ENTRY not in (file.metadata() or {}):
        raise InputError(f"{path} must be a checkpoint, its header has no entry {ENTRY}; remove it to start anew")
    return file

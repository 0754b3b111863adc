"""Heads on disk: one safetensors file, with what they are and which target they were trained for in its header."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from specsim import checks
from specsim.errors import InputError
from specsim.files import write_whole
from validation.decoder.pretrained import one_line, silence
from validation.heads import HEADS, Head, Setup
from validation.heads.distilled import Distilled, as_model
from validation.heads.parts import Sizes

ENTRY = "specsim.head"


def fingerprint(model: Any, name: str) -> dict[str, str]:
    """What tells one target from another: class, and a digest of its sizes and of a sample of its weights.

    Whatever else its configuration says does not count: other versions of transformers say more or less.

    Examples
    --------
    >>> from validation.decoder.tiny import tiny_model
    >>> found = fingerprint(tiny_model()[0], "tiny")
    >>> found["name"], found["class"], len(found["sha256"])
    ('tiny', 'LlamaForCausalLM', 64)
    """
    digest = hashlib.sha256(json.dumps(Sizes.of(model.config)).encode())
    sample = model.get_output_embeddings().weight[::97, ::13].detach().bfloat16().contiguous()
    digest.update(sample.view(torch.int16).cpu().numpy().tobytes())
    return {"name": name, "class": type(model).__name__, "sha256": digest.hexdigest()}


def save_head(
    head: Head,
    path: str | Path,
    *,
    target: Mapping[str, str],
    training: Mapping[str, Any],
    dtype: torch.dtype = torch.bfloat16,
) -> Path:
    """Write a head, whole or not at all.

    Parameters
    ----------
    head
        The weights of its own; what it shares with the target is not written.
    path
        File to write.
    target
        `fingerprint` of the target.
    training
        Recipe, seed and what was measured; anything that JSON can hold.
    dtype
        Of the stored weights.
    """
    setup = asdict(head.setup) | {"sizes": head.setup.sizes._asdict()}
    about = {"head": head.name, "setup": setup, "target": dict(target), "training": dict(training)}
    weights = {
        name: (tensor.to(dtype) if tensor.is_floating_point() else tensor).cpu().contiguous()
        for name, tensor in head.state_dict().items()
    }
    return write_whole(path, save(weights, metadata={ENTRY: json.dumps(about)}))


def about_head(path: str | Path) -> dict[str, Any]:
    """What a head's file says of itself: "head", "setup", "target" and "training".

    Raises
    ------
    InputError
        No such file, a damaged one, or one that holds no head.
    """
    return _opened(path)[0]


def load_head(path: str | Path, model: Any, *, dtype: torch.dtype | None = None) -> Head:
    """A head ready to draft for `model`.

    Parameters
    ----------
    path
        File that `save_head` wrote.
    model
        The target, a Hugging Face causal language model.
    dtype
        Of the weights; the target's by default.

    Raises
    ------
    InputError
        No such file, a damaged one, one that holds no head or a head of an unknown kind, or a head that was trained
        for another target.
    """
    about, weights = _opened(path)
    kind = HEADS[checks.one_of("head", about["head"], HEADS)]
    found, wanted = fingerprint(model, ""), about["target"]
    if (found["class"], found["sha256"]) != (wanted["class"], wanted["sha256"]):
        raise InputError(
            f"target must be the one that {path} was trained for, {wanted['name']} ({wanted['class']}, "
            f"{wanted['sha256'][:12]}), got a {found['class']} ({found['sha256'][:12]})"
        )
    setup = Setup(**about["setup"] | {"sizes": Sizes(**about["setup"]["sizes"])})
    head = kind(setup)
    try:
        head.load_state_dict(weights)
    except RuntimeError as error:
        raise InputError(f"{path} must hold the weights of a head {kind.name}: {one_line(error)}") from error
    head.to(device=model.device, dtype=dtype or model.dtype)
    return head.attach(model).eval()


def write_model(path: str | Path, target: Any, tokenizer: Any) -> Path:
    """An ordinary model out of a distilled head, for any decoder: the folder PATH without its suffix.

    Parameters
    ----------
    path
        File that `save_head` wrote.
    target, tokenizer
        The Hugging Face model that the head was distilled from, and its tokenizer.

    Returns
    -------
    Path
        The folder, as `save_pretrained` writes it.

    Raises
    ------
    InputError
        A file that holds another head, or a target that is no Llama.
    """
    head = load_head(path, target)
    if not isinstance(head, Distilled):
        raise InputError(f"{path} must hold a distilled head to make a model of, got {head.name}")
    folder = Path(path).with_suffix("")
    with silence():
        as_model(head, target).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def _opened(path: str | Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    if not Path(path).is_file():
        raise InputError(f"head must be a file, found none at {path}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
    except (SafetensorError, OSError) as error:
        raise InputError(f"cannot read {path}: {one_line(error)}") from error
    if ENTRY not in metadata:
        raise InputError(f"{path} must be a head that this project trained, its header has no entry {ENTRY}")
    return json.loads(metadata[ENTRY]), weights

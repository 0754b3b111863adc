"""What the target computes on its own texts, kept on disk: hidden states, and what its laws need besides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from specsim.errors import InputError
from validation.memory import enough_memory
from validation.train.text import Text

CHUNK = 512  # tokens whose full logits are held at once


def collect(
    model: Any,
    texts: Sequence[Text],
    *,
    layers: Sequence[int],
    rows: int,
    report: Callable[[float], None] | None = None,
) -> dict[str, Tensor]:
    """Run the target over `texts` once.

    Parameters
    ----------
    model
        A Hugging Face causal language model.
    texts
        All but each text's last token is of use later; all are read.
    layers
        Indices into its hidden states: 0 the embeddings, L what follows the final norm.
    rows
        Texts of a pass [1].
    report
        Told the fraction done.

    Returns
    -------
    dict
        By name, over the N tokens of all texts in order: "layer.K" (N, d) of bfloat16 for each layer and the last one;
        "log_total" (N,), the logarithm of the sum of exponentials of the logits over the whole vocabulary, computed
        from the rounded "layer.L"; "best" (N,), the most probable next token. And "mass" (V,), the target's
        probability of each token summed over all positions behind the prompt.

    Raises
    ------
    InputError
        A target whose logits are not its output matrix times its last hidden state (capped or scaled ones), or a
        hidden state that is not finite.
    """
    last = model.config.get_text_config(decoder=True).num_hidden_layers
    wanted = sorted({*layers, last})
    order = sorted(range(len(texts)), key=lambda place: len(texts[place].tokens))
    found: dict[int, dict[str, Tensor]] = {}
    weight = model.get_output_embeddings().weight.float()
    mass = torch.zeros(len(weight))
    for start in range(0, len(order), rows):
        places = order[start : start + rows]
        with enough_memory(f"the hidden states of {len(places)} texts", lower="rows or the tokens of a text"):
            states = _hidden(model, [texts[place] for place in places], wanted)
        for place, hidden in zip(places, states, strict=True):
            kept = {f"layer.{layer}": state.bfloat16().cpu() for layer, state in zip(wanted, hidden, strict=True)}
            log_total, best, shares = _law(kept[f"layer.{last}"].to(weight.device), weight, texts[place].prompt)
            found[place] = kept | {"log_total": log_total, "best": best}
            mass += shares
        if report is not None:
            report(min(1.0, (start + rows) / len(order)))
    columns = {name: torch.cat([found[place][name] for place in range(len(texts))]) for name in found[0]}
    return columns | {"mass": mass}


@torch.inference_mode()
def _hidden(model: Any, texts: Sequence[Text], layers: Sequence[int]) -> list[list[Tensor]]:
    """Of each text, its (n, d) hidden states layer by layer; texts are filled up behind, where no token looks."""
    span = max(len(text.tokens) for text in texts)
    ids = torch.tensor([[*text.tokens, *[0] * (span - len(text.tokens))] for text in texts], device=model.device)
    output = model(ids, output_hidden_states=True, use_cache=False, logits_to_keep=1)
    _check_linear(model, output)
    return [
        [output.hidden_states[layer][row, : len(text.tokens)] for layer in layers] for row, text in enumerate(texts)
    ]


def _check_linear(model: Any, output: Any) -> None:
    state = output.hidden_states[-1][:1, -1]
    again = model.get_output_embeddings()(state)
    if not torch.isfinite(again).all():
        raise InputError("target hidden states must be finite, got one that is not")
    if not torch.allclose(again.float(), output.logits[:1, -1].float(), rtol=0.02, atol=0.1):
        raise InputError(
            "target logits must be its output matrix times its last hidden state; this target changes them"
        )


@torch.inference_mode()
def _law(state: Tensor, weight: Tensor, prompt: int) -> tuple[Tensor, Tensor, Tensor]:
    """Log of the total, most probable token, and the summed law behind the prompt."""
    totals, best, mass = [], [], torch.zeros(len(weight), device=weight.device)
    for start in range(0, len(state), CHUNK):
        logits = state[start : start + CHUNK].float() @ weight.T
        totals.append(logits.logsumexp(-1))
        best.append(logits.argmax(-1).int())
        answer = max(0, prompt - 1 - start)
        mass += torch.softmax(logits[answer:], dim=-1).sum(0)
    return torch.cat(totals).cpu(), torch.cat(best).cpu(), mass.cpu()

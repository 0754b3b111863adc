"""`specsim step`: seconds of one forward pass."""

from __future__ import annotations

import click

from specsim.cli import parts
from specsim.cli.output import emit, envelope, json_option
from specsim.roofline import ridge_tokens
from specsim.units import human, significant


@click.command()
@parts.pass_options
@click.option("--tokens", type=int, default=1, show_default=True, help="Tokens scored per sequence.")
@click.option("--batch", type=int, default=1, show_default=True, help="Sequences in the pass.")
@json_option
def step(model: str, hardware: str, context: int, ideal: bool, tokens: int, batch: int, as_json: bool) -> None:
    """Seconds of one forward pass, and the limit that sets them."""
    one_pass = parts.roofline(model, hardware, ideal=ideal)
    seconds = float(one_pass.pass_seconds(tokens=tokens, batch=batch, context=context))
    reached = one_pass.efficiency
    ridge = ridge_tokens(one_pass.hardware, bytes_per_weight=one_pass.model.bytes_per_weight)
    ridge *= reached.flop_fraction / reached.bandwidth_fraction  # where the pass turns, not where the datasheet does
    bound = one_pass.bound(tokens=tokens, batch=batch, context=context)
    result = {
        "step_seconds": seconds,
        "tokens_per_second": batch / seconds,
        "ridge_tokens": ridge,
        "bound": bound,
        "efficiency": one_pass.efficiency,
    }
    inputs = {
        "model": model,
        "hardware": hardware,
        "tokens": tokens,
        "batch": batch,
        "context": context,
        "ideal": ideal,
    }
    sentence = (
        f"{human(seconds, 's', digits=4)} to score {tokens} token(s) in each of {batch} sequence(s): "
        f"{bound}-bound; the ridge is at {significant(ridge, digits=4)} tokens in flight."
    )
    outcome = envelope("step", inputs=inputs, result=result, assumptions=[one_pass.efficiency.source])
    emit(outcome, as_json=as_json, tables=[sentence])

"""The lines above the pictures: texts that Vega makes of the page's `answer`."""

from __future__ import annotations

import altair as alt

from reports.controls import Readout, parameters

ANSWER = (
    "result.best_speedup > 1 ? 'Yes: ' + drafter + ' with γ = ' + result.best_gamma + ' is ' "
    "+ format(result.best_speedup, '.2f') + ' times as fast as plain decoding at this batch; the chosen γ = ' + "
    "result.gamma + ' gives ' + format(result.speedup, '.2f') + ' (95 % interval ' + format(result.low, '.2f') + "
    "' to ' + format(result.high, '.2f') + ').' : 'No: plain decoding is faster at this batch, whatever γ.'"
)
NOTHING = "'–'"
UNKNOWN = "'Not to be had: the model does not fit these accelerators, or has no such drafter.'"
RESULTS = {
    "Speedup over plain decoding (95 %)": "format(result.speedup, '.2f') + ' × (' + format(result.low, '.2f') + ' – ' "
    "+ format(result.high, '.2f') + ')'",
    "Best number of drafted tokens": "result.best_gamma ? 'γ = ' + result.best_gamma + ', ' + "
    "format(result.best_speedup, '.2f') + ' ×' : 'none: plain decoding is faster'",
    "Pays up to batch": "result.crossover_batch == result.largest_batch ? 'beyond ' + result.largest_batch : "
    "result.crossover_batch ? '' + result.crossover_batch : 'no batch'",
    "Tokens per round, τ": "format(result.tokens, '.2f')",
    "For each user": "format(result.user_tokens_per_second, ',.3~r') + ' tokens/s'",
    "For each accelerator": "format(result.device_tokens_per_second, ',.4~r') + ' tokens/s'",
    "A million tokens cost": "'$ ' + format(result.price_per_million, '.3~r')",
    "Drafting a token, of a plain step (c)": "format(result.c, '.3f')",
    "The scoring pass, of a plain step": "format(result.verify_ratio, '.3f') + ' ×'",
    "Memory holds": "result.room + ' sequences' + (batch > result.room ? ': fewer than the batch' : '')",
}
SOURCES = {
    "Passes": "result.place + ', ' + result.efficiency",
    "Published acceptance": "'α = ' + format(result.published_alpha, '.2f') + ', ' + result.source",
}


def readouts() -> tuple[list[alt.VariableParameter], list[Readout]]:
    """Parameters that hold a text each, and the lines that show them."""
    listed = {"Speculate?": ANSWER, **RESULTS, **SOURCES}
    texts = {
        f"text{k}": f"result ? {text} : {UNKNOWN if k == 0 else NOTHING}" for k, text in enumerate(listed.values())
    }
    lines = [
        Readout(label=label, parameter=name, wide=label not in RESULTS)
        for name, label in zip(texts, listed, strict=True)
    ]
    return parameters({"result": "answer(scene)"} | texts), lines

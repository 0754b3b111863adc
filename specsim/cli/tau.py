"""`specsim tau`: tokens per round, and Leviathan's speedup, from acceptance alone."""

from __future__ import annotations

import click

from specsim import checks
from specsim import tau as law
from specsim.acceptance import Acceptance
from specsim.cli import parts
from specsim.cli.output import emit, envelope, json_option, table
from specsim.units import percent, significant

ASSUMPTIONS = ("scoring gamma + 1 tokens costs one plain decoding step", "sampling and host time are zero")


@click.command()
@parts.law_options
@click.option("--gamma", type=int, required=True, help="Drafted tokens per round.")
@click.option("--c", type=float, default=0.0, show_default=True, help="Seconds of a drafter step over a target step.")
@json_option
def tau(
    alpha: str | None,
    decay: tuple[float, ...] | None,
    beta: tuple[float, ...] | None,
    markov: tuple[float, ...] | None,
    gamma: int,
    c: float,
    as_json: bool,
) -> None:
    """Expected tokens per round (bonus included), their law, the speedup and the best gamma.

    The speedup is Leviathan et al. (2211.17192), theorem 3.8: it takes scoring gamma + 1 tokens to cost one
    plain step. `specsim crossover` drops that assumption.
    """
    checks.integer("gamma", gamma, low=1)
    checks.non_negative("c", c)
    acceptance = parts.law(alpha=alpha, decay=decay, beta=beta, markov=markov)
    expected = law.expected_tokens(acceptance, gamma=gamma)
    variance = law.variance_tokens(acceptance, gamma=gamma)
    pmf = law.accepted_pmf(acceptance, gamma=gamma)
    speedup = _speedup(acceptance, gamma=gamma, c=c)
    best = law.best_gamma(acceptance, c=c, max_gamma=parts.deepest(alpha or "", limit=64))
    best_speedup = _speedup(acceptance, gamma=best, c=c)
    result = {
        "E_tokens": expected,
        "E_accepted": law.expected_accepted(acceptance, gamma=gamma),
        "draft_utilisation": law.draft_utilisation(acceptance, gamma=gamma),
        "conditional": acceptance.conditional(gamma),
        "survival": acceptance.survival(gamma),
        "variance_tokens": variance,
        "pmf_accepted": pmf,
        "speedup": speedup,
        "best_gamma": best,
        "best_speedup": best_speedup,
    }
    inputs = {"alpha": alpha, "decay": decay, "beta": beta, "markov": markov, "gamma": gamma, "c": c}
    sentence = (
        f"{significant(expected, digits=5)} tokens per round at gamma {gamma} (standard deviation "
        f"{significant(variance**0.5)}): speedup {significant(speedup, digits=4)} at c {c:g}; "
        f"best gamma {best} with {significant(best_speedup, digits=4)}."
    )
    rows = [(str(accepted), percent(probability)) for accepted, probability in enumerate(pmf)]
    emit(
        envelope("tau", inputs=inputs, result=result, assumptions=ASSUMPTIONS),
        as_json=as_json,
        tables=[sentence, table(["accepted drafts", "probability"], rows)],
    )


def _speedup(acceptance: Acceptance, *, gamma: int, c: float) -> float:
    return law.expected_tokens(acceptance, gamma=gamma) / (1 + gamma * c) if gamma else 1.0

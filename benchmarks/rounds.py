"""Simulated rounds per second over uniforms per second: `python -m benchmarks.rounds`.

Drawing one uniform a round is the floor of simulating a round by one inverse-CDF draw.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import click
import numpy as np

from benchmarks.timing import interleaved, options, ratio, report
from specsim.acceptance import Acceptance
from specsim.simulate import simulate_accepted

BLOCK = 1 << 16
GAMMAS = (1, 4, 8, 16, 32, 64)
ALPHAS = (0.7, 0.95)
NOTES = (
    "time of numpy.random.Generator.random for one uniform a round over that of simulate_accepted: 0.5 is the aim",
    "the last line is how many times as fast all cores are as one",
)


def uniforms(count: int, seed: int = 0) -> None:
    """Draw them into a block that stays in the cache, which is the fastest way."""
    rng, block = np.random.default_rng(seed), np.empty(BLOCK)
    for start in range(0, count, BLOCK):
        rng.random(out=block[: min(BLOCK, count - start)])


@click.command()
@click.option("--rounds", type=click.IntRange(min=BLOCK), default=1 << 26, show_default=True)
@options
def main(rounds: int, repeats: int, as_json: bool) -> None:
    """Simulated rounds per second, as a ratio to uniforms per second."""
    cores = os.cpu_count() or 1
    with ProcessPoolExecutor(cores) as executor:

        def shared(count: int) -> None:
            list(executor.map(uniforms, [count // cores] * cores, range(cores)))

        def simulated(alpha: float, gamma: int, *, pool: ProcessPoolExecutor | None = None) -> Callable[[], object]:
            acceptance = Acceptance.constant(alpha)
            return lambda: simulate_accepted(acceptance, gamma=gamma, rounds=rounds, seed=0, executor=pool)

        names = {(alpha, gamma): f"gamma {gamma}, alpha {alpha}" for gamma in GAMMAS for alpha in ALPHAS}
        tasks = {"uniforms": lambda: uniforms(rounds), "uniforms, all cores": lambda: shared(rounds)}
        tasks |= {name: simulated(*law) for law, name in names.items()}
        tasks["gamma 8, all cores"] = simulated(ALPHAS[0], 8, pool=executor)
        seconds = interleaved(tasks, repeats=repeats)
    everywhere = "gamma 8, all cores"
    ratios = [ratio(seconds, name=name, time_of="uniforms", over=name) for name in names.values()]
    ratios.append(ratio(seconds, name=everywhere, time_of="uniforms, all cores", over=everywhere))
    scaling = ratio(seconds, name=everywhere, time_of=names[ALPHAS[0], 8], over=everywhere)
    ratios.append(dataclasses.replace(scaling, name=f"{everywhere} ({cores}) over one"))
    report("benchmarks.rounds", ratios, inputs={"rounds": rounds, "repeats": repeats}, notes=NOTES, as_json=as_json)


if __name__ == "__main__":
    main()

"""`specsim accept`: given laws of target and draft, what would each rule accept?"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click
from rich.table import Table

from specsim import checks
from specsim.cli.output import emit, envelope, json_option, seed_option, table
from specsim.comparison import (
    CandidateAnswer,
    ChainAnswer,
    DepthOverlap,
    Rows,
    compare_candidates,
    compare_chains,
    compare_depths,
    full_information,
    read_rows,
)
from specsim.units import percent, significant

ASSUMPTIONS = (
    "no law depends on the drafts before it",
    "E_tokens counts the bonus or correction token, E_accepted does not",
    "lossy rules are shown with their default parameters",
)
OF_CANDIDATES = "every node of the drafted tree has K children, down to depth gamma"

LEAST_TV = 1e-3
"""Above what rounding makes of float32 rows."""


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--drafts", type=int, help="Also rules for this many candidates a token.")
@seed_option
@json_option
def accept(file: Path, drafts: int | None, seed: int, as_json: bool) -> None:
    """All verification rules side by side on the laws in FILE.

    FILE is a .npz with arrays p, shape (gamma + 1, V), and q, shape (gamma, V); or a .jsonl (.gz) of gamma + 1
    lines, the first gamma like {"p": [0.5, 0.5], "q": [0.2, 0.8]}, the last one with p alone. Answers are exact
    where they have no standard error; --seed decides those that are estimated, at large vocabularies.
    """
    if drafts is not None:
        checks.integer("drafts", drafts, low=1)
    rows = read_rows(file)
    depths, chains, bound = compare_depths(rows), compare_chains(rows, seed=seed), full_information(rows)
    trees = [] if drafts is None else compare_candidates(rows, candidates=drafts, seed=seed)
    result = {
        "gamma": rows.gamma,
        "vocabulary": rows.vocabulary,
        "depths": depths,
        "rules": {answer.rule: dataclasses.asdict(answer) for answer in chains},
        "E_accepted_full_information": bound,
        "multi_draft": None if drafts is None else {answer.rule: dataclasses.asdict(answer) for answer in trees},
    }
    assumptions = ASSUMPTIONS if drafts is None else (*ASSUMPTIONS, OF_CANDIDATES)
    emit(
        envelope(
            "accept", inputs={"file": file, "drafts": drafts, "seed": seed}, result=result, assumptions=assumptions
        ),
        as_json=as_json,
        tables=[
            _sentence(rows, chains, bound),
            _depth_table(depths),
            _chain_table(chains),
            *([_candidate_table(trees, drafts)] if drafts is not None else []),
        ],
    )


def _sentence(rows: Rows, chains: list[ChainAnswer], bound: float | None) -> str:
    by_name = {answer.rule: answer for answer in chains}
    token, block = (_with_error(by_name[rule]) for rule in ("rejection", "block"))
    limit = "" if bound is None else f"; no lossless rule exceeds {significant(bound, digits=4)}"
    return (
        f"Of {rows.gamma} drafts a round, over {rows.vocabulary} tokens, token verification accepts {token} and block "
        f"verification {block}{limit}."
    )


def _depth_table(depths: list[DepthOverlap]) -> Table:
    cells = [
        (
            str(depth.depth),
            *(
                significant(value, digits=4)
                for value in (
                    depth.alpha,
                    depth.argmax_alpha,
                    depth.gumbel_lower_bound,
                    depth.gumbel,
                    depth.independent,
                )
            ),
        )
        for depth in depths
    ]
    columns = ["depth", "alpha, sampled", "alpha, argmax", "Gumbel at least", "Gumbel match", "independent draws"]
    return table(columns, cells, title="One draft")


def _chain_table(chains: list[ChainAnswer]) -> Table:
    cells = [
        (
            answer.rule,
            _lossless(answer),
            answer.needs,
            _with_error(answer),
            significant(answer.E_tokens, digits=4),
            significant(answer.E_accepted_argmax, digits=4),
            f"{percent(answer.output_tv)} of {answer.output_tokens}",
        )
        for answer in chains
    ]
    columns = ["rule", "lossless", "needs", "E_accepted", "E_tokens", "of argmax drafts", "TV of tokens"]
    return table(columns, cells, title="Chains")


def _candidate_table(trees: list[CandidateAnswer], drafts: int) -> Table:
    cells = [
        (
            f"({answer.rule})" if answer.is_bound else answer.rule,
            significant(answer.alpha[0], digits=4)
            + (f" ± {significant(answer.standard_error, digits=1)}" if answer.standard_error else ""),
            significant(answer.E_accepted, digits=4),
            significant(answer.E_tokens, digits=4),
        )
        for answer in trees
    ]
    title = f"{drafts} candidates a token; bounds in parentheses"
    return table(["rule", "alpha at depth 1", "E_accepted", "E_tokens"], cells, title=title)


def _lossless(answer: ChainAnswer) -> str:
    if not answer.is_lossless:
        return "no"
    return "yes" if answer.output_tv < LEAST_TV else "greedy text"  # lossless with respect to the argmax


def _with_error(answer: ChainAnswer) -> str:
    error = f" ± {significant(answer.standard_error, digits=1)}" if answer.standard_error else ""
    return significant(answer.E_accepted, digits=4) + error

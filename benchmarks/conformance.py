"""What conformance catches beside the tests that engines run today, and how often it cries wolf.

`python -m benchmarks.conformance faults --tokens 256000`: shares of the catalogue caught by budget. `field`: tokens to
detection beside re-implemented tests of the field. `null --runs 10000`: false alarms at loosened levels.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import click
import numpy as np

from specsim import stats
from specsim.cli.output import emit, envelope, json_option, table
from specsim.conformance import Output, Parameters, Request, TableDecoder, TableModels, TableOracle
from specsim.conformance.collecting import collect
from specsim.conformance.faults import FAULTS
from specsim.conformance.fixed_prompts import joint_laws
from specsim.conformance.lookalikes import LOOKALIKES
from specsim.conformance.self_test import BUDGETS, VOCABULARY, self_test, table_check, table_models, table_plan
from specsim.conformance.trial import Trial
from specsim.distributions import softmax

LADDER = (1_000, 4_000, 16_000, 64_000, 256_000)
LEVELS = (1e-2, 1e-3)
PROMPT = (1, 2)
Test = Callable[[type[TableDecoder], int], bool]


def _texts(decoder: type[TableDecoder], models: TableModels, *, count: int, length: int, **kind: float) -> np.ndarray:
    """Texts of one prompt and one length."""
    parameters = Parameters(max_tokens=length, **kind)  # type: ignore[arg-type]
    requests = [Request(id=str(i), prompt=PROMPT, parameters=parameters, seed=i) for i in range(count)]
    outputs: Sequence[Output] = decoder(models).generate(requests)
    return np.array([output.tokens[:length] for output in outputs])


def _flat_models() -> tuple[TableModels, np.ndarray]:
    """Tables whose rows are all alike, as unit tests of samplers use; and the target's law."""
    models = table_models(0)
    target, draft = (np.broadcast_to(side[1, 1, 2], side.shape) for side in (models.target, models.draft))
    return TableModels(target=target, draft=draft), softmax(target[0, 0, 0])


def l2_shrinks(decoder: type[TableDecoder], tokens: int) -> bool:
    """First tokens of rounds over equal rows: the L2 distance to p shrinks 20 times as much as to random laws."""
    models, p = _flat_models()
    first = _texts(decoder, models, count=tokens, length=1)[:, 0]
    others = np.random.default_rng(0).dirichlet(np.ones(p.size), size=100)
    few, all_ = (np.bincount(first[:n], minlength=p.size) / n for n in (10, tokens))
    shrunk = np.linalg.norm(few - p) / np.linalg.norm(all_ - p)
    reference = np.mean(np.linalg.norm(few - others, axis=1) / np.linalg.norm(all_ - others, axis=1))
    return bool(shrunk < 20 * reference)


def chi_square_by_position(decoder: type[TableDecoder], tokens: int) -> bool:
    """Five tokens over equal rows: each position's chi-square against p stays below df + 10 sqrt(2 df)."""
    models, p = _flat_models()
    texts, df = _texts(decoder, models, count=max(1, tokens // 5), length=5), p.size - 1
    counts = np.array([np.bincount(column, minlength=p.size) for column in texts.T])
    statistic = ((counts - len(texts) * p) ** 2 / (len(texts) * p)).sum(axis=1)
    return bool((statistic > df + 10 * np.sqrt(2 * df)).any())


def kl_below_a_hundredth(decoder: type[TableDecoder], tokens: int) -> bool:
    """First tokens over equal rows: |KL(empirical, p)| < 0.01."""
    models, p = _flat_models()
    seen = np.bincount(_texts(decoder, models, count=tokens, length=1)[:, 0], minlength=p.size) / tokens
    return bool(abs(float(_kl(seen, p))) >= 0.01)


def _kl(a: np.ndarray, b: np.ndarray) -> float:
    """KL divergence [nat]."""
    some = a > 0
    return float((a[some] * np.log(a[some] / b[some])).sum())


def one_token_chi_square(decoder: type[TableDecoder], tokens: int) -> bool:
    """First token of one prompt over real tables, chi-square at 1e-6."""
    models = table_models(0)
    law = joint_laws(Request(id="", prompt=PROMPT), TableOracle(models), vocabulary=VOCABULARY)[1]
    first = _texts(decoder, models, count=tokens, length=1)[:, 0]
    return not stats.fixed_prompt([first], [law]).passed(1e-6)


def greedy_texts_agree(decoder: type[TableDecoder], tokens: int) -> bool:
    """Texts of a hundred tokens at temperature 0 against those of the plain rule."""
    parameters = Parameters(max_tokens=100, temperature=0.0)
    prompts = [(i % VOCABULARY, i // VOCABULARY % VOCABULARY) for i in range(max(1, tokens // 100))]
    requests = [Request(id=str(i), prompt=prompt, parameters=parameters, seed=i) for i, prompt in enumerate(prompts)]
    ours, theirs = (each(table_models(0)).generate(requests) for each in (decoder, TableDecoder))
    return any(a.tokens != b.tokens for a, b in zip(ours, theirs, strict=True))


def two_samples(decoder: type[TableDecoder], tokens: int) -> bool:
    """Ten-token texts against as many of the plain rule, MMD with the Hamming kernel, at 1e-3 by permutation."""
    count, models = max(2, min(tokens // 20, 400)), table_models(0)
    ours, theirs = (
        _texts(decoder, models, count=count, length=10),
        _texts(TableDecoder, models, count=2 * count, length=10),
    )
    return not stats.mmd([ours], [theirs[count:]], rng=np.random.default_rng(1)).passed(1e-3)


FIELD: dict[str, Test] = {
    "L2 shrinks": l2_shrinks,
    "chi-square by position": chi_square_by_position,
    "KL < 0.01": kl_below_a_hundredth,
    "one-token chi-square": one_token_chi_square,
    "greedy equality": greedy_texts_agree,
    "MMD, two samples": two_samples,
}


@functools.cache
def _alarms_at_plain(test: str, tokens: int) -> bool:
    """Whether a test fails the right decoder at this size, and so says nothing."""
    return FIELD[test](TableDecoder, tokens)


def _field_row(task: tuple[str, int]) -> list[int | None]:
    """Tokens at which each field test first fails, and conformance from texts alone and with rounds."""
    id_, most = task
    decoder = {**FAULTS, **LOOKALIKES}[id_]
    ladder = [tokens for tokens in LADDER if tokens <= most]
    row: list[int | None] = [
        next((n for n in ladder if test(decoder, n) and not _alarms_at_plain(name, n)), None)
        for name, test in FIELD.items()
    ]
    for text_only in (True, False):
        verdict = table_check(decoder, tokens=most, text_only=text_only, negative_controls=False)
        row.append(verdict.tokens if verdict.exit_code == 1 else None)
    return row


def _null_pvalues(task: tuple[int, int, int]) -> list[float]:
    """Smallest adjusted p-values of runs of the right decoder, requests chopped one run after the other."""
    first, runs, tokens = task
    models, asked = table_models(0), replace(table_plan(tokens=tokens), level=LEVELS[0])
    decoder, oracle, per_run = TableDecoder(models), TableOracle(models), tokens // 14
    requests = asked.requests(first * per_run, runs * per_run)
    outputs, found = decoder.generate(requests), []
    for start in range(0, len(requests), per_run):
        part = slice(start, start + per_run)
        evidence = collect(requests[part], outputs[part], oracle.score(requests[part], outputs[part]), tags=asked.tags)
        trial = Trial.new(asked, groups=tuple(evidence.strata()), claims="rejection").update(evidence)
        found.append(min((result.pvalue for result in trial.adjusted().values()), default=1.0))
        assert trial.tokens == tokens
    return found


@click.group()
def main() -> None:
    """Detection, false alarms."""


@main.command()
@click.option("--tokens", type=int, default=256_000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--text-only", is_flag=True)
@json_option
def faults(tokens: int, seed: int, text_only: bool, as_json: bool) -> None:
    """Faults caught by budget, and the time that it took."""
    start = time.perf_counter()
    with ProcessPoolExecutor(2) as executor:
        found = self_test(tokens=tokens, seed=seed, controls={}, text_only=text_only, executor=executor)
    shares = {budget: found.caught(budget) / len(found.faults) for budget in BUDGETS if budget <= tokens}
    rows = [(str(budget), f"{share:.1%}") for budget, share in shares.items()]
    missed = [row.id for row in found.faults if not row.detected]
    result = {"shares": shares, "missed": missed, "seconds": time.perf_counter() - start}
    inputs = {"tokens": tokens, "seed": seed, "text_only": text_only}
    tables = [table(["tokens", f"of {len(found.faults)} faults"], rows), f"missed: {', '.join(missed)}"]
    emit(envelope("benchmarks.conformance faults", inputs=inputs, result=result), as_json=as_json, tables=tables)


@main.command()
@click.option("--tokens", type=int, default=64_000, show_default=True)
@json_option
def field(tokens: int, as_json: bool) -> None:
    """Tokens to detection beside the tests of the field, on the same faults and on lossless decoders."""
    names = [*LOOKALIKES, *FAULTS]
    with ProcessPoolExecutor(2) as executor:
        found = dict(zip(names, executor.map(_field_row, [(name, tokens) for name in names]), strict=True))
    columns = [*FIELD, "conformance, texts alone", "conformance"]
    rows = [(name, *("-" if n is None else str(n) for n in row)) for name, row in found.items()]
    caught = ["caught", *(str(sum(found[name][i] is not None for name in FAULTS)) for i in range(len(columns)))]
    emit(
        envelope("benchmarks.conformance field", inputs={"tokens": tokens}, result={"columns": columns, "rows": found}),
        as_json=as_json,
        tables=[table(["decoder", *columns], [*rows, tuple(caught)])],
    )


@main.command()
@click.option("--runs", type=int, default=10_000, show_default=True)
@click.option("--tokens", type=int, default=600, show_default=True)
@json_option
def null(runs: int, tokens: int, as_json: bool) -> None:
    """Share of runs of the right decoder that fail at loosened levels."""
    portion = 50
    tasks = [(first, min(portion, runs - first), tokens) for first in range(0, runs, portion)]
    with ProcessPoolExecutor(2) as executor:
        pvalues = np.array([p for part in executor.map(_null_pvalues, tasks) for p in part])
    result, rows = {}, []
    for level in LEVELS:
        count = int((pvalues <= level).sum())
        low, high = (float(end) for end in stats.proportion_interval(count, trials=runs))
        result[f"{level:g}"] = {"alarms": count, "low": low, "high": high}
        rows.append((f"{level:g}", str(count), f"{count / runs:.2g}", f"{low:.2g}..{high:.2g}"))
    emit(
        envelope("benchmarks.conformance null", inputs={"runs": runs, "tokens": tokens}, result=result),
        as_json=as_json,
        tables=[table(["level", f"alarms in {runs} runs", "rate", "95 %"], rows)],
    )


if __name__ == "__main__":
    main()

"""The tables of a drafter report: the ranking, what was rejected, and what it all rests on."""

from __future__ import annotations

from collections.abc import Iterator

from reports import cells
from reports.cells import Row
from reports.template import Column, Table, table
from specsim import units
from specsim.capacity.candidate import MAX_CROSSOVER_BATCH


def ranking(result: Row) -> Iterator[Table]:
    """Every drafter at its best depth."""
    rows = cells.rows(result["frames"], "drafters")
    if not rows:
        return
    has_price = any(not cells.missing(row.get("price_per_million")) for row in rows)
    yield table(
        rows,
        Column("drafter", _name, number=False),
        Column("γ", lambda row: cells.count(row["gamma"]) if row["gamma"] else cells.NOTHING),
        Column("τ", lambda row: cells.figure(row["E_tokens"])),
        Column("speedup (95 %)", lambda row: cells.interval(row, "speedup")),
        Column("tokens/s, user", lambda row: cells.count(row["user_tokens_per_second"])),
        Column("tokens/s, GPU", lambda row: cells.count(row["device_tokens_per_second"])),
        Column("gains to batch", _crossover),
        Column("adds memory", lambda row: units.human(row["extra_memory_bytes"], "B")),
        *([Column("1M tokens cost", lambda row: cells.figure(row["price_per_million"]))] if has_price else []),
        Column("α", lambda row: cells.figure(row.get("alpha"))),
        Column("α is", _known, number=False),
        title="Every drafter, the best first",
        note="γ: drafted tokens of a round, or levels of a tree; each drafter has the depth and tree that give most "
        "here. τ: tokens that a round adds. Memory: on each GPU, beyond plain decoding. α: acceptance of the "
        "first draft. Figures published for other models and texts are a start, and their spread is in the interval; "
        "an α that you gave or counted is taken for certain.",
    )


def sources(result: Row) -> Iterator[Table]:
    """Where each drafter's acceptance comes from."""
    rows = [row for row in cells.rows(result["frames"], "drafters") if row.get("source")]
    if rows:
        yield table(
            rows,
            Column("drafter", lambda row: str(row["method"]), number=False),
            Column("α", lambda row: cells.figure(row.get("alpha"))),
            Column("source", lambda row: str(row["source"]), number=False),
            title="Where each drafter's acceptance comes from",
            folded=True,
        )


def rejected(result: Row) -> Iterator[Table]:
    """Drafters that do not meet the constraints, and why."""
    if found := result.get("rejected"):
        yield table(
            found.items(),
            Column("drafter", lambda pair: str(pair[0]), number=False),
            Column("why not", lambda pair: str(pair[1]), number=False),
            title="Left out",
        )


def settings(inputs: Row) -> Iterator[Table]:
    """The scenario, as it was given."""
    given = {key: value for key, value in inputs.items() if value not in (None, [], {})}
    if not given:
        return
    yield table(
        given.items(),
        Column("key", lambda pair: str(pair[0]).replace("_", " "), number=False),
        Column("value", lambda pair: _plain(pair[1]), number=False),
        title="The scenario",
        folded=True,
    )


def _name(row: Row) -> str:
    if not row["gamma"]:
        return "plain decoding"
    return f"{row['method']}, {row['nodes']} nodes" if row["nodes"] > row["gamma"] else str(row["method"])


def _known(row: Row) -> str:
    """How α is known: published, secondary, bound, assumed, counted or given."""
    return str(row.get("source") or cells.NOTHING).partition(":")[0].split()[0]


def _crossover(row: Row) -> str:
    if not row["gamma"]:
        return cells.NOTHING
    batch = row.get("crossover_batch")
    if cells.missing(batch):
        return f"> {cells.count(MAX_CROSSOVER_BATCH)}"
    return cells.count(batch) if batch else "none"


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_plain(part)}" for key, part in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)

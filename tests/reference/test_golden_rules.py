"""The golden rows say what exact enumeration says today."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reference import golden_rules


def assert_same(found: Any, golden: Any) -> None:
    """Fractions to the digit, floats (an entropy, a throughput) but for rounding."""
    if isinstance(golden, dict):
        assert found.keys() == golden.keys()
        for name, value in golden.items():
            assert_same(found[name], value)
    elif isinstance(golden, list):
        for one, other in zip(found, golden, strict=True):
            assert_same(one, other)
    else:
        assert found == (pytest.approx(golden, rel=1e-12) if isinstance(golden, float) else golden)


@pytest.mark.parametrize("row", golden_rules.rows(), ids=lambda row: row["id"])
def test_the_row_is_what_the_twin_gives(row: dict) -> None:
    assert row["source"]
    assert_same(golden_rules.expected(row["kind"], row["case"]), row["expected"])


def test_every_kind_has_rows() -> None:
    assert {row["kind"] for row in golden_rules.rows()} == golden_rules.EXPECTED.keys()

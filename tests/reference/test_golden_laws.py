"""The golden rows say what exact enumeration says today."""

from __future__ import annotations

import pytest

from tests.reference import golden_laws


@pytest.mark.parametrize("row", golden_laws.rows(), ids=lambda row: row["id"])
def test_the_row_is_what_the_twin_gives(row: dict) -> None:
    assert row["source"]
    assert golden_laws.expected(row["kind"], row["case"]) == row["expected"]


def test_every_kind_has_rows() -> None:
    assert {row["kind"] for row in golden_laws.rows()} == golden_laws.EXPECTED.keys()

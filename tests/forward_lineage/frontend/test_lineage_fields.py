"""ALTER TABLE that adds fields to `DL`, as it is read. Tests with engines, in tests/lakes, run it."""

from __future__ import annotations

import pytest

from forward_lineage.frontend.lineage_fields import LineageFields, read_lineage_fields
from udafs.errors import NotTracedError, Position


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("ALTER TABLE t ADD COLUMNS (DL.news BINARY)", LineageFields("t", ("t",), ("news",))),
        ("alter table t add column dl.news binary;", LineageFields("t", ("t",), ("news",))),
        (
            "ALTER TABLE cat.`d b`.t ADD COLUMNS (DL.`cat.db.news` BINARY, /* and */ `DL`.x BINARY)",
            LineageFields("cat.`d b`.t", ("cat", "d b", "t"), ("cat.db.news", "x")),
        ),
        ("ALTER TABLE t ADD COLUMNS (a.dl BINARY)", None),
        ("ALTER TABLE t ADD COLUMNS (x INT COMMENT 'DL.news BINARY')", None),
        ("ALTER TABLE dl ADD COLUMNS (x INT)", None),
        ("ALTER TABLE -- DL", None),
        ("ALTER TABLE t.DL", None),
        ("ALTER VIEW v AS SELECT DL FROM t", None),
        ("SELECT 1 AS alter, 2 AS dl", None),
    ],
)
def test_fields_of_lineage(sql: str, read: LineageFields | None) -> None:
    assert read_lineage_fields(sql) == read


@pytest.mark.parametrize(
    "behind",
    [
        "DROP COLUMN DL",
        "ADD COLUMNS (DL.news BINARY, x INT)",
        "ADD COLUMNS (DL.news STRING)",
        "ADD COLUMNS (DL.news BINARY FIRST)",
        "ADD COLUMNS (DL.news BINARY x INT)",
        "ADD COLUMNS (DL BINARY)",
        "RENAME COLUMN DL.news TO olds",
    ],
)
def test_other_changes_of_lineage(behind: str) -> None:
    with pytest.raises(NotTracedError) as error:
        read_lineage_fields(f"ALTER TABLE t\n  {behind}")
    assert error.value.at == Position(2, 3)

"""Base tables that a table gets lineage in after it was made: `ALTER TABLE … ADD COLUMNS (DL.base BINARY)`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forward_lineage import ForwardLineage
from tests.lakes.engines import CATALOG, FORMATS
from udafs.errors import NotTracedError, WrongSqlError
from udafs.versions import installed

_MERGE = """
    MERGE INTO {} AS b USING news AS n ON b.customer = n.customer
    WHEN MATCHED THEN UPDATE SET amount = b.amount + n.amount
    WHEN NOT MATCHED THEN INSERT (customer, amount) VALUES (n.customer, n.amount)
"""


@pytest.fixture(params=FORMATS)
def place(request: pytest.FixtureRequest, lineage: ForwardLineage) -> Iterator[str]:
    """A table made of `old` alone; `news` and `late` are registered, too."""
    catalog = "spark_catalog.default" if request.param == "delta" else f"{CATALOG}.db"
    name = f"{catalog}.balances_that_grow"
    tables = {
        "old": "(1, 'Ada', 50), (2, 'Bob', 70), (3, 'Cyd', 40)",
        "news": "(7, 'Bob', 100), (8, 'Dan', 5)",
        "late": "(9, 'Dan', 1)",
    }
    for view, rows in tables.items():
        lineage.spark.sql(
            f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT * FROM VALUES {rows} AS t(id, customer, amount)"
        )
        lineage.register(view, key="id")
    lineage.sql(f"CREATE TABLE {name} USING {request.param} AS SELECT customer, amount FROM old")
    yield name
    lineage.spark.sql(f"DROP TABLE {name}")


def test_a_merge_says_how_and_then_works(lineage: ForwardLineage, place: str) -> None:
    with pytest.raises(NotTracedError) as refused:
        lineage.sql(_MERGE.format(place))
    alter = f"ALTER TABLE {place} ADD COLUMNS (DL.`news` BINARY)"
    assert f"Run {alter} with lineage.sql. Then run the MERGE again." in str(refused.value)
    before = lineage.spark.sql(f"SELECT count(*) AS n FROM {place}").collect()
    lineage.sql(alter)
    assert lineage.spark.sql(f"SELECT count(*) AS n FROM {place}").collect() == before
    assert _rows(lineage, place) == [("Ada", 50, [1], []), ("Bob", 70, [2], []), ("Cyd", 40, [3], [])]
    lineage.sql(_MERGE.format(place))
    expected = [("Ada", 50, [1], []), ("Bob", 170, [2], [7]), ("Cyd", 40, [3], []), ("Dan", 5, [], [8])]
    assert _rows(lineage, place) == expected
    lineage.sql(f"UPDATE {place} SET amount = amount + 1 WHERE customer = 'Cyd'")
    lineage.sql(f"DELETE FROM {place} WHERE customer = 'Ada'")
    assert _rows(lineage, place) == [("Bob", 170, [2], [7]), ("Cyd", 41, [3], []), ("Dan", 5, [], [8])]


def test_what_is_done_with_the_table_next(lineage: ForwardLineage, place: str) -> None:
    """Sums, joins with itself, tables made of it, rows put into it, questions of saved results."""
    lineage.sql(f"ALTER TABLE {place} ADD COLUMN DL.news BINARY;")
    lineage.sql(_MERGE.format(place))
    total = lineage.sql(f"SELECT sum(a.amount) AS n FROM {place} AS a JOIN {place} AS b USING (customer)")
    assert [tuple(row) for row in total.selectExpr("n", "dl_ids(DL.old)", "dl_ids(DL.news)").collect()] == [
        (265, [1, 2, 3], [7, 8])
    ]
    kind = "delta" if place.startswith("spark_catalog") else "iceberg"
    lineage.sql(f"CREATE TABLE {place}_copy USING {kind} AS SELECT * FROM {place}")
    try:
        assert _rows(lineage, f"{place}_copy") == _rows(lineage, place)
        (said,) = lineage.spark.sql(f"SHOW TBLPROPERTIES {place}_copy ('forward_lineage.meaning')").collect()
        assert "added" not in said.value  # all its rows are newer than its columns
    finally:
        lineage.spark.sql(f"DROP TABLE {place}_copy")
    _insert(lineage, place, "SELECT o.customer, n.amount FROM old AS o JOIN news AS n USING (customer)")
    assert ("Bob", 100, [2], [7]) in _rows(lineage, place)
    lineage.save(f"SELECT customer, sum(amount) AS amount FROM {place} GROUP BY customer", "sums_that_grow")
    assert lineage.backward("sums_that_grow", table="news", where="customer = 'Ada'").count() == 0
    assert [row.id for row in lineage.backward("sums_that_grow", table="news", where="amount > 200").collect()] == [7]
    lineage.sql(f"ALTER TABLE {place} ADD COLUMNS (DL.late BINARY)")
    lineage.sql(_MERGE.format(place).replace("news", "late"))
    found = lineage.sql(f"SELECT * FROM {place} WHERE customer = 'Dan'")
    assert [tuple(row) for row in found.selectExpr("amount", "dl_ids(DL.news)", "dl_ids(DL.late)").collect()] == [
        (6, [8], [9])
    ]


def test_a_run_that_ended_halfway(lineage: ForwardLineage, place: str) -> None:
    """The column is there, its meaning is not: nothing is believed until the statement runs again."""
    alter = f"ALTER TABLE {place} ADD COLUMNS (DL.news BINARY)"
    lineage.spark.sql(alter)
    for text in (f"SELECT * FROM {place}", _MERGE.format(place)):
        with pytest.raises(NotTracedError, match=r"Run ALTER TABLE .* ADD COLUMNS \(DL\.`news` BINARY\) with lineage"):
            lineage.sql(text)
    with pytest.raises(NotTracedError, match=r"speaks of old\. Run ALTER TABLE .*`news`"):
        lineage.sql(f"ALTER TABLE {place} ADD COLUMNS (DL.late BINARY)")
    lineage.sql(f"ALTER TABLE {place} ADD COLUMNS (DL.late BINARY, DL.news BINARY)")
    lineage.sql(_MERGE.format(place))
    assert [row[0] for row in _rows(lineage, place)] == ["Ada", "Bob", "Cyd", "Dan"]


def test_a_row_without_lineage_is_no_row_of_before(lineage: ForwardLineage, place: str) -> None:
    lineage.sql(f"ALTER TABLE {place} ADD COLUMNS (DL.news BINARY)")
    lineage.spark.sql(f"INSERT INTO {place} VALUES ('Eve', 1, NULL)")
    with pytest.raises(Exception, match="has no lineage"):
        lineage.sql(f"SELECT * FROM {place}").selectExpr("dl_ids(DL.news)").collect()


def test_what_cannot_be_added(lineage: ForwardLineage, place: str) -> None:
    for what, message in (
        ("DL.old BINARY", "has lineage in old already"),
        ("DL.unheard_of BINARY", "unheard_of"),
        ("DL.news BINARY, x INT", "a change of the column DL that is not read"),
        ("DL.news STRING", "a change of the column DL that is not read"),
    ):
        with pytest.raises(Exception, match=message):
            lineage.sql(f"ALTER TABLE {place} ADD COLUMNS ({what})")
    for call in (lineage.to_run, lineage.rewrite):
        with pytest.raises(NotTracedError, match=r"lineage\.sql"):
            call(f"ALTER TABLE {place} ADD COLUMNS (DL.news BINARY)")
    assert _rows(lineage, place, field="old") == [("Ada", 50, [1], [1]), ("Bob", 70, [2], [2]), ("Cyd", 40, [3], [3])]


def _insert(lineage: ForwardLineage, place: str, query: str) -> None:
    """Put rows in. Before Spark 4.1 an INSERT into a table of Iceberg has to give all columns; a MERGE has not."""
    insert = f"INSERT INTO {place} {query}"
    if place.startswith(CATALOG) and installed() < (4, 1):
        with pytest.raises(WrongSqlError, match=r"Cannot find data for the output column `DL`.*ON false"):
            lineage.sql(insert)
        values = "INSERT (customer, amount) VALUES (s.customer, s.amount)"
        insert = f"MERGE INTO {place} AS t USING ({query}) AS s ON false WHEN NOT MATCHED THEN {values}"
    lineage.sql(insert)


def _rows(lineage: ForwardLineage, place: str, field: str = "news") -> list[tuple[object, ...]]:
    found = lineage.sql(f"SELECT * FROM {place}")
    columns = ("customer", "amount", "dl_ids(DL.old)", f"dl_ids(DL.{field})")
    return sorted((tuple(row) for row in found.selectExpr(*columns).collect()), key=str)

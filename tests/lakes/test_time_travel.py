"""VERSION AS OF and TIMESTAMP AS OF beside the engines, which read the same versions themselves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forward_lineage import ForwardLineage
from tests.lakes.comparing import HIDDEN, TRACKED
from tests.lakes.engines import CATALOG, FORMATS
from udafs.errors import ChangedError, LineageError


class Travelled:
    """A table with some versions, and what its engine says of them."""

    def __init__(self, lineage: ForwardLineage, kind: str) -> None:
        self.kind, self.sql, self.lineage = kind, lineage.spark.sql, lineage
        self.name = "spark_catalog.default.travelled" if kind == "delta" else f"{CATALOG}.db.travelled"
        self.sql(f"CREATE TABLE {self.name} (k bigint, v string) USING {kind} TBLPROPERTIES ({TRACKED[kind]})")
        self.sql(f"INSERT INTO {self.name} VALUES (1, 'a'), (2, 'b')")
        lineage.register(self.name)
        for change in (
            "UPDATE {} SET v = 'x' WHERE k = 1",
            "DELETE FROM {} WHERE k = 2",
            "ALTER TABLE {} ADD COLUMNS (w int)",
            "INSERT INTO {} VALUES (3, 'c', 7)",
        ):
            self.sql(change.format(self.name))

    def versions(self) -> list[tuple[int, str]]:
        """Those with rows, in order, each with its time."""
        if self.kind == "delta":
            found = self.sql(f"DESCRIBE HISTORY {self.name}").orderBy("version").collect()
            return [(row.version, str(row.timestamp)) for row in found if row.version > 0]
        found = self.sql(f"SELECT snapshot_id, made_current_at FROM {self.name}.history").collect()
        return [(row.snapshot_id, str(row.made_current_at)) for row in found]

    def compare(self, clause: str) -> None:
        """Rows, columns and ids are those that the engine says of the version."""
        ours = self.lineage.sql(f"SELECT * FROM {self.name} {clause}")
        theirs = self.sql(f"SELECT *, {HIDDEN[self.kind]} AS id FROM {self.name} {clause}")
        assert ours.columns[:-1] == theirs.columns[:-1]
        (field,) = ours.schema["DL"].dataType.fieldNames()
        columns = ours.columns[:-1]
        found = ours.selectExpr(*columns, f"dl_ids(DL.`{field}`)[0] AS id").collect()
        assert sorted(map(str, found)) == sorted(map(str, theirs.collect())), clause


@pytest.fixture(params=FORMATS)
def table(request: pytest.FixtureRequest, lineage: ForwardLineage) -> Iterator[Travelled]:
    made = Travelled(lineage, request.param)
    yield made
    made.sql(f"DROP TABLE {made.name}")


def test_versions_and_times_are_those_of_the_engine(table: Travelled) -> None:
    for version, time in table.versions():
        table.compare(f"VERSION AS OF {version}")
        table.compare(f"TIMESTAMP AS OF '{time}'")


def test_then_beside_now(table: Travelled) -> None:
    first = table.versions()[0][0]
    table.lineage.refresh(table.name)
    sql = (
        f"SELECT a.k, a.v AS old, b.v AS new FROM {table.name} VERSION AS OF {first} a JOIN {table.name} b ON a.k = b.k"
    )
    frame = table.lineage.sql(sql)
    assert [tuple(row) for row in frame.drop("DL").collect()] == [(1, "a", "x")]
    assert sorted(frame.schema["DL"].dataType.fieldNames()) == sorted([table.name, _as_of(table, first)])


def test_backward_gives_rows_of_then_until_they_are_taken_away(table: Travelled) -> None:
    lineage, first = table.lineage, table.versions()[0][0]
    lineage.save(f"SELECT k, v FROM {table.name} VERSION AS OF {first}", "then")
    assert sorted((row.k, row.v) for row in lineage.backward("then").collect()) == [(1, "a"), (2, "b")]
    assert lineage.stale().collect() == []
    _take_away(table)
    for ask in (
        lambda: lineage.backward("then").collect(),
        lambda: lineage.sql(f"SELECT k FROM {table.name} VERSION AS OF {first}").collect(),
    ):
        with pytest.raises(ChangedError):
            ask()


def test_backward_of_a_result_that_is_behind(table: Travelled) -> None:
    lineage, then = table.lineage, r"has changed since total was saved: you see its rows of version \d+$"
    lineage.refresh(table.name)
    lineage.save(f"SELECT count(*) AS n, max(v) AS v FROM {table.name}", "total")
    assert _rows_behind(lineage) == [(1, "x", None), (3, "c", 7)]
    table.sql(f"UPDATE {table.name} SET v = 'y', w = 8 WHERE k = 1")
    with pytest.warns(UserWarning, match=then):
        assert _rows_behind(lineage) == [(1, "x", None), (3, "c", 7)], "nobody has registered the change"
    lineage.refresh(table.name)
    with pytest.warns(UserWarning, match=then):
        assert _rows_behind(lineage) == [(1, "x", None), (3, "c", 7)]
    _take_away(table)
    lineage.refresh(table.name)
    with pytest.warns(UserWarning, match="you see its rows as they are now$"):
        assert _rows_behind(lineage) == [(1, "y", 8), (3, "c", 7)], "their ids say which rows they are"
    table.sql(f"DELETE FROM {table.name} WHERE k = 3")
    _take_away(table)
    lineage.refresh(table.name)
    with pytest.raises(ChangedError, match="1 of the 2 rows"):
        lineage.backward("total")


def _rows_behind(lineage: ForwardLineage) -> list[tuple[object, ...]]:
    return [tuple(row)[1:] for row in lineage.backward("total").collect()]


@pytest.mark.parametrize("clause", ["VERSION AS OF 999", "VERSION AS OF 'nope'", "TIMESTAMP AS OF '1999-01-01'"])
def test_what_there_is_not(table: Travelled, clause: str) -> None:
    with pytest.raises(LineageError) as raised:
        table.lineage.sql(f"SELECT k FROM {table.name} {clause}")
    assert raised.value.instead


def _as_of(table: Travelled, version: int) -> str:
    return f"{table.name.replace('.', '_')}_as_of_{version}"


def _take_away(table: Travelled) -> None:
    if table.kind == "delta":
        table.sql("SET spark.databricks.delta.retentionDurationCheck.enabled = false")
        table.sql(f"VACUUM {table.name} RETAIN 0 HOURS")
        return
    name = table.name.partition(".")[2]
    expired = f"table => '{name}', older_than => timestamp '2100-01-01', retain_last => 1"
    table.sql(f"CALL {CATALOG}.system.expire_snapshots({expired})")

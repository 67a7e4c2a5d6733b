"""VERSION AS OF and TIMESTAMP AS OF over tables with a log: rows and ids of then, judged by what was written then."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from forward_lineage import ForwardLineage
from forward_lineage.spark.settings import configured
from tests.forward_lineage.row_ids.formats.delta_tables import DeltaTable
from tests.forward_lineage.row_ids.formats.iceberg_tables import IcebergTable
from udafs.errors import BadArgumentError, ChangedError, LineageError, NameTakenError, NotTracedError, WrongSqlError

_PENS = [{"v": v, "item": "pen"} for v in (10, 11, 12)]
_CHANGED = [{"v": 10, "item": "pen"}, {"v": 111, "item": "pen"}, {"v": 12, "item": "pen"}]
_MOVED: dict[int, tuple[int, int | None]] = {0: (0, 1), 1: (1, None), 2: (2, 1)}
THEN = {10: 0, 11: 1, 12: 2, 20: 3, 21: 4}
NOW = {10: 0, 111: 1, 12: 2, 20: 3, 21: 4}


@pytest.fixture
def table(tmp_path: Path) -> DeltaTable:
    """Version 1 has rows 0 to 2, version 2 has 3 and 4, too; version 3 has 111 in the place of 11."""
    made = DeltaTable(tmp_path / "lake" / "orders", {"v": "long", "item": "string"}).create()
    made.write(made.file(_PENS))
    made.write(made.file([{"v": v, "item": "ink"} for v in (20, 21)]))
    return made.write(made.file(_CHANGED, moved=_MOVED), removed=[next(iter(made.live.values()))])


@pytest.fixture
def t(lineage: ForwardLineage, table: DeltaTable) -> ForwardLineage:
    lineage.register("t", path=table.folder)
    return lineage


def ids(lineage: ForwardLineage, sql: str, field: str) -> dict[int, int]:
    """v → its only id in a field of `DL`."""
    found = lineage.sql(sql).selectExpr("v", f"dl_ids(DL.`{field}`) AS ids").collect()
    return {row.v: only for row in found for only in row.ids}


class TestDelta:
    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT v FROM t VERSION AS OF 2",
            "SELECT v FROM t FOR VERSION AS OF '2' AS x",
            "select x.v from `T` for system_version as of 2 x",
            "SELECT t.v FROM t\n  VERSION AS OF 2 -- then\nWHERE t.v > 0",
            "WITH c AS (SELECT * FROM t VERSION AS OF 2) SELECT v FROM c",
        ],
    )
    def test_rows_and_ids_of_then(self, t: ForwardLineage, sql: str) -> None:
        assert ids(t, sql, "t_as_of_2") == THEN
        assert ids(t, "SELECT v FROM t", "t") == NOW

    def test_the_table_may_have_moved_on(self, t: ForwardLineage, table: DeltaTable) -> None:
        table.write(table.file([{"v": 30, "item": "ink"}]))
        assert ids(t, "SELECT v FROM t VERSION AS OF 2", "t_as_of_2") == THEN
        with pytest.raises(ChangedError, match="refresh"):
            t.sql("SELECT v FROM t")

    def test_then_and_now_in_one_query(self, t: ForwardLineage) -> None:
        sql = "SELECT o.v AS old, n.v AS v FROM t VERSION AS OF 2 o JOIN t n ON n.item = o.item AND n.v = o.v + 100"
        frame = t.sql(sql)
        fields = frame.schema["DL"].dataType.fieldNames()
        assert sorted(fields) == ["t", "t_as_of_2"]
        found = frame.selectExpr("old", "v", "dl_ids(DL.t) AS now", "dl_ids(DL.t_as_of_2) AS then").collect()
        assert [tuple(row) for row in found] == [(11, 111, [1], [1])]

    def test_two_versions_in_one_query(self, t: ForwardLineage) -> None:
        sql = "SELECT v FROM t VERSION AS OF 2 EXCEPT SELECT v FROM t VERSION AS OF 1"
        assert sorted(row.v for row in t.sql(sql).collect()) == [20, 21]

    def test_a_saved_result_keeps_its_version(self, t: ForwardLineage, table: DeltaTable) -> None:
        t.save("SELECT item, sum(v) AS total FROM t VERSION AS OF 2 GROUP BY item", "then")
        table.write(table.file([{"v": 30, "item": "ink"}]))
        assert sorted(row.v for row in t.backward("then", where="item = 'pen'").collect()) == [10, 11, 12]
        assert t.stale().collect() == []
        again = ForwardLineage(t.spark.newSession(), t.home)
        assert sorted(row.v for row in again.backward("then", where="item = 'pen'").collect()) == [10, 11, 12]

    def test_another_session_need_not_have_asked_before(self, t: ForwardLineage) -> None:
        t.sql("SELECT v FROM t VERSION AS OF 2")
        again = ForwardLineage(t.spark.newSession(), t.home)
        assert ids(again, "SELECT v FROM t VERSION AS OF 2", "t_as_of_2") == THEN
        assert again.refresh("t_as_of_2").version == 1

    def test_times(self, t: ForwardLineage, table: DeltaTable) -> None:
        begin = 1_700_000_000
        for version in range(4):
            name = f"{version:020}.json"
            os.utime(Path(table.folder) / "_delta_log" / name, (begin + 10 * version,) * 2)
        t.spark.conf.set("spark.sql.session.timeZone", "UTC")

        def at(seconds: int) -> str:
            return datetime.fromtimestamp(begin + seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")

        assert ids(t, f"SELECT v FROM t TIMESTAMP AS OF '{at(20)}'", "t_as_of_2") == THEN
        assert ids(t, f"SELECT v FROM t FOR SYSTEM_TIME AS OF '{at(29)}'", "t_as_of_2") == THEN
        assert ids(t, f"SELECT v FROM t TIMESTAMP AS OF '{at(30)}'", "t_as_of_3") == NOW
        wrong = [
            (at(-1), "had no version at", f"TIMESTAMP AS OF '{at(0)}'"),
            (at(31), "is after the last version of t, which is 3", f"TIMESTAMP AS OF '{at(30)}'"),
            ("soon", "soon is no time", "2025-01-31 08:00:00"),
        ]
        for sql, said, write in wrong:
            with pytest.raises(LineageError, match=said) as raised:
                t.sql(f"SELECT v\nFROM t TIMESTAMP AS OF '{sql}'")
            assert write in raised.value.instead

    def test_times_in_messages_are_those_of_the_session(self, t: ForwardLineage, table: DeltaTable) -> None:
        os.utime(Path(table.folder) / "_delta_log" / f"{3:020}.json", (4_000_000_000,) * 2)
        with configured(t.spark, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
            with pytest.raises(BadArgumentError) as raised:
                t.sql("SELECT v FROM t TIMESTAMP AS OF '2222-01-01'")
            assert "'2096-10-02 16:06:40'" in raised.value.instead
            assert ids(t, "SELECT v FROM t TIMESTAMP AS OF '2096-10-02 16:06:40'", "t_as_of_3") == NOW

    def test_what_is_wrong_says_where(self, t: ForwardLineage) -> None:
        with pytest.raises(BadArgumentError, match="no version called nope") as raised:
            t.sql("SELECT v\nFROM t VERSION AS OF 'nope'")
        assert (raised.value.at.line, raised.value.at.column) == (2, 6)
        with pytest.raises(ChangedError) as changed:
            t.sql("SELECT v\nFROM t VERSION AS OF 99")
        newest = r"t has no version 99; the newest: 3 \([\d .:-]+\), 2 \([\d .:-]+\), 1 \([\d .:-]+\)"
        assert re.fullmatch(newest, changed.value.what)
        assert (changed.value.at.line, changed.value.at.column) == (2, 6)
        assert changed.value.instead == "Write one that is there: VERSION AS OF 3."

    def test_files_that_vacuum_took_away(self, t: ForwardLineage, table: DeltaTable) -> None:
        first = sorted(Path(table.folder).glob("*.parquet"))
        live = {Path(table.folder) / each["path"] for each in table.live.values()}
        for path in set(first) - live:
            path.unlink()
        for _ in range(2):
            with pytest.raises(ChangedError, match="VACUUM"):
                t.sql("SELECT v FROM t VERSION AS OF 2")
        assert ids(t, "SELECT v FROM t", "t") == NOW

    def test_a_name_that_is_taken(self, t: ForwardLineage) -> None:
        t.spark.sql("CREATE TEMPORARY VIEW t_as_of_2 AS SELECT 1 AS v")
        with pytest.raises(NameTakenError, match="t_as_of_2"):
            t.sql("SELECT v FROM t VERSION AS OF 2")

    def test_what_is_left_to_others(self, t: ForwardLineage) -> None:
        t.spark.sql("CREATE TEMPORARY VIEW plain AS SELECT 1 AS v")
        t.register("plain", key="v")
        for sql in (
            "SELECT v FROM plain VERSION AS OF 1",
            "SELECT v FROM t TIMESTAMP AS OF current_date()",
            "WITH t AS (SELECT 7 AS v) SELECT v FROM t VERSION AS OF 2",
        ):
            with pytest.raises((NotTracedError, WrongSqlError)):
                t.sql(sql)

    def test_words_that_mean_something_else(self, t: ForwardLineage) -> None:
        assert t.sql("SELECT 'FROM t VERSION AS OF 2' AS version FROM t").count() == 5
        assert t.sql("SELECT v AS version FROM t -- FROM t VERSION AS OF 2").columns[0] == "version"


def test_iceberg_by_snapshot_and_with_the_columns_of_then(lineage: ForwardLineage, tmp_path: Path) -> None:
    made = IcebergTable(tmp_path / "lake" / "orders", [(1, "v", "long"), (2, "item", "string")]).create()
    made.commit(made.file(_PENS))
    made.commit(made.file([{"v": v, "item": "ink"} for v in (20, 21)]))
    first = made.manifests[0][1][0]["data_file"]
    made.commit(made.file(_CHANGED, moved=_MOVED), removed=[first])
    lineage.register("t", path=made.folder)
    assert ids(lineage, "SELECT * FROM t VERSION AS OF 1002", "t_as_of_1002") == THEN
    assert ids(lineage, "SELECT * FROM t", "t") == NOW
    with pytest.raises(
        ChangedError, match=r"t has no snapshot 7; the newest: 1003 \(.*\), 1002 \(.*\), 1001 \("
    ) as raised:
        lineage.sql("SELECT v FROM t VERSION AS OF 7")
    assert raised.value.instead == "Write one that is there: VERSION AS OF 1003."
    with pytest.raises(BadArgumentError, match="its tags: none"):
        lineage.sql("SELECT v FROM t VERSION AS OF 'nope'")

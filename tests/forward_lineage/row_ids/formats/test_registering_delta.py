"""Delta tables in a session: ids by row tracking, changes by version, what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from forward_lineage import ForwardLineage
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.written_sql import check_sql
from tests.forward_lineage.row_ids.conftest import ids
from tests.forward_lineage.row_ids.formats.delta_tables import ROW_CHANGED, ROW_ID, DeltaTable, inline_vector
from udafs.errors import BadArgumentError, ChangedError, DamagedError, NotTracedError


@pytest.fixture
def table(tmp_path: Path) -> DeltaTable:
    """Rows 0 to 2 in one file, 3 and 4 in another."""
    made = DeltaTable(tmp_path / "lake" / "orders", {"v": "long", "item": "string"}).create()
    made.write(made.file([{"v": v, "item": "pen"} for v in (10, 11, 12)]))
    return made.write(made.file([{"v": v, "item": "ink"} for v in (20, 21)]))


@pytest.fixture
def t(lineage: ForwardLineage, table: DeltaTable) -> ForwardLineage:
    lineage.register("t", path=table.folder)
    return lineage


def update(table: DeltaTable, by: int = 100) -> None:
    """UPDATE of v = 11, copy on write: the file goes, its rows keep their ids, one is another row with its id."""
    first = next(iter(table.live.values()))
    version = table.version + 1
    kept = {0: (0, 1), 1: (1, None), 2: (2, 1)}
    data = [{"v": 10, "item": "pen"}, {"v": 11 + by, "item": "pen"}, {"v": 12, "item": "pen"}]
    table.write(table.file(data, moved=kept), removed=[first])
    assert table.version == version


class TestIds:
    def test_are_those_of_the_format(self, t: ForwardLineage, table: DeltaTable) -> None:
        assert ids(t, "t") == {10: 0, 11: 1, 12: 2, 20: 3, 21: 4}
        manifest = t.tables()["t"]
        assert (manifest.provider, manifest.next_id, manifest.source["version"]) == ("delta", 5, "2")
        assert manifest.key == (table.table_id, str(table.folder), "2")
        assert manifest.columns == (("v", "bigint"), ("item", "string"))
        assert t.spark.sql("SELECT sum(v) FROM t").collect()[0][0] == 74

    def test_ids_that_were_written_down_come_first(self, t: ForwardLineage, table: DeltaTable) -> None:
        update(table)
        t.refresh("t")
        assert ids(t, "t") == {10: 0, 111: 1, 12: 2, 20: 3, 21: 4}
        assert t.spark.table("t").columns == ["v", "item"]
        found = deltalake.DeltaTable(table.folder).to_pyarrow_table().select(["v", "item"]).to_pylist()
        assert sorted(map(str, found)) == sorted(str(row.asDict()) for row in t.spark.table("t").collect())

    def test_compaction_keeps_them(self, t: ForwardLineage, table: DeltaTable) -> None:
        data = [{"v": v, "item": "x"} for v in (21, 12, 11, 20, 10)]
        kept = {0: (4, 2), 1: (2, 1), 2: (1, 1), 3: (3, 2), 4: (0, 1)}
        table.write(table.file(data, moved=kept), removed=list(table.live.values()))
        t.refresh("t")
        assert ids(t, "t") == {10: 0, 11: 1, 12: 2, 20: 3, 21: 4}

    def test_a_rewrite_that_does_not_keep_them(self, t: ForwardLineage, table: DeltaTable) -> None:
        """A writer should keep ids, and may not: then the rows are new ones, and the old ids are in old files alone."""
        t.save("SELECT v, item FROM t", "kept")
        first = next(iter(table.live.values()))
        table.write(table.file([{"v": v, "item": "pen"} for v in (10, 11, 12)]), removed=[first])
        t.refresh("t")
        assert ids(t, "t") == {10: 5, 11: 6, 12: 7, 20: 3, 21: 4}
        for v in (20, 10):
            with pytest.warns(UserWarning, match="you see its rows of version 1$"):
                assert [row.v for row in t.backward("kept", where=f"v = {v}").collect()] == [v]
        (table.folder / first["path"]).unlink()
        with pytest.raises(ChangedError, match="1 of the 1 rows of t that were asked for are gone"):
            t.backward("kept", where="v = 10")

    def test_partitions_and_columns_that_came_later(self, lineage: ForwardLineage, tmp_path: Path) -> None:
        columns = {"v": "long", "day": "date", "n": "integer", "note": "string"}
        made = DeltaTable(tmp_path / "p", columns, partitioned_by=["day", "n"]).create()
        made.write(
            made.file([{"v": 1}], day="2024-01-31", n="7"),
            made.file([{"v": 2, "note": "a'b\\"}], day="2024-01-31", n="8"),
            made.file([{"v": 3}], day=None, n=""),
            made.file([{"v": 4}, {"v": 5}], day="2024-01-31", n="7"),
        )
        lineage.register("p", path=made.folder)
        assert ids(lineage, "p") == {1: 0, 2: 1, 3: 2, 4: 3, 5: 4}
        found = lineage.sql("SELECT v, day, n, note FROM p ORDER BY v").drop("DL").collect()
        assert [(row.v, str(row.day), row.n, row.note) for row in found] == [
            (1, "2024-01-31", 7, None),
            (2, "2024-01-31", 8, "a'b\\"),
            (3, "None", None, None),
            (4, "2024-01-31", 7, None),
            (5, "2024-01-31", 7, None),
        ]
        assert lineage.sql("SELECT v FROM p WHERE day = DATE '2024-01-31' AND n = 8").count() == 1

    def test_names_that_have_to_be_encoded(self, t: ForwardLineage, table: DeltaTable) -> None:
        table.write(table.file([{"v": 30}], name="a b%3D ü{x},*.parquet"))
        t.refresh("t")
        assert ids(t, "t")[30] == 5

    def test_large_ones(self, lineage: ForwardLineage, tmp_path: Path) -> None:
        made = DeltaTable(tmp_path / "t", {"v": "long"}, high=2**62 - 2).create()
        made.write(made.file([{"v": 1}, {"v": 2}]))
        lineage.register("t", path=made.folder)
        assert ids(lineage, "t") == {1: 2**62 - 1, 2: 2**62}
        made.high = 2**63 - 2
        made.write(made.file([{"v": 3}, {"v": 4}]))
        with pytest.raises(DamagedError, match=f"says that ids go up to {2**63}, and there is {2**63}"):
            lineage.refresh("t")

    def test_data_of_change_feeds_is_not_read(self, t: ForwardLineage, table: DeltaTable) -> None:
        """Files of changes are none of the table's; a column `_change_type` in those that are is not the table's."""
        feed = table.file([{"v": 10}], name="_change_data/cdc-1.parquet", more={"_change_type": pa.array(["delete"])})
        marked = table.file([{"v": 40}], more={"_change_type": pa.array(["insert"])})
        table.live[marked["path"]] = marked
        table.commit([{"add": marked}, {"cdc": {**feed, "dataChange": False}}, table.mark()])
        t.refresh("t")
        assert set(ids(t, "t")) == {10, 11, 12, 20, 21, 40}
        assert t.spark.table("t").columns == ["v", "item"]

    def test_rows_that_deletion_vectors_take_out(self, t: ForwardLineage, table: DeltaTable) -> None:
        first = next(iter(table.live.values()))
        table.commit([{"remove": {"path": first["path"]}}, {"add": {**first, "deletionVector": inline_vector([1])}}])
        t.refresh("t")
        assert ids(t, "t") == {10: 0, 12: 2, 20: 3, 21: 4}
        assert t.spark.sql("SELECT sum(v) FROM t").collect()[0][0] == 63
        assert changed(t) == {(1, "gone")}
        again = ForwardLineage(t.spark.newSession(), t.home)
        assert ids(again, "t") == {10: 0, 12: 2, 20: 3, 21: 4}
        data = t.tables()["t"].to_data()
        assert data["format"] == 6
        check_sql(Manifest.from_data(data))
        part = {**data["source"]["parts"][0], "deleted": "00') OR (1"}
        with pytest.raises(ValueError, match="deleted rows"):
            check_sql(Manifest.from_data({**data, "source": {**data["source"], "parts": [part]}}))

    def test_a_deletion_vector_that_is_none(self, t: ForwardLineage, table: DeltaTable) -> None:
        first = next(iter(table.live.values()))
        wrong = {**inline_vector([1]), "cardinality": 2}
        table.commit([{"remove": {"path": first["path"]}}, {"add": {**first, "deletionVector": wrong}}])
        with pytest.raises(DamagedError, match="is not what its format says"):
            t.refresh("t")

    def test_columns_that_were_widened(self, t: ForwardLineage, table: DeltaTable) -> None:
        table.columns["v"] = "integer"
        narrow = table.file([{"v": 30, "item": "x"}])
        table.columns["v"] = "long"
        table.write(narrow, table.file([{"v": 2**40, "item": "y"}]))
        t.refresh("t")
        assert ids(t, "t") == {10: 0, 11: 1, 12: 2, 20: 3, 21: 4, 30: 5, 2**40: 6}


class TestChanges:
    def test_another_version(self, t: ForwardLineage, table: DeltaTable) -> None:
        update(table)
        with pytest.raises(ChangedError) as raised:
            t.sql("SELECT v FROM t")
        assert str(raised.value) == (
            'table t has changed: version 3 of it is there, and version 2 was registered. Call lineage.refresh("t").'
        )
        assert t.refresh("t").version == 2
        assert t.sql("SELECT v FROM t WHERE v = 111").count() == 1

    def test_an_update_keeps_the_id_and_is_a_change(self, t: ForwardLineage, table: DeltaTable) -> None:
        t.save("SELECT item, sum(v) AS total FROM t GROUP BY item", "totals")
        assert t.stale().collect() == []
        update(table)
        assert [(row.table, row.now) for row in t.stale().collect()] == [("t", None)]
        t.refresh("t")
        assert [(row.table, row.saved_with, row.now) for row in t.stale().collect()] == [("t", 1, 2)]
        assert [
            row.total for row in t.affected("SELECT item, sum(v) AS total FROM t GROUP BY 1", "t", "v = 111").collect()
        ] == [133]
        found = t.impact("t", where="v = 111").collect()
        assert [(row.result, row.rows_touched) for row in found] == [("totals", 1)]

    def test_a_text_that_is_run_later(self, t: ForwardLineage, table: DeltaTable) -> None:
        """It reads the version that it was written for, as long as its files are there."""
        text = t.rewrite("SELECT v FROM t")
        update(table)
        found = t.spark.sql(text).selectExpr("v", "dl_ids(DL.t)[0] AS id").collect()
        assert {row.v: row.id for row in found} == {10: 0, 11: 1, 12: 2, 20: 3, 21: 4}

    def test_later_sessions_know_it(self, t: ForwardLineage, table: DeltaTable) -> None:
        again = ForwardLineage(t.spark.newSession(), t.home)
        assert ids(again, "t")[21] == 4
        update(table)
        with pytest.raises(ChangedError, match="version 3 of it is there"):
            ForwardLineage(t.spark.newSession(), t.home).sql("SELECT v FROM t")

    def test_a_table_made_anew_in_its_place(self, t: ForwardLineage, table: DeltaTable) -> None:
        shutil.rmtree(table.folder)
        again = DeltaTable(table.folder, table.columns).create()
        again.write(again.file([{"v": 7}, {"v": 8}, {"v": 9}]))
        again.write(again.file([{"v": 17}, {"v": 18}]))
        with pytest.raises(ChangedError, match=r"^table t is another one now: .* is not what was registered"):
            t.sql("SELECT v FROM t")
        with pytest.raises(ChangedError, match="is another table, or a clone"):
            t.refresh("t")
        t.register("t", path=again.folder)
        assert set(ids(t, "t")) == {7, 8, 9, 17, 18}

    def test_a_table_that_is_gone(self, t: ForwardLineage, table: DeltaTable) -> None:
        shutil.rmtree(table.folder)
        with pytest.raises(ChangedError, match="there is no Delta table in"):
            t.sql("SELECT v FROM t")

    def test_a_clone(self, t: ForwardLineage, table: DeltaTable, tmp_path: Path) -> None:
        """The same id of the table, the same ids of rows at first, and other rows as soon as either is written."""
        t.save("SELECT v FROM t", "kept")
        shutil.copytree(table.folder, tmp_path / "clone")
        t.register("t", path=tmp_path / "clone")
        with pytest.warns(UserWarning, match="you see its rows of version 1$"):
            assert t.backward("kept").count() == 5, "in the files of the table that was registered then"
        shutil.rmtree(table.folder)
        with pytest.raises(ChangedError, match="the ids of t mean other rows now"):
            t.backward("kept")

    def test_tracking_that_was_off_for_a_while(self, t: ForwardLineage, table: DeltaTable) -> None:
        t.save("SELECT v FROM t", "kept")
        table.commit([table.metadata(**{"delta.enableRowTracking": "false"})])
        table.commit([table.metadata()])
        with pytest.raises(ChangedError, match="did not track rows all the time since version 2"):
            t.refresh("t")
        t.register("t", path=table.folder)
        assert ids(t, "t")[21] == 4
        with pytest.warns(UserWarning, match="you see its rows of version 1$"):
            assert [row.v for row in t.backward("kept").collect()] == [10, 11, 12, 20, 21]

    def test_a_log_that_does_not_reach_back(self, t: ForwardLineage, table: DeltaTable) -> None:
        update(table)
        deltalake.DeltaTable(table.folder).create_checkpoint()
        for version in (0, 1, 2):
            (table.folder / "_delta_log" / f"{version:020}.json").unlink()
        with pytest.raises(ChangedError, match="does not reach back to version 2 any more"):
            t.refresh("t")

    def test_stored_lineage(self, t: ForwardLineage, table: DeltaTable) -> None:
        t.sql("CREATE TABLE stored_delta USING parquet AS SELECT v FROM t")
        try:
            update(table)
            t.refresh("t")
            found = t.sql("SELECT v FROM stored_delta WHERE v = 11").selectExpr("dl_ids(DL.t) AS ids").collect()
            assert [row.ids for row in found] == [[1]]
        finally:
            t.spark.sql("DROP TABLE stored_delta")


class TestWhichRows:
    def test_an_update(self, t: ForwardLineage, table: DeltaTable) -> None:
        """Its row has its id, and was written; those that were copied beside it were not."""
        t.save("SELECT item, sum(v) AS total FROM t GROUP BY item", "totals")
        update(table)
        table.write(table.file([{"v": 30, "item": "new"}]))
        with pytest.raises(ChangedError, match="version 4 of it is there"):
            t.changed("t", since=1)
        t.refresh("t")
        assert changed(t) == {(1, "written"), (8, "written")}
        found = t.impact("t", ids=[row_id for row_id, _ in changed(t)]).collect()
        assert [(row.result, row.rows_touched) for row in found] == [("totals", 1)]
        assert changed(t, since=2) == set()

    def test_rows_that_go(self, t: ForwardLineage, table: DeltaTable) -> None:
        (first, second) = table.live.values()
        table.write(table.file([{"v": 10}, {"v": 12}], moved={0: (0, 1), 1: (2, 1)}), removed=[first])
        table.write(removed=[second])
        t.refresh("t")
        assert changed(t) == {(1, "gone"), (3, "gone"), (4, "gone")}

    def test_a_table_that_is_restored(self, t: ForwardLineage, table: DeltaTable) -> None:
        """The row has the earlier number again, and is not what it was a version before."""
        first = next(iter(table.live.values()))
        update(table)
        t.refresh("t")
        table.write(first, removed=[list(table.live.values())[-1]])
        t.refresh("t")
        assert ids(t, "t")[11] == 1
        assert changed(t, since=2) == {(1, "written")}
        assert changed(t, since=1) == set()

    def test_what_is_not_known(self, t: ForwardLineage, table: DeltaTable, tmp_path: Path) -> None:
        first = next(iter(table.live.values()))
        update(table)
        t.refresh("t")
        (table.folder / first["path"]).unlink()
        with pytest.raises(ChangedError, match=r"went since version 1 cannot be told: .* is gone"):
            t.changed("t", since=1)
        shutil.copytree(table.folder, tmp_path / "clone")
        t.register("t", path=tmp_path / "clone")
        with pytest.raises(ChangedError, match="ids of t in version 2 do not mean the same rows now"):
            t.changed("t", since=2)
        t.spark.createDataFrame([(1, 2)], "v INT, w INT").createOrReplaceTempView("x")
        t.register("x", key="v")
        t.spark.createDataFrame([(1, 3)], "v INT, w INT").createOrReplaceTempView("x")
        t.refresh("x")
        with pytest.raises(NotTracedError, match=r"ids by key \(v\) do not say it, and rows of before are not kept"):
            t.changed("x", since=1)


def changed(lineage: ForwardLineage, since: int = 1) -> set[tuple[int, str]]:
    found = lineage.changed("t", since).collect()
    assert len(set(found)) == len(found)
    return {(row.row_id, row.change) for row in found}


class TestRefusals:
    def test_ids_twice(self, t: ForwardLineage, table: DeltaTable) -> None:
        table.write(table.file([{"v": 30}], moved={0: (3, 1)}))
        with pytest.raises(DamagedError, match="leads to ids that are none: row id of t is not unique: 1 row"):
            t.refresh("t")
        t.register("t", path=table.folder, trusted=True)
        assert t.tables()["t"].trusted

    def test_ids_that_were_never_given(self, t: ForwardLineage, table: DeltaTable) -> None:
        table.write(table.file([{"v": 30}], moved={0: (9, 1)}))
        with pytest.raises(DamagedError, match="says that ids go up to 5, and there is 9"):
            t.refresh("t")

    def test_files_that_are_not_as_the_log_says(self, t: ForwardLineage, table: DeltaTable) -> None:
        wrong = table.file([{"v": 30}])
        table.write({**wrong, "stats": json.dumps({"numRecords": 2})})
        with pytest.raises(DamagedError, match="has 1 rows, and 2 by the log"):
            t.refresh("t")
        table.write(removed=[wrong])
        overlapping = table.file([{"v": 30}])
        table.write({**overlapping, "baseRowId": 4})
        with pytest.raises(DamagedError, match="has rows with the ids of another file"):
            t.refresh("t")
        (table.folder / next(iter(table.live))).unlink()
        with pytest.raises(DamagedError, match="is in the log, and is not there"):
            t.refresh("t")

    def test_a_column_of_another_type(self, t: ForwardLineage, table: DeltaTable) -> None:
        table.columns["v"] = "string"
        table.write(table.file([{"v": "30"}]))
        with pytest.raises(NotTracedError, match="has files in which v has another type"):
            t.refresh("t")

    def test_as_plain_files(self, lineage: ForwardLineage, table: DeltaTable) -> None:
        """Its folder has files that are not in its current version."""
        with pytest.raises(BadArgumentError, match="not all files in it are of its current version"):
            lineage.register("t", path=table.folder, key="v")
        with pytest.raises(BadArgumentError, match="not all files in it are of its current version"):
            lineage.register("t", path=table.folder, order_by="v")

    def test_other_arguments(self, lineage: ForwardLineage, table: DeltaTable, tmp_path: Path) -> None:
        assert lineage.register("t", path=table.folder, format="delta").provider == "delta"
        with pytest.raises(BadArgumentError, match="there is no iceberg table in"):
            lineage.register("t", path=table.folder, format="iceberg")
        with pytest.raises(BadArgumentError, match="there is no delta table in"):
            lineage.register("t", path=tmp_path, format="delta")
        with pytest.raises(BadArgumentError, match="key= does not go with a table whose format gives its rows ids"):
            lineage.register("t", path=table.folder, format="delta", key="v")

    def test_partitions_whose_values_are_written_in_several_ways(self, lineage: ForwardLineage, tmp_path: Path) -> None:
        made = DeltaTable(tmp_path / "t", {"v": "long", "at": "timestamp"}, partitioned_by=["at"]).create()
        made.write(made.file([{"v": 1}], at="2024-01-31 10:00:00"))
        with pytest.raises(NotTracedError, match="is partitioned by at, whose values are of type timestamp"):
            lineage.register("t", path=made.folder)

    def test_too_many_partitions(
        self, lineage: ForwardLineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("forward_lineage.row_ids.formats.reading.MOST_PARTS", 2)
        made = DeltaTable(tmp_path / "t", {"v": "long", "n": "integer"}, partitioned_by=["n"]).create()
        made.write(*(made.file([{"v": at}], n=str(at)) for at in range(3)))
        with pytest.raises(
            NotTracedError, match="has 3 partitions, and more than 2, which only the format's own reader"
        ):
            lineage.register("t", path=made.folder)

    def test_ids_of_another_type(self, t: ForwardLineage, table: DeltaTable) -> None:
        table.write(table.file([{"v": 30}], more={ROW_ID: pa.array([1.5])}))
        with pytest.raises(DamagedError, match=f"has a column {ROW_ID} that is no BIGINT"):
            t.refresh("t")

    def test_no_rows(self, lineage: ForwardLineage, tmp_path: Path) -> None:
        made = DeltaTable(tmp_path / "t", {"v": "long"}).create()
        lineage.register("t", path=made.folder)
        assert lineage.sql("SELECT v FROM t").collect() == []
        assert [row.n for row in lineage.sql("SELECT count(*) AS n FROM t").collect()] == [0]
        made.write(made.file([{"v": 7}]))
        lineage.refresh("t")
        assert ids(lineage, "t") == {7: 0}

    def test_a_manifest_that_says_something_else(self, t: ForwardLineage) -> None:
        """What it says is run as SQL: nothing but what its files and columns spell."""
        data = t.tables()["t"].to_data()
        assert data["format"] == 4
        check_sql(Manifest.from_data(data))
        for key, value in (("view", data["view"] + " LIMIT 1"), ("identified", "(SELECT 1)"), ("row_id", "v")):
            with pytest.raises(ValueError, match=r"^(view|row id)$"):
                check_sql(Manifest.from_data({**data, key: value}))
        for key in ("log", "log_digest", "parts", "version", "next_id", "changed"):
            source = {name: said for name, said in data["source"].items() if name != key}
            with pytest.raises(ValueError, match="no log"):
                Manifest.from_data({**data, "source": source})
        with pytest.raises(ValueError, match="earlier formats know nothing"):
            Manifest.from_data({**data, "format": 3})


def test_hidden_columns_are_not_the_tables(t: ForwardLineage, table: DeltaTable) -> None:
    update(table)
    t.refresh("t")
    for column in (ROW_ID, ROW_CHANGED):
        assert column not in t.sql("SELECT * FROM t").columns


def test_ids_by_value_of_a_table_with_a_log(lineage: ForwardLineage, table: DeltaTable) -> None:
    """Deletion vectors, which the format's own reader applies, change no file: commits are compared.

    The reader here is that of Parquet files, over the table's folder; the format's own was not to be had.
    """
    lineage.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW by_key AS SELECT * FROM parquet.`{table.folder}`")
    lineage.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW by_keys AS SELECT * FROM parquet.`{table.folder}`")
    lineage.register("by_key", key="v")
    lineage.register("by_keys", key=["v", "item"])
    assert lineage.tables()["by_key"].source["logs"] == {str(table.folder): 2}
    first = next(iter(table.live.values()))
    vector = {"storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"}
    taken = {**vector, "sizeInBytes": 40, "cardinality": 6}
    table.commit([{"remove": {"path": first["path"]}}, {"add": {**first, "deletionVector": taken}}])
    for name in ("by_key", "by_keys"):
        with pytest.raises(ChangedError, match=r"goes up to version 3, and was registered with version 2\. Call"):
            lineage.sql(f"SELECT v FROM {name}")
        lineage.refresh(name)
        assert lineage.sql(f"SELECT v FROM {name}").count() == 5
    shutil.rmtree(table.folder / "_delta_log")
    with pytest.raises(ChangedError, match=r"the log of the Delta table in .* is gone"):
        lineage.sql("SELECT v FROM by_key")

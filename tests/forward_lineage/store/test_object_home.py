"""A home in an object store, as its users have it: saved by tasks, asked, read as tables, on two machines."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.relations import forward_index
from forward_lineage.storage.object_store import ObjectStore
from forward_lineage.store.library import rerun
from tests.forward_lineage.cli.in_this_process import invoke
from tests.forward_lineage.store.server_files import s3a_known
from tests.object_server import BUCKET, ObjectServer, new_cache
from udafs.build import CACHE_VARIABLE
from udafs.errors import SetupError

Session = Callable[[], ForwardLineage]


@pytest.fixture
def home(spark: SparkSession, store_server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in store_server.environment.items():  # what tasks' Python has, where Java runs already
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    return f"s3://{BUCKET}/{uuid.uuid4().hex}"


@pytest.fixture
def session(spark: SparkSession, home: str) -> Session:
    """Opens the home in a session that knows `sales`."""

    def opened() -> ForwardLineage:
        mine = spark.newSession()
        mine.sql("CREATE TEMP VIEW sales AS SELECT id, id % 7 AS k, 2 * id AS amount FROM range(0, 700, 1, 3)")
        return ForwardLineage(mine, home)

    return opened


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], None]:
    """From when it is called on, this is another machine."""
    return lambda: monkeypatch.setenv(CACHE_VARIABLE, str(new_cache(tmp_path / uuid.uuid4().hex)))


def test_saved_asked_and_read(session: Session, home: str, elsewhere: Callable[[], None]) -> None:
    lineage = session()
    assert str(lineage.home) == home
    lineage.register("sales", key="id")
    lineage.save("SELECT k, count(*) AS n FROM sales GROUP BY k ORDER BY k", "counts")
    lineage.save("SELECT sum(n) AS n FROM counts WHERE k > 1", "total")
    assert list(lineage.backward_ids("counts", rows=[3], table="sales")) == list(range(3, 700, 7))
    elsewhere()
    other = session()
    assert [tuple(row) for row in other.result("counts").collect()] == [(k, 100) for k in range(7)]
    assert other.sql("SELECT n FROM total").collect()[0].n == 500
    assert other.backward_ids("total", rows=[0], table="sales").cardinality == 500
    assert [row.id for row in other.backward("counts", "k = 6", table="sales").limit(2).collect()] == [6, 13]
    assert [row.result for row in other.impact("sales", "id = 3").collect()] == ["counts", "total"]
    other.save("SELECT k, 1L AS n FROM sales WHERE id < 2", "counts", mode="append")
    assert lineage.result("counts").count() == 9
    assert list(lineage.backward_ids("counts", rows=[8], table="sales")) == [1]
    assert [tuple(row) for row in lineage.stale().collect()] == [("total", "counts", 1, 2)]
    other.drop("total")
    assert [each.name for each in lineage.results()] == ["counts"]


STAGED = """
    SELECT s.id, s.amount, g.n FROM sales s JOIN (SELECT k, count(*) AS n FROM sales GROUP BY k) g ON s.k = g.k
    WHERE s.id < 10
"""
WINDOW = "SELECT id, sum(amount) OVER (ORDER BY id) AS so_far FROM sales WHERE id < 50"


@pytest.mark.parametrize(("sql", "row", "ids"), [(STAGED, 0, 100), (WINDOW, 9, 10)], ids=["stages", "frames"])
def test_what_is_kept_by_reference(session: Session, home: str, sql: str, row: int, ids: int) -> None:
    lineage = session()
    lineage.register("sales", key="id")
    saved = lineage.save(sql, "r")
    assert saved.stages, "else this tests nothing"
    assert session().backward_ids("r", rows=[row], table="sales").cardinality == ids
    keys = [each.key for each in ObjectStore(home).tree("results/r")]
    named = {f"results/r/{saved.data}/{each.path}" for each in (*saved.segments(), *saved.row_files)}
    named.add(f"results/r/{saved.data}/{rerun.NAME}")
    assert set(keys) == {"results/r/1.json"} | named, "what was written on the way is gone"


def test_values_in_place_of_rows_and_lineage_for_later(session: Session, elsewhere: Callable[[], None]) -> None:
    lineage = session()
    lineage.register("sales", key="id")
    lineage.save("SELECT k, count(*) AS n FROM sales GROUP BY k LINEAGE ON sales.amount", "units")
    lineage.save("SELECT k, count(*) AS n FROM sales GROUP BY k ORDER BY k", "later", capture="later")
    elsewhere()
    other = session()
    assert other.backward("units", "k = 3").count() == 100
    assert list(other.backward_ids("later", rows=[2], table="sales"))[:2] == [2, 9]


def test_positions_in_files(session: Session, tmp_path: Path, elsewhere: Callable[[], None]) -> None:
    lineage = session()
    lineage.spark.table("sales").write.parquet(str(tmp_path / "files"))
    lineage.register("kept", path=tmp_path / "files")
    lineage.save("SELECT id, amount FROM kept WHERE id % 100 = 1 ORDER BY id", "few")
    elsewhere()
    other = session()
    assert [row.id for row in other.backward("few", rows=[2]).collect()] == [201]
    assert other.sql("SELECT count(*) AS n FROM kept").collect()[0].n == 700


def test_what_cannot_be_there_is_said(session: Session, home: str, tmp_path: Path) -> None:
    lineage = session()
    with pytest.raises(
        SetupError, match=rf"{home} is no place for it\. Write the rows as Parquet where Spark has them"
    ):
        lineage.register("copied", source="sales", order_by="id")
    with pytest.raises(SetupError, match="is no place for it"):
        lineage.register("sales", key=["id", "k"])
    assert lineage.tables() == {}
    lineage.register("sales", key="id")
    other = ForwardLineage(lineage.spark, tmp_path / "home")
    other.register("sales", key="id")
    with pytest.raises(LineageError, match=r"was traced under the home .*, not"):
        lineage.save(other.sql("SELECT k FROM sales"), "r")


def test_from_the_shell(session: Session, home: str) -> None:
    lineage = session()
    lineage.register("sales", key="id")
    lineage.save("SELECT k, count(*) AS n FROM sales GROUP BY k ORDER BY k", "counts")
    assert "counts" in invoke(lineage.spark, "ls", "--home", home).stdout
    shown = invoke(lineage.spark, "backward", "counts", "--rows", "3", "--home", home)
    assert shown.exit_code == 0, shown.output
    assert invoke(lineage.spark, "drop", "counts", "--home", home).exit_code == 0
    assert lineage.results() == []


def test_a_question_for_one_row_when_warm(session: Session, store_server: ObjectServer) -> None:
    lineage = session()
    lineage.register("sales", key="id")
    lineage.save("SELECT k, count(*) AS n FROM sales GROUP BY k ORDER BY k", "counts")
    lineage.save("SELECT sum(n) AS n FROM counts WHERE k > 1", "total")
    for result in ("counts", "total"):
        counted = []
        for _ in range(2):
            store_server.requests()
            lineage.backward_ids(result, rows=[0], table="sales")
            counted.append(len(store_server.requests()))
        assert counted[0] <= 4 and counted[1] <= 2, result


def test_spark_reads_rows_in_the_store_if_it_can(
    spark: SparkSession, session: Session, store_server: ObjectServer, tmp_path: Path
) -> None:
    with s3a_known(spark, store_server.environment["AWS_ENDPOINT"], tmp_path / "s3a"):
        lineage = session()
        lineage.register("sales", key="id")
        saved = lineage.save("SELECT k, count(*) AS n FROM sales GROUP BY k ORDER BY k", "counts")
        found = (
            lineage.sql("SELECT * FROM counts WHERE k > 4").selectExpr("k", "n", "dl_ids(DL.counts) AS ids").collect()
        )
        assert [tuple(row) for row in session().result("counts").collect()] == [(k, 100) for k in range(7)]
        assert [(row.k, row.n, row.ids) for row in found] == [(5, 100, [5]), (6, 100, [6])]
        lineage.save("SELECT sum(n) AS n FROM counts WHERE k > 1", "total")
        assert lineage.backward_ids("total", rows=[0], table="sales").cardinality == 500
        assert lineage.save(STAGED, "staged").stages
        assert lineage.backward_ids("staged", rows=[0], table="sales").cardinality == 100
        assert not list(saved.home.parent.rglob("*.parquet")), "nothing was fetched"
        place = ObjectStore(f"{saved.files.address(saved.rows_folder)}")
        place.put_new("more.parquet", b"")
        with pytest.raises(LineageError, match=r"more\.parquet is not in the manifest, and Spark would read it"):
            lineage.result("counts")


def test_tasks_without_credentials(spark: SparkSession, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    lineage = session()
    lineage.register("sales", key="id")
    monkeypatch.delitem(spark.sparkContext.environment, "AWS_ACCESS_KEY_ID")
    monkeypatch.delitem(spark.sparkContext.environment, "AWS_SECRET_ACCESS_KEY")
    with pytest.raises(SetupError, match=r"no credentials in the environment\. Set AWS_ACCESS_KEY_ID"):
        lineage.save("SELECT k FROM sales", "r")
    assert lineage.results() == []


def test_an_index_stays_on_the_machine_that_made_it(
    session: Session, home: str, elsewhere: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forward_index, "FEW", 0)
    lineage = session()
    lineage.register("sales", key="id")
    lineage.save("SELECT id, amount FROM sales WHERE id % 100 = 1 ORDER BY id", "few")
    before = [each.key for each in ObjectStore(home).tree("results/few")]
    assert lineage.create_index("few").pairs == 7
    assert [each.key for each in ObjectStore(home).tree("results/few")] == before
    assert list(lineage.forward_ids("sales", ids=[201], result="few")) == [2]
    elsewhere()
    other = session()
    assert list(other.forward_ids("sales", ids=[201], result="few")) == [2]
    other.drop("few")
    with pytest.raises(LineageError, match="there is no saved result few"):
        lineage.create_index("few")

"""Tables whose data and logs lie in S3 or HDFS, beside what their engines say of their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.lakes.comparing import read_by_engine, version_now
from tests.lakes.engines import FORMATS, NoEngineError
from tests.lakes.far_stores import SECRET, STORES, Store, hdfs, s3a
from tests.object_server import Request
from tests.shared_state import drop_views
from udafs.errors import ChangedError, DamagedError, LineageError, SetupError

_ORDERS = "(11, 'Ada', 50), (12, 'Bob', 70), (13, 'Ada', 20), (14, 'Cyd', 40)"
_TRACKED = {
    "delta": "'delta.enableRowTracking' = 'true', 'delta.enableDeletionVectors' = 'true'",
    "iceberg": "'format-version' = '3', 'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read'",
}
_NUMBERS = count()
_BY_CUSTOMER = "SELECT customer, sum(amount) AS amount FROM {} GROUP BY customer"


@pytest.fixture(scope="module", params=STORES)
def store(
    request: pytest.FixtureRequest, lakes: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp(request.param)
    with ExitStack() as stack:
        try:
            made = stack.enter_context({"s3a": s3a, "hdfs": hdfs}[request.param](lakes, folder))
        except NoEngineError as error:
            pytest.skip(str(error))
        made.know(lakes)
        yield made


@dataclass(frozen=True)
class Orders:
    """A table of four rows.

    Attributes:
        kind: its format.
        name: its full name.
        place: its folder.
        store: what that is in.
        other: a session that changes it, and knows nothing of lineage.

    """

    kind: str
    name: str
    place: str
    store: Store
    other: SparkSession

    def rows(self, version: str = "") -> set[tuple[object, ...]]:
        """Return its rows as the engine reads them, each with its id."""
        return read_by_engine(self.other, self.kind, f"{self.name} {version}")

    def change(self, *statements: str) -> None:
        """Run statements by the engine."""
        for text in statements:
            self.other.sql(text.format(self.name))

    def version(self) -> int:
        """The number of its version, or of its snapshot."""
        found = version_now(self.other, self.kind, self.name)
        assert found is not None
        return found

    @property
    def compaction(self) -> str:
        """The statement that moves its rows to other files."""
        if self.kind == "delta":
            return "OPTIMIZE {}"
        catalog, _, table = self.name.partition(".")
        return f"CALL {catalog}.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))"

    @property
    def log(self) -> str:
        """The folder of its log."""
        return f"{self.place}/{'_delta_log' if self.kind == 'delta' else 'metadata'}"


@pytest.fixture(params=FORMATS)
def orders(request: pytest.FixtureRequest, store: Store) -> Iterator[Orders]:
    kind, other = request.param, store.session()
    table = f"orders_{next(_NUMBERS)}"  # another one for each test: sessions keep what they know of tables for a while
    if kind == "delta":
        name, place = f"spark_catalog.default.{table}", f"{store.root}/delta/{table}"
    else:
        name, place = f"{store.catalog}.db.{table}", f"{store.root}/iceberg/db/{table}"
        other.sql(f"CREATE NAMESPACE IF NOT EXISTS {store.catalog}.db")
    where = f"LOCATION '{place}'" if kind == "delta" else ""
    made = Orders(kind, name, place, store, other)
    made.change(
        f"CREATE TABLE {{}} (o_id BIGINT, customer STRING, amount INT) USING {kind} {where} "
        f"TBLPROPERTIES ({_TRACKED[kind]})",
        f"INSERT INTO {{}} SELECT /*+ COALESCE(1) */ * FROM VALUES {_ORDERS}",
    )
    yield made
    other.sql(f"DROP TABLE {name}{'' if kind == 'delta' else ' PURGE'}")
    if kind == "delta":
        store.remove(place)


def test_by_name_and_by_path(orders: Orders, lineage: ForwardLineage) -> None:
    registered = lineage.register(orders.name)
    assert registered.provider == orders.kind and registered.to_data()["format"] == 7
    lineage.register("by_path", path=orders.place)
    for name in (orders.name, "by_path"):
        assert _traced(lineage, name) == orders.rows()
        lineage.refresh(name)
    assert lineage.tables()["by_path"].key == registered.key
    again = ForwardLineage(orders.store.session(), home=lineage.home)
    assert _traced(again, "by_path") == orders.rows()
    drop_views(again.spark)
    written = b"".join(file.read_bytes() for file in Path(str(lineage.home)).rglob("*") if file.is_file())
    assert b"orders" in written and SECRET.encode() not in written


@pytest.mark.parametrize("orders", ["delta"], indirect=True)
def test_a_place_with_an_odd_name(orders: Orders, lineage: ForwardLineage, tmp_path: Path) -> None:
    """Signs that addresses encode, and what looks like such a code, in the store and on the local disk."""
    name = f"{orders.name}_odd"
    for place in (f"{orders.place} é%41+odd", str(tmp_path / "é%41+odd")):
        where = f"USING delta LOCATION '{place}' TBLPROPERTIES ({_TRACKED['delta']})"
        orders.change(f"CREATE TABLE {name} {where} AS SELECT * FROM {{}}")
        try:
            by_name, by_path = lineage.register(name), lineage.register("by_path", path=place)
            assert by_name.key == by_path.key and by_name.key[1] == place
            assert {row[:3] for row in _traced(lineage, name)} == {row[:3] for row in orders.rows()}
        finally:
            orders.other.sql(f"DROP TABLE {name}")


def test_after_changes(orders: Orders, lineage: ForwardLineage) -> None:
    """Rows that were changed, that deletion vectors take out, that move to other files; results of before."""
    name, query = orders.name, _BY_CUSTOMER.format(orders.name)
    lineage.register(name)
    before, first = orders.rows(), orders.version()
    lineage.save(query, "by_customer")
    orders.change("UPDATE {} SET amount = 75 WHERE o_id = 12", "DELETE FROM {} WHERE o_id = 14")
    with pytest.raises(ChangedError, match="has changed"):
        lineage.sql(query)
    with pytest.warns(UserWarning, match="you see its rows of version 1$"):
        assert _backward(lineage, "Bob") == [(12, "Bob", 70)]
    lineage.refresh(name)
    assert lineage.tables()[name].has_deleted_rows
    assert _traced(lineage, name) == orders.rows()
    ids = {row[0]: row[3] for row in before}
    assert sorted(tuple(row) for row in lineage.changed(name, since=1).collect()) == sorted(
        [(ids[12], "written"), (ids[14], "gone")]
    )
    assert [row.result for row in lineage.stale().collect()] == ["by_customer"]
    for customer, rows in (("Bob", [(12, "Bob", 70)]), ("Cyd", [(14, "Cyd", 40)])):
        with pytest.warns(UserWarning, match="you see its rows of version 1$"):
            assert _backward(lineage, customer) == rows
    assert {row[:4] for row in _traced(lineage, name, f"VERSION AS OF {first}")} == before
    orders.change(orders.compaction)
    lineage.refresh(name)
    assert _traced(lineage, name) == orders.rows()
    assert lineage.changed(name, since=2).count() == 0
    assert [row.result for row in lineage.update("by_customer").collect()] == ["by_customer"]
    assert lineage.stale().count() == 0
    assert _backward(lineage, "Bob") == [(12, "Bob", 75)]


def test_a_log_with_checkpoints(orders: Orders, lineage: ForwardLineage) -> None:
    """Delta writes one in Parquet after ten commits; an Iceberg table has a manifest for each."""
    lineage.register(orders.name)
    orders.change(*(f"INSERT INTO {{}} VALUES ({20 + n}, 'Eve', {n})" for n in range(11)))
    lineage.refresh(orders.name)
    assert any(file.endswith(".checkpoint.parquet") for file in orders.store.files(orders.log)) == (
        orders.kind == "delta"
    )
    assert _traced(lineage, orders.name) == orders.rows()
    assert lineage.changed(orders.name, since=1).count() == 11


def test_a_table_with_lineage(orders: Orders, lineage: ForwardLineage) -> None:
    """It is made there, and changed by UPDATE, DELETE and MERGE."""
    lineage.register(orders.name)
    lineage.spark.sql(
        "CREATE OR REPLACE TEMP VIEW news AS "
        "SELECT * FROM VALUES (7, 'Bob', 100), (8, 'Dan', 5) AS t(id, customer, amount)"
    )
    lineage.register("news", key="id")
    ids = {row[0]: row[3] for row in orders.rows()}
    name = orders.name.replace("orders", "balances")
    where = f"LOCATION '{orders.place.replace('orders', 'balances')}'" if orders.kind == "delta" else ""
    lineage.sql(f"CREATE TABLE {name} USING {orders.kind} {where} AS {_BY_CUSTOMER.format(orders.name)}")
    try:
        lineage.sql(f"ALTER TABLE {name} ADD COLUMNS (DL.news BINARY)")
        lineage.sql(
            f"MERGE INTO {name} AS b USING news AS n ON b.customer = n.customer "
            "WHEN MATCHED THEN UPDATE SET amount = b.amount + n.amount "
            "WHEN NOT MATCHED THEN INSERT (customer, amount) VALUES (n.customer, n.amount)"
        )
        lineage.sql(f"UPDATE {name} SET amount = amount + 1 WHERE customer = 'Cyd'")
        lineage.sql(f"DELETE FROM {name} WHERE customer = 'Ada'")
        found = lineage.sql(f"SELECT * FROM {name}")
        columns = ("customer", "amount", f"dl_ids(DL.`{orders.name}`) AS old", "dl_ids(DL.news) AS new")
        assert sorted(tuple(row) for row in found.selectExpr(*columns).collect()) == [
            ("Bob", 170, [ids[12]], [7]),
            ("Cyd", 41, [ids[14]], []),
            ("Dan", 5, [], [8]),
        ]
    finally:
        lineage.spark.sql(f"DROP TABLE {name}")


def test_what_is_missing(orders: Orders, lineage: ForwardLineage) -> None:
    lineage.register(orders.name)
    needed = [file for file in orders.store.files(orders.place) if file.endswith(".parquet")]
    orders.store.remove(needed[0])
    with pytest.raises(DamagedError, match=f"{needed[0]} is in the log, and is not there"):
        lineage.register("by_path", path=orders.place)
    ending = "00.json" if orders.kind == "delta" else ".avro"
    part = next(file for file in orders.store.files(orders.log) if file.endswith(ending))
    orders.store.remove(part)
    with pytest.raises(DamagedError, match=f"{part.rpartition('/')[2]} is missing"):
        lineage.register("by_path", path=orders.place)


def test_what_may_not_be_read(orders: Orders, lineage: ForwardLineage) -> None:
    if orders.store.server is not None:
        pytest.skip("the server that speaks S3 here lets everybody in")
    lineage.register(orders.name)
    orders.store.allow(orders.log, "000")
    try:
        with pytest.raises(SetupError, match=r"may not be listed or read: .*[Pp]ermission denied.*Let the user"):
            lineage.register("by_path", path=orders.place)
        with pytest.raises(LineageError, match=r"denied|Failed to open input stream for file: hdfs:.*m0\.avro"):
            lineage.sql(f"SELECT * FROM {orders.name}")
    finally:
        orders.store.allow(orders.log, "755")
    assert _traced(lineage, orders.name) == orders.rows()


def _traced(lineage: ForwardLineage, name: str, version: str = "") -> set[tuple[object, ...]]:
    frame = lineage.sql(f"SELECT * FROM {name} {version}")
    (field,) = frame.schema["DL"].dataType.fieldNames()
    found = frame.selectExpr(*frame.columns[:-1], f"dl_ids(DL.`{field}`) AS ids").collect()
    assert all(len(row.ids) == 1 for row in found)
    return {(*row[:-1], row.ids[0]) for row in found}


@pytest.mark.parametrize("store", ["s3a"], indirect=True)
def test_requests(orders: Orders, lineage: ForwardLineage) -> None:
    """The folder of a log is listed once, each file in it is read once; a query costs a listing and a file."""
    orders.change("INSERT INTO {} VALUES (20, 'Eve', 2)", "DELETE FROM {} WHERE o_id = 14")
    log = f"{orders.log.partition('://')[2]}/"
    for first, call in (
        (True, lambda: lineage.register("t", path=orders.place)),
        (False, lambda: lineage.refresh("t")),
    ):
        _asked(orders.store)
        call()
        asked = _asked(orders.store)
        read = Counter(each.path for each in asked if each.method == "GET" and each.path.startswith(f"/{log}"))
        assert read and set(read.values()) == {1}
        lists = [
            each for each in asked if "list-type" in each.path and each.path.endswith(f"prefix={log.partition('/')[2]}")
        ]
        assert len(lists) == (2 if first else 1), "whether it is there; what is in it"
        orders.change("INSERT INTO {} VALUES (21, 'Eve', 3)")
    lineage.refresh("t")
    _asked(orders.store)
    lineage.sql("SELECT o_id FROM t")
    assert [each.method for each in _asked(orders.store)] == ["GET", "GET"], "a listing, and the file of the version"


def _asked(store: Store) -> list[Request]:
    assert store.server is not None
    return store.server.requests()


def _backward(lineage: ForwardLineage, customer: str) -> list[tuple[object, ...]]:
    found = lineage.backward("by_customer", where=f"customer = '{customer}'").collect()
    return [tuple(row)[1:] for row in found]

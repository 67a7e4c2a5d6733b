"""Tables that carry lineage: what CREATE TABLE … AS and INSERT wrote is traced through to its origins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import Catalog, ForwardLineage, rewrite_sql
from forward_lineage.results import meaning_of, trusted_tables
from forward_lineage.spark.names import string_literal
from forward_lineage.stored_tables import PROPERTY, Meaning
from tests.forward_lineage.conftest import kinds, rows_with_lineage
from tests.shared_state import drop_views
from tests.task_errors import REFUSED
from tests.tiers import every_day
from udafs.attach import attach
from udafs.errors import ChangedError, LineageError, NotRegisteredError, NotTracedError, WrongSqlError

Found = list[tuple[tuple[object, ...], dict[str, list[int]]]]

SALES = "(1, 'a', 10), (2, 'a', 20), (3, 'b', 5), (4, 'c', 7)"
CITIES = "(1, 'a', 'Rome'), (2, 'b', 'Oslo')"
TOTALS = "SELECT k, sum(v) AS total FROM sales GROUP BY k"


@pytest.fixture(scope="module")
def module_lineage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardLineage]:
    """Tables sales(id, k, v) and cities(c, k, city), and totals, made of sales by a statement that was traced."""
    lineage = ForwardLineage(spark, tmp_path_factory.mktemp("home"))
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW sales AS SELECT * FROM VALUES {SALES} AS t(id, k, v)")
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW cities AS SELECT * FROM VALUES {CITIES} AS t(c, k, city)")
    lineage.register("sales", key="id")
    lineage.register("cities", key="c")
    lineage.sql(f"CREATE TABLE totals USING parquet AS {TOTALS}")
    yield lineage
    spark.sql("DROP TABLE totals")
    drop_views(spark)


@pytest.fixture
def lineage(module_lineage: ForwardLineage) -> Iterator[ForwardLineage]:
    """The same; whatever tables a test makes are dropped."""
    spark = module_lineage.spark
    before = kinds(spark)
    yield module_lineage
    for name, kind in kinds(spark).items():
        if name not in before:
            spark.sql(f"DROP {kind} `{name}`")


def traced(lineage: ForwardLineage, sql: str, semantics: str = "data") -> Found:
    return rows_with_lineage(lineage.sql(sql, semantics))


def property_of(spark: SparkSession, table: str) -> str:
    said = {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {table}").collect()}
    return str(said[PROPERTY])


def test_stars_show_the_users_columns(lineage: ForwardLineage) -> None:
    frame = lineage.sql("SELECT * FROM totals")
    assert frame.columns == ["k", "total", "DL"]
    assert rows_with_lineage(frame) == [
        (("a", 30), {"sales": [1, 2]}),
        (("b", 5), {"sales": [3]}),
        (("c", 7), {"sales": [4]}),
    ]
    meaning = meaning_of(frame)
    assert meaning is not None
    assert [(table["name"], table["version"]) for table in meaning["tables"]] == [("sales", 1)]
    again = lineage.sql("SELECT * FROM totals WHERE total > :least", args={"least": 6})
    assert again.columns == ["k", "total", "DL"]
    assert len(again.collect()) == 2


def test_a_field_that_came_later(lineage: ForwardLineage) -> None:
    """NULL is the empty set in it where the row has lineage at all."""
    spark = lineage.spark
    lineage.sql("CREATE TABLE towns USING parquet AS SELECT city FROM cities")
    sales, cities = (Meaning.of_text(property_of(spark, each)).tables[0] for each in ("totals", "towns"))
    said = Meaning((sales, replace(cities, added=True))).text()
    made = """
        SELECT k, if(k < 'c', named_struct('sales', dl_of(s), 'cities', if(k = 'b', dl_of(7), NULL)), NULL) AS DL
        FROM VALUES ('a', 1), ('b', 2), ('c', 3) AS t(k, s)"""
    spark.sql(f"CREATE TABLE grown USING parquet TBLPROPERTIES ('{PROPERTY}' = {string_literal(said)}) AS {made}")
    expected = [(("a",), {"sales": [1], "cities": []}), (("b",), {"sales": [2], "cities": [7]})]
    assert traced(lineage, "SELECT * FROM grown WHERE k < 'c'") == expected
    assert traced(lineage, "SELECT count(*) AS n FROM grown WHERE k < 'c'") == [
        ((2,), {"sales": [1, 2], "cities": [7]})
    ]
    with pytest.raises(REFUSED, match="has no lineage"):
        lineage.sql("SELECT * FROM grown").selectExpr("dl_ids(DL.cities)").collect()


SAME = [
    "SELECT * FROM totals",
    "SELECT * FROM totals AS x(a, b) WHERE b > 6",
    "SELECT total FROM spark_catalog.default.totals WHERE totals.k = 'a'",
    "SELECT s.id, t.total FROM sales s JOIN totals t USING (k)",
    "SELECT * FROM totals NATURAL JOIN cities",
    "SELECT city, totals.* FROM cities LEFT JOIN totals ON cities.k = totals.k AND total > 10",
    "SELECT a.k FROM totals a JOIN totals b ON a.total < b.total",
    "SELECT city FROM cities WHERE NOT EXISTS (SELECT * FROM totals t WHERE t.k = cities.k AND total > 10)",
    "SELECT count(*) AS n, max(total) AS m FROM totals",
    "SELECT total > 6 AS large, collect_set(k) AS ks FROM totals GROUP BY ALL HAVING count(*) > 0",
    "SELECT * FROM totals UNION ALL SELECT k, v FROM sales",
    "SELECT * FROM totals EXCEPT SELECT k, v FROM sales WHERE v > 6",
    "SELECT k, sum(total) OVER (ORDER BY k) AS so_far, row_number() OVER (ORDER BY total) AS place FROM totals",
    "SELECT id, (SELECT max(total) FROM totals t WHERE t.k = sales.k) AS m FROM sales",
    "SELECT * FROM (SELECT k, total FROM totals) PIVOT (sum(total) FOR k IN ('a' AS a, 'b' AS b))",
    "SELECT k, x FROM totals LATERAL VIEW explode(sequence(1, total div 5)) e AS x",
    "SELECT city, x.total FROM cities c, LATERAL (SELECT total FROM totals t WHERE t.k = c.k) x",
    "WITH big AS (SELECT * FROM totals WHERE total > 6) SELECT b.k, id FROM big b JOIN sales USING (k)",
    "SELECT * FROM totals ORDER BY total DESC LIMIT 2",
]


PIVOT = pytest.mark.since("4.2", "a name behind PIVOT, which the rewriting gives it")


# To a rule a table with DL is a relation like others: of each operator that reads one in another way, one.
@pytest.mark.parametrize(
    "sql",
    [
        pytest.param(*each.values, marks=[*each.marks, *([PIVOT] if "PIVOT" in each.values[0] else [])])
        for each in every_day(SAME, [SAME[at] for at in (1, 2, 4, 5, 7, 10, 11, 14, 16, 17)])
    ],
)
def test_the_lineage_is_that_of_the_pipeline_as_one_query(lineage: ForwardLineage, sql: str) -> None:
    inner, rest = (f"{sql[5:]}", "WITH totals AS ({}), ") if sql.startswith("WITH ") else (sql, "WITH totals AS ({}) ")
    whole = rest.format(TOTALS) + inner.replace("spark_catalog.default.", "")
    assert traced(lineage, sql) == traced(lineage, whole)


CONTROL = [
    "SELECT * FROM decided",
    "SELECT id FROM sales WHERE v > (SELECT min(total) FROM decided)",
    "SELECT city FROM cities WHERE k NOT IN (SELECT k FROM decided WHERE total > 10)",
    "SELECT city FROM cities WHERE NOT EXISTS (SELECT * FROM decided d WHERE d.k = cities.k AND total > 10)",
    "SELECT k FROM sales EXCEPT SELECT k FROM decided WHERE total < 6",
    "SELECT k, row_number() OVER (ORDER BY total) AS place FROM decided",
]


@pytest.mark.parametrize("sql", every_day(CONTROL, [CONTROL[at] for at in (1, 3, 4)]))
def test_control_lineage_is_that_of_the_pipeline_as_one_query(lineage: ForwardLineage, sql: str) -> None:
    text = "SELECT k, sum(v) AS total FROM sales WHERE k IN (SELECT k FROM cities) GROUP BY k"
    lineage.sql(f"CREATE TABLE decided USING parquet AS {text}", semantics="control")
    assert traced(lineage, sql, "control") == traced(lineage, f"WITH decided AS ({text}) {sql}", "control")


def test_the_other_semantics_is_refused(lineage: ForwardLineage) -> None:
    with pytest.raises(
        NotTracedError, match=r"^totals carries data lineage, and control lineage was asked for \(line 1"
    ):
        lineage.sql("SELECT * FROM totals", semantics="control")
    lineage.sql(f"CREATE TABLE decided USING parquet AS {TOTALS}", semantics="control")
    with pytest.raises(
        NotTracedError, match=r'^decided carries control lineage.* Say semantics="control", or make deci'
    ):
        lineage.sql("SELECT * FROM decided")
    with pytest.raises(
        NotTracedError, match=r"^totals has data lineage, and the rows to be inserted have control line"
    ):
        lineage.sql(f"INSERT INTO totals {TOTALS}", semantics="control")


def test_three_steps(lineage: ForwardLineage) -> None:
    lineage.sql("CREATE TABLE placed USING parquet AS SELECT city, total FROM totals JOIN cities USING (k)")
    lineage.sql("CREATE TABLE report USING parquet AS SELECT count(*) AS n, max(total) AS m FROM placed")
    wanted = [((2, 30), {"sales": [1, 2, 3], "cities": [1, 2]})]
    assert traced(lineage, "SELECT * FROM report") == wanted
    whole = f"WITH totals AS ({TOTALS}), placed AS (SELECT city, total FROM totals JOIN cities USING (k)) "
    assert traced(lineage, whole + "SELECT count(*) AS n, max(total) AS m FROM placed") == wanted


FORMS = [
    "INSERT INTO many SELECT k, v, 1 FROM sales WHERE id = 1",
    "INSERT INTO many (part, k, v) SELECT 1, k, v FROM sales WHERE id = 1",
    "INSERT INTO many BY NAME SELECT 1 AS part, v, k FROM sales WHERE id = 1",
    "INSERT INTO many PARTITION (part = 1) SELECT k, v FROM sales WHERE id = 1",
    "INSERT OVERWRITE many PARTITION (part = 1) SELECT k, v FROM sales WHERE id = 1",
    "INSERT OVERWRITE many SELECT k, v, 1 FROM sales WHERE id = 1",
]


@pytest.mark.parametrize(("form", "as_text"), [(form, place % 2 == 1) for place, form in enumerate(FORMS)])
def test_inserts(lineage: ForwardLineage, form: str, as_text: bool) -> None:
    created = "CREATE TABLE many USING parquet PARTITIONED BY (part) AS SELECT k, v, 0 AS part FROM sales WHERE id > 2"
    for sql in (created, form):
        _ = lineage.spark.sql(lineage.rewrite(sql)) if as_text else lineage.sql(sql)
    kept: Found = [] if form.startswith("INSERT OVERWRITE many SELECT") else [
        (("b", 5, 0), {"sales": [3]}),
        (("c", 7, 0), {"sales": [4]}),
    ]  # fmt: skip
    assert traced(lineage, "SELECT * FROM many") == [(("a", 10, 1), {"sales": [1]}), *kept]


def test_a_table_may_be_the_source_of_its_own_rows(lineage: ForwardLineage) -> None:
    lineage.sql(f"CREATE TABLE grown USING parquet AS {TOTALS}")
    lineage.sql("INSERT INTO grown SELECT 'all', sum(total) FROM grown")
    assert traced(lineage, "SELECT * FROM grown WHERE k = 'all'") == [(("all", 42), {"sales": [1, 2, 3, 4]})]


def test_views_over_such_a_table(lineage: ForwardLineage) -> None:
    spark = lineage.spark
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW stars AS SELECT * FROM totals")
    spark.sql("CREATE VIEW permanent AS SELECT * FROM totals WHERE total > 6")
    spark.sql("CREATE VIEW counted AS SELECT count(*) AS n FROM permanent")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW renamed(a, b, c) AS SELECT * FROM totals")
    assert traced(lineage, "SELECT * FROM stars") == traced(lineage, "SELECT * FROM totals")
    assert lineage.sql("SELECT * FROM permanent p JOIN stars USING (k)").columns == ["k", "total", "total", "DL"]
    assert traced(lineage, "SELECT * FROM counted") == [((2,), {"sales": [1, 2, 4]})]
    with pytest.raises(NotTracedError, match=r"^view renamed shows the lineage of a table under another name than DL"):
        lineage.sql("SELECT a FROM renamed")


def test_its_own_column_is_not_one_of_the_users(lineage: ForwardLineage) -> None:
    for sql in ("SELECT DL FROM totals", "SELECT k, dl_size(t.DL.sales) AS n FROM totals t"):
        with pytest.raises(NotTracedError, match=r"DL.* is the lineage of a row, which the result carries in its own"):
            lineage.sql(sql)
    with pytest.raises(NotTracedError, match=r"column DL"):
        lineage.sql("SELECT k, total AS dl FROM totals")
    with pytest.raises(WrongSqlError, match=r"nope"):
        lineage.sql("SELECT nope FROM totals")


def test_odd_names(lineage: ForwardLineage) -> None:
    spark = lineage.spark
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW `Größe '1.x` AS SELECT id AS `the key` FROM range(2)")
    lineage.register("`Größe '1.x`", key="the key")
    try:
        lineage.sql("CREATE TABLE `select` USING parquet AS SELECT `the key` AS `a b` FROM `Größe '1.x`")
        frame = lineage.sql("SELECT * FROM `select` ORDER BY `a b`")
        assert frame.columns == ["a b", "DL"]
        ids = frame.selectExpr("dl_ids(DL.```Größe '1.x```) AS ids").collect()
        assert [list(row.ids) for row in ids] == [[0], [1]]
    finally:
        lineage.unregister("`Größe '1.x`")


def test_added_and_renamed(lineage: ForwardLineage) -> None:
    """ALTER TABLE keeps the property; a new column stands behind DL."""
    spark = lineage.spark
    lineage.sql(f"CREATE TABLE before USING parquet AS {TOTALS}")
    spark.sql("ALTER TABLE before RENAME TO after")
    spark.sql("ALTER TABLE after ADD COLUMNS (more INT)")
    lineage.sql("INSERT INTO after SELECT k, v, 1 FROM sales WHERE id = 4")
    frame = lineage.sql("SELECT * FROM after WHERE k = 'c'")
    assert frame.columns == ["k", "total", "more", "DL"]
    assert rows_with_lineage(frame) == [(("c", 7, 1), {"sales": [4]}), (("c", 7, None), {"sales": [4]})]


# ------------------------------------------------------------ what is asked afterwards


def test_saved_results_over_it(lineage: ForwardLineage) -> None:
    lineage.save("SELECT t.k, total, id FROM totals t JOIN sales USING (k)", "joined")
    lineage.save("SELECT max(total) AS m FROM totals WHERE k <> 'c'", "largest")
    assert sorted(row.id for row in lineage.backward("largest", table="sales").collect()) == [1, 2, 3]
    assert list(lineage.backward_ids("joined", where="id = 1", table="sales")) == [1, 2]
    assert [row.result for row in lineage.impact("sales", where="id = 3").collect()] == ["joined", "largest"]
    assert lineage.stale().collect() == []
    for name in ("joined", "largest"):
        lineage.drop(name)


def test_what_is_taken_on_trust(lineage: ForwardLineage) -> None:
    lineage.register("cities", key="c", trusted=True)
    lineage.sql("CREATE TABLE trusting USING parquet AS SELECT city FROM cities")
    lineage.register("cities", key="c")
    assert trusted_tables(lineage.sql("SELECT * FROM trusting")) == ["cities"]
    lineage.save("SELECT * FROM trusting", "trusted")
    with pytest.warns(UserWarning, match="^trusted was saved with version 2 of cities, now it is version 3"):
        assert trusted_tables(lineage.backward("trusted", rows=[0])) == ["cities"]
    lineage.drop("trusted")


def test_affected(lineage: ForwardLineage) -> None:
    found = lineage.affected("SELECT k, total FROM totals WHERE total > 6", "sales", where="id IN (2, 3)")
    assert rows_with_lineage(found) == [(("a", 30), {"sales": [2]})]
    found = lineage.affected("SELECT t.k, id FROM totals t JOIN sales USING (k)", "sales", where="id = 1")
    assert rows_with_lineage(found) == [(("a", 1), {"sales": [1]}), (("a", 2), {"sales": [1]})]
    found = lineage.affected("SELECT k, total, city FROM totals JOIN cities USING (k)", "cities", where="city = 'Oslo'")
    assert rows_with_lineage(found) == [(("b", 5, "Oslo"), {"cities": [2]})]


# ------------------------------------------------------------ where the meaning travels, and where it is lost


def test_a_scheduler_that_knows_nothing_of_us(spark: SparkSession, tmp_path: Path) -> None:
    """Texts of the pure rewrite, run by spark.sql in another session that only has the kernel."""
    other = spark.newSession()
    attach(other)
    other.sql(f"CREATE TABLE base USING parquet AS SELECT * FROM VALUES {SALES} AS t(id, k, v)")
    try:
        catalog = Catalog({"base": {"columns": ["id", "k", "v"], "key": "id"}})
        query = "SELECT k, sum(v) AS total FROM base GROUP BY k"
        other.sql(rewrite_sql(f"CREATE TABLE ct1 USING parquet AS {query}", catalog))
        catalog.add_stored("ct1", ["k", "total"], property_of(other, "ct1"))
        again = Catalog({"base": {"columns": ["id", "k", "v"], "key": "id"}})
        other.sql(rewrite_sql("INSERT INTO ct1 SELECT 'all', sum(v) FROM base", again))
        other.sql(rewrite_sql("CREATE TABLE ct2 USING parquet AS SELECT max(total) AS m FROM ct1", catalog))
        catalog.to_json(tmp_path / "catalog.json")
        catalog = Catalog.from_json(tmp_path / "catalog.json")
        read = other.sql(rewrite_sql("SELECT * FROM ct1 JOIN base USING (k) WHERE id = 3", catalog))
        assert read.columns == ["k", "total", "id", "v", "DL"]
        assert rows_with_lineage(read) == [(("b", 5, 3, 5), {"base": [3]})]

        lineage = ForwardLineage(spark.newSession(), tmp_path / "home")
        with pytest.raises(
            NotRegisteredError, match=r"^ct2 was made of base, which is not registered\. Register it as "
        ):
            lineage.sql("SELECT * FROM ct2")
        lineage.register("base", key="id")
        assert traced(lineage, "SELECT * FROM ct2") == [((42,), {"base": [1, 2, 3, 4]})]
        lineage.register("base", key=["k", "v"])
        with pytest.raises(
            ChangedError, match=r"^the ids of base mean other rows now: ct2 was made with ids by CAST\(id"
        ):
            lineage.sql("SELECT * FROM ct2")
    finally:
        for table in ("base", "ct1", "ct2"):
            other.sql(f"DROP TABLE IF EXISTS {table}")


def test_the_meaning_is_lost(lineage: ForwardLineage, tmp_path: Path) -> None:
    spark = lineage.spark
    spark.sql("CREATE TABLE copied USING parquet AS SELECT * FROM totals")
    spark.sql("CREATE TABLE likely LIKE totals")
    spark.sql("CREATE TABLE by_hand (k STRING, total BIGINT, DL STRUCT<sales: BINARY>) USING parquet")
    spark.table("totals").write.saveAsTable("written")
    lineage.sql("SELECT * FROM totals").write.saveAsTable("from_frame")
    lineage.sql(f"CREATE TABLE stripped USING parquet AS {TOTALS}")
    spark.sql(f"ALTER TABLE stripped UNSET TBLPROPERTIES ('{PROPERTY}')")
    for table in ("copied", "likely", "by_hand", "written", "from_frame", "stripped"):
        with pytest.raises(NotTracedError) as refused:
            lineage.sql(f"SELECT k FROM {table}")
        assert str(refused.value) == (
            f"{table} has a column DL and does not say what it means: its property {PROPERTY} is missing, as it is in "
            f"a table that was made, or copied, without lineage.sql(…). Make {table} anew, with lineage.sql("
            '"CREATE TABLE … AS SELECT …"); or query it with spark.sql(…).'
        )
    spark.table("totals").write.parquet(str(tmp_path / "files"))
    with pytest.raises(LineageError):
        lineage.sql(f"SELECT * FROM parquet.`{tmp_path / 'files'}`")
    with pytest.raises(NotTracedError, match=r"carries lineage, in its column DL: its rows are made of others"):
        lineage.register("files", path=tmp_path / "files")


def test_the_meaning_is_that_of_another_column(lineage: ForwardLineage) -> None:
    spark = lineage.spark
    said = property_of(spark, "totals")
    spark.sql("CREATE TABLE other_fields (k STRING, DL STRUCT<cities: BINARY>) USING parquet")
    spark.sql(f"ALTER TABLE other_fields SET TBLPROPERTIES ('{PROPERTY}' = '{said}')")
    with pytest.raises(NotTracedError, match=r"has the fields cities, and its property .* speaks of sales"):
        lineage.sql("SELECT k FROM other_fields")
    for odd in ("nonsense", '{"format": 9}', '{"format": 1, "semantics": "data", "granularity": "rows"}'):
        spark.sql(f"ALTER TABLE other_fields SET TBLPROPERTIES ('{PROPERTY}' = '{odd}')")
        with pytest.raises(
            NotTracedError, match=r"what this release cannot read: .* is damaged, or from a later release"
        ):
            lineage.sql("SELECT k FROM other_fields")
        with pytest.raises(LineageError):
            lineage.sql("INSERT INTO other_fields SELECT city FROM cities")


def test_ids_of_values(lineage: ForwardLineage) -> None:
    lineage.sql("CREATE TABLE coarse USING parquet AS SELECT k FROM sales LINEAGE ON v > 6")
    with pytest.raises(
        NotTracedError, match=r"^the lineage in coarse was made with LINEAGE ON: its ids stand for values"
    ):
        lineage.sql("SELECT * FROM coarse")
    with pytest.raises(NotTracedError, match=r"^LINEAGE ON sales, which totals carries row ids of"):
        lineage.sql("SELECT * FROM totals JOIN sales USING (k) LINEAGE ON sales.v")


BAD_ROWS = [
    ("NULL", r"A row of poisoned has no lineage: NULL stands in its column DL"),
    ("named_struct('sales', CAST(NULL AS BINARY))", r"A row of poisoned has no lineage: NULL stands in its column DL"),
    ("named_struct('sales', X'0777')", r"corrupt lineage value"),
]


@pytest.mark.parametrize(("lineage_value", "message"), BAD_ROWS)
def test_rows_that_somebody_else_inserted(lineage: ForwardLineage, lineage_value: str, message: str) -> None:
    """They stop the query that uses them: they would pass for rows that are made of nothing."""
    lineage.sql(f"CREATE TABLE poisoned USING parquet AS {TOTALS}")
    lineage.spark.sql(f"INSERT INTO poisoned SELECT 'x', 1, {lineage_value}")
    with pytest.raises(REFUSED, match=message):
        lineage.sql("SELECT count(*) AS n FROM poisoned").collect()
    with pytest.raises(LineageError, match=message):
        lineage.save("SELECT * FROM poisoned", "never")
    assert len(traced(lineage, "SELECT * FROM poisoned WHERE k <> 'x'")) == 3


def test_a_text_is_for_the_table_that_it_was_rewritten_for(lineage: ForwardLineage) -> None:
    spark = lineage.spark
    lineage.sql(f"CREATE TABLE target USING parquet AS {TOTALS}")
    reading, inserting = lineage.rewrite("SELECT * FROM target"), lineage.rewrite(f"INSERT INTO target {TOTALS}")
    spark.sql(inserting)
    assert len(spark.sql(reading).collect()) == 6
    spark.sql("DROP TABLE target")
    lineage.sql(f"CREATE TABLE target USING parquet AS {TOTALS}", semantics="control")
    with pytest.raises(Exception, match=r"target is not the table that this SQL was rewritten for"):
        spark.sql(reading)
    with pytest.raises(Exception, match=r"The lineage in target has another meaning than that of the rows"):
        spark.sql(inserting)
    assert len(spark.table("target").collect()) == 3


def test_another_home(lineage: ForwardLineage, tmp_path: Path) -> None:
    elsewhere = ForwardLineage(lineage.spark, tmp_path / "elsewhere")
    elsewhere.register("sales", key="id")
    with pytest.raises(
        NotTracedError, match=r"^totals was made with tables that are registered under .*, not .*elsewh"
    ):
        elsewhere.sql("SELECT * FROM totals")
    with pytest.raises(
        NotTracedError, match=r"^ids of sales mean other rows in totals, which was made with ids by key"
    ):
        elsewhere.sql(f"INSERT INTO totals {TOTALS}")


# ------------------------------------------------------------ versions


@pytest.fixture
def events(lineage: ForwardLineage, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """A table of files, ids by position; the function writes values as one more file, or under the name of one."""
    spark, folder = lineage.spark, tmp_path / "events"

    def write(name: str, *values: int) -> None:
        place = tmp_path / "writing"
        spark.createDataFrame([(value,) for value in values], "v INT").coalesce(1).write.mode("overwrite").parquet(
            str(place)
        )
        folder.mkdir(exist_ok=True)
        next(place.glob("part-*.parquet")).rename(folder / f"{name}.parquet")

    write("one", 10, 20)
    lineage.register("events", path=folder)
    yield write
    lineage.unregister("events")


def test_inserts_of_several_versions(lineage: ForwardLineage, events: Callable[..., None]) -> None:
    made_with = lineage.tables()["events"].version
    lineage.sql("CREATE TABLE grown USING parquet AS SELECT v FROM events")
    events("two", 30)
    with pytest.raises(ChangedError, match=r'two\.parquet is new since version .* Call lineage\.refresh\("events"\)'):
        lineage.sql("SELECT * FROM grown")
    lineage.refresh("events")
    lineage.sql("INSERT INTO grown SELECT v FROM events WHERE v = 30")
    wanted = traced(lineage, "SELECT * FROM events")
    assert [values for values, _ in wanted] == [(10,), (20,), (30,)]
    assert traced(lineage, "SELECT * FROM grown") == wanted
    assert traced(lineage, "SELECT g.v FROM grown g JOIN events USING (v)") == wanted
    meaning = meaning_of(lineage.sql("SELECT * FROM grown"))
    assert meaning is not None
    (said,) = meaning["tables"]
    assert said == {"name": "events", "version": said["version"], "provider": "position", "made_with": made_with}
    assert said["version"] == made_with + 1
    lineage.save("SELECT max(v) AS m FROM grown", "largest")
    assert [(row.result, row.saved_with, row.now) for row in lineage.stale().collect()] == [
        ("largest", made_with, made_with + 1)
    ]
    assert sorted(row.v for row in lineage.backward("largest", table="events").collect()) == [10, 20, 30]
    lineage.drop("largest")


def test_rows_that_are_gone(lineage: ForwardLineage, events: Callable[..., None]) -> None:
    """A file that was written again has other rows: what was made of the old ones stops the query, and no other row."""
    events("two", 30)
    lineage.refresh("events")
    lineage.sql("CREATE TABLE grown USING parquet AS SELECT v FROM events")
    *left, (_, gone) = traced(lineage, "SELECT * FROM events")
    events("two", 31, 32)
    lineage.refresh("events")
    assert traced(lineage, "SELECT * FROM grown WHERE v < 30") == left
    what = rf"row of grown no longer holds: the base row with id {gone['events'][0]} is gone"
    with pytest.raises(REFUSED, match=what):
        lineage.sql("SELECT max(v) AS m FROM grown").collect()
    lineage.sql("INSERT OVERWRITE grown SELECT v FROM events")
    assert len(traced(lineage, "SELECT * FROM grown")) == 4


def test_registered_by_another_key(lineage: ForwardLineage) -> None:
    spark = lineage.spark
    spark.sql("CREATE TABLE keyed USING parquet AS SELECT id AS a, 9 - id AS b FROM range(3)")
    lineage.register("keyed", key="a")
    lineage.sql("CREATE TABLE of_keyed USING parquet AS SELECT a, b FROM keyed")
    lineage.register("keyed", key="b")
    with pytest.raises(
        ChangedError, match=r"^the ids of keyed mean other rows now: of_keyed was made with version 1, i"
    ):
        lineage.sql("SELECT * FROM of_keyed")
    with pytest.raises(NotTracedError, match=r"^ids of keyed mean other rows in of_keyed"):
        lineage.sql("INSERT INTO of_keyed SELECT a, b FROM keyed")
    lineage.register("keyed", key="a")
    assert len(traced(lineage, "SELECT * FROM of_keyed")) == 3
    lineage.unregister("keyed")
    with pytest.raises(NotRegisteredError, match=r"^of_keyed was made of keyed, which is not registered"):
        lineage.sql("SELECT * FROM of_keyed")


def test_a_saved_result_that_was_saved_again(lineage: ForwardLineage) -> None:
    lineage.save("SELECT k, v FROM sales ORDER BY id", "kept")
    lineage.sql("CREATE TABLE of_kept USING parquet AS SELECT k FROM kept WHERE v > 6")
    assert len(traced(lineage, "SELECT * FROM of_kept")) == 3
    lineage.save("SELECT count(*) AS n FROM of_kept", "counted")
    assert list(lineage.backward_ids("counted", rows=[0], table="sales")) == [1, 2, 4]
    lineage.save("SELECT k, v FROM sales ORDER BY id DESC", "kept")
    with pytest.raises(ChangedError, match=r"of_kept was made with version 1|the ids of kept mean other rows now"):
        lineage.sql("SELECT * FROM of_kept")
    for name in ("counted", "kept"):
        lineage.drop(name)


def test_a_home_that_was_made_anew(spark: SparkSession, tmp_path: Path) -> None:
    """Version 1 of a new home is not version 1 of the old one."""
    own = spark.newSession()
    for value in (5, 6):
        home = tmp_path / "home"
        own.createDataFrame([(value,)], "v INT").write.mode("overwrite").parquet(str(tmp_path / "rows"))
        lineage = ForwardLineage(own, home)
        lineage.register("rows", path=tmp_path / "rows")
        if value == 5:
            lineage.sql("CREATE TABLE of_rows USING parquet AS SELECT v FROM rows")
            home.rename(tmp_path / "old")
    try:
        with pytest.raises(ChangedError, match=r"of_rows was made with version 1 of rows, which .* does not know any"):
            lineage.sql("SELECT * FROM of_rows")
    finally:
        own.sql("DROP TABLE of_rows")

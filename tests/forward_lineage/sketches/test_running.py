"""`lineage.run`: the rows are always those of `spark.sql`, and what was decided can be asked about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from forward_lineage import BadArgumentError, ChangedError, ForwardLineage
from tests.forward_lineage.prepared import Prepared
from tests.shared_state import drop_views

ROWS = 4_000
TOP = "SELECT g, sum(v) AS s FROM t GROUP BY g ORDER BY s DESC, g LIMIT 3"
LARGE = "SELECT g, count(*) AS n FROM t GROUP BY g HAVING count(*) > 25"


@pytest.fixture
def rows(spark: SparkSession, tmp_path: Path) -> Path:
    """t(g, v), in the order of g; a few groups are large."""
    folder = tmp_path / "t"
    write(spark, folder, ROWS)
    return folder


def write(spark: SparkSession, folder: Path, rows: int) -> None:
    frame = spark.sql(
        f"SELECT CAST(sqrt(id * 200) AS INT) AS g, CAST(pmod(id * 7919, 97) AS INT) AS v FROM range({rows})"
    )
    frame.sort("g").coalesce(1).write.option("parquet.block.size", 1 << 12).option("parquet.page.size", 1 << 10).option(
        "parquet.page.row.count.limit", 100
    ).mode("append").parquet(str(folder))


@pytest.fixture(scope="module")
def registered(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """A home where t is registered, whose rows no test changes."""
    folder = tmp_path_factory.mktemp("rows") / "t"
    write(spark, folder, ROWS)
    return Prepared(tmp_path_factory.mktemp("registered"), spark, lambda lineage: lineage.register("t", path=folder))


@pytest.fixture
def tuned(spark: SparkSession, registered: Prepared, tmp_path: Path) -> Iterator[ForwardLineage]:
    lineage = ForwardLineage(spark, registered.copy(tmp_path / "home"))
    lineage.tune("eager", least=0)
    yield lineage
    drop_views(spark)


@pytest.fixture
def growing(lineage: ForwardLineage, rows: Path) -> ForwardLineage:
    """The same, of rows of the test's own."""
    lineage.register("t", path=rows)
    lineage.tune("eager", least=0)
    return lineage


def same(a: DataFrame, b: DataFrame) -> bool:
    return a.columns == b.columns and Counter(map(tuple, a.collect())) == Counter(map(tuple, b.collect()))


def ways(lineage: ForwardLineage) -> list[str]:
    return [str(each.way) for each in lineage.decisions()]


@pytest.mark.parametrize("sql", [TOP, LARGE])
def test_captured_once_then_used(tuned: ForwardLineage, sql: str) -> None:
    for _ in range(3):
        assert same(tuned.run(sql), tuned.spark.sql(sql))
    assert ways(tuned) == ["capture", "use", "use"]
    decision = tuned.decisions()[-1]
    assert "not read" in decision.why and set(decision.sketches) == {"t"}
    assert "t by g" in str(decision)


def test_a_sketch_that_serves_another_query_as_well_takes_the_place_of_its_own(tuned: ForwardLineage) -> None:
    fewer = LARGE.replace("25", "26")
    for sql in (fewer, LARGE, fewer):
        assert same(tuned.run(sql), tuned.spark.sql(sql))
    assert ways(tuned) == ["capture", "capture", "use"]
    assert len(list((tuned.home / "sketches").rglob("*.json"))) == 1


LATEST = "SELECT v, count(*) AS n FROM t WHERE g = (SELECT max(g) FROM t) AND v > {} GROUP BY v"
OLDEST = "SELECT v, min(g) AS first FROM t GROUP BY v HAVING min(g) < {}"


def test_of_a_maximum_one_row_is_enough(tuned: ForwardLineage) -> None:
    for least in (5, 5, 7):  # what no other instance could use, is captured of each
        assert same(tuned.run(LATEST.format(least)), tuned.spark.sql(LATEST.format(least)))
        assert re.fullmatch(r"g: 1 of \d+ ranges", tuned.decisions()[-1].sketches["t"])
    assert ways(tuned) == ["capture", "use", "capture"]


def test_all_rows_are_captured_where_other_instances_can_use_them(tuned: ForwardLineage) -> None:
    for least in (9, 8, 7):
        assert same(tuned.run(OLDEST.format(least)), tuned.spark.sql(OLDEST.format(least)))
    assert [each.captured.one_witness for each in tuned.decisions() if each.captured] == [True, False]


def test_what_one_row_stood_for_is_captured_anew_when_rows_are_added(growing: ForwardLineage, rows: Path) -> None:
    for _ in range(2):
        assert same(growing.run(LATEST.format(5)), growing.spark.sql(LATEST.format(5)))
        write(growing.spark, rows, 2 * ROWS)
        growing.refresh("t")
    assert ways(growing) == ["capture", "capture"]


def test_the_column_is_chosen_whose_sketch_is_smaller_on_a_sample(lineage: ForwardLineage, tmp_path: Path) -> None:
    """One row group says nothing of how rows lie in it: pages do."""
    day = "CASE WHEN id < 60 THEN 0 ELSE id DIV 40 END AS day"
    rows = lineage.spark.sql(f"SELECT pmod(id * 7919, 97) AS v, {day}, id FROM range(20000)").sort("id")
    rows.coalesce(1).write.option("parquet.page.row.count.limit", 200).parquet(str(tmp_path / "w"))
    lineage.register("w", path=tmp_path / "w")
    lineage.tune("eager", least=0)
    sql = "SELECT day, count(*) AS n FROM w GROUP BY day HAVING count(*) > 50"
    for _ in range(2):
        assert same(lineage.run(sql), lineage.spark.sql(sql))
    assert ways(lineage) == ["capture", "use"]
    assert set(lineage.decisions()[-1].sketches) == {"w"} and "day: " in lineage.decisions()[-1].sketches["w"]


def test_another_session_uses_what_was_captured(tuned: ForwardLineage) -> None:
    tuned.run(TOP)
    other = ForwardLineage(tuned.spark, tuned.home)
    other.tune("adaptive", least=0)
    assert same(other.run(TOP), tuned.spark.sql(TOP))
    assert ways(other) == ["use"]


def test_adaptive_waits_until_capturing_would_have_paid(tuned: ForwardLineage) -> None:
    tuned.tune("adaptive", least=0)
    for _ in range(4):
        tuned.run(TOP)
    assert ways(tuned) == ["plain", "capture", "use", "use"]


def test_off_decides_nothing_and_reads_nothing(tuned: ForwardLineage) -> None:
    tuned.tune("off")
    assert same(tuned.run(TOP), tuned.spark.sql(TOP))
    assert tuned.decisions() == []


def test_small_tables_are_not_looked_at(tuned: ForwardLineage) -> None:
    tuned.tune("eager")
    tuned.run(TOP)
    assert tuned.decisions()[0].why == "the registered tables are small"


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT avg(g) AS a FROM t WHERE v > (SELECT avg(v) FROM t)", "proven safe"),
        ("SELECT g, v FROM t ORDER BY v LIMIT 3", "tie"),
        ("SHOW TABLES", "no query"),
        ("SELECT * FROM u", "u is a view made from a DataFrame"),
        ("SELECT 1 AS one", "reads no registered table"),
    ],
)
def test_what_is_not_proven_is_run_as_it_is(tuned: ForwardLineage, sql: str, why: str) -> None:
    tuned.spark.sql("SELECT 1 AS g").createOrReplaceTempView("u")
    assert same(tuned.run(sql), tuned.spark.sql(sql))
    assert ways(tuned) == ["plain"]
    assert why in tuned.decisions()[0].why


def test_of_a_users_function_nothing_is_known(tuned: ForwardLineage) -> None:
    tuned.spark.udf.register("mine", lambda v: -v, "int")
    tuned.run("SELECT g, sum(mine(v)) AS s FROM t GROUP BY g HAVING sum(mine(v)) < -800")
    tuned.spark.sql("DROP TEMPORARY FUNCTION mine")
    assert ways(tuned) == ["plain"]


def test_parameters_are_literals(tuned: ForwardLineage) -> None:
    sql = "SELECT g, count(*) AS n FROM t GROUP BY g HAVING count(*) > :least"
    for least in (25, 27, 10):
        assert same(tuned.run(sql, {"least": least}), tuned.spark.sql(sql, {"least": least}))
    assert ways(tuned) == ["capture", "use", "capture"]
    assert same(tuned.run(sql.replace(":least", "26")), tuned.spark.sql(sql, {"least": 26}))
    assert ways(tuned)[-1] == "use"


def test_changed_tables_have_no_sketches(growing: ForwardLineage, rows: Path) -> None:
    growing.run(TOP)
    write(growing.spark, rows, 2 * ROWS)
    growing.spark.catalog.refreshByPath(str(rows))
    assert same(growing.run(TOP), growing.spark.sql(TOP))
    assert ways(growing) == ["capture", "plain"]
    growing.refresh("t")
    assert same(growing.run(TOP), growing.spark.sql(TOP))
    assert ways(growing) == ["capture", "plain", "capture"]


def test_other_settings_have_sketches_of_their_own(tuned: ForwardLineage) -> None:
    tuned.run(TOP)
    tuned.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        tuned.run(TOP)
    finally:
        tuned.spark.conf.unset("spark.sql.session.timeZone")
    tuned.run(TOP)
    assert ways(tuned) == ["capture", "capture", "use"]


def test_a_capture_that_is_undone_is_gone(tuned: ForwardLineage) -> None:
    tuned.run(TOP)
    tuned.decisions()[0].undo()
    tuned.tune("adaptive", least=0)
    tuned.run(TOP)
    assert ways(tuned) == ["capture", "plain"]
    with pytest.raises(BadArgumentError, match="nothing to undo"):
        tuned.decisions()[1].undo()


def test_a_use_that_is_undone_is_not_made_again_here(tuned: ForwardLineage) -> None:
    tuned.run(TOP)
    tuned.run(TOP)
    tuned.decisions()[1].undo()
    tuned.tune("adaptive", least=0)
    tuned.run(TOP)
    assert ways(tuned) == ["capture", "use", "plain"]


def test_decisions_are_replayed_as_they_were(growing: ForwardLineage, rows: Path) -> None:
    growing.run(TOP)
    growing.tune("off")
    for each in growing.decisions():
        assert same(each.replay(), growing.spark.sql(TOP))
    write(growing.spark, rows, 100)
    growing.refresh("t")
    with pytest.raises(ChangedError, match="replayed"):
        growing.decisions()[0].replay()


def test_the_budget_holds(tuned: ForwardLineage) -> None:
    tuned.tune("eager", budget=0, least=0)
    assert same(tuned.run(TOP), tuned.spark.sql(TOP))
    assert not list((tuned.home / "sketches").rglob("*.json"))
    tuned.tune("eager", seconds=0, least=0)
    tuned.run(LARGE)
    assert "are spent" in tuned.decisions()[-1].why


@pytest.mark.parametrize("wrong", [{"mode": "always"}, {"budget": -1}, {"seconds": -0.5}, {"least": -1}])
def test_what_cannot_be_asked_for(lineage: ForwardLineage, wrong: Mapping[str, object]) -> None:
    with pytest.raises(BadArgumentError):
        lineage.tune(**wrong)  # type: ignore[arg-type]


def test_a_wrong_query_is_sparks_complaint(tuned: ForwardLineage) -> None:
    with pytest.raises(Exception, match="nowhere"):
        tuned.run("SELECT nowhere FROM t")
    drop_views(tuned.spark)


def test_explain_says_what_run_would_do(tuned: ForwardLineage) -> None:
    tuned.tune("off")
    before = tuned.explain(TOP)
    tuned.tune("adaptive", least=0)
    assert tuned.explain(TOP).startswith(f"{before}\nrun: as it is, no sketch has been captured of such a query")
    tuned.tune("eager", least=0)
    why = "no sketch has been captured of such a query"
    assert tuned.explain(TOP) == f"{before}\nrun: captures sketches first, {why}\n  t by g"
    unsafe = "SELECT avg(g) AS a FROM t HAVING avg(v) > 3"
    assert tuned.explain(unsafe).endswith("run: as it is, no column is proven safe for a sketch")
    assert not ways(tuned)
    tuned.run(TOP)
    said = tuned.explain(TOP).removeprefix(before).splitlines()
    assert said[1].startswith("run: with sketches, of 0 MB ") and len(said) == 3
    read = re.match(r"  t by g, 3 of .*: reads ([\d,]+) rows, .* 1 files, .* bytes; skips ([\d,]+) rows,", said[2])
    assert read and sum(int(each.replace(",", "")) for each in read.groups()) == ROWS

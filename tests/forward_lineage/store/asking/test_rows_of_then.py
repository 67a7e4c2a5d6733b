"""`backward` after a change of the table reads old rows if the table keeps them, else present rows, and warns."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.forward_lineage.cli.in_this_process import invoke
from udafs.errors import ChangedError

THEN = "c has changed since total was saved: you see its rows of version 1"


def answered(lineage: ForwardLineage, result: str, where: str | None = None) -> list[tuple[object, ...]]:
    """The rows of a question, each without its id; a warning is an error."""
    return [tuple(row)[1:] for row in lineage.backward(result, where=where).collect()]


@pytest.fixture
def copied(lineage: ForwardLineage) -> ForwardLineage:
    """A copy that is kept: 0 → 0, 1 → 10, 2 → 20; then 1 → 11, and 2 is gone."""
    values = lineage.spark.range(3).selectExpr("id AS p", "id * 10 AS x")
    lineage.register("c", source=values.coalesce(1), key="p")
    lineage.save("SELECT sum(x) AS s FROM c WHERE p > 0", "total")
    lineage.register("c", source=values.where("p < 2").selectExpr("p", "x + p AS x").coalesce(1), key="p")
    return lineage


def test_rows_that_are_kept_are_those_of_then(copied: ForwardLineage) -> None:
    with pytest.warns(
        UserWarning, match=r"^c has changed since total was saved: you see its rows of version 1$"
    ) as said:
        assert answered(copied, "total") == [(1, 10), (2, 20)]
    assert said[0].filename == __file__, "it names the user's line"
    copied.update()
    assert answered(copied, "total") == [(1, 11)]


def test_a_row_of_two_versions_is_the_newest(copied: ForwardLineage) -> None:
    copied.save("SELECT sum(x) AS s FROM c WHERE p < 2", "other")
    copied.save("SELECT t.s AS a, o.s AS b FROM total AS t CROSS JOIN other AS o", "both")
    with pytest.warns(UserWarning, match=r"^c has changed since both was saved: you see its rows of version 1$"):
        assert answered(copied, "both") == [(0, 0), (1, 11), (2, 20)]


def test_columns_that_came_later_are_null_in_older_rows(copied: ForwardLineage, spark: SparkSession) -> None:
    wider = spark.range(2).selectExpr("id AS p", "id AS x", "'new' AS y").coalesce(1)
    copied.register("c", source=wider, key="p")
    copied.save("SELECT sum(x) AS s FROM c WHERE p = 0", "other")
    copied.save("SELECT t.s AS a, o.s AS b FROM total AS t CROSS JOIN other AS o", "both")
    with pytest.warns(UserWarning, match="its rows of version 1"):
        assert answered(copied, "both") == [(0, 0, "new"), (1, 10, None), (2, 20, None)]


def test_the_page_of_a_result_says_it_beside_the_rows(copied: ForwardLineage) -> None:
    assert THEN in copied.shown(copied.describe("total"))._repr_html_()


def test_a_condition_on_the_way_is_over_rows_of_then(copied: ForwardLineage) -> None:
    sql = "SELECT s FROM FORWARD(BACKWARD(total, c) WHERE x = 10, total)"
    assert [row.s for row in copied.sql(sql).collect()] == [30]
    assert copied.sql(sql.replace("x = 10", "x = 11")).collect() == []


def test_rows_of_a_key_are_those_of_now(lineage: ForwardLineage, tmp_path: Path) -> None:
    def write(x: str) -> None:
        rows = lineage.spark.range(3).selectExpr("id AS k", f"{x} AS x")
        rows.coalesce(1).write.mode("overwrite").parquet(str(tmp_path / "keyed"))

    write("id * 10")
    lineage.register("keyed", path=tmp_path / "keyed", key="k")
    lineage.save("SELECT max(x) AS m FROM keyed WHERE k > 0", "most")
    assert answered(lineage, "most") == [(1, 10), (2, 20)]
    write("id * 10 + 1")
    with pytest.raises(ChangedError):
        lineage.backward("most")
    lineage.refresh("keyed")
    now = "most was saved with version 1 of keyed, now it is version 2: you see its rows as they are now"
    with pytest.warns(UserWarning, match=f"^{now}$"):
        assert answered(lineage, "most") == [(1, 11), (2, 21)]
    with pytest.warns(UserWarning, match=f"^{now}$") as said:
        assert [row.x for row in lineage.sql("SELECT x FROM BACKWARD(most, keyed)").collect()] == [11, 21]
    assert said[0].filename == __file__, "it names the user's line"
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        shown = invoke(lineage.spark, "backward", "most", "--json", "--home", str(tmp_path / "home"))
    assert now in shown.stderr
    assert '"x":21' in shown.stdout.replace(" ", "")


def test_positions_need_no_note(lineage: ForwardLineage, tmp_path: Path) -> None:
    for mode in ("overwrite", "append"):
        lineage.spark.range(3).coalesce(1).write.mode(mode).parquet(str(tmp_path / "grown"))
        if mode == "overwrite":
            lineage.register("grown", path=tmp_path / "grown")
            lineage.save("SELECT max(id) AS m FROM grown", "most")
    lineage.refresh("grown")
    assert answered(lineage, "most") == [(0,), (1,), (2,)]


def test_files_of_then_in_another_folder_are_read(lineage: ForwardLineage, tmp_path: Path) -> None:
    for rows, folder in ((2, "then"), (5, "now")):
        lineage.spark.range(rows).coalesce(1).write.parquet(str(tmp_path / folder))
        lineage.register("moved", path=tmp_path / folder)
        if folder == "then":
            lineage.save("SELECT max(id) AS m FROM moved", "most")
    with pytest.warns(UserWarning, match="you see its rows of version 1"):
        assert answered(lineage, "most") == [(0,), (1,)]

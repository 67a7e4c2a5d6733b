"""`compare` from end to end: what a user does before and after it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.explaining.comparison import Comparison, RowChange
from tests.explaining.campaign import Trial
from tests.explaining.pages import down, walked
from tests.forward_lineage.cli.in_this_process import good, invoke, without_spark
from tests.shared_state import drop_views
from udafs.errors import BadArgumentError, LineageError, NotSavedError

BEFORE = [(1, "a", "EU", 40, "1.10"), (2, None, "US", 70, "2.20"), (3, "b", "EU", 5, "0.05")]
AFTER = [(1, "a", "EU", 45, "1.15"), (2, None, "US", 70, "2.20"), (4, "b", "US", 8, "7.00"), (5, "c", "EU", 1, "0.01")]
QUERY = "SELECT kind, sum(amount) AS total, sum(price) AS price, max(amount) AS most FROM bills GROUP BY kind"


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardLineage]:
    """Three results in two versions each: of bills, of the first result, and of no groups."""
    made = ForwardLineage(spark, tmp_path_factory.mktemp("compare") / "home")
    put(spark, BEFORE)
    made.register("bills", source="bill_rows", key="id")
    for _ in range(2):
        made.save(QUERY, "by_kind", keep_versions=True)
        made.save("SELECT sum(total) AS all_of_it FROM by_kind", "total", keep_versions=True)
        made.save("SELECT id, kind, amount FROM bills WHERE amount > 4", "plain", keep_versions=True)
        put(spark, AFTER)
        made.refresh("bills")
    yield made
    drop_views(spark)


def put(spark: SparkSession, rows: list[tuple[int, str | None, str, int, str]]) -> None:
    frame = spark.createDataFrame(rows, "id INT, kind STRING, region STRING, amount INT, price STRING")
    frame.selectExpr("id", "kind", "region", "amount", "CAST(price AS DECIMAL(9,2)) AS price").createOrReplaceTempView(
        "bill_rows"
    )


def row_of(found: Comparison, **key: object) -> RowChange:
    return next(row for row in found.rows if row.key == key)


def test_rows_parts_and_explanations(lineage: ForwardLineage) -> None:
    found = lineage.compare("by_kind", before=1, after=2, by=["region"])
    assert {(row.key["kind"], row.change) for row in found.rows} == {("a", "changed"), ("b", "changed"), ("c", "added")}
    columns = {each.column: each for each in row_of(found, kind="b").columns}
    assert [(part.rows[0].change, part.by, int(amount)) for part, amount in columns["total"].parts] == [
        ("gone", ("EU",), -5),
        ("came", ("US",), 8),
    ]
    assert [columns[name].remainder for name in ("total", "price")] == [0, 0]
    assert not columns["most"].parts
    assert columns["most"].remainder == 3
    assert "max" in columns["most"].reason
    said = json.loads(found.as_json())
    of_a = next(row for row in said["rows"] if row["key"]["kind"] == "a")
    assert [each["difference"] for each in of_a["columns"]] == [5, "0.05", 5]
    frame = found.frame().where("column = 'price' AND kind = 'b'")
    assert float(sum(row["amount"] for row in frame.collect())) == pytest.approx(6.95)
    assert "by_kind, version 1" in found._repr_html_()


def test_through_a_pipeline_to_base_rows(lineage: ForwardLineage) -> None:
    (row,) = lineage.compare("total").rows
    (moves,) = row.tables
    assert (moves.table, list(moves.joined), list(moves.left), list(moves.differs)) == ("bills", [4, 5], [3], [1])
    (column,) = row.columns
    assert sum(amount for _, amount in column.parts) == column.difference == 9


def test_the_page_leads_from_the_number_to_old_and_new_rows(lineage: ForwardLineage, tmp_path: Path) -> None:
    start = walked(lineage.compare("by_kind", 1, 2, by=["region"]).save(tmp_path / "why.html"))
    column = down(start, "kind = a", "total")
    assert (column["figure"], column["items"][0]["head"]) == ("40 → 45 (+5)", "Ranked")
    (images,) = down(column, "region = EU", "bills 1 differs")["images"]
    assert [row for row, differs in zip(images["rows"], images["differs"], strict=True) if differs] == [
        ["amount", "40", "45"],
        ["price", "1.10", "1.15"],
    ]
    (gone,) = down(start, "kind = b", "total", "region = EU", "bills 3 gone")["images"]
    assert [row[2] for row in gone["rows"]] == [None] * 5
    assert "max" in down(start, "kind = a", "most")["lines"][0]


def test_the_page_leads_through_the_pipeline(lineage: ForwardLineage, tmp_path: Path) -> None:
    start = walked(lineage.compare("total").save(tmp_path / "why.html"))
    step = down(start, "the row", "by_kind: b")
    assert ["total", "5", "8"] in step["images"][0]["rows"]
    assert [item["label"] for item in down(step, "bills")["items"]] == ["bills 4 joined", "bills 3 left"]
    assert step["code"][0]["text"] == QUERY


def test_the_page_from_the_command_line(spark: SparkSession, lineage: ForwardLineage, tmp_path: Path) -> None:
    words = ("compare", "by_kind", "--before", 1, "--after", 2, "--home", lineage.home)
    file = tmp_path / "why.html"
    assert good(invoke(spark, *words, "-o", file)) == f"{file}\n"
    assert down(walked(file), "kind = a", "total")["figure"] == "40 → 45 (+5)"
    for odd in (("-o", tmp_path / "why.pdf"), ("-o", file, "--json")):
        assert without_spark(*words, *odd).exit_code == 2


def test_rows_of_no_groups_have_a_key_that_is_given(lineage: ForwardLineage) -> None:
    with pytest.raises(BadArgumentError, match="Give key="):
        lineage.compare("plain", 1, 2)
    with pytest.raises(BadArgumentError, match="is no key of version 1"):
        lineage.compare("plain", 1, 2, key=[])
    found = lineage.compare("plain", 1, 2, key=["ID"], where="kind = 'b'")
    assert {(row.key["id"], row.change) for row in found.rows} == {(3, "removed"), (4, "added")}


def test_what_is_not_there(lineage: ForwardLineage) -> None:
    with pytest.raises(NotSavedError, match="no version 7"):
        lineage.compare("by_kind", 1, 7)
    with pytest.raises(BadArgumentError, match="no column nothing"):
        lineage.compare("by_kind", 1, 2, key=["nothing"])
    with pytest.raises(LineageError, match="nothing"):
        lineage.compare("by_kind", 1, 2, by=["nothing"])
    assert lineage.compare("by_kind", 2, 2).rows == ()


@pytest.mark.long
def test_generated(spark: SparkSession, tmp_path: Path) -> None:
    verdicts = list(Trial(ForwardLineage(spark, tmp_path / "home"), 3).compared())
    drop_views(spark)
    assert [each for each in verdicts if each is not None] == []


def test_what_cancels_is_named_too(spark: SparkSession, tmp_path: Path) -> None:
    made = ForwardLineage(spark, tmp_path / "home")
    put(spark, [(9, "a", "EU", 23, "1.00"), (5, "b", "EU", 4, "1.00")])
    made.register("bills_moved", source="bill_rows", key="id")
    for _ in range(2):
        made.save(
            "SELECT kind, 100 * sum(amount) / count(*) AS x FROM bills_moved GROUP BY kind", "x", keep_versions=True
        )
        put(spark, [(5, "a", "EU", 35, "1.00")])
        made.refresh("bills_moved")
    row = row_of(made.compare("x"), kind="a")
    named = {base.row_id for part, _ in row.columns[0].parts for base in part.rows}
    drop_views(spark)
    assert named == {5, 9}, "without 9 the group would be gone"
    assert sum(amount for _, amount in row.columns[0].parts) == 1200

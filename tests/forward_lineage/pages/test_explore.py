"""`lineage.explore` and `forward-lineage explore` over Spark: views from files, base rows, tables that change."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.pages.choices import sql_of
from forward_lineage.pages.page_definition import page_of
from forward_lineage.pages.page_model import shown
from tests.browser import Browser
from tests.forward_lineage.pages.serving import TOKEN, explored

VIEWS = """\
-- title: Sold in two regions
-- name: items
SELECT item, count(*) AS n, sum(amount) AS amount FROM sales GROUP BY item ORDER BY item;
-- name: days
-- value: amount
SELECT day, count(*) AS n, sum(amount) AS amount
FROM sales GROUP BY day
"""


@pytest.fixture
def sales(lineage: ForwardLineage, tmp_path: Path) -> ForwardLineage:
    (tmp_path / "data").mkdir()
    write(tmp_path, ["pen", "ink", "pen", None])
    lineage.register("sales", path=tmp_path / "data" / "sales.parquet")
    (tmp_path / "views.sql").write_text(VIEWS)
    return lineage


def write(folder: Path, items: list[str | None]) -> None:
    days = pa.array(["2001-01-01", "2001-01-02", "2001-01-02", "2001-01-05"]).cast(pa.date32())
    table = pa.table({"item": items, "day": days, "amount": [4.5, 10.0, 2.25, None]})
    pq.write_table(table, folder / "data" / "sales.parquet")


def test_base_rows_come_from_spark(sales: ForwardLineage, browser: Browser, tmp_path: Path) -> None:
    with sales.explore(tmp_path / "views.sql") as page:
        browser.open(f"{page.url}#items=pen")
        assert browser.text("h1") == "Sold in two regions"
        browser.until(lambda: browser.text("#rows-said") == "1 to 2 of 2")
        assert [row.text for row in browser.all("#base tr")] == [
            "row_id item day amount", "0 pen 2001-01-01 4.5", "2 pen 2001-01-02 2.25",
        ]  # fmt: skip
        with browser.answered():
            browser.click(0, None, 0)  # NULL is a bar like others
        browser.until(lambda: browser.text("#rows-said") == "1 to 1 of 1")
        assert browser.all("#base tbody tr")[0].text == "3 NULL 2001-01-05 NULL"
        assert browser.address.endswith("#items=!")

        write(tmp_path, ["pen", "ink", "ink", "ink"])
        with browser.answered():
            browser.click(0, None, 1)
        said = browser.until(lambda: browser.text("#failed span"))
        assert "was written again since version 1 was registered" in said
        assert browser.text("#left") == "1 of 4 rows"  # the page goes on showing the version that it was opened at


def test_the_query_for_a_choice_gives_its_rows(sales: ForwardLineage) -> None:
    asked = page_of(
        {
            "items": "SELECT s.item, count(*) AS n FROM sales s WHERE s.amount > 2 OR s.item IS NULL GROUP BY s.item",
            "days": "SELECT day, item, count(*) AS n FROM sales GROUP BY day, item",
            "amounts": "SELECT amount, count(*) AS n FROM sales GROUP BY amount",
        }
    )
    linked = sales.views({name: view.sql for name, view in asked.views.items()})
    page = shown(linked, asked, lambda ids: pa.table({}))
    rows = {tuple(row)[1:]: int(row[0]) for row in sales.rows("sales").collect()}
    for choice in ({0: [0]}, {0: [0, 1]}, {0: [1, 2], 1: [0, 1, 2, 3]}, {1: [1]}, {1: [0, 3]}):
        hand = linked.hand()
        for view, bars in choice.items():
            hand.brush(linked.names[view], bars)
        found = {rows[tuple(row)] for row in sales.spark.sql(sql_of(page, choice)).collect()}
        assert found == set(hand.ids(0, 10)), sql_of(page, choice)
    with pytest.raises(LineageError, match="keys of amounts are neither"):
        sql_of(page, {2: [linked.bars("amounts").num_rows - 1]})


_STAR = "count(*) AS n, sum(s.amount) AS amount FROM sales s JOIN shops o USING (item)"
STAR = {
    "regions": f"SELECT o.region, {_STAR} GROUP BY 1",
    "days": f"SELECT s.day, {_STAR} GROUP BY s.day",
}


def test_views_over_a_join(sales: ForwardLineage) -> None:
    shops = [("pen", "north", 1), ("ink", "south", 2), ("pen", "west", 3)]
    sales.spark.createDataFrame(shops, "item STRING, region STRING, id INT").createOrReplaceTempView("shops")
    sales.register("shops", key="id")
    with pytest.warns(
        UserWarning, match=r"the views join sales and shops, so the join is saved as joined_sales_shops_"
    ):
        page = sales.explore(STAR)
    with page:
        linked = page._shown.linked
        for name, sql in STAR.items():
            assert sorted(map(str, linked.bars(name).to_pylist())) == sorted(
                str(row.asDict()) for row in sales.spark.sql(sql).collect()
            )
        (saved,) = [each for each in sales.results() if each.name.startswith("joined_sales_shops_")]
        north = linked.find("regions", region="north")
        left = linked.brush("regions", north).table("days").to_pylist()
        assert {row["day"].isoformat(): row["n"] for row in left if row["n"]} == {"2001-01-01": 1, "2001-01-02": 1}
        assert {table.name for table in saved.tables} == {"sales", "shops"}
    with pytest.warns(UserWarning), sales.explore(STAR):
        assert sales.describe(saved.name).version == 1, "it is there already"
    with pytest.raises(LineageError, match=r"`nothing`.*\(line 1, column 8\)"):
        sales.explore({**STAR, "more": STAR["days"].replace("s.day, count", "nothing, count")})


def test_views_that_are_open(sales: ForwardLineage) -> None:
    sales.save("SELECT item, max(amount) AS most FROM sales GROUP BY item ORDER BY item", "best")
    linked = sales.views({"best": "best", "items": "SELECT item, count(*) AS n FROM sales GROUP BY item"})
    with sales.explore(linked, title="Best") as page:
        assert repr(page) == f"<page of best, items at {page.url}>"
    with sales.explore({"best": {"sql": "best", "chart": "bars"}, "same": "best"}, table="sales") as page:
        assert page.local


WRONG = {
    "\n  SELECT item, median(amount) FROM sales GROUP BY 1": "the aggregate median in a view (line 3, column 16)",
    "SELECT item, count(*) FROM sales\nGROUP BY itme": "(line 3, column 10)",
    "-- chart: timeline\nSELECT item, count(*) FROM sales GROUP BY item": (
        "view a is to be a timeline, and has the keys item (string) (line 3, column 1)"
    ),
    "-- value: most\nSELECT item, count(*) FROM sales GROUP BY item": "none of its aggregates (line 3, column 1)",
    "SELECT item FROM sales": "a view without GROUP BY (line 2, column 8)",
    "SELECT item, count(*) FROM sails GROUP BY item": "The table or view `sails` cannot be found (line 2, column 28)",
    "TABLE best": "there is no saved result best",
}


@pytest.mark.parametrize(("view", "said"), WRONG.items())
def test_an_error_says_where_in_the_file(sales: ForwardLineage, tmp_path: Path, view: str, said: str) -> None:
    (tmp_path / "wrong.sql").write_text(f"-- name: a\n{view}")
    with pytest.raises(LineageError) as caught:
        sales.explore(tmp_path / "wrong.sql")
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'wrong.sql'}: ")


def test_command(spark: SparkSession, sales: ForwardLineage, tmp_path: Path) -> None:
    done, page = explored(spark.newSession(), tmp_path / "views.sql", "--catalog", tmp_path / "data")
    assert done.exit_code == 0, done.output
    assert re.fullmatch(rf"http://127\.0\.0\.1:\d+/{TOKEN}/\n", done.stdout)
    assert done.stderr.endswith("stopped\n")
    assert "Sold in two regions" in page


def test_command_refuses(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "views.sql").write_text("-- name: a\n-- chrat: bars\nTABLE b")
    done, page = explored(spark.newSession(), tmp_path / "views.sql")
    assert (done.exit_code, page) == (1, "")
    wrong = f"Error: {tmp_path / 'views.sql'}: a line -- chrat: … (line 2, column 1)."
    assert done.stderr == f"{wrong} Views have name, chart and value; a page has title and table.\n"

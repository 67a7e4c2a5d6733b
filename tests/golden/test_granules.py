"""What the ids of LINEAGE ON stand for: the dictionaries of the fixtures, run in Spark."""

from __future__ import annotations

from itertools import pairwise

from pyspark.sql import SparkSession

from forward_lineage.frontend import parse, rewrite_statement
from tests.golden.cases import FIXTURES, read
from tests.golden.tables import catalog

CATALOG = catalog()


def test_ids_are_dense_and_follow_the_order_of_the_values(golden: SparkSession) -> None:
    cases = [case for case in read(FIXTURES / "lineage_on.golden") if case.rows]
    dictionaries = {
        granules.dictionary
        for case in cases
        for granules in rewrite_statement(parse(case.sql), CATALOG).granules.values()
    }
    assert len(dictionaries) > 10
    for dictionary in sorted(dictionaries):
        rows = sorted(golden.sql(dictionary).collect(), key=lambda row: row["__id"])
        assert [row["__id"] for row in rows] == list(range(len(rows))), dictionary
        keys = [[(value is not None, value) for value in list(row)[:-1]] for row in rows]  # NULL first
        assert all(before < after for before, after in pairwise(keys)), dictionary


def test_ids_are_read_back_as_values(golden: SparkSession) -> None:
    """[Zhang 2007, §4.3]: the items that store 3 sold."""
    sql = "SELECT s_id, sum(num) AS n FROM sales WHERE s_id = 3 GROUP BY s_id LINEAGE ON sales.i_id"
    statement = rewrite_statement(parse(sql), CATALOG)
    dictionary = statement.granules["sales"].dictionary
    decoded = golden.sql(f"SELECT value_1 FROM ({statement.sql}) JOIN ({dictionary}) ON dl_contains(DL.sales, __id)")
    assert sorted(row.value_1 for row in decoded.collect()) == [3, 4]

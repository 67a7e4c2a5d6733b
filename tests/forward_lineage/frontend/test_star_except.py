"""`* EXCEPT (…)` is printed as the Spark that is installed reads it: before 4.0 as a function of the kernel's."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from forward_lineage.frontend.dialect import print_sql, print_verbatim
from forward_lineage.frontend.printing import FaithfulGenerator
from forward_lineage.frontend.statement import parse
from udafs.attach import attach


@pytest.mark.parametrize(
    ("sql", "printed"),
    [
        ("SELECT * EXCEPT (a.b, c) FROM a", "SELECT dl_star_except('*', 'a.b', 'c') FROM a"),
        ("SELECT s.t.* EXCEPT (x), u.* FROM u", "SELECT dl_star_except('s.t.*', 'x'), u.* FROM u"),
        ("SELECT `a b`.* EXCEPT (`c'd`)", r"SELECT dl_star_except('`a b`.*', '`c\'d`')"),
        ("SELECT count(DISTINCT * EXCEPT (c)), count(*)", "SELECT count(DISTINCT dl_star_except('*', 'c')), count(*)"),
    ],
)
def test_as_older_sparks_read_it(sql: str, printed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for has, expected in ((True, sql), (False, printed)):
        monkeypatch.setattr(FaithfulGenerator, "HAS_STAR_EXCEPT", has)
        assert print_sql(parse(sql).tree) == expected
        assert print_verbatim(parse(sql).tree) == sql  # what the user wrote, to be compared with it


TABLES = "(SELECT 1 AS k, 'a' AS v, 7 AS `x.y`) AS t JOIN (SELECT 1 AS k, 'b' AS w) AS u USING (k)"


@pytest.mark.parametrize(
    ("select", "names", "rows"),
    [
        ("* EXCEPT (v)", ["k", "x.y", "w"], [(1, 7, "b")]),
        ("* EXCEPT (u.w, `x.y`)", ["k", "v"], [(1, "a")]),
        ("t.* EXCEPT (k), u.*", ["v", "x.y", "k", "w"], [("a", 7, 1, "b")]),
        ("struct(t.* EXCEPT (t.`x.y`)).v AS v, count(DISTINCT * EXCEPT (w)) AS n", ["v", "n"], None),
        ("upper(v) AS big, * EXCEPT (`x.y`, k)", ["big", "v", "w"], [("A", "a", "b")]),
    ],
)
def test_what_it_stands_for(
    spark: SparkSession, select: str, names: list[str], rows: list[tuple[object, ...]] | None
) -> None:
    session = spark.newSession()
    attach(session)
    grouped = "" if rows else " GROUP BY ALL"
    found = session.sql(print_sql(parse(f"SELECT {select} FROM {TABLES}{grouped}").tree))
    assert found.columns == names
    assert [tuple(row) for row in found.collect()] == (rows or [("a", 1)])


def test_a_column_that_is_not_there_is_no_exception(spark: SparkSession) -> None:
    session = spark.newSession()
    attach(session)
    with pytest.raises(PySparkException, match="nowhere"):
        session.sql(print_sql(parse(f"SELECT * EXCEPT (nowhere) FROM {TABLES}").tree))

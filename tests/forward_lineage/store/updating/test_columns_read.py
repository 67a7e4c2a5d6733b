"""Which columns a query may read: by name wherever it stands, and what reads all of them without a name."""

from __future__ import annotations

import pytest

from forward_lineage.frontend import parse
from forward_lineage.store.updating.columns_read import reads_any

READ = [
    "SELECT note FROM sales",
    "SELECT s.NOTE.x AS n FROM sales s",
    "SELECT n FROM sales JOIN u USING (note)",
    "SELECT * FROM sales",
    "SELECT sales.* EXCEPT (note) FROM sales",
    "SELECT count(DISTINCT *) FROM sales",
    "SELECT struct(sales.*) FROM sales",
    "SELECT n FROM sales NATURAL JOIN u",
    "SELECT a FROM sales AS s (a, b)",
    "SELECT * FROM (SELECT n FROM sales) PIVOT (sum(n) FOR m IN (1))",
    "SELECT n FROM u WHERE EXISTS (SELECT *, 1 FROM sales)",
    "SELECT n FROM u WHERE n IN (TABLE sales)",
    "FROM sales",
    "SELECT max(n) FROM sales GROUP BY `note`",
]
NOT_READ = [
    "SELECT n, notes FROM sales ORDER BY my_note",
    "SELECT count(*) FROM sales",
    "SELECT n FROM u WHERE EXISTS (SELECT * FROM sales WHERE m = u.n)",
    "SELECT x.a FROM (SELECT n FROM sales) AS x (a)",
]


@pytest.mark.parametrize("sql", READ)
def test_may_read(sql: str) -> None:
    assert reads_any(parse(sql).tree, {"note"})


@pytest.mark.parametrize("sql", NOT_READ)
def test_does_not_read(sql: str) -> None:
    assert not reads_any(parse(sql).tree, {"note"})


@pytest.mark.parametrize("name", ["STRASSE", "straße", "Straſſe"])
def test_letters_that_are_one_to_spark(name: str) -> None:
    assert reads_any(parse("SELECT `strasse` FROM t").tree, {name})

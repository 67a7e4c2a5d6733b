"""Columns that USING merges get names of their own; `tests/golden/fixtures/from_clause.golden` has their rows."""

from __future__ import annotations

import pytest
from sqlglot import exp

from forward_lineage.frontend import parse
from forward_lineage.frontend.dialect import print_sql
from rewrites.environment import Names
from rewrites.merged_columns import named_apart, names_what_was_merged

pytestmark = pytest.mark.usefixtures("newest_spelling")

APART = {
    "SELECT b.k AS x FROM a JOIN b USING (k)": (
        "SELECT b.__side_k AS x FROM a JOIN (SELECT *, k AS __side_k FROM b) AS b USING (k)"
    ),
    "SELECT y.k, y.* FROM a AS x RIGHT JOIN (SELECT 1 AS k) AS y USING (k)": (
        "SELECT y.__side_k AS k, y.* EXCEPT (__side_k) FROM a AS x RIGHT JOIN"
        " (SELECT *, k AS __side_k FROM (SELECT 1 AS k) AS y) AS y USING (k)"
    ),
    "SELECT count(*) AS n, count(DISTINCT *) AS d FROM a NATURAL JOIN b WHERE b.k > 1 AND b.v > 2": (
        "SELECT count(*) AS n, count(DISTINCT * EXCEPT (b.__side_k, b.__side_v)) AS d FROM a NATURAL JOIN"
        " (SELECT *, k AS __side_k, v AS __side_v FROM b) AS b WHERE b.__side_k > 1 AND b.__side_v > 2"
    ),
    "SELECT 1 AS o FROM a NATURAL RIGHT JOIN b WHERE a.k > b.k": (
        "SELECT 1 AS o FROM (SELECT *, k AS __side_k FROM a) AS a NATURAL RIGHT JOIN"
        " (SELECT *, k AS __side_k_of_b FROM b) AS b WHERE a.__side_k > b.__side_k_of_b"
    ),
    "SELECT 1 AS o FROM a FULL JOIN b USING (k) WHERE EXISTS (SELECT 1 AS o FROM c WHERE c.k = a.k)": (
        "SELECT 1 AS o FROM (SELECT *, k AS __side_k FROM a) AS a FULL JOIN b USING (k)"
        " WHERE EXISTS(SELECT 1 AS o FROM c WHERE c.k = a.__side_k)"
    ),
}
AS_IT_IS = [
    "SELECT a.k FROM a LEFT JOIN b USING (k)",  # the merged column
    "SELECT b.v FROM a JOIN b USING (k)",
    "SELECT b.k FROM a JOIN b ON a.k = b.k",
    "SELECT (SELECT max(b.k) AS m FROM b) AS m FROM a JOIN b USING (k)",  # another b
    "SELECT (SELECT max(b.k) AS m FROM b JOIN c ON b.v = c.v) AS m FROM a JOIN b USING (k)",
]
LEFT = [
    "SELECT b.k + 1 FROM a JOIN b USING (k)",  # Spark names the column after the expression
    "SELECT 1 AS o FROM a JOIN b AS b(k, v) USING (k) WHERE b.k > 1",
    "SELECT 1 AS o FROM a JOIN d.b USING (k) WHERE b.k > 1 AND d.b.v > 1",
    "SELECT b.k AS x FROM a JOIN b USING (k) GROUP BY b.k HAVING EXISTS (SELECT 1 AS o FROM c AS b WHERE b.k > 1)",
    "SELECT b.k AS x, __side_k FROM a JOIN b USING (k)",
    "SELECT 1 AS o FROM c AS b WHERE EXISTS (SELECT 1 AS o FROM a NATURAL JOIN b WHERE b.k > 1)",  # k may be c's
]


def apart(sql: str) -> exp.Query:
    query = parse(sql).tree
    assert isinstance(query, exp.Query)
    names = Names()
    for node in query.find_all(exp.Identifier):
        names.avoid(node.name)
    named_apart(query, names)
    return query


@pytest.mark.parametrize("sql", APART)
def test_one_sides_column_has_a_name_of_its_own(sql: str) -> None:
    query = apart(sql)
    assert print_sql(query) == APART[sql]
    assert not names_what_was_merged(query)


@pytest.mark.parametrize("sql", AS_IT_IS)
def test_other_columns_stay(sql: str) -> None:
    query = apart(sql)
    assert print_sql(query) == print_sql(parse(sql).tree)
    assert not names_what_was_merged(query)


@pytest.mark.parametrize("sql", LEFT)
def test_what_would_be_seen_is_left(sql: str) -> None:
    query = apart(sql)
    assert print_sql(query) == print_sql(parse(sql).tree)
    assert names_what_was_merged(query)

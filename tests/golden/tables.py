"""The tables of the golden fixtures: the paper's three, and small ones with NULLs, duplicates and no rows.

Ids of different tables do not overlap where the paper leaves us the choice: a lineage in a wrong field is seen at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from forward_lineage.catalog import Catalog, key_table
from forward_lineage.frontend import RewrittenStatement, parse, rewrite_statement
from forward_lineage.spark.names import quoted_name
from rewrites.tables import Source, View

# name → (columns, key, rows of VALUES); None: no rows
_TABLES: dict[str, tuple[tuple[str, ...], str, str | None]] = {
    # [Zhang 2007, Tables 1-3]
    "store": (
        ("s_id", "s_name", "city", "state"),
        "s_id",
        """(1, 'Target', 'Palo Alto', 'CA'), (2, 'Target', 'Albany', 'NY'),
           (3, "Macy's", 'San Francisco', 'CA'), (4, "Macy's", 'New York City', 'NY')""",
    ),
    "item": (
        ("i_id", "i_name", "category"),
        "i_id",
        """(1, 'binder', 'stationery'), (2, 'pencil', 'stationery'), (3, 'shirt', 'clothing'),
           (4, 'pants', 'clothing'), (5, 'pot', 'kitchenware')""",
    ),
    "sales": (
        ("t_id", "s_id", "i_id", "price", "num"),
        "t_id",
        """(1, 1, 1, 4, 1000), (2, 1, 2, 1, 3000), (3, 1, 4, 30, 600), (4, 2, 1, 5, 800), (5, 2, 2, 2, 2000),
           (6, 2, 4, 35, 800), (7, 3, 3, 45, 1500), (8, 3, 4, 60, 600), (9, 4, 3, 50, 2100), (10, 4, 4, 70, 1200),
           (11, 4, 5, 30, 200)""",
    ),
    # duplicates and NULLs on both sides of every join
    "t": (
        ("id", "k", "v"),
        "id",
        "(1, 'a', 1), (2, 'a', 1), (3, 'b', NULL), (4, NULL, 2), (5, NULL, 2), (6, 'c', 3)",
    ),
    "u": (
        ("uid", "k", "w"),
        "uid",
        "(11, 'a', 10), (12, 'b', 20), (13, 'b', NULL), (14, NULL, 30), (15, 'd', 40)",
    ),
    "nothing": (("nid", "k", "v"), "nid", None),
    # like t and u, of known types
    "tt": (
        ("id", "k", "v"),
        "id",
        "(51, 'a', 1), (52, 'a', 1), (53, 'b', NULL), (54, NULL, 2), (55, NULL, 2), (56, 'c', 3)",
    ),
    "uu": (
        ("uid", "k", "w"),
        "uid",
        "(61, 'a', 10), (62, 'b', 20), (63, 'b', NULL), (64, NULL, 30), (65, 'd', 40)",
    ),
    "basket": (
        ("bid", "tags", "size"),
        "bid",
        """(21, array('x', 'y'), named_struct('h', 1, 'w', 2)), (22, array('x'), named_struct('h', 3, 'w', 4)),
           (23, CAST(array() AS ARRAY<STRING>), NULL), (24, NULL, NULL)""",
    ),
    "größe": (("nr", "select", "a.b", "naïve Spalte"), "nr", "(31, 'x', 1, true), (32, 'y', 2, false)"),
    # a table of the session's catalog, called by one, two or three parts
    "spark_catalog.default.region": (("r_id", "r_name"), "r_id", "(41, 'north'), (42, 'south')"),
}
_TYPES = {"tt": ("int", "string", "int"), "uu": ("int", "string", "int")}
# name → (columns as the view has them, the query as its maker wrote it)
_VIEWS: dict[str, tuple[tuple[str, ...], str]] = {
    "chain": (("s_name", "stores"), "SELECT s_name, count(*) AS stores FROM store GROUP BY s_name"),
    "renamed": (("a", "b"), "SELECT k, v FROM t WHERE v IS NOT NULL"),
    "found": (("id", "k"), "WITH u AS (SELECT k FROM u WHERE w < 25) SELECT id, k FROM t WHERE k IN (SELECT k FROM u)"),
    "nested": (("n",), "SELECT count(*) AS n FROM found"),
    "listed": (("a", "b"), "VALUES (1, 'x'), (2, 'y')"),
    "whole": (("i", "j", "l"), "TABLE t"),
}
# tables that carry lineage: name → (the user's columns, the query, its semantics)
_STORED: dict[str, tuple[tuple[str, ...], str, str]] = {
    "kept": (("k", "n"), "SELECT k, count(*) AS n FROM t GROUP BY k", "data"),
    "decided": (("k", "n"), "SELECT k, count(*) AS n FROM t GROUP BY k", "control"),
    "picked": (("id", "k"), "SELECT id, k FROM t WHERE k NOT IN (SELECT k FROM u WHERE w = 20)", "control"),
}
_EMPTY = "SELECT CAST(NULL AS INT) AS nid, CAST(NULL AS STRING) AS k, CAST(NULL AS INT) AS v WHERE false"


@dataclass(frozen=True)
class Known:
    """The registered tables and the views over them."""

    catalog: Catalog

    def find(self, parts: Sequence[str]) -> Source | None:
        name = parts[-1].lower()
        if len(parts) == 1 and name in _VIEWS:
            return View(name, *_VIEWS[name])
        return self.catalog.find(parts)

    def qualifier(self, parts: Sequence[str]) -> tuple[str, ...]:
        return tuple(parts)

    def is_variable(self, parts: Sequence[str]) -> bool:
        return self.catalog.is_variable(parts)

    def names(self) -> list[str]:
        return self.catalog.names()


def catalog() -> Known:
    """What the rewrites know of the tables."""
    known = Catalog()
    for name, (columns, key, _) in _TABLES.items():
        known.add(replace(key_table(name, columns, key), types=_TYPES.get(name, ())))
    for name, (columns, _, _) in _STORED.items():
        meaning = _stored(name, known).meaning
        assert meaning is not None
        known.add_stored(name, columns, meaning.text())
    return Known(known)


def _stored(name: str, known: Catalog) -> RewrittenStatement:
    _, query, semantics = _STORED[name]
    return rewrite_statement(parse(f"CREATE TABLE {name} USING parquet AS {query}"), known, semantics)


def create(spark: SparkSession) -> None:
    """Make the tables in a session: temporary views, and some tables of the catalog."""
    for statement in statements():
        spark.sql(statement)
    for name in _STORED:
        spark.sql(_stored(name, catalog().catalog).sql)


def statements() -> Iterator[str]:
    """Yield the statements that make the tables and views, but for those that carry lineage."""
    for name, (columns, _, rows) in _TABLES.items():
        listed = ", ".join(f"`{column}`" for column in columns)
        select = _EMPTY if rows is None else f"SELECT * FROM VALUES {rows} AS made({listed})"
        what = "TABLE" if "." in name else "OR REPLACE TEMPORARY VIEW"
        yield f"CREATE {what} {quoted_name(name)} AS {select}"
    for name, (columns, text) in _VIEWS.items():
        yield f"CREATE OR REPLACE TEMPORARY VIEW {name}({', '.join(columns)}) AS {text}"


def drop(spark: SparkSession) -> None:
    """Drop the tables of the catalog; the views go with their session."""
    for name in (*_TABLES, *_STORED):
        if "." in name or name in _STORED:
            spark.sql(f"DROP TABLE {quoted_name(name)}")

"""Names through a database or a catalog, and `_metadata`: what is left of them when the rules begin."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlglot import exp

from forward_lineage.frontend.dialect import print_sql
from rewrites.driver import rewrite
from rewrites.environment import Semantics
from rewrites.tables import BaseTable
from tests.rewrites.plain_tables import PlainTables, printed, read
from udafs.errors import LineageError

T = "(SELECT *, id AS __dl_t FROM t) AS t"
WITH_METADATA = "(SELECT *, id AS __dl_t, _metadata FROM t) AS t"
NAMES = {
    "SELECT default.t.id FROM t": f"SELECT t.id, … FROM {T}",
    "SELECT spark_catalog.default.t.* FROM t": f"SELECT t.* EXCEPT (__dl_t), … FROM {T}",
    "SELECT default.t.k.x FROM t": f"SELECT t.k.x, … FROM {T}",
    "SELECT spark_catalog.default.t.k.x.y FROM t": f"SELECT t.k.x.y, … FROM {T}",
    "SELECT default.t.k.* FROM t": f"SELECT t.k.*, … FROM {T}",
    "SELECT x.id FROM t AS x WHERE x.k.y.z = 1": "SELECT x.id, … FROM (SELECT *, id AS __dl_t FROM t) AS x WHERE "
    "x.k.y.z = 1",
    "SELECT _metadata.file_name, * FROM t": f"SELECT _metadata.file_name, * EXCEPT (t.__dl_t, t._metadata), … "
    f"FROM {WITH_METADATA}",
    "SELECT default.t._metadata.file_size FROM t": f"SELECT t._metadata.file_size, … FROM {WITH_METADATA}",
    "SELECT t._metadata.file_size FROM t, (SELECT 1 AS _metadata) q": f"SELECT t._metadata.file_size, … FROM "
    f"{WITH_METADATA}, (SELECT 1 AS _metadata) AS q",
    "SELECT _metadata FROM t, (SELECT 1 AS _metadata) q": f"SELECT _metadata, … FROM {T}, (SELECT 1 AS _metadata) AS q",
}


@pytest.mark.parametrize("sql", NAMES)
def test_one_alias_is_left(sql: str) -> None:
    expected = NAMES[sql].replace("…", f"named_struct('t', dl_of({'x' if ' AS x' in sql else 't'}.__dl_t)) AS DL")
    assert printed(sql) == expected


def test_a_source_further_out_that_another_hides() -> None:
    sql = "SELECT 1 AS one FROM t WHERE EXISTS (SELECT 1 FROM u AS t WHERE t.uid = default.t.id AND default.t.v = t.w)"
    assert printed(sql).endswith("AS __t1 WHERE EXISTS(SELECT 1 FROM u AS t WHERE t.uid = __t1.id AND __t1.v = t.w)")


def test_a_relation_in_from_sees_none_beside_it() -> None:
    with pytest.raises(LineageError, match=r"^unknown relation default\.t in default\.t\.id \(line 1, column 25\)"):
        printed("SELECT q.n FROM (SELECT default.t.id AS n FROM u) q, t")
    assert "SELECT t.id + u.w AS n" in printed("SELECT q.n FROM t, LATERAL (SELECT default.t.id + u.w AS n FROM u) q")


def test_a_cte_has_no_database() -> None:
    with pytest.raises(LineageError, match=r"^unknown relation default\.t in default\.t\.id \(line 1, column 37\)"):
        printed("WITH t AS (SELECT id FROM t) SELECT default.t.id FROM t")
    assert printed("WITH t AS (SELECT default.t.id FROM t) SELECT id FROM t").startswith("WITH t AS (SELECT t.id,")


@pytest.mark.parametrize("semantics", Semantics)
def test_metadata_that_may_be_of_several_sources(semantics: Semantics) -> None:
    with pytest.raises(
        LineageError, match=r"^_metadata may be that of several .* Say which: t\._metadata, for example"
    ):
        printed("SELECT _metadata.file_name FROM t JOIN u ON t.k = u.k", semantics)


def test_group_by_all_where_a_column_may_be_called_so() -> None:
    with pytest.raises(LineageError, match=r"^GROUP BY ALL, where a column may be called all, is not traced .*`all`"):
        printed("WITH c AS (SELECT k AS all, v FROM t) SELECT all, sum(v) FROM c GROUP BY ALL")
    named = printed("SELECT all, count(*) AS n FROM (SELECT k AS all FROM t) q GROUP BY all")
    assert named.endswith("GROUP BY `all`")
    assert printed("SELECT k, count(*) AS n FROM t GROUP BY ALL").endswith("GROUP BY ALL")


@pytest.mark.parametrize(
    ("sql", "end"),
    [
        ("SELECT DISTINCT v, k AS all FROM t", "GROUP BY 1, 2"),
        ("SELECT DISTINCT v FROM (SELECT v, k AS all FROM t) q", "GROUP BY 1"),
        ("SELECT k AS all, v FROM t UNION SELECT k, w FROM u", "GROUP BY __u1.all, __u1.v"),
        ("SELECT DISTINCT v, k FROM t", "GROUP BY ALL"),
    ],
)
def test_equal_rows_beside_a_column_called_all(sql: str, end: str) -> None:
    assert printed(sql).replace("`", "").endswith(end) or f"{end})" in printed(sql).replace("`", "")


class TwoDatabases(PlainTables):
    """`default.t(id, k, v)`, `other.t(id, z)`, and a table with a column of its own called `_metadata`."""

    def find(self, parts: Sequence[str]) -> BaseTable | None:
        known = {
            "default.t": BaseTable("t", ("id", "k", "v"), "default.t", "id"),
            "other.t": BaseTable("other.t", ("id", "z"), "other.t", "id"),
            "m": BaseTable("m", ("id", "_metadata"), "m", "id"),
        }
        return known.get(".".join(parts).lower())

    def qualifier(self, parts: Sequence[str]) -> tuple[str, ...]:
        return ("spark_catalog", "default", *parts)[-3:]


def of_two(sql: str) -> str:
    query = read(sql)
    assert isinstance(query, exp.Query)
    return print_sql(rewrite(query, TwoDatabases(), read).tree)


FIRST = "(SELECT *, id AS __dl_t FROM default.t) AS __t1"
SECOND = "(SELECT *, id AS `__dl_other.t` FROM other.t) AS __t2"
OF_TWO = {
    "default.t.id, other.t.id": "__t1.id, __t2.id",
    "default.t.k, other.t.z": "__t1.k, __t2.z",
    "t.k.*": "__t1.k.*",
    "t.z.*": "__t2.z.*",
}


@pytest.mark.parametrize("named", OF_TWO)
def test_two_tables_of_one_name(named: str) -> None:
    text = of_two(f"SELECT {named} FROM default.t, other.t")
    assert text.startswith(f"SELECT {OF_TWO[named]}, named_struct(")
    assert text.endswith(f"FROM {FIRST}, {SECOND}")


def test_a_column_of_either_of_two_tables() -> None:
    with pytest.raises(LineageError, match=r"^t\.id may be a column of default\.t or other\.t "):
        of_two("SELECT default.t.v, t.id FROM default.t, other.t")


def test_a_column_of_the_users_called_metadata() -> None:
    text = of_two("SELECT _metadata.x FROM m")
    assert text.endswith("FROM (SELECT *, id AS __dl_m FROM m) AS m")

"""Which subqueries of a predicate are answered by their lineage, by the text; that the answers are right, on Spark:
`tests/golden/fixtures/answers.golden`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewrites.environment import Semantics
from tests.rewrites.plain_tables import TABLES, printed

OF_K = "w.k = v.k"


def control(condition: str) -> str:
    return printed(f"SELECT id FROM v WHERE {condition}", Semantics.CONTROL)


@pytest.mark.parametrize(
    "condition",
    [
        f"EXISTS (SELECT * FROM w WHERE {OF_K})",
        f"NOT EXISTS (SELECT 1 FROM w WHERE {OF_K} AND w.n > 2)",
        f"EXISTS (SELECT * FROM w WHERE {OF_K} AND w.n <> v.n)",
        "EXISTS (SELECT * FROM w WHERE w.wid = v.id)",  # BIGINT and INT: as they are
        f"v.n > (SELECT 0.5 * sum(w.n) FROM w WHERE {OF_K})",
        f"CASE WHEN EXISTS (SELECT * FROM w WHERE {OF_K}) THEN v.n = 1 ELSE true END",
    ],
)
def test_one_relation_answers(condition: str) -> None:
    sql = control(condition)
    assert sql.count("FROM w)") == sql.count("FROM w") == 1
    assert "LEFT JOIN (SELECT" in sql


@pytest.mark.parametrize(
    "condition",
    [
        "EXISTS (SELECT * FROM w WHERE w.n = v.k)",  # Spark casts one of them: several may be equal to one
        "EXISTS (SELECT * FROM w WHERE w.f = v.f)",  # NaN, -0.0
        "EXISTS (SELECT * FROM w WHERE w.k || '' = v.k)",
        "EXISTS (SELECT * FROM w WHERE w.k <=> v.k)",
        f"EXISTS (SELECT count(*) FROM w WHERE {OF_K})",
        f"EXISTS (SELECT explode(array()) FROM w WHERE {OF_K})",
        f"EXISTS (SELECT w.k FROM w WHERE {OF_K} GROUP BY w.k)",
        f"v.n > (SELECT count(*) FROM w WHERE {OF_K})",
        f"v.n > (SELECT coalesce(sum(w.n), 0) FROM w WHERE {OF_K})",
        f"v.n > (SELECT sum(w.n) FILTER (WHERE w.n > 1) FROM w WHERE {OF_K})",
        f"v.n IN (SELECT max(w.n) FROM w WHERE {OF_K})",
        f"v.n IN (SELECT w.n FROM w WHERE {OF_K})",
    ],
)
def test_others_are_evaluated_again(condition: str) -> None:
    sql = control(condition)
    assert sql.count("FROM w") == 2


@pytest.mark.parametrize(
    ("type_name", "relations"),
    [
        *((each, 1) for each in ("string", "date", "boolean", "timestamp", "timestamp_ntz", "decimal(9,2)")),
        ("float", 2),
    ],
)
def test_keys_of_types_that_compare_as_they_are(
    monkeypatch: pytest.MonkeyPatch, type_name: str, relations: int
) -> None:
    types = ("bigint", type_name, "int", "double")
    for called in ("v", "w"):
        monkeypatch.setitem(TABLES._tables, called, replace(TABLES._tables[called], types=types))
    assert control(f"EXISTS (SELECT * FROM w WHERE {OF_K})").count("FROM w") == relations


def test_of_several_keys_each_has_to_compare_as_it_is() -> None:
    assert control(f"EXISTS (SELECT * FROM w WHERE {OF_K} AND w.f = v.f)").count("FROM w") == 2


@pytest.mark.parametrize("clause", ["HAVING", "ON", "SELECT"])
def test_only_in_where(clause: str) -> None:
    exists = f"EXISTS (SELECT * FROM w WHERE {OF_K})"
    texts = {
        "HAVING": f"SELECT v.k FROM v GROUP BY v.k HAVING {exists}",
        "ON": f"SELECT v.id FROM v JOIN t ON {exists}",
        "SELECT": f"SELECT {exists} FROM v",
    }
    assert "EXISTS(SELECT * FROM w" in printed(texts[clause], Semantics.CONTROL)


def test_not_where_columns_are_merged() -> None:
    sql = printed(
        f"SELECT v.id FROM v JOIN v AS x USING (id) WHERE EXISTS (SELECT * FROM w WHERE {OF_K})", Semantics.CONTROL
    )
    assert "EXISTS(SELECT * FROM w" in sql


def test_data_lineage_asks_as_the_user_does() -> None:
    assert "LEFT JOIN" not in printed(f"SELECT id FROM v WHERE EXISTS (SELECT * FROM w WHERE {OF_K})")


def test_a_value_for_all_rows_is_one_row_with_its_lineage() -> None:
    sql = control("v.n > (SELECT avg(w.n) FROM w)")
    assert (
        sql.count("named_struct('value', avg(w.n), 'dl', array(dlunion(w.__dl_w))) AS dl") == sql.count("FROM w)") == 2
    )


class TestStages:
    """A long subquery of the outermost block is a stage."""

    @pytest.mark.parametrize(
        "condition",
        ["k IN (SELECT k FROM w GROUP BY k)", "k NOT IN (SELECT k FROM w WHERE n IN (SELECT n FROM v))"],
    )
    def test_groups_and_what_asks_further(self, condition: str) -> None:
        assert control(condition).startswith("WITH __stage")
        assert "__stage" not in printed(f"SELECT id FROM v WHERE {condition}", Semantics.CONTROL, by_reference=False)

    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT id FROM v WHERE k IN (SELECT k FROM w)",  # is read again sooner
            "SELECT * FROM (SELECT id FROM v WHERE k IN (SELECT k FROM w GROUP BY k))",
            "WITH c AS (SELECT * FROM v) SELECT id FROM c WHERE k IN (SELECT k FROM w GROUP BY k)",
            "SELECT DISTINCT id FROM v WHERE k IN (SELECT k FROM w GROUP BY k)",  # Spark takes a stage for chance
            "SELECT id, count(*) FROM v WHERE k IN (SELECT k FROM w GROUP BY k) GROUP BY ALL",
            "SELECT id, rank() OVER (ORDER BY k) FROM v WHERE k IN (SELECT k FROM w GROUP BY k)",
            "SELECT k FROM v WHERE k IN (SELECT k FROM w GROUP BY k) UNION SELECT k FROM v",
        ],
    )
    def test_others_are_evaluated_again(self, sql: str) -> None:
        assert "__stage" not in printed(sql, Semantics.CONTROL)

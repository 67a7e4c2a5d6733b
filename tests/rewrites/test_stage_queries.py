"""Statements in parts; what comes out of them is tested in `tests/forward_lineage/store/saving/test_staging.py`."""

from __future__ import annotations

from forward_lineage import Catalog
from forward_lineage.frontend import parse, rewrite_statement
from forward_lineage.frontend.rewriting import StatementPart
from rewrites.options import Options

GROUPS = "(SELECT k, max(v) AS m FROM t GROUP BY k)"


def parts(sql: str) -> tuple[StatementPart, ...]:
    catalog = Catalog()
    catalog.register("t", ["id", "k", "v"], key="id")
    return rewrite_statement(parse(sql), catalog, Options(in_parts="mine_")).parts


def test_a_part_for_each_stage_then_the_result() -> None:
    stage, result = parts(f"SELECT t.id, g.m FROM t JOIN {GROUPS} AS g USING (k)")
    assert (stage.name, stage.keys, stage.unread, stage.number) == ("__stage1", ("t",), ("__dl_t",), "__dl___stage1")
    assert (result.name, result.keys, result.unread) == (None, ("t", "__stage1"), ())
    assert "FROM mine___stage1 AS __stage1" in result.sql
    assert "WITH" not in result.sql
    assert "dl_relation" not in stage.sql + result.sql


def test_stages_that_read_stages_come_behind_them() -> None:
    sql = f"WITH a AS {GROUPS}, b AS (SELECT t.k, sum(m) AS s FROM t JOIN a USING (k) GROUP BY t.k)"
    first, second, result = parts(f"{sql} SELECT b.s, t.v FROM b JOIN t ON t.v < b.s")
    assert second.keys == ("t", str(first.name))
    assert result.keys == (str(second.name), "t")


def test_windows_at_the_top_are_the_result_themselves() -> None:
    running = "SELECT id, sum(v) OVER (PARTITION BY k ORDER BY id) AS r FROM t"
    (result,) = parts(f"{running} ORDER BY v")
    assert (result.name, result.keys, len(result.frames)) == (None, ("t",), 1)
    assert "named_struct('t', dl_of(" in result.sql
    stage, cut = parts(f"{running} ORDER BY v LIMIT 3")
    assert (len(stage.frames), cut.frames, cut.keys) == (1, (), (str(stage.name),))


def test_without_stages_there_are_no_parts() -> None:
    assert parts("SELECT k, max(v) AS m FROM t GROUP BY k") == ()

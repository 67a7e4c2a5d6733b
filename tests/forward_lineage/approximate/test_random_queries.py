"""Random queries over random small tables: what is certified is what DuckDB computes from all rows."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from forward_lineage.approximate import costs, rounds
from forward_lineage.approximate.estimates import BOUNDERS
from tests.forward_lineage.approximate.scrambled import ask, scramble
from tests.tiers import every_day

CONDITIONS = ["v > 2", "v <= 0 OR w < 5", "NOT w BETWEEN 3 AND 9", "g = 'b'", "g IS NULL", "h IN (1, 2)", "h <> 2"]
CONDITIONS += ["v IS NOT NULL AND w > 100", "g IN ('a', 'c') AND w < 8", "h = 1 AND g = 'a' AND v > 0", "w > 17"]


@pytest.mark.parametrize("seed", every_day(range(300), range(12)))
def test_what_is_certified_is_so(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(rounds, "ADD_UP_FROM", chance.choice([100, 1 << 20]))
    if chance.random() < 0.5:  # rounds seem cheap, so that they go on for a while
        monkeypatch.setattr(costs, "_ROW", 0.01)
        monkeypatch.setattr(costs, "_LOOK", chance.choice([1.0, 100.0]))
    table = _table(np.random.default_rng(seed), chance.choice([0, 1, 7, 300, 3_000]))
    keys = chance.choice([[], ["g"], ["h"], ["g", "h"]])
    sql, order = _query(chance, keys)
    bounder = chance.choice(BOUNDERS)
    flights = scramble(table, ["g", "h"])
    if chance.random() < 0.4:  # something was answered before
        ask(flights, "SELECT avg(v) FROM flights WHERE w < 12", rows=chance.randint(1, 500))
    error = chance.choice([None, 0.3])
    answer = ask(flights, sql, error, confidence=1 - 1e-9, bounder=bounder)
    assert answer.certified, (sql, bounder)
    exact = _exact(table, sql if not order else sql[: sql.index(" ORDER BY")])
    _compare(answer.rows, exact, keys, sql, error)
    if order:
        _check_order(answer.rows, exact, keys, order)


def _table(generator: np.random.Generator, rows: int) -> pa.Table:
    """With NULL in keys and values, with few and many rows of a group, with a group of NULLs alone."""
    group = generator.choice(4, rows, p=[0.6, 0.3, 0.08, 0.02])
    values = np.round(generator.normal(1, 3, rows) ** 3 / 4).astype(np.int64)
    empty = (generator.random(rows) < 0.2) | (group == 3)
    return pa.table(
        {
            "g": pa.array(["a", "b", None, "c"], pa.string()).take(pa.array(group)),
            "h": pa.array(generator.integers(0, 3, rows)),
            "v": pa.array(values, pa.int64(), mask=empty),
            "w": pa.array(np.round(generator.exponential(4, rows), 2)),
        }
    )


def _query(chance: random.Random, keys: list[str]) -> tuple[str, tuple[str, bool, int | None] | None]:
    aggregates = chance.sample(["avg(v)", "sum(v)", "count(*)", "count(v)", "avg(w)", "sum(w)"], chance.randint(1, 3))
    items = [*keys, *(f"{each} AS x{place}" for place, each in enumerate(aggregates))]
    sql = f"SELECT {', '.join(items)} FROM flights"
    if chance.random() < 0.7:
        sql += f" WHERE {chance.choice(CONDITIONS)}"
    if keys:
        sql += f" GROUP BY {', '.join(keys)}"
    if chance.random() < 0.4:
        sql += f" HAVING {chance.choice(['avg(v)', 'count(*)', 'sum(w)'])} {chance.choice(['>', '>=', '<', '<='])} "
        sql += chance.choice(["0", "1.5", "40", "-2.25"])
    if not keys or chance.random() < 0.6:
        return sql, None
    place, down, limit = chance.randrange(len(aggregates)), chance.random() < 0.5, chance.choice([None, 1, 2, 3])
    sql += f" ORDER BY x{place}{' DESC' if down else ''}" + (f" LIMIT {limit}" if limit else "")
    return sql, (f"x{place}", down, limit)


def _exact(table: pa.Table, sql: str) -> list[dict[str, Any]]:
    with duckdb.connect() as database:
        database.register("flights", table)
        found: list[dict[str, Any]] = database.sql(sql).to_arrow_table().to_pylist()
        return found


def _compare(
    rows: list[dict[str, Any]], exact: list[dict[str, Any]], keys: list[str], sql: str, error: float | None
) -> None:
    """Rows are among the exact ones, and all of them without LIMIT; each value lies in its interval."""
    of_key = {tuple(row[key] for key in keys): row for row in exact}
    mine = [tuple(row[key] for key in keys) for row in rows]
    assert len(set(mine)) == len(mine)
    assert set(mine) <= set(of_key), sql
    if "LIMIT" not in sql:
        assert set(mine) == set(of_key), sql
    for row, key in zip(rows, mine, strict=True):
        for name in (name for name in row if name.startswith("x") and not name.endswith(("_low", "_high"))):
            truth = of_key[key][name]
            if row[name] is None and error is None:
                continue  # nothing was seen of it, nor asked for
            assert (truth is None) == (row[name] is None), (sql, row, truth)
            if truth is not None:
                near = 1e-9 * (1 + abs(float(truth)))
                assert row[f"{name}_low"] - near <= float(truth) <= row[f"{name}_high"] + near, (sql, row, truth)
                assert row[f"{name}_low"] - near <= row[name] <= row[f"{name}_high"] + near


def _check_order(
    rows: list[dict[str, Any]], exact: list[dict[str, Any]], keys: list[str], order: tuple[str, bool, int | None]
) -> None:
    """By the true values, NULL being the least; with LIMIT the choice, else the order of all."""
    name, down, limit = order
    true = {tuple(row[key] for key in keys): _value(row[name]) for row in exact}
    mine = [true[tuple(row[key] for key in keys)] for row in rows]
    ranked = sorted(true.values(), reverse=down)
    expected = ranked[:limit] if limit else ranked
    assert (sorted(mine, reverse=down) if limit else mine) == pytest.approx(expected)


def _value(value: Any) -> float:
    return -1e300 if value is None else float(value)

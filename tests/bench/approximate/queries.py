"""The queries of the thesis: ``python -m tests.bench.approximate.queries [size]``; ends with 1 if an answer is wrong.

F1–F9, T1, T2, P1 and P2 [Macke 2021, Figures 6.5 and 6.6] at δ = 10⁻¹⁵, over generated tables of `size` times 121, 50
and 6 million rows (0.02). For each it prints the rows read with betting and with Bernstein and RangeTrim, and the CPU
seconds of this process; then those of DuckDB for the exact answer over the same arrays, on one thread. Answers are
compared with the exact ones. Scrambles and indexes are made before the clock runs; their seconds are printed, too.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa

from forward_lineage.approximate import rounds
from forward_lineage.approximate.answer import ApproximateAnswer
from forward_lineage.approximate.scramble import Scramble
from tests.bench.approximate.generated import ROWS, table
from tests.forward_lineage.approximate.scrambled import ask, scramble

#: name → table, query, greatest relative error. The thesis' F4 is a CASE over one comparison, here HAVING.
QUERIES: dict[str, tuple[str, str, float | None]] = {
    "F1": ("flights", "SELECT AVG(dep_delay) AS v FROM flights WHERE origin = 'A000'", 0.5),
    "F2": ("flights", "SELECT airline FROM flights GROUP BY airline HAVING AVG(dep_delay) > 0", None),
    "F3": (
        "flights",
        "SELECT airline FROM flights WHERE dep_time > 2250 GROUP BY airline ORDER BY AVG(dep_delay) LIMIT 2",
        None,
    ),
    "F4": ("flights", "SELECT COUNT(*) AS n FROM flights WHERE origin = 'A000' HAVING AVG(dep_delay) > 10", None),
    "F5": ("flights", "SELECT origin FROM flights GROUP BY origin HAVING AVG(dep_delay) < 0", None),
    "F6": (
        "flights",
        "SELECT dow, origin FROM flights WHERE dep_time > 1350 GROUP BY dow, origin "
        "ORDER BY AVG(dep_delay) DESC LIMIT 5",
        None,
    ),
    "F7": ("flights", "SELECT dow FROM flights WHERE airline = 'L004' GROUP BY dow ORDER BY AVG(dep_delay)", None),
    "F8": ("flights", "SELECT origin FROM flights GROUP BY origin ORDER BY AVG(dep_delay) DESC LIMIT 1", None),
    "F9": ("flights", "SELECT airline FROM flights GROUP BY airline ORDER BY AVG(dep_delay) DESC LIMIT 1", None),
    "T1": (
        "taxi",
        "SELECT hour FROM taxi WHERE passengers = 4 GROUP BY hour ORDER BY AVG(distance) DESC LIMIT 1",
        None,
    ),
    "T2": ("taxi", "SELECT hour FROM taxi WHERE passengers = 3 GROUP BY hour ORDER BY AVG(fare) DESC LIMIT 1", None),
    "P1": ("police", "SELECT race FROM police GROUP BY race ORDER BY AVG(violations) DESC LIMIT 1", None),
    "P2": ("police", "SELECT age FROM police GROUP BY age ORDER BY AVG(violations) DESC LIMIT 1", None),
}
GROUPS = {"flights": ["origin", "airline", "dow"], "taxi": ["hour", "passengers"], "police": ["race", "age"]}
INDEXES = {
    "flights": [("origin",), ("airline",), ("dow", "origin"), ("dow", "airline")],
    "taxi": [("hour", "passengers")],
    "police": [("race",), ("age",)],
}


def main() -> int:
    size = float(sys.argv[1]) if len(sys.argv) > 1 else 0.02
    rounds.ADD_UP_FROM = sys.maxsize  # rows are compared, so bounds have to do
    wrong, ratios = [], []
    for name in ROWS:
        rows = table(name, size)
        made, seconds = _timed(lambda rows=rows, name=name: scramble(rows, GROUPS[name]))
        _, indexed = _timed(lambda made=made, name=name: [made.index(columns) for columns in INDEXES[name]])
        print(f"{name}: {rows.num_rows:,} rows, scrambled in {seconds:.2f} s, indexed in {indexed:.2f} s", flush=True)
        for query, (of, sql, error) in QUERIES.items():
            if of == name:
                right, ratio = _tried(query, made, rows, sql, error)
                ratios.append(ratio)
                if not right:
                    wrong.append(query)
    print(f"betting reads {statistics.median(ratios):.2f} of the rows of Bernstein with RangeTrim (median)")
    print(f"wrong: {', '.join(wrong) or 'none'}")
    return 1 if wrong else 0


def _tried(name: str, of: Scramble, rows: pa.Table, sql: str, error: float | None) -> tuple[bool, float]:
    exact, seconds = _timed(lambda: _exact(rows, sql))
    answers: dict[str, ApproximateAnswer] = {}
    shown = []
    for column in ("dep_delay", "distance", "fare", "violations"):
        if f"({column})" in sql:
            of.numbers(column)  # as doubles, once for all queries
    for bounder in ("betting", "bernstein+rt"):
        fresh = Scramble(of.manifest, of.columns, of.groups, of.base_ids)
        fresh._codes, fresh._indexes, fresh._numbers = of._codes, of._indexes, of._numbers
        answer, took = _timed(
            lambda fresh=fresh, bounder=bounder: ask(fresh, sql, error, confidence=1 - 1e-15, bounder=bounder)
        )
        answers[bounder] = answer
        shown.append(f"{bounder} {answer.rows_read:>10,} rows {answer.blocks_read:>8,} blocks {took:7.3f} s")
    right = all(is_right(answer, exact, sql) for answer in answers.values())
    ratio = answers["betting"].rows_read / max(answers["bernstein+rt"].rows_read, 1)
    print(
        f"{name}  {'  '.join(shown)}  ratio {ratio:4.2f}  exact {seconds:6.3f} s  {'right' if right else 'WRONG'}",
        flush=True,
    )
    return right, ratio


def is_right(answer: ApproximateAnswer, exact: list[dict[str, Any]], sql: str) -> bool:
    """Tell whether an answer has the groups of the exact one, and its interval the exact value."""
    if "v" in answer.rows[0] if answer.rows else False:
        return bool(answer.rows[0]["v_low"] <= exact[0]["v"] <= answer.rows[0]["v_high"])
    keys = [name for name in (exact[0] if exact else {}) if name not in ("n",)]
    mine = [tuple(row[key] for key in keys) for row in answer.rows]
    theirs = [tuple(row[key] for key in keys) for row in exact]
    ordered = "ORDER BY" in sql and "LIMIT" not in sql
    return mine == theirs if ordered else sorted(mine) == sorted(theirs)


def _exact(rows: pa.Table, sql: str) -> list[dict[str, Any]]:
    with duckdb.connect(config={"threads": 1}) as database:
        for name in ROWS:
            if f"FROM {name}" in sql:
                database.register(name, rows)
        return database.sql(sql).to_arrow_table().to_pylist()  # type: ignore[no-any-return]


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.process_time()
    return call(), time.process_time() - begin


if __name__ == "__main__":
    sys.exit(main())

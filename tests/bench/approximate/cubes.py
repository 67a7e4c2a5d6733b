"""Our cubes beside approximate answers: ``python -m tests.bench.approximate.cubes [size]``; 1 if one is wrong.

Linked views count and add up all pairs of their bars beforehand. So each query of the thesis is a look into a view, or
a brush in one and a look into another. Printed are the seconds to make the views, and those of a question, by the
clock and of the processor. `sizes` prints the same beside the approximate answers. Sums of doubles (T1, T2) are what
adding them up in some order gives; all others are exact.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from forward_lineage import ForwardLineage
from forward_lineage.views.linked import LinkedViews
from tests.bench.approximate.generated import ROWS, written
from tests.bench.approximate.queries import QUERIES
from tests.bench.approximate.timing import Timer, session, warm

_LATE, _LATER = "dep_time > 1350", "dep_time > 2250"
VIEWS: dict[str, dict[str, str]] = {
    "flights": {
        "origins": "SELECT origin, avg(dep_delay) AS v FROM flights GROUP BY origin",
        "airlines": "SELECT airline, avg(dep_delay) AS v FROM flights GROUP BY airline",
        "days": "SELECT dow, avg(dep_delay) AS v FROM flights GROUP BY dow",
        "both": "SELECT dow, origin, avg(dep_delay) AS v FROM flights GROUP BY dow, origin",
        "late": f"SELECT {_LATE} AS late, count(*) AS n FROM flights GROUP BY 1",
        "later": f"SELECT {_LATER} AS later, count(*) AS n FROM flights GROUP BY 1",
    },
    "taxi": {
        "hours": "SELECT hour, avg(distance) AS v, avg(fare) AS fare FROM taxi GROUP BY hour",
        "passengers": "SELECT passengers, count(*) AS n FROM taxi GROUP BY passengers",
    },
    "police": {
        "races": "SELECT race, avg(violations) AS v FROM police GROUP BY race",
        "ages": "SELECT age, avg(violations) AS v FROM police GROUP BY age",
    },
}


@dataclass(frozen=True)
class Look:
    """How views answer a query.

    Attributes:
        view: that is looked at.
        brushed: a view and the value of a bar in it that is chosen; None: nothing is.
        where: a bar of `view` by a column and its value; None: all.
        above: the averages that are kept are above it, or below it.
        value: the column of averages.
        limit: how many bars come first; 0: all.
        down: whether the greatest come first.

    """

    view: str
    brushed: tuple[str, str, Any] | None = None
    where: tuple[str, Any] | None = None
    above: tuple[str, float] | None = None
    value: str = "v"
    limit: int = 0
    down: bool = True


LOOKS: Mapping[str, Look] = {
    "F1": Look("origins", where=("origin", "A000")),
    "F2": Look("airlines", above=(">", 0)),
    "F3": Look("airlines", brushed=("later", "later", True), limit=2, down=False),
    "F4": Look("origins", where=("origin", "A000"), above=(">", 10)),
    "F5": Look("origins", above=("<", 0)),
    "F6": Look("both", brushed=("late", "late", True), limit=5),
    "F7": Look("days", brushed=("airlines", "airline", "L004"), limit=7, down=False),
    "F8": Look("origins", limit=1),
    "F9": Look("airlines", limit=1),
    "T1": Look("hours", brushed=("passengers", "passengers", 4), limit=1),
    "T2": Look("hours", brushed=("passengers", "passengers", 3), value="fare", limit=1),
    "P1": Look("races", limit=1),
    "P2": Look("ages", limit=1),
}


def looked(views: LinkedViews, query: str) -> list[dict[str, Any]]:
    """Return the rows of the answer to a query, without the average."""
    look = LOOKS[query]
    if look.brushed is None:
        table = views.bars(look.view)
    else:
        name, column, value = look.brushed
        table = views.brush(name, views.find(name, **{column: value})).table(look.view)
    rows = [row for row in table.to_pylist() if row[look.value] is not None]
    if look.where is not None:
        rows = [row for row in rows if row[look.where[0]] == look.where[1]]
    if look.above is not None:
        sign, limit = look.above
        rows = [row for row in rows if (row[look.value] > limit if sign == ">" else row[look.value] < limit)]
    if look.limit:
        rows = sorted(rows, key=lambda row: row[look.value], reverse=look.down)[: look.limit]
    return rows


def is_right(query: str, rows: list[dict[str, Any]], exact: list[dict[str, Any]]) -> bool:
    """Tell whether views give the groups of the exact answer, or its value."""
    if query == "F1":
        return abs(rows[0]["v"] - exact[0]["v"]) <= 1e-9 * abs(exact[0]["v"])
    keys = [name for name in (exact[0] if exact else {}) if name != "n"]
    mine, theirs = ([tuple(row[key] for key in keys) for row in each] for each in (rows, exact))
    return mine == theirs if "F7" in query else sorted(mine) == sorted(theirs)


def main() -> int:
    size = float(sys.argv[1]) if len(sys.argv) > 1 else 0.02
    spark, wrong = session(), []
    timer = Timer(spark)
    try:
        for name in ROWS:
            with tempfile.TemporaryDirectory() as folder:
                files = written(name, size, Path(folder))
                lineage = ForwardLineage(spark, home=Path(folder) / "home")
                lineage.register(name, path=str(files))
                views, made = timer.of(lambda lineage=lineage, name=name: lineage.views(VIEWS[name]))
                print(f"{name}: views made in {made}", flush=True)
                for query in (query for query, (of, _, _) in QUERIES.items() if of == name):
                    rows, took = warm(timer, lambda views=views, query=query: looked(views, query))
                    right = is_right(query, rows, _exact(name, files, query))
                    print(f"{query}  {took}  {'right' if right else 'WRONG'}", flush=True)
                    wrong += [] if right else [query]
                del views, lineage
    finally:
        spark.stop()
    print(f"wrong: {', '.join(wrong) or 'none'}")
    return 1 if wrong else 0


def _exact(name: str, files: Path, query: str) -> list[dict[str, Any]]:
    with duckdb.connect() as database:
        database.sql(f"CREATE VIEW {name} AS FROM '{files}/*.parquet'")
        return database.sql(QUERIES[query][1]).to_arrow_table().to_pylist()  # type: ignore[no-any-return]


if __name__ == "__main__":
    sys.exit(main())

"""How often matching is wrong, and what it reads: ``python -m tests.bench.approximate.matching [runs] [size] [T]``.

The nine queries of the thesis, without and with WHERE, over tables like its own, scaled down; each is asked of `runs`
scrambles (1,000 among all queries). An answer is wrong if a candidate with enough rows is closer by ε than one that was
returned, or a histogram is off by ε. At δ = .01 at most 24 of 1,000 may be. `size` 1 is the size of the thesis' tables
before it replicated them: then rows read are of interest, and one scramble will do. Beside it DuckDB counts the same
histograms exactly, over arrays in memory, on one thread and at the second time of asking, as ours is; and Spark does,
with two cores, over the same rows as Parquet.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from forward_lineage.approximate.matching.matcher import AskedMatch, matched
from forward_lineage.approximate.matching.matches import Matches
from forward_lineage.approximate.scramble import Scramble, random_order
from tests.bench.approximate.coverage import at_most

Codes = npt.NDArray[np.integer]
DELTA = 0.01
_ALLOWED = 24  # of 1,000
_ERROR, _LEAST = 0.3, 0.01  # of small tables: less than all is enough
#: Rows at size 1.
_ROWS = {"F": 121_000_000, "T": 50_000_000, "P": 6_000_000}


@dataclass(frozen=True)
class Query:
    """A query of the thesis' Table 5.3.

    Attributes:
        name: of it.
        candidates: how many there are.
        bars: how many there are.
        k: how many are wanted.
        target: ``uniform``, the place of a candidate, or weights.
        power: how skewed the sizes of candidates are.

    """

    name: str
    candidates: int
    bars: int
    k: int
    target: str | int | tuple[int, ...]
    power: float


QUERIES = (
    Query("F-q1", 347, 24, 10, 0, 1.1),
    Query("F-q2", 347, 24, 10, 200, 1.1),
    Query("F-q3", 347, 7, 5, (4, 8, 8, 8, 8, 8, 8), 1.1),
    Query("F-q4", 347, 351, 10, "uniform", 1.1),
    Query("T-q1", 7_641, 24, 10, "uniform", 1.2),
    Query("T-q2", 7_641, 12, 10, "uniform", 1.2),
    Query("P-q1", 210, 2, 10, "uniform", 0.8),
    Query("P-q2", 210, 5, 10, "uniform", 0.8),
    Query("P-q3", 2_110, 2, 5, "uniform", 1.2),
)


@dataclass(frozen=True, eq=False)
class Rows:
    """A table, as numbers.

    Attributes:
        query: that is asked of it.
        candidate: of each row.
        bar: of each row.
        kept: whether WHERE keeps a row.

    """

    query: Query
    candidate: Codes
    bar: Codes
    kept: npt.NDArray[np.bool_]

    def counts(self, *, where: bool) -> npt.NDArray[np.int64]:
        """Return the exact histograms."""
        mine = self.kept if where else slice(None)
        cell = self.candidate[mine].astype(np.int64) * self.query.bars + self.bar[mine]
        return np.bincount(cell, minlength=self.query.candidates * self.query.bars).reshape(-1, self.query.bars)

    def target(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        asked = self.query.target
        weights = np.ones(self.query.bars) if asked == "uniform" else counts[asked] if isinstance(asked, int) else asked
        return np.asarray(weights / np.sum(weights))


def rows_of(query: Query, count: int) -> Rows:
    """Return a table for a query; the same every time."""
    chance = np.random.default_rng([ord(letter) for letter in query.name])
    weights = 1 / np.arange(1, query.candidates + 1) ** query.power
    candidate = chance.choice(query.candidates, count, p=weights / weights.sum()).astype(np.int16)
    near = chance.gamma(1.5, 8, query.candidates)  # how close to even a candidate is
    shares = np.stack([chance.dirichlet(np.full(query.bars, each + 0.3)) for each in near]).cumsum(axis=1)
    bar = np.zeros(count, np.int16)
    for first in range(0, count, 1 << 20):
        part = slice(first, first + (1 << 20))
        place = candidate[part] + chance.random(candidate[part].size)
        bar[part] = np.searchsorted((shares + np.arange(query.candidates)[:, None]).ravel(), place) % query.bars
    return Rows(query, candidate, bar, chance.random(count) < 0.4)


def scrambled(of: Rows) -> Scramble:
    """Return a scramble of a table; ids are the places of its rows."""
    order = random_order(of.candidate.size)
    arrays = {"z": of.candidate[order], "x": of.bar[order], "w": of.kept[order].astype(np.int8)}
    manifest: Any = SimpleNamespace(
        name=of.query.name, columns=(("z", "smallint"), ("x", "smallint"), ("w", "tinyint"))
    )
    return Scramble(manifest, {name: pa.array(each) for name, each in arrays.items()}, ("z", "x"), order)


def ask(of: Rows, target: npt.NDArray[np.float64], error: float, least: float, *, where: bool) -> Matches:
    """Ask a new scramble of a table."""
    weights = dict(enumerate(target.tolist()))
    said = ("z", "x", weights, None, of.query.k, error, 1 - DELTA, least, "w >= 1" if where else None)
    return matched(scrambled(of), AskedMatch(*said), lambda _: None, lambda: None)


def is_wrong(
    found: Matches, of: Rows, counts: npt.NDArray[np.int64], target: npt.NDArray[np.float64], least: float
) -> bool:
    """Tell whether an answer breaks one of the two promises."""
    sizes = counts.sum(axis=1)
    exact = counts / np.maximum(sizes, 1)[:, None]
    far = np.abs(exact - target).sum(axis=1)
    chosen = [int(str(row["z"])) for row in found.rows]
    others = np.setdiff1d(np.flatnonzero(sizes >= max(least * of.candidate.size, 1)), chosen)
    if others.size and (not chosen or len(chosen) < of.query.k or far[chosen].max() - far[others].min() >= found.error):
        return True
    for place, row in zip(chosen, found.rows, strict=True):
        shares = row["histogram"]
        assert isinstance(shares, dict)
        mine = np.zeros(of.query.bars)
        mine[list(shares)] = list(shares.values())
        if np.abs(mine - exact[place]).sum() >= found.error:
            return True
    return False


def tried(runs: int, queries: tuple[Query, ...], rows: int) -> list[tuple[bool, float]]:
    """Ask queries of new scrambles, in turn; returns of each answer whether it is wrong, and the share of rows read."""
    found = []
    for number, query in enumerate(queries):
        of = rows_of(query, rows)
        for place in range(number, runs, len(queries)):
            where = bool(place // len(queries) % 2)
            counts = of.counts(where=where)
            target = of.target(counts)
            answer = ask(of, target, _ERROR, _LEAST, where=where)
            found.append((is_wrong(answer, of, counts, target, _LEAST), answer.rows_read / rows))
    return found


def violations(runs: int, queries: tuple[Query, ...] = (QUERIES[7], QUERIES[8]), rows: int = 100_000) -> int:
    """Return how many of some runs are wrong, at a scale at which reading less than all is enough."""
    return sum(wrong for wrong, _ in tried(runs, queries, rows))


def timed(of: Rows, target: npt.NDArray[np.float64], *, where: bool) -> tuple[Matches, float]:
    """Ask a scramble that has answered before; returns the seconds of processor, too."""
    made = scrambled(of)
    asked = AskedMatch(
        "z",
        "x",
        dict(enumerate(target.tolist())),
        None,
        of.query.k,
        0.04,
        1 - DELTA,
        0.0008,
        "w >= 1" if where else None,
    )
    matched(made, asked, lambda _: None, lambda: None)
    began = time.process_time()
    return matched(made, asked, lambda _: None, lambda: None), time.process_time() - began


def exactly(of: Rows, *, where: bool) -> str:
    """Say how long exact histograms take, by DuckDB and by Spark."""
    rows = pa.table({"z": of.candidate, "x": of.bar, "w": of.kept.astype(np.int8)})
    sql = f"SELECT z, x, count(*) AS n FROM {{}} {'WHERE w >= 1' if where else ''} GROUP BY z, x"
    with duckdb.connect(config={"threads": 1}) as database:
        database.register("rows", rows)
        duck = _second(lambda: database.sql(sql.format("rows")).to_arrow_table())
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(rows, f"{folder}/rows.parquet")
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        spark = builder.config("spark.sql.shuffle.partitions", 4).getOrCreate()
        by_spark = _second(lambda: spark.sql(sql.format(f"parquet.`{folder}`")).toArrow())
    return f"DuckDB {duck:.3f} s, Spark {by_spark:.3f} s by the clock"


def _second(call: Callable[[], Any]) -> float:
    call()
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def campaign(runs: int) -> int:
    """Ask every query of as many scrambles; returns 1 if too many answers are wrong."""
    total = done = 0
    for query in QUERIES:
        began, found = time.process_time(), tried(-(-runs // len(QUERIES)), (query,), 400_000)
        wrong, part = sum(wrong for wrong, _ in found), float(np.mean([part for _, part in found]))
        total, done, seconds = total + wrong, done + len(found), time.process_time() - began
        print(
            f"{query.name}: {wrong} of {len(found):,} are wrong, {part:.2f} of rows read, {seconds:.0f} s", flush=True
        )
    most = _ALLOWED * done // 1_000 if done >= 1_000 else at_most(done, DELTA)
    print(f"{total} of {done:,} answers are wrong; {most} may be")
    return 1 if total > most else 0


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    size = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    if not size:
        return campaign(runs)
    named = sys.argv[3] if len(sys.argv) > 3 else ""
    for query in (each for each in QUERIES if each.name.startswith(named)):
        of = rows_of(query, int(_ROWS[query.name[0]] * size))
        for where in (False, True):
            counts = of.counts(where=where)
            target = of.target(counts)
            found, seconds = timed(of, target, where=where)
            bad = "WRONG" if is_wrong(found, of, counts, target, 0.0008) else "right"
            part = found.rows_read / of.candidate.size
            print(
                f"{query.name}{' WHERE' if where else '':6} {found.candidates:5,} candidates, {part:6.3f} of "
                f"{of.candidate.size:,} rows read, {found.rounds} tests, {bad}, {seconds:.3f} s; exactly: "
                f"{exactly(of, where=where)}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())

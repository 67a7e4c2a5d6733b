"""Queries that nobody wrote: stars and snowflakes drawn from a seed, over tables of ten to a hundred thousand rows.

    python -m tests.bench.random_stars [--seed 1] [--count 20] [--rows 100000] [--ways default,value,reference]

A query joins groupings with tables and with each other, has windows over groups, unions, subqueries and constants. Its
sizes are drawn over four orders of magnitude. So the next stranger's query is met here first. `--agree` compares rows
and lineage of the ways instead of times.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from tests.bench.jvm import JvmSeconds
from tests.bench.tpcds import WAYS, Bench, Taken, disagreements, measure, report

FACTS = ("sales", "returns")
DIMENSIONS = {"customer": 0.1, "item": 0.03, "day": 0.01, "shop": 0.0003}
"""Their rows, as a share of those of `sales`; each has a key, an attribute of few values and a word."""
TABLES = (*FACTS, *DIMENSIONS)
_SHARES = (0.001, 0.01, 0.1, 1.0)


def write_tables(folder: Path, rows: int, seed: int) -> None:
    """Write two fact tables, one with a tenth of the other's rows, and four dimensions, one Parquet file each."""
    chance = np.random.default_rng(seed)
    keys = {name: max(int(rows * share), 3) for name, share in DIMENSIONS.items()}
    for name, count in keys.items():
        columns = {
            f"{name}_key": np.arange(count),
            f"{name}_group": chance.integers(0, max(count // 20, 2), count),
            f"{name}_word": [f"w{each}" for each in chance.integers(0, 9, count)],
        }
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    for fact, count in zip(FACTS, (rows, max(rows // 10, 10)), strict=True):
        drawn = {f"{name}_key": chance.integers(0, most, count) for name, most in keys.items()}
        columns = {"number": np.arange(count) // 8, **drawn, "amount": chance.integers(0, 1_000, count)}
        pq.write_table(pa.table(columns), folder / f"{fact}.parquet")


@dataclass
class Drawing:
    """One query while it is drawn.

    Attributes:
        chance: whatever is left to it.
        rows: of `sales`.

    """

    chance: random.Random
    rows: int

    def query(self) -> str:
        """Return a query; its rows have an order if they are cut."""
        draw = self.chance.choice([self.joined_back, self.to_each_other, self.to_dimension, self.window, self.union])
        return draw()

    def grouping(self, keys: Sequence[str]) -> str:
        """Return a grouping of a fact table by keys of dimensions, joined to one whose rows are filtered or not."""
        fact, dimension = self.chance.choice(FACTS), self.chance.choice(list(DIMENSIONS))
        selected = ", ".join(f"f.{key}" for key in keys)
        value = self.chance.choice(["sum(f.amount)", "count(*)", "max(f.amount)"])
        joined = f" JOIN {dimension} d ON f.{dimension}_key = d.{dimension}_key" if self.chance.random() < 0.6 else ""
        condition = self.condition(dimension) if joined else f"f.amount < {self.chance.choice([3, 30, 300, 1_000])}"
        having = " HAVING count(*) > 1" if self.chance.random() < 0.2 else ""
        group = f" GROUP BY {selected}" if keys else ""
        start = f"SELECT {selected}, " if keys else "SELECT "
        return f"{start}{value} AS a FROM {fact} f{joined} WHERE {condition}{group}{having}"

    def condition(self, dimension: str) -> str:
        """Return a condition on a dimension `d` that keeps one of its rows in a thousand, or all."""
        most = max(int(self.rows * DIMENSIONS[dimension] * self.chance.choice(_SHARES)), 1)
        one = f"d.{dimension}_group = {self.chance.randrange(3)}"
        return self.chance.choice([f"d.{dimension}_key < {most}", one, f"d.{dimension}_word IN ('w1', 'w2')"])

    def joined_back(self) -> str:
        """Rows of a fact table, each with what its group has."""
        key, share = self.key(), self.chance.choice(_SHARES)
        few = f"s.number < {max(int(self.rows / 8 * share), 1)}"
        rows = f"sales s JOIN ({self.grouping([key])}) g ON s.{key} = g.{key}"
        return f"SELECT s.number, s.amount, g.a FROM {rows} WHERE {few}"

    def to_each_other(self) -> str:
        """Two groupings by the same key, or two single rows."""
        keys = [self.key()] if self.chance.random() < 0.7 else []
        left, right = self.grouping(keys), self.grouping(keys)
        join = f"LEFT JOIN ({right}) y ON x.{keys[0]} = y.{keys[0]}" if keys else f"CROSS JOIN ({right}) y"
        return f"SELECT x.a AS xa, y.a AS ya FROM ({left}) x {join}"

    def to_dimension(self) -> str:
        """Groups, each with its row of a dimension, grouped once more or cut."""
        dimension = self.chance.choice(list(DIMENSIONS))
        key, word = f"{dimension}_key", f"d.{dimension}_word"
        keys = list(dict.fromkeys([key, self.key()]))
        joined = f"({self.grouping(keys)}) g JOIN {dimension} d ON g.{key} = d.{key}"
        inside = f"FROM {joined} WHERE {self.condition(dimension)}"
        if self.chance.random() < 0.5:
            return f"SELECT {word} AS w, sum(g.a) AS a {inside} GROUP BY {word}"
        order = ", ".join(["g.a DESC", *(f"g.{each}" for each in keys)])
        cut = f" ORDER BY {order} LIMIT 100" if self.chance.random() < 0.5 else ""
        return f"SELECT g.{keys[-1]} AS k, {word} AS w, g.a {inside}{cut}"

    def window(self) -> str:
        """A window over groups, of a part of them or of all before."""
        one, other = self.chance.sample([f"{name}_key" for name in DIMENSIONS], 2)
        order = f" ORDER BY {other}" if self.chance.random() < 0.4 else ""
        inside = self.grouping([one, other])
        return f"SELECT {one}, {other}, sum(a) OVER (PARTITION BY {one}{order}) AS s FROM ({inside}) g"

    def union(self) -> str:
        """A union of groupings that is joined with itself, each side chosen by a constant."""
        key = self.key()
        sides = " UNION ALL ".join(f"SELECT '{way}' AS way, {key}, a FROM ({self.grouping([key])})" for way in "st")
        chosen = f"JOIN u AS y ON x.{key} = y.{key} WHERE x.way = 's' AND y.way = 't'"
        filtered = f" AND x.{key} IN (SELECT {key} FROM returns)" if self.chance.random() < 0.4 else ""
        return f"WITH u AS ({sides}) SELECT x.{key}, x.a, y.a AS b FROM u AS x {chosen}{filtered}"

    def key(self) -> str:
        """Return a key of a dimension, or that of a ticket."""
        return self.chance.choice([*(f"{name}_key" for name in DIMENSIONS), "number"])


def drawn(seed: int, place: int, rows: int) -> str:
    """Return the query at a place of a seed."""
    return Drawing(random.Random(f"{seed}, {place}"), rows).query()


@click.command(help=(__doc__ or "").split("\n", 1)[0])
@click.option("--seed", default=1, show_default=True)
@click.option("--count", default=20, show_default=True, help="Queries.")
@click.option("--rows", default=100_000, show_default=True, help="Of the larger fact table.")
@click.option("--runs", default=3, show_default=True, type=click.IntRange(1))
@click.option("--ways", default="default,value,reference", show_default=True, help=f"Of {', '.join(WAYS)}.")
@click.option("--agree", is_flag=True, help="Compare the ways' rows and lineage, once each, instead of times.")
@click.option("--driver-memory", default="2g", show_default=True)
def main(seed: int, count: int, rows: int, runs: int, ways: str, agree: bool, driver_memory: str) -> None:
    """Measure and print."""
    found, console = list[Taken](), Console(width=200)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stars-")))
        write_tables(scratch, rows, seed)
        spark = local_session("stars", master="local[2]", driver_memory=driver_memory, log=scratch / "spark.log")
        stack.callback(spark.stop)
        spark.conf.set("spark.sql.shuffle.partitions", "4")
        plain, lineage = spark.newSession(), ForwardLineage(spark, home=scratch / "home")
        plain.conf.set("spark.sql.shuffle.partitions", "4")
        for table in TABLES:
            file = scratch / f"{table}.parquet"
            plain.read.parquet(str(file)).createOrReplaceTempView(table)
            lineage.register(table, path=file)
        texts = {f"{seed}/{place}": drawn(seed, place, rows) for place in range(count)}
        bench = Bench(plain, spark, lineage, texts.__getitem__, scratch, JvmSeconds(spark))
        for name, text in texts.items():
            if agree:
                told = disagreements(bench, name, ways.split(","), "data")
                console.print("\n".join([*told, text]) if told else f"{name}: the same", highlight=False)
                continue
            taken = measure(bench.cpu, name, bench.ways(name, ways.split(","), ["data"], save=False), runs)
            found += taken
            failed = [f"{each.way}: {each.failed}\n{text}" for each in taken if each.failed]
            console.print("\n".join(failed) or f"{name}: done", highlight=False)
    if found:
        console.print(report(found))


if __name__ == "__main__":
    main()

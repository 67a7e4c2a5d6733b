"""What a user does next: the steps of `forward-lineage check --continue`, those that ask lineage, and several ends.

A continuation does the same to the traced frame, to the plain one, and to one whose rows and lineage are written down.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from forward_lineage.checking import continuations as steps
from forward_lineage.checking.continuations import (
    Step,
    Steps,
    compared,
    condition,
    kind_of,
    lineages,
    named,
    numbered,
    some_steps,
    users,
)
from udafs.lineage_set import LineageSet

End = Callable[[DataFrame], "Counter[object]"]


@dataclass
class Around(steps.Around):
    """What steps leave behind, files, too; and the tables that they may join with."""

    tables: tuple[str, ...] = ()
    _folders: list[Path] = field(default_factory=list)

    def folder(self) -> str:
        self._folders.append(Path(tempfile.mkdtemp(prefix="continued-")))
        return str(self._folders[-1] / "rows")

    def put_away(self) -> None:
        super().put_away()
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def surroundings(tables: tuple[str, ...] = ()) -> Iterator[Around]:
    """Something to continue in; what steps made is gone at the end."""
    around = Around(tables=tables)
    try:
        yield around
    finally:
        around.put_away()


# --- steps that ask lineage, or need a place or a table -------------------------------------------------------


def _only_lineage(frame: DataFrame, _: Random, __: steps.Around) -> DataFrame:
    return frame.select(*map(named, lineages(frame))) if lineages(frame) else frame


def _filter_by_lineage(frame: DataFrame, dice: Random, _: steps.Around) -> DataFrame:
    value = _a_set(frame, dice)
    size, one = dice.randint(0, 3), dice.randint(0, 7)
    asked = dice.choice([f"dl_size({value}) >= {size}", f"dl_contains({value}, {one})"])
    return frame if value is None else frame.filter(asked)


def _lineage_column(frame: DataFrame, dice: Random, _: steps.Around) -> DataFrame:
    value = _a_set(frame, dice)
    asked = dice.choice(["dl_size", "dl_ids"])
    return frame if value is None else frame.withColumn("asked", F.expr(f"{asked}({value})"))


def _a_set(frame: DataFrame, dice: Random) -> str | None:
    """A lineage value of one table."""
    at, place = dice.random(), dice.random()
    found = lineages(frame)
    if not found:
        return None
    name = found[int(at * len(found))]
    kind = kind_of(frame, name)
    assert isinstance(kind, StructType)
    tables = sorted(kind.names)
    return f"{name}.`{tables[int(place * len(tables))]}`" if tables else None


def _with_a_table(frame: DataFrame, dice: Random, around: steps.Around) -> DataFrame:
    at, place, how = dice.random(), dice.random(), dice.choice(["inner", "left", "right", "left_semi"])
    assert isinstance(around, Around)
    if not around.tables:
        return frame
    left = numbered(frame, "l")
    right = numbered(frame.sparkSession.table(around.tables[int(at * len(around.tables))]), "t")
    pairs = [(mine, its) for mine in users(left) for its in users(right) if kind_of(left, mine) == kind_of(right, its)]
    if not pairs:
        return left
    mine, its = pairs[int(place * len(pairs))]
    return left.join(right, named(mine) == named(its), how)


def _distinct_with_lineage(frame: DataFrame, _: Random, __: steps.Around) -> DataFrame:
    return frame.distinct()


def _written(frame: DataFrame, _: Random, around: steps.Around) -> DataFrame:
    assert isinstance(around, Around)
    rows, folder = numbered(frame), around.folder()
    if not all(len(kind_of(frame, name)) for name in lineages(frame)):  # type: ignore[arg-type]
        rows = rows.drop(*lineages(frame))  # Parquet has no struct without fields
    rows.write.parquet(folder)
    return frame.sparkSession.read.parquet(folder)


# --- steps that few tests take: shapes of SQL above the frame, and its rows computed early ---------------------


def _grouping_sets(frame: DataFrame, dice: Random, _: steps.Around) -> DataFrame:
    mine = numbered(frame)
    keys = compared(mine)
    chosen, is_cube = dice.sample(keys, min(len(keys), 2)), dice.random() < 0.5
    return (mine.cube(*chosen) if is_cube else mine.rollup(*chosen)).agg(F.count("*").alias("n"))


def _unpivoted(frame: DataFrame, dice: Random, _: steps.Around) -> DataFrame:
    mine = numbered(frame)
    first = dice.choice(users(mine))
    alike = [name for name in users(mine) if kind_of(mine, name) == kind_of(mine, first)]
    kept = [name for name in mine.columns if name not in alike]
    return mine.unpivot([*map(named, kept)], [*map(named, alike)], "name", "value")


def _pivoted(frame: DataFrame, dice: Random, _: steps.Around) -> DataFrame:
    mine = numbered(frame)
    keys = compared(mine)
    return mine.groupBy(dice.choice(keys)).pivot(dice.choice(keys)).count() if keys else mine


def _windowed(frame: DataFrame, dice: Random, _: steps.Around) -> DataFrame:
    """Rows that tie are equal in all that is compared, so each column has one answer."""
    mine = numbered(frame)
    keys = compared(mine)
    if not keys:
        return mine
    groups = Window.partitionBy(dice.choice(keys))
    ranked = groups.orderBy(*map(named, dice.sample(keys, dice.randint(1, len(keys)))))
    made = dice.choice([F.count("*").over(groups), F.rank().over(ranked), F.dense_rank().over(ranked)])
    return mine.withColumn("ranked", made).filter(F.col("ranked") <= dice.randint(1, 3))


def _exploded(frame: DataFrame, dice: Random, _: steps.Around) -> DataFrame:
    each = F.explode(F.sequence(F.lit(1), F.lit(dice.randint(1, 2))))
    return numbered(frame).withColumn("each", each)


def _one_of_each(frame: DataFrame, dice: Random, _: steps.Around) -> DataFrame:
    mine = numbered(frame)
    keys = compared(mine)
    chosen = dice.sample(keys, dice.randint(1, len(keys))) if keys else []
    return mine.dropDuplicates(chosen).select(*chosen) if chosen else mine


def _filled(frame: DataFrame, dice: Random, _: steps.Around) -> DataFrame:
    mine = numbered(frame)
    return mine.na.fill(7) if dice.random() < 0.5 else mine.na.drop(subset=dice.choices(users(mine), k=2))


def _computed_early(frame: DataFrame, dice: Random, _: steps.Around) -> DataFrame:
    return frame.localCheckpoint(eager=dice.random() < 0.5)


def _in_subqueries(frame: DataFrame, dice: Random, around: steps.Around) -> DataFrame:
    """The frame as a view, read again in a subquery of a condition or of a column."""
    mine = numbered(frame)
    keys, at = compared(mine), dice.random()
    some = mine.filter(condition(mine, dice))
    if not keys:
        return mine
    outer, inner, key = around.view(mine), around.view(some), keys[int(at * len(keys))]
    mine_alone = ", ".join(f"a.{name}" for name in users(mine))
    asked = [
        f"SELECT a.* FROM {outer} AS a WHERE EXISTS (SELECT 1 FROM {inner} AS b WHERE b.{key} = a.{key})",
        f"SELECT a.* FROM {outer} AS a WHERE NOT EXISTS (SELECT 1 FROM {inner} AS b WHERE b.{key} <=> a.{key})",
        f"SELECT a.* FROM {outer} AS a WHERE a.{key} NOT IN (SELECT {key} FROM {inner})",
        f"SELECT a.* FROM {outer} AS a WHERE a.{key} >= (SELECT max({key}) FROM {inner})",
        f"SELECT {mine_alone}, (SELECT count(*) FROM {inner} AS b WHERE b.{key} = a.{key}) AS n FROM {outer} AS a",
        f"SELECT a.*, (SELECT count(*) FROM {inner} AS b WHERE b.{key} < a.{key}) AS n FROM {outer} AS a",
        f"SELECT {mine_alone}, l.n FROM {outer} AS a, LATERAL (SELECT count(*) AS n FROM {inner} AS b "
        f"WHERE b.{key} = a.{key}) AS l",
        f"SELECT {mine_alone} FROM {outer} AS a JOIN {outer} AS b "
        f"ON a.{key} = b.{key} AND a.{key} >= (SELECT min({key}) FROM {inner})",
        f"SELECT a.{key} > (SELECT min({key}) FROM {inner}) AS k, count(*) AS n FROM {outer} AS a GROUP BY 1",
        f"WITH w AS (SELECT * FROM {outer}) SELECT {mine_alone} FROM w AS a JOIN w AS b ON a.{key} = b.{key}",
    ]
    return frame.sparkSession.sql(dice.choice(asked))


_LESS_COMMON: dict[str, Step] = {
    "grouping sets": _grouping_sets,
    "unpivot": _unpivoted,
    "pivot": _pivoted,
    "window": _windowed,
    "explode": _exploded,
    "one of each": _one_of_each,
    "nulls filled": _filled,
    "checkpoint": _computed_early,
    "subqueries": _in_subqueries,
}

# What gives other rows with lineage than without: plain Spark has nothing to compare them with.
BY_LINEAGE: dict[str, Step] = {
    "DL alone": _only_lineage,
    "filter by lineage": _filter_by_lineage,
    "a column of lineage": _lineage_column,
    "distinct with DL": _distinct_with_lineage,
}
STEPS = {**steps.STEPS, **BY_LINEAGE, **_LESS_COMMON, "join with a table": _with_a_table, "write and read": _written}

# Rare are those that cost jobs of their own.
_WEIGHTS = {**steps.WEIGHTS, "write and read": 0.5, "DL alone": 0.3, "pivot": 0.3, "checkpoint": 0.5}


# --- ends ---------------------------------------------------------------------------------------------------


def _collected(frame: DataFrame) -> Counter[object]:
    return Counter(plain_value(row) for row in frame.collect())


def _counted(frame: DataFrame) -> Counter[object]:
    return Counter({"rows": frame.count()})


def _as_arrow(frame: DataFrame) -> Counter[object]:
    once = numbered(frame)
    return Counter(plain_value(tuple(row.values())) for row in once.toArrow().to_pylist())


def _iterated(frame: DataFrame) -> Counter[object]:
    return Counter(plain_value(row) for row in frame.toLocalIterator())


def _is_empty(frame: DataFrame) -> Counter[object]:
    return Counter({"empty": int(frame.isEmpty())})


ENDS: dict[str, End] = {
    "collect": _collected,
    "count": _counted,
    "toArrow": _as_arrow,
    "toLocalIterator": _iterated,
    "isEmpty": _is_empty,
}
_END_WEIGHTS = {"collect": 8, "count": 3, "toArrow": 1, "toLocalIterator": 0.5, "isEmpty": 0.5}


def plain_value(value: Any) -> object:
    """A value that can be counted; lineage as its ids, whatever bytes say them."""
    match value:
        case bytearray() | bytes():
            return ("ids", *LineageSet.from_bytes(bytes(value)))
        case Row() | tuple() | list():
            return tuple(plain_value(each) for each in value)
        case dict():
            return tuple(plain_value(each) for each in value.values())
        case float() if value != value:
            return "NaN"
    return value


# --- continuations ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Continuation:
    """Steps, each with the seed of its choices, and an end."""

    steps: tuple[tuple[str, int], ...]
    end: str = "collect"

    @property
    def asks_lineage(self) -> bool:
        """Whether its rows may depend on lineage."""
        return any(name in BY_LINEAGE for name, _ in self.steps)

    def result(self, frame: DataFrame, around: Around) -> Counter[object]:
        """What comes out at the end."""
        return ENDS[self.end](Steps(self.steps).applied(frame, around, STEPS))

    def __str__(self) -> str:
        return " → ".join([*(name for name, _ in self.steps), self.end])

    def shorter(self) -> Iterator[Continuation]:
        """The continuations with one step less, and the one that only collects."""
        for place in range(len(self.steps)):
            yield Continuation((*self.steps[:place], *self.steps[place + 1 :]), self.end)
        if self.end != "collect":
            yield Continuation(self.steps, "collect")


def continuation(seed: int) -> Continuation:
    """A random continuation, always the same for a seed."""
    dice = Random(seed)
    end = dice.choices(list(ENDS), [_END_WEIGHTS[name] for name in ENDS])[0]
    return Continuation(some_steps(dice, STEPS, _WEIGHTS).steps, end)

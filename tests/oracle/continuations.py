"""What a user does next: random continuations of a returned frame, the same on every frame with the same columns.

A continuation is a few steps and an end. A step makes its choices with a seed of its own, from the names and types of
the user's columns alone, so that it does the same to the traced frame, to the plain one, and to one whose rows and
lineage are written down. Columns whose names begin with `DL` are lineage; no generated query has such a name.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BooleanType, LongType, NumericType, StringType, StructType

from udafs.lineage_set import LineageSet

LINEAGE = "DL"
MOST_STEPS = 4
_numbers = count()


@dataclass
class Around:
    """What steps leave behind, and what they may meet: cached frames, views, files; other tables.

    Attributes:
        tables: names of tables that a step may join with.
    """

    tables: tuple[str, ...] = ()
    _cached: list[DataFrame] = field(default_factory=list)
    _views: list[tuple[DataFrame, str]] = field(default_factory=list)
    _folders: list[Path] = field(default_factory=list)

    def cached(self, frame: DataFrame) -> DataFrame:
        self._cached.append(frame.cache())
        return frame

    def view(self, frame: DataFrame) -> str:
        name = f"continued_{next(_numbers)}"
        frame.createOrReplaceTempView(name)
        self._views.append((frame, name))
        return name

    def folder(self) -> str:
        self._folders.append(Path(tempfile.mkdtemp(prefix="continued-")))
        return str(self._folders[-1] / "rows")

    def put_away(self) -> None:
        with suppress(Py4JError, ConnectionError):  # Spark's process may be gone
            for frame in self._cached:
                frame.unpersist()
            for frame, name in self._views:
                frame.sparkSession.catalog.dropTempView(name)
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def surroundings(tables: tuple[str, ...] = ()) -> Iterator[Around]:
    """Something to continue in; what steps made is gone at the end."""
    around = Around(tables)
    try:
        yield around
    finally:
        around.put_away()


Step = Callable[[DataFrame, Random, Around], DataFrame]
End = Callable[[DataFrame], "Counter[object]"]


def users(frame: DataFrame) -> list[str]:
    """The columns that are not lineage."""
    return [name for name in frame.columns if not name.startswith(LINEAGE)]


def lineages(frame: DataFrame) -> list[str]:
    return [name for name in frame.columns if name.startswith(LINEAGE)]


def named(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")


def numbered(frame: DataFrame, prefix: str = "c") -> DataFrame:
    """The frame with user's columns called by place, so that each name occurs once."""
    places = iter(range(len(frame.columns)))
    return frame.toDF(*(name if name.startswith(LINEAGE) else f"{prefix}{next(places)}" for name in frame.columns))


# --- steps --------------------------------------------------------------------------------------------------


def _drop_lineage(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    return frame.drop(*lineages(frame))


def _some_columns(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    """Some columns in another order; lineage at the end, in front, or not at all."""
    mine = users(frame)
    chosen = [named(name) for name in dice.sample(mine, dice.randint(1, len(mine)))]
    kept = [named(name) for name in lineages(frame)]
    return frame.select(*dice.choice([chosen, [*chosen, *kept], [*kept, *chosen], chosen]))


def _reversed_columns(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    return frame.select(*(named(name) for name in reversed(frame.columns)))


def _only_lineage(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    return frame.select(*map(named, lineages(frame))) if lineages(frame) else frame


def _filter(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    return frame.filter(condition(frame, dice))


def condition(frame: DataFrame, dice: Random) -> Column:
    """A condition on one of the user's columns, or on two of one type."""
    name = dice.choice(users(frame))
    kind = frame.schema[name].dataType
    others = [each for each in users(frame) if frame.schema[each].dataType == kind]
    other = named(dice.choice(others))
    column = named(name)
    tests = [column.isNotNull(), column.isNull(), column.eqNullSafe(other), ~column.eqNullSafe(other)]
    match kind:
        case NumericType():
            tests += [column > dice.randint(-1, 3), column <= dice.randint(0, 4), column >= other]
        case StringType():
            tests += [column >= "x", column.like("%y%")]
        case BooleanType():
            tests += [column, ~column]
    return dice.choice(tests)


def _filter_by_lineage(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    value = _a_set(frame, dice)
    if value is None:
        return frame
    size, one = dice.randint(0, 3), dice.randint(0, 7)
    return frame.filter(dice.choice([f"dl_size({value}) >= {size}", f"dl_contains({value}, {one})"]))


def _lineage_column(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
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
    kind = frame.schema[name].dataType
    assert isinstance(kind, StructType)
    tables = sorted(kind.names)
    return f"{name}.`{tables[int(place * len(tables))]}`" if tables else None


def _another_column(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    name = dice.choice(users(frame))
    column = named(name)
    made = (
        column + 1
        if isinstance(frame.schema[name].dataType, LongType)
        else F.coalesce(column.cast("string"), F.lit("?"))
    )
    return frame.withColumn(dice.choice(["made", name]), made)


def _with_itself(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    """Joined with itself, or with some of itself; lineage of both sides, of one, of none."""
    left, right = numbered(frame, "l"), numbered(frame, "r")
    at = dice.randrange(len(users(left)))
    if dice.random() < 0.5:
        right = right.filter(condition(right, dice))
    kept = dice.choice(["both", "left", "none"])
    right = (
        right.drop(*lineages(right))
        if kept != "both"
        else right.withColumnsRenamed({n: f"{n}2" for n in lineages(right)})
    )
    left = left.drop(*lineages(left)) if kept == "none" else left
    how = dice.choice(["inner", "left", "full", "left_semi", "left_anti"])
    return left.join(right, named(users(left)[at]).eqNullSafe(named(users(right)[at])), how)


def _with_a_table(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    if not around.tables:
        return frame
    left = numbered(frame, "l")
    right = numbered(frame.sparkSession.table(around.tables[int(dice.random() * len(around.tables))]), "t")
    pairs = [
        (mine, its)
        for mine in users(left)
        for its in users(right)
        if left.schema[mine].dataType == right.schema[its].dataType
    ]
    how = dice.choice(["inner", "left", "right", "left_semi"])
    if not pairs:
        return left
    mine, its = pairs[int(dice.random() * len(pairs))]
    return left.join(right, named(mine) == named(its), how)


def _grouped(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    mine = numbered(frame)
    keys = dice.sample(users(mine), min(len(users(mine)), dice.randint(0, 2)))
    other = named(dice.choice(users(mine)))
    asked = [F.count("*").alias("n"), F.count(other).alias("k"), F.max(other).alias("most")]
    return mine.groupBy(*keys).agg(*dice.sample(asked, dice.randint(1, 3)))


def _distinct(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    return frame.drop(*lineages(frame)).distinct()


def _distinct_with_lineage(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    return frame.distinct()


def _union(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    return frame.union(frame.filter(condition(frame, dice)))


def _sorted(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    name = dice.choice(users(frame))
    return frame.orderBy(named(name).desc() if dice.random() < 0.5 else named(name))


def _some_of_the_first(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    """LIMIT after a sort by all columns: rows that tie are equal."""
    mine = frame.drop(*lineages(frame))
    most, skipped = dice.randint(0, 4), dice.choice([0, 0, 1])
    return mine.orderBy(*(named(name) for name in mine.columns)).offset(skipped).limit(most)


def _cached(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    kept = around.cached(frame)
    if dice.random() < 0.5:
        kept.count()
    return kept


def _written(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    rows = numbered(frame)
    if not all(len(frame.schema[name].dataType) for name in lineages(frame)):  # type: ignore[arg-type]
        rows = rows.drop(*lineages(frame))  # Parquet has no struct without fields
    folder = around.folder()
    rows.write.parquet(folder)
    return frame.sparkSession.read.parquet(folder)


def _as_view(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    mine = numbered(frame)
    name, key = around.view(mine), dice.choice(users(mine))
    queries = [
        f"SELECT * FROM {name}",
        f"SELECT * FROM {name} WHERE {key} IS NOT NULL",
        f"SELECT {', '.join(reversed(users(mine)))} FROM {name}",
        f"SELECT {key}, count(*) AS n FROM {name} GROUP BY {key}",
        f"WITH w AS (SELECT * FROM {name}) SELECT a.* FROM w AS a JOIN w AS b ON a.{key} <=> b.{key}",
        f"SELECT {key}, row_number() OVER (PARTITION BY {key} ORDER BY {key}) AS n FROM {name}",
    ]
    return frame.sparkSession.sql(dice.choice(queries))


def _repartitioned(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    return frame.repartition(dice.randint(1, 3)) if dice.random() < 0.5 else frame.coalesce(1)


def _except(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    mine = frame.drop(*lineages(frame))
    return mine.exceptAll(mine.filter(condition(mine, dice)))


STEPS: dict[str, Step] = {
    "drop DL": _drop_lineage,
    "some columns": _some_columns,
    "columns reversed": _reversed_columns,
    "DL alone": _only_lineage,
    "filter": _filter,
    "filter by lineage": _filter_by_lineage,
    "a column of lineage": _lineage_column,
    "another column": _another_column,
    "join with itself": _with_itself,
    "join with a table": _with_a_table,
    "group": _grouped,
    "distinct": _distinct,
    "distinct with DL": _distinct_with_lineage,
    "union": _union,
    "sort": _sorted,
    "sort and limit": _some_of_the_first,
    "cache": _cached,
    "write and read": _written,
    "view": _as_view,
    "repartition": _repartitioned,
    "except": _except,
}

# What gives other rows with lineage than without: plain Spark has nothing to compare them with.
BY_LINEAGE = {"DL alone", "filter by lineage", "a column of lineage", "distinct with DL"}

# Rare are those that cost jobs of their own.
_WEIGHTS = {
    "drop DL": 5,
    "some columns": 4,
    "filter": 4,
    "group": 2,
    "write and read": 0.5,
    "cache": 0.7,
    "DL alone": 0.3,
}


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
        for name, seed in self.steps:
            frame = STEPS[name](frame, Random(seed), around) if frame.columns and users(frame) else frame
        return ENDS[self.end](frame)

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
    names = list(STEPS)
    steps = dice.choices(names, [_WEIGHTS.get(name, 1) for name in names], k=dice.choice([1, 1, 2, 2, 3, MOST_STEPS]))
    end = dice.choices(list(ENDS), [_END_WEIGHTS[name] for name in ENDS])[0]
    return Continuation(tuple((name, dice.randrange(1 << 30)) for name in steps), end)

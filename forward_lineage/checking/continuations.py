"""Continuations of a frame: random steps and an end, the same on every frame with the same columns.

A step makes its choices with a seed of its own, from the names and types of the user's columns alone: it does the same
to a traced frame, to the plain one, and to one whose rows and lineage were written down. The column `DL` is lineage,
and `DL2` where a frame is joined with itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from random import Random

from py4j.protocol import Py4JError
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    IntegralType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from forward_lineage.results import LINEAGE_COLUMN

Step = Callable[[DataFrame, Random, "Around"], DataFrame]

#: How lineage is called, also that of a frame's other side.
LINEAGE = (LINEAGE_COLUMN, f"{LINEAGE_COLUMN}2")
#: Types of which Spark compares and groups two values, exactly.
_COMPARED = (BinaryType, BooleanType, DateType, IntegralType, StringType, TimestampType)
_MOST_STEPS = 4
_numbers = count()


@dataclass
class Around:
    """What steps leave behind: cached frames and views, gone at the end."""

    _cached: list[DataFrame] = field(default_factory=list)
    _views: list[tuple[DataFrame, str]] = field(default_factory=list)

    def cached(self, frame: DataFrame) -> DataFrame:
        """Cache a frame until the end."""
        self._cached.append(frame.cache())
        return frame

    def view(self, frame: DataFrame) -> str:
        """Name a frame until the end."""
        name = f"__check_continued_{next(_numbers)}"
        frame.createOrReplaceTempView(name)
        self._views.append((frame, name))
        return name

    def put_away(self) -> None:
        """Forget what steps left behind."""
        with suppress(Py4JError, ConnectionError):  # Spark's process may be gone
            for frame in self._cached:
                frame.unpersist()
            for frame, name in self._views:
                frame.sparkSession.catalog.dropTempView(name)


@contextmanager
def surroundings() -> Iterator[Around]:
    """Open something to continue in."""
    around = Around()
    try:
        yield around
    finally:
        around.put_away()


def users(frame: DataFrame) -> list[str]:
    """Return the columns that are not lineage."""
    return [name for name in frame.columns if name not in LINEAGE]


def lineages(frame: DataFrame) -> list[str]:
    """Return the columns that are lineage."""
    return [name for name in frame.columns if name in LINEAGE]


def named(name: str) -> Column:
    """Return a column by its whole name, whatever is in it."""
    return F.col("`" + name.replace("`", "``") + "`")


def numbered(frame: DataFrame, prefix: str = "c") -> DataFrame:
    """Return the frame with the user's columns called by place, so that each name occurs once."""
    names = iter(f"{prefix}{place}" for place in range(len(frame.columns)))
    return frame.toDF(*(name if name in LINEAGE else next(names) for name in frame.columns))


def kind_of(frame: DataFrame, name: str) -> DataType:
    """Return the type of a column."""
    return frame.schema[name].dataType


def compared(frame: DataFrame) -> list[str]:
    """Return the user's columns whose values can be compared exactly."""
    return [name for name in users(frame) if isinstance(kind_of(frame, name), _COMPARED)]


def condition(frame: DataFrame, dice: Random) -> Column:
    """Return a condition on one of the user's columns, or on two of one type."""
    name = dice.choice(users(frame))
    column, kind = named(name), kind_of(frame, name)
    tests = [column.isNotNull(), column.isNull()]
    if isinstance(kind, _COMPARED):
        other = named(dice.choice([each for each in users(frame) if kind_of(frame, each) == kind]))
        tests += [column.eqNullSafe(other), ~column.eqNullSafe(other), column >= other]
    if isinstance(kind, IntegralType):
        tests += [column > dice.randint(-1, 3), column <= dice.randint(0, 4)]
    if isinstance(kind, BooleanType):
        tests += [column, ~column]
    return dice.choice(tests)


# --- steps --------------------------------------------------------------------------------------------------


def _drop_lineage(frame: DataFrame, _: Random, __: Around) -> DataFrame:
    return frame.drop(*lineages(frame))


def _some_columns(frame: DataFrame, dice: Random, _: Around) -> DataFrame:
    """Some columns in another order; lineage behind them, in front, or not at all."""
    mine = users(frame)
    chosen = [named(name) for name in dice.sample(mine, dice.randint(1, len(mine)))]
    kept = [named(name) for name in lineages(frame)]
    return frame.select(*dice.choice([chosen, [*chosen, *kept], [*kept, *chosen], chosen]))


def _reversed_columns(frame: DataFrame, _: Random, __: Around) -> DataFrame:
    return frame.select(*(named(name) for name in reversed(frame.columns)))


def _filtered(frame: DataFrame, dice: Random, _: Around) -> DataFrame:
    return frame.filter(condition(frame, dice))


def _another_column(frame: DataFrame, dice: Random, _: Around) -> DataFrame:
    name = dice.choice(users(frame))
    column = named(name)
    made = column.isNull()
    if isinstance(kind_of(frame, name), LongType):
        made = column % 5
    elif isinstance(kind_of(frame, name), StringType):
        made = F.coalesce(column, F.lit("?"))
    return frame.withColumn(dice.choice(["made", name]), made)


def _with_itself(frame: DataFrame, dice: Random, _: Around) -> DataFrame:
    """Joined with itself, or with some of itself; lineage of both sides, of one, of none."""
    left, right = numbered(frame, "l"), numbered(frame, "r")
    keys = compared(left)
    at, some = dice.random(), dice.random() < 0.5
    kept, how = dice.choice(["both", "left", "none"]), dice.choice(["inner", "left", "full", "left_semi", "left_anti"])
    if not keys or len(lineages(frame)) > 1:
        return frame
    if some:
        right = right.filter(condition(right, dice))
    key = keys[int(at * len(keys))]
    right = right.withColumnsRenamed({LINEAGE[0]: LINEAGE[1]}) if kept == "both" else right.drop(*LINEAGE)
    left = left.drop(*LINEAGE) if kept == "none" else left
    return left.join(right, named(key).eqNullSafe(named(f"r{key[1:]}")), how)


def _grouped(frame: DataFrame, dice: Random, _: Around) -> DataFrame:
    mine = numbered(frame)
    keys = compared(mine)
    chosen = dice.sample(keys, min(len(keys), dice.randint(0, 2)))
    asked = [F.count("*").alias("n"), F.count(named(dice.choice(users(mine)))).alias("k")]
    if keys:
        asked.append(F.max(named(dice.choice(keys))).alias("most"))
    return mine.groupBy(*chosen).agg(*dice.sample(asked, dice.randint(1, len(asked))))


def _distinct(frame: DataFrame, _: Random, __: Around) -> DataFrame:
    return frame.drop(*lineages(frame)).distinct()


def _union(frame: DataFrame, dice: Random, _: Around) -> DataFrame:
    return frame.union(frame.filter(condition(frame, dice)))


def _sorted(frame: DataFrame, dice: Random, _: Around) -> DataFrame:
    descending, keys = dice.random() < 0.5, compared(frame)
    if not keys:
        return frame
    key = named(dice.choice(keys))
    return frame.orderBy(key.desc() if descending else key)


def _first_of_all(frame: DataFrame, dice: Random, _: Around) -> DataFrame:
    """LIMIT after a sort by all columns that there are: rows that tie are equal."""
    keys, most, skipped = compared(frame), dice.randint(0, 4), dice.choice([0, 0, 1])
    if not keys:
        return frame
    mine = frame.select(*map(named, keys))
    return mine.orderBy(*map(named, keys)).offset(skipped).limit(most)


def _kept(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    kept = around.cached(frame)
    if dice.random() < 0.5:
        kept.count()
    return kept


def _as_view(frame: DataFrame, dice: Random, around: Around) -> DataFrame:
    mine = numbered(frame)
    keys, place = compared(mine), dice.random()
    if not keys:
        return mine
    name, key = around.view(mine), keys[int(place * len(keys))]
    queries = [
        f"SELECT * FROM {name}",
        f"SELECT * FROM {name} WHERE {key} IS NOT NULL",
        f"SELECT {', '.join(reversed(users(mine)))} FROM {name}",
        f"SELECT {key}, count(*) AS n FROM {name} GROUP BY {key}",
        f"WITH w AS (SELECT * FROM {name}) SELECT a.* FROM w AS a JOIN w AS b ON a.{key} <=> b.{key}",
        f"SELECT {key}, row_number() OVER (PARTITION BY {key} ORDER BY {key}) AS n FROM {name}",
    ]
    return frame.sparkSession.sql(dice.choice(queries))


def _spread(frame: DataFrame, dice: Random, _: Around) -> DataFrame:
    return frame.repartition(dice.randint(1, 3)) if dice.random() < 0.5 else frame.coalesce(1)


def _except(frame: DataFrame, dice: Random, _: Around) -> DataFrame:
    mine = frame.drop(*lineages(frame))
    return mine.exceptAll(mine.filter(condition(mine, dice)))


#: Steps by name.
STEPS: dict[str, Step] = {
    "drop DL": _drop_lineage,
    "some columns": _some_columns,
    "columns reversed": _reversed_columns,
    "filter": _filtered,
    "another column": _another_column,
    "join with itself": _with_itself,
    "group": _grouped,
    "distinct": _distinct,
    "union": _union,
    "sort": _sorted,
    "sort and limit": _first_of_all,
    "cache": _kept,
    "view": _as_view,
    "repartition": _spread,
    "except": _except,
}
#: How often a step is chosen, where it is not once.
WEIGHTS: dict[str, float] = {"drop DL": 5, "some columns": 4, "filter": 4, "group": 2, "cache": 0.7}


@dataclass(frozen=True)
class Steps:
    """Some steps, each with the seed of its choices."""

    steps: tuple[tuple[str, int], ...]

    def applied(self, frame: DataFrame, around: Around, known: dict[str, Step] = STEPS) -> DataFrame:
        """Return what a frame becomes; a frame of lineage alone stays what it is."""
        for name, seed in self.steps:
            frame = known[name](frame, Random(seed), around) if users(frame) else frame
        return frame

    def __str__(self) -> str:
        return " → ".join(name for name, _ in self.steps)


def some_steps(dice: Random, known: dict[str, Step] = STEPS, weights: dict[str, float] = WEIGHTS) -> Steps:
    """Draw one to four steps."""
    names = list(known)
    found = dice.choices(names, [weights.get(name, 1) for name in names], k=dice.choice([1, 1, 2, 2, 3, _MOST_STEPS]))
    return Steps(tuple((name, dice.randrange(1 << 30)) for name in found))


def is_lineage(kind: DataType) -> bool:
    """Return whether a column is lineage of some table: a struct of binary values."""
    return isinstance(kind, StructType) and {type(each.dataType) for each in kind} == {BinaryType}

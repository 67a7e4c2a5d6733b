"""The code that runs in Spark's Python workers for a user's function over a frame: it, and lineage beside it.

The function gets the same input as without lineage. Its output goes to Spark with the lineage of its input: of the
group, or as its mark says (`marks`). A set goes out with the first row that has it; the kernel fills in the others
(LastGiven.scala), so that no set is written once a row.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any

import pyarrow as pa

from forward_lineage.dataframes.batches import ArrowBatches, Batches, PandasBatches, Sets
from forward_lineage.dataframes.marks import How, Marked
from forward_lineage.relations.values import relation_of_values
from udafs.errors import InternalError, NotTracedError
from udafs.lineage_set import Encoding, LineageSet


@dataclass(frozen=True)
class FunctionTask:
    """A user's function, and what there is beside its columns.

    Attributes:
        command: the function, as PySpark pickled it; its broadcasts are the worker's.
        called: how messages call it.
        is_pandas: whether it is given frames of pandas, else those of Arrow.
        inputs: how many columns of its own each thing has that it is given.
        outputs: how many columns it gives.
        names: of the columns of lineage that go to Spark, one for each table.
        tables: of each thing that it is given, which of these its columns of lineage are.
        encoding: of the sets that are made here; "quick" is the shorter of two.
        how: what its mark says; None: it is given groups.
        iterates: whether it is given batches of a group one by one.

    """

    command: bytes
    called: str
    is_pandas: bool
    inputs: tuple[int, ...]
    outputs: int
    names: tuple[str, ...]
    tables: tuple[tuple[int, ...], ...]
    encoding: str
    how: How | None = None
    iterates: bool = False

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The function itself."""
        found = pickle.loads(self.command, encoding="bytes")
        if not isinstance(found, tuple):  # a long one is a broadcast
            found = pickle.loads(found.value, encoding="bytes")
        function: Callable[..., Any] = found[0]
        if (function.how if isinstance(function, Marked) else None) != self.how:
            raise InternalError(f"{self.called} has another mark than its name says")
        return function

    @cached_property
    def batches(self) -> Batches:
        """How what it is given and gives is taken apart."""
        return PandasBatches() if self.is_pandas else ArrowBatches()

    def split(self, rows: Any, side: int = 0) -> tuple[Any, list[Sets]]:
        """Return what the function is to see, and for each table the sets beside it."""
        users, found = self.batches.split(rows, self.inputs[side])
        sets = [pa.array([], pa.large_binary())] * len(self.names)
        for table, values in zip(self.tables[side], found, strict=True):
            sets[table] = values
        return users, sets

    def with_sets(self, rows: Any, sets: Sequence[Sets]) -> Any:
        """Return what the function gave, and its lineage."""
        return self.batches.joined(rows, self.names, sets, self.outputs)

    def with_one(self, rows: Any, values: Sequence[bytes]) -> Any:
        """The same where all rows have the same lineage: the first says it."""
        count = _count(rows)
        sets = [pa.array([value, *[None] * (count - 1)] if count else [], pa.large_binary()) for value in values]
        return self.with_sets(rows, sets)

    def encoded(self, ids: LineageSet) -> bytes:
        """Return a set as the session writes it."""
        if self.encoding == "quick":
            both: tuple[Encoding, ...] = ("set", "roaring")
            return min((ids.to_bytes(each) for each in both), key=len)
        setting: Encoding = self.encoding  # type: ignore[assignment]
        return ids.to_bytes(setting)


def over_partition(task: FunctionTask) -> Callable[[Iterator[Any]], Any]:
    """Return what `mapInPandas` or `mapInArrow` is to run. Functions, no objects: Spark counts their arguments."""

    def run(batches: Iterator[Any]) -> Any:
        steps = RowByRow(task, batches) if task.how == "row_by_row" else AllSoFar(task, batches)
        given = task.function(steps.given())
        if isinstance(given, Iterator):
            return steps.taken(given)
        return _like(given, steps.taken) if isinstance(given, Iterable) else given

    return run


def _like(given: Iterable[Any], taken: Callable[[Iterator[Any]], Iterator[Any]]) -> Any:
    """An iterable that is no iterator, which some versions of Spark take, and others refuse by the name of its type."""
    return type(type(given).__name__, (), {"__iter__": lambda _: taken(iter(given))})()


def over_group(task: FunctionTask) -> Callable[[Any, Any], Any]:
    """Return what `applyInPandas` or `applyInArrow` is to run over each group."""

    def run(key: Any, rows: Any) -> Any:
        return Group(task).given(key, rows)

    return run


def over_groups(task: FunctionTask) -> Callable[[Any, Any, Any], Any]:
    """Return what these are to run over two groups of one key."""

    def run(key: Any, left: Any, right: Any) -> Any:
        return Group(task).given(key, left, right)

    return run


class RowByRow:
    """Row n that the function gives for a batch is made of row n of the batch.

    Args:
        task: the function.
        batches: of a partition.

    """

    def __init__(self, task: FunctionTask, batches: Iterator[Any]) -> None:
        self._task, self._batches = task, batches
        self._sets: list[Sets] = []
        self._rows = self._done = 0  # of the batch that was given last

    def given(self) -> Iterator[Any]:
        """Yield what the function is to see."""
        for rows in self._batches:
            self._check_all_done()
            self._rows, self._done = _count(rows), 0
            users, self._sets = self._task.split(rows)
            yield users
        self._check_all_done()

    def taken(self, given: Iterator[Any]) -> Iterator[Any]:
        """Yield what it gives, with its lineage."""
        for rows in given:
            count = _count(rows)
            end = self._done + count
            if end > self._rows:
                raise self._out_of_step(end)
            if self._task.batches.places_changed(rows):
                raise NotTracedError(
                    f"{self._task.called} gave rows whose index says that they changed places",
                    instead="Give them in the order in which they came, and sort what comes of it; or use all_so_far.",
                )
            sets = [values.slice(self._done, count) for values in self._sets]
            self._done = end
            yield self._task.with_sets(rows, sets)
        self._check_all_done()
        if next((rows for rows in self._batches if _count(rows)), None) is not None:
            raise self._out_of_step(self._done, " and left others unread")

    def _check_all_done(self) -> None:
        if self._done != self._rows:
            raise self._out_of_step(self._done)

    def _out_of_step(self, done: int, more: str = "") -> NotTracedError:
        return NotTracedError(
            f"{self._task.called} gave {done} rows for a batch of {self._rows}{more}: row by row it is as many",
            instead="Keep such rows and mark them in a column, give lists and explode them; filter above. Or use "
            "all_so_far, if a row may be made of several.",
        )


class AllSoFar:
    """A row that the function gives is made of all rows that it was given before; arguments as for `RowByRow`."""

    def __init__(self, task: FunctionTask, batches: Iterator[Any]) -> None:
        self._task, self._batches = task, batches
        self._seen = [LineageSet()] * len(task.names)
        self._values: list[bytes] | None = None

    def given(self) -> Iterator[Any]:
        """Yield what the function is to see."""
        for rows in self._batches:
            users, sets = self._task.split(rows)
            self._seen = [seen | united([values]) for seen, values in zip(self._seen, sets, strict=True)]
            self._values = None
            yield users

    def taken(self, given: Iterator[Any]) -> Iterator[Any]:
        """Yield what it gives, with its lineage."""
        for rows in given:
            if self._values is None:
                self._values = list(map(self._task.encoded, self._seen))
            yield self._task.with_one(rows, self._values)


class Group:
    """A row that the function gives is made of all rows of its group, or of both groups of its key."""

    def __init__(self, task: FunctionTask) -> None:
        self._task = task
        self._sets: list[list[Sets]] = [[] for _ in task.names]

    def given(self, key: Any, *sides: Any) -> Any:
        """Return what the function gives for a group, with its lineage.

        Where it is given batches one by one, all are read first: its first row is made of the last one, too.
        """
        users = [self._users(rows, side) for side, rows in enumerate(sides)]
        takes_key = len(inspect.getfullargspec(self._task.function).args) > len(sides)
        given = self._task.function(key, *users) if takes_key else self._task.function(*users)
        return self._taken(given) if self._task.iterates else self._task.with_one(given, self._values)

    def _users(self, rows: Any, side: int) -> Any:
        if self._task.iterates:
            return iter([self._split(batch, side) for batch in rows])
        return self._split(rows, side)

    def _split(self, rows: Any, side: int) -> Any:
        users, sets = self._task.split(rows, side)
        for known, values in zip(self._sets, sets, strict=True):
            known.append(values)
        return users

    def _taken(self, given: Iterator[Any]) -> Iterator[Any]:
        for rows in given:
            yield self._task.with_one(rows, self._values)

    @cached_property
    def _values(self) -> list[bytes]:
        return [self._task.encoded(united(sets)) for sets in self._sets]


def united(columns: Sequence[Sets]) -> LineageSet:
    """Return the union of all sets in some columns."""
    return reduce(or_, (relation_of_values(values).ids() for values in columns if len(values)), LineageSet())


def _count(rows: Any) -> int:
    """The number of rows; 0 for a value that is no frame, of which Spark says what is wrong with it."""
    return len(rows) if hasattr(rows, "columns") else 0

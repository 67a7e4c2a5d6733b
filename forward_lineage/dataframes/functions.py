"""Functions of Python over whole frames, as tables that carry the lineage of their rows.

Where one stands in a DataFrame the plan is cut. The input of the function is traced by itself. A function of ours
(`tasks`) runs in its place over these rows and hands their lineage on. Two views have the rows that it gives. One has
them unchanged, for the SQL of what stands above. The other has them with their lineage, and that SQL is traced through
it. So a function runs once for rows and lineage, and nothing runs before the rows are used.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal, NamedTuple

from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, StructField, StructType

from forward_lineage.dataframes.marks import How, mark_of
from forward_lineage.dataframes.tasks import FunctionTask, over_group, over_groups, over_partition
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.plan_facts import unrepeatable_parts
from forward_lineage.stored_tables import Meaning, row_ids_of
from rewrites.tables import StoredTable
from udafs.errors import NotTracedError
from udafs.requests import ask_frame, ask_json

MOST = 256
"""Functions whose views are kept, at most: those of the DataFrames that were traced last."""

_ENCODING = "spark.forward_lineage.encoding"
_PREFIX = "__dl_given_"  # as in FrameFunctions.scala
_NUMBERS = count(1)
_GROUPED_ITER = (215, 216)  # PySpark's numbers of functions that are given a group in batches
_EVERY = {"map": over_partition, "group": over_group, "cogroup": over_groups}


class Traced(NamedTuple):
    """The traced input of a function.

    Attributes:
        sql: the query of its rows.
        rows: with `DL`; without, where they are made of no table.
        meaning: of `DL`; None: there is none.

    """

    sql: str
    rows: DataFrame
    meaning: Meaning | None


Trace = Callable[[DataFrame, str], Traced]
"""(frame, semantics) → its rows, traced."""


@dataclass(frozen=True)
class _Input:
    """The input of a function.

    Attributes:
        columns: how many it sees.
        keys: how many columns are before them, by which its rows are grouped.
        spread_below: whether its rows were spread anew where their SQL does not say so.

    """

    columns: int
    keys: int
    spread_below: bool

    @property
    def key_columns(self) -> frozenset[str]:
        """The keys as the kernel names columns."""
        return frozenset(f"c{place}" for place in range(self.keys))


@dataclass(frozen=True)
class _Found:
    """A function over a frame, as the kernel describes it.

    Attributes:
        number: which one of the frame's.
        called: PySpark's name of the operator, and the function's.
        kind: of the operator.
        command: the function, as PySpark pickled it.
        eval_type: PySpark's number.
        deterministic: whether it promises to give the same again.
        schema: of what it gives.
        inputs: what it is given.
        how: what its mark says.

    """

    number: int
    called: str
    kind: Literal["map", "group", "cogroup"]
    command: bytes
    eval_type: int
    deterministic: bool
    schema: StructType
    inputs: tuple[_Input, ...]
    how: How | None

    @classmethod
    def of(cls, number: int, said: dict[str, Any]) -> _Found:
        inputs = tuple(_Input(each["columns"], each["keys"], each["spread below"]) for each in said["inputs"])
        return cls(
            number,
            f"{said['called']}({said['name']})",
            said["kind"],
            base64.b64decode(said["command"]),
            said["eval type"],
            said["deterministic"],
            StructType.fromJson(json.loads(said["schema"])),
            inputs,
            mark_of(said["name"]) if said["kind"] == "map" else None,
        )


class FrameFunctions:
    """Gives the functions of Python over whole frames names that SQL can read.

    Args:
        tables: the registered tables.
        trace: traces what they are given.
        given: by name, the tables that they become; edited.

    """

    def __init__(self, tables: RegisteredTables, trace: Trace, given: MutableMapping[str, StoredTable]) -> None:
        self._spark, self._trace, self._given = tables.spark, trace, given
        self._told: dict[str, str] = {}

    def names(self, frame: DataFrame, semantics: str, registered: str) -> list[str]:
        """Return the names of the rows that the functions of a DataFrame give, in the kernel's order of these.

        Args:
            frame: the DataFrame.
            semantics: ``"data"`` or ``"control"``.
            registered: names of tables, as the kernel wants them.

        Raises:
            NotTracedError: a function that does not say what its rows are made of; something below it is not traced.

        """
        answer = ask_json(self._spark, "frame functions", frame, registered=registered)
        if "what" in answer:
            raise NotTracedError(f"the DataFrame has {answer['what']}", instead=answer["instead"])
        found = [_Found.of(number, said) for number, said in enumerate(answer["found"])]
        names = [self._name(frame, each, semantics, registered) for each in found]
        for old in list(self._given)[: max(len(self._given) - max(MOST, len(names)), 0)]:
            self._forget(old)
        return names

    def told(self, sql: str) -> list[str]:
        """Return what the names of rows that functions give stand for, of those in a text: a line for each."""
        names = [name for name in self._told if f"`{name}`" in sql]
        return [line for name in names for line in (f"{name} is {self._told[name]}", *self.told(self._told[name]))]

    def _forget(self, name: str) -> None:
        table = self._given.pop(name)
        self._told.pop(name)
        for view in {name, table.carried}:
            self._spark.catalog.dropTempView(view)

    def _name(self, frame: DataFrame, found: _Found, semantics: str, registered: str) -> str:
        one = {"number": str(found.number), "registered": registered}
        places = map(str, range(len(found.inputs)))
        traced = [self._trace(_frame("function input", frame, **one, input=each), semantics) for each in places]
        meanings = [each.meaning for each in traced]
        name = f"{_PREFIX}{next(_NUMBERS)}"
        plain = _frame("function rows", frame, **one)
        plain.createOrReplaceTempView(name)
        meaning = _meaning(found, semantics, meanings)
        carried = f"{name}_dl" if meaning.tables else name
        if meaning.tables:
            _check(found)
            command = _command(found, meanings, meaning, str(self._spark.conf.get(_ENCODING, "auto")))
            asked = {**one, "sets": str(len(meaning.tables)), "command": command}
            with_sets = _frame("function traced", frame, *(each.rows for each in traced), **asked)
            with_sets.createOrReplaceTempView(carried)
        self._given[name] = StoredTable(
            name=name,
            columns=tuple(plain.columns),
            lineage=tuple(meaning.names()),
            semantics=semantics,
            meaning=meaning.text(),
            check="",
            open=meaning.open,
            fleeting=meaning.fleeting,
            carried=carried,
            by_chance=_is_by_chance(found, plain),
        )
        self._told[name] = f"{found.called} of {' and '.join(each.sql for each in traced)}"
        return name


def _frame(request: str, *frames: DataFrame, **arguments: Any) -> DataFrame:
    with spark_errors():
        found = ask_frame(request, *frames, **arguments)
    assert found is not None
    return found


def _is_by_chance(found: _Found, plain: DataFrame) -> bool:
    return not found.deterministic or found.how == "all_so_far" or bool(unrepeatable_parts(plain))


def _check(found: _Found) -> None:
    if found.kind == "map" and found.how is None:
        raise NotTracedError(
            f"{found.called} says nothing of which rows its rows are made of: it may look at whatever it was given "
            "before, which depends on how rows lie in partitions",
            instead="Mark the function: row_by_row(function), if row n that it gives for a batch is made of row n of "
            "that batch; all_so_far(function), if of all rows that it was given before. Both are in forward_lineage.",
        )
    if found.how == "all_so_far" and found.inputs[0].spread_below:
        raise NotTracedError(
            f"{found.called} over rows that were spread anew further below, which their SQL does not say",
            instead="Let repartition(…), and sortWithinPartitions(…), stand right before it.",
        )


def _meaning(found: _Found, semantics: str, meanings: Sequence[Meaning | None]) -> Meaning:
    """The meaning of the lineage of a function's rows, and the parts of them that may change as base rows go."""
    known = [each for each in meanings if each is not None]
    sources = [StoredTable(found.called, (), tuple(each.names()), semantics, each.text(), "") for each in known]
    names = dict.fromkeys(name for each in known for name in each.names())
    tables = tuple(row_ids_of(name, sources) for name in names)
    if semantics == "data":
        return Meaning(tables, semantics)
    if found.how == "row_by_row":
        fleeting = () if all(each.fleeting == () for each in known) else None
        return Meaning(tables, semantics, open=any(each.open for each in known), fleeting=fleeting)
    for given, means in zip(found.inputs, meanings, strict=True):
        if means is not None:
            _refuse_what_may_come(found, given, means)
    return Meaning(tables, semantics, open=True, fleeting=None)


def _refuse_what_may_come(found: _Found, given: _Input, means: Meaning) -> None:
    """Another row of a group would be given to the function: what keeps it out would have to be in the lineage."""
    decides = given.key_columns if found.kind != "map" else {f"c{place}" for place in range(given.columns)}
    if means.open or means.fleeting is None or decides.intersection(means.fleeting):
        raise NotTracedError(
            f"{found.called} under control semantics, over rows that others may join when base rows are gone: what "
            "keeps these out is not known where a function of Python's looks at them",
            instead='Trace it with semantics="data"; or save what stands below it and register that.',
        )


def _command(found: _Found, meanings: Sequence[Meaning | None], meaning: Meaning, encoding: str) -> bytes:
    """The function that runs in place of the user's, as PySpark pickles functions: with the type of its output."""
    order = [name.lower() for name in meaning.names()]
    tables = tuple(
        () if each is None else tuple(order.index(name.lower()) for name in each.names()) for each in meanings
    )
    names = tuple(f"__dl_{place}" for place in range(len(order)))
    task = FunctionTask(
        command=found.command,
        called=found.called,
        is_pandas="InPandas" in found.called,
        inputs=tuple(each.columns for each in found.inputs),
        outputs=len(found.schema),
        names=names,
        tables=tables,
        encoding=encoding.strip().lower(),
        how=found.how,
        iterates=found.eval_type in _GROUPED_ITER,
    )
    gives = StructType([*found.schema.fields, *(StructField(name, BinaryType()) for name in names)])
    pickler: Any = CloudPickleSerializer  # it has no types
    return bytes(pickler().dumps((_EVERY[found.kind](task), gives)))

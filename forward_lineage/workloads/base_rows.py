"""Expressions over the rows of a table, computed for all of them.

The table's files are read where that will do (`columns` says when); else Spark computes them, into files of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from sqlglot import exp

from forward_lineage.columns.files import has_columns, ids_by_position, ids_in, is_of_folders, written
from forward_lineage.frontend import parse
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.sources import check_repeatable
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import quoted
from forward_lineage.spark.versions import arrow_frame, arrow_schema, arrow_table
from forward_lineage.workloads.columns import Coded, Places, Valued, batches_of, combined, valued
from forward_lineage.workloads.shape import PLACE, column_text, texts_of
from rewrites.tables import BaseTable
from udafs.errors import NotTracedError

Ids = npt.NDArray[np.int64]
_ID = "__dl_row_id"
_PADDED = "__CHAR_VARCHAR_TYPE_STRING"  # where Spark notes CHAR(n)
_OPERATORS: dict[type[exp.Expr], str] = {exp.Mul: "*", exp.Add: "+", exp.Sub: "-"}


@dataclass(frozen=True)
class WantedExpressions:
    """Texts of expressions over a table's columns.

    Attributes:
        coded: those whose different values are asked for.
        valued: those whose numbers are.

    """

    coded: tuple[str, ...]
    valued: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class BaseRows:
    """The computed columns.

    Attributes:
        rows: how many rows the table has.
        ids: of them, ascending; None: they are 0, 1, 2, ….
        coded: by text.
        valued: by text.

    """

    rows: int
    ids: Ids | None
    coded: Mapping[str, Coded]
    valued: Mapping[str, Valued]


def types_of(spark: SparkSession, texts: Sequence[str]) -> dict[str, pa.DataType]:
    """Return the types of expressions over the rows of `PLACE`, which must be there.

    Raises:
        NotTracedError: one depends on more than the row.
        WrongSqlError: Spark's own complaint about one.

    """
    listed = list(dict.fromkeys(texts))
    if not listed:
        return {}
    items = ", ".join(f"{text} AS c{number}" for number, text in enumerate(listed))
    with spark_errors():
        frame = spark.sql(f"SELECT {items} FROM {PLACE}")
    check_repeatable(frame, "a question")
    for column, text in zip(frame.schema.fields, listed, strict=True):
        kind = column.dataType.simpleString()
        if kind.startswith("string ") or _PADDED in column.metadata:  # equal is not what has the same characters
            raise NotTracedError(f"{text} is of type {column.metadata.get(_PADDED, kind)}")
    zone = spark.conf.get("spark.sql.session.timeZone")
    return dict(zip(listed, arrow_schema(frame.schema, zone).types, strict=True))


def base_rows(spark: SparkSession, manifest: Manifest, base: BaseTable, wanted: WantedExpressions) -> BaseRows:
    """Compute expressions for every row of a table, which is `PLACE`, too.

    Raises:
        LineageError: they cannot be numbers, or the table cannot be read.

    """
    types = types_of(spark, [text for each in (*wanted.coded, *wanted.valued) for text in texts_of(each)])
    files = _Files.of(manifest, wanted, types)
    if files is not None:
        with suppress(NotTracedError):  # too many values, sums that Spark might round
            return files.read(spark)
    return _computed(spark, base, wanted, types)


# ---------------------------------------------------------------- from the table's files


@dataclass
class _Files:
    """The parts of a table's files that are read.

    Attributes:
        manifest: the table.
        wanted: what is computed.
        types: of the expressions and their parts.
        names: of the files' columns, by name in lower case.
        spread: columns whose number is read for every row.
        few: columns whose different values are read.

    """

    manifest: Manifest
    wanted: WantedExpressions
    types: Mapping[str, pa.DataType]
    names: Mapping[str, str]
    spread: dict[str, list[Valued]] = field(default_factory=dict)
    few: dict[str, Places] = field(default_factory=dict)

    @classmethod
    def of(cls, manifest: Manifest, wanted: WantedExpressions, types: Mapping[str, pa.DataType]) -> _Files | None:
        """The parts to be read; None if files do not say it all."""
        if not manifest.provider.by_position or not manifest.files or not manifest.near:
            return None
        names = {name.lower(): name for name, _ in manifest.columns}
        if len(names) < len(manifest.columns):  # `a` and `A`: Spark's settings say which is meant
            return None
        self = cls(manifest, wanted, types, names)
        plans = [self._plan(_tree(text), coded=True) for text in wanted.coded]
        plans += [self._plan(_tree(text), coded=False) for text in wanted.valued]
        columns = {*self.spread, *self.few}
        return self if all(plans) and columns and self._as_they_stand(columns) else None

    def _plan(self, tree: exp.Expr, *, coded: bool) -> bool:
        """Note what an expression reads; False where it cannot be computed from files."""
        bare, operator = tree.unnest(), _OPERATORS.get(type(tree.unnest()))
        columns = {column.name.lower() for column in bare.find_all(exp.Column)}
        if not columns <= self.names.keys() or any(column.table for column in bare.find_all(exp.Column)):
            return False
        if len(columns) == 1 and (coded or not isinstance(bare, exp.Column)):
            if pa.types.is_floating(self.types[column_text(next(iter(columns)))]):
                return False  # 0.0 and -0.0 are equal, and what is computed from them need not be
            self.few.setdefault(next(iter(columns)), Places(pa.null(), 0))
            return True
        if isinstance(bare, exp.Column):
            self.spread.setdefault(bare.name.lower(), [])
            return True
        return not coded and operator is not None and all(
            self._plan(side, coded=False) for side in (bare.this, bare.expression)
        )  # fmt: skip

    def _as_they_stand(self, columns: set[str]) -> bool:
        """Whether Arrow reads the columns from every file in the types that Spark does."""
        kinds = {self.names[name]: self.types.get(column_text(name)) for name in columns}
        known = {name: kind for name, kind in kinds.items() if kind is not None}
        if len(known) < len(kinds) or any(is_of_folders(self.manifest, name) for name in kinds):
            return False
        return all(has_columns(file.path, known) for file in self.manifest.files)

    def read(self, spark: SparkSession) -> BaseRows:
        ids, rows = ids_by_position(self.manifest)
        self.few = {name: Places(self._type(name), rows) for name in self.few}
        files = [Path(each.path) for each in sorted(self.manifest.files, key=lambda file: file.offset)]
        names = sorted({self.names[name] for name in (*self.few, *self.spread)})
        for batch in batches_of(files, names):
            for name, places in self.few.items():
                places.add(batch.column(self.names[name]))
            for name, parts in self.spread.items():
                parts.append(valued(batch.column(self.names[name])))
        whole = {name: _joined(parts) for name, parts in self.spread.items()}
        mapped = self._mapped(spark)
        coded = {text: self._coded(text, mapped) for text in self.wanted.coded}
        numbers = {text: self._valued(_tree(text), whole, mapped) for text in self.wanted.valued}
        return BaseRows(rows, ids, coded, numbers)

    def _type(self, name: str) -> pa.DataType:
        return self.types[column_text(name)]

    def _mapped(self, spark: SparkSession) -> dict[str, pa.Array]:
        """The values of expressions over one column for its different values, by their text."""
        texts = {text: next(iter(_columns(text))) for text in self.types if len(_columns(text)) == 1}
        wanted = {text: name for text, name in texts.items() if name in self.few and not _is_plain(text)}
        values = {name: self.few[name].different() for name in dict.fromkeys(wanted.values())}
        return _of_values(spark, values, wanted) if wanted else {}

    def _coded(self, text: str, mapped: Mapping[str, pa.Array]) -> Coded:
        return self.few[next(iter(_columns(text)))].coded(mapped.get(text))

    def _valued(self, tree: exp.Expr, whole: Mapping[str, Valued], mapped: Mapping[str, pa.Array]) -> Valued:
        bare = tree.unnest()
        text = texts_of(bare)[0]
        if text in mapped:
            return self.few[next(iter(_columns(text)))].valued(mapped[text])
        if isinstance(bare, exp.Column):
            return whole[bare.name.lower()]
        left, right = (self._valued(side, whole, mapped) for side in (bare.this, bare.expression))
        return combined(_OPERATORS[type(bare)], left, right, self.types[text])


def _joined(parts: Sequence[Valued]) -> Valued:
    if not parts:
        return Valued(pa.int64(), np.zeros(0, np.int64), None)
    valid = None
    if any(part.valid is not None for part in parts):
        valid = np.concatenate([_valid(part) for part in parts])
    return Valued(parts[0].kind, np.concatenate([part.values for part in parts]), valid)


def _valid(column: Valued) -> npt.NDArray[np.bool_]:
    return np.ones(column.values.size, np.bool_) if column.valid is None else column.valid


def _of_values(spark: SparkSession, values: Mapping[str, pa.Array], texts: Mapping[str, str]) -> dict[str, pa.Array]:
    """Let Spark compute expressions for some values of columns, all in one job.

    Args:
        spark: the session.
        values: of each column.
        texts: expressions, and which column each is over.

    """
    rows = max(map(len, values.values()))
    at = np.arange(rows)
    beside = {name: each.take(pa.array(np.minimum(at, len(each) - 1))) for name, each in values.items() if len(each)}
    if len(beside) < len(values):
        raise NotTracedError("a column without values")
    frame = arrow_frame(spark, pa.table({**beside, "__dl_at": at}))
    with spark_errors():
        items = (f"{text} AS c{number}" for number, text in enumerate(texts))
        table = arrow_table(frame.selectExpr("__dl_at", *items)).sort_by("__dl_at").combine_chunks()
    found = {}
    for number, (text, name) in enumerate(texts.items()):
        column = table.column(f"c{number}").slice(0, len(values[name]))
        found[text] = pa.concat_arrays(column.chunks)
    return found


# ---------------------------------------------------------------- by Spark


def _computed(
    spark: SparkSession, base: BaseTable, wanted: WantedExpressions, types: Mapping[str, pa.DataType]
) -> BaseRows:
    columns = ", ".join(map(quoted, base.columns))
    texts = [*wanted.coded, *wanted.valued]
    items = ", ".join([_ID, *(f"{text} AS c{number}" for number, text in enumerate(texts))])
    relation = f"(SELECT {base.row_id} AS {_ID}, {columns} FROM {base.identified or base.relation})"
    with TemporaryDirectory() as scratch:
        files = written(spark, f"SELECT {items} FROM {relation}", Path(scratch) / "rows")
        ids = ids_in(files)
        known = None if not ids.size or int(ids[-1]) == ids.size - 1 else ids
        places = [Places(types[text], ids.size) for text in wanted.coded]
        parts: list[list[Valued]] = [[] for _ in wanted.valued]
        order = []
        for mine, batch in _batches(files, known):
            order.append(mine)
            for number, each in enumerate(places):
                each.add(batch.column(f"c{number}"), mine)
            for number, part in enumerate(parts, len(places)):
                part.append(valued(batch.column(f"c{number}").cast(types[texts[number]])))
    at = np.concatenate(order) if order else np.zeros(0, np.int64)
    found = {text: _scattered(_joined(part), at) for text, part in zip(wanted.valued, parts, strict=True)}
    coded = {text: each.coded() for text, each in zip(wanted.coded, places, strict=True)}
    return BaseRows(ids.size, known, coded, found)


def _batches(files: Sequence[Path], ids: Ids | None) -> Iterator[tuple[Ids, pa.RecordBatch]]:
    for file in files:
        for batch in batches_of([file], pq.read_schema(file).names):
            mine = batch.column(_ID).to_numpy()
            yield mine if ids is None else np.searchsorted(ids, mine), batch


def _scattered(column: Valued, at: Ids) -> Valued:
    values = np.empty_like(column.values)
    values[at] = column.values
    valid = None
    if column.valid is not None:
        valid = np.empty_like(column.valid)
        valid[at] = column.valid
    return Valued(column.kind, values, valid)


def _tree(text: str) -> exp.Expr:
    tree: exp.Expr = parse(f"SELECT {text} FROM {PLACE}").tree.expressions[0]
    return tree


def _columns(text: str) -> set[str]:
    return {column.name.lower() for column in _tree(text).find_all(exp.Column)}


def _is_plain(text: str) -> bool:
    return isinstance(_tree(text).unnest(), exp.Column)

"""An array as a saved result: rows that queries can read, each made of what the cells of its row were made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StructField,
    StructType,
)

from forward_lineage.arrays.graph import Edge, Node
from forward_lineage.arrays.tracked import TrackedArray
from forward_lineage.relations.box_rows import Interval, Line
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.spark.tables import type_name
from forward_lineage.store.arrays.saving import Written, lineage_of, plain_cells
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.rerun import Rerun, write_rerun
from forward_lineage.store.library.row_files import row_file
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.saving.execution import parquet_schema
from forward_lineage.store.saving.tasks import open_parquet
from udafs.errors import BadArgumentError, NotTracedError

_ROWS = f"rows/part-{0:019}.parquet"
#: Spark's type for cells of each type; the values of unsigned ones go into the next larger.
_SPARK: dict[str, DataType] = {
    **{"|b1": BooleanType(), "|i1": ByteType(), "|u1": ShortType(), "<i2": ShortType(), "<u2": IntegerType()},
    **{"<i4": IntegerType(), "<u4": LongType(), "<i8": LongType()},
    **{"<f2": FloatType(), "<f4": FloatType(), "<f8": DoubleType()},
}


def save_table(
    spark: SparkSession,
    library: Library,
    array: TrackedArray | npt.NDArray[np.generic],
    name: str,
    columns: Sequence[str] | None,
) -> SavedResult:
    """Save the rows of an array as a result. Axis 0 is the rows; of a matrix axis 1 is the columns.

    Args:
        spark: the session, which says how columns are kept.
        library: where it goes; the name is free.
        array: tracked, or plain, which is made of nothing.
        name: of the result.
        columns: names of the columns; ``value``, or ``value0``, ``value1``, … when not given.

    Raises:
        BadArgumentError: the array has no rows and columns, or not as many columns.
        NotTracedError: Spark has no type for its cells, or it was made of a tracked array that is not saved.

    """
    values = plain_cells(array)
    named = _names(values, columns)
    kind = _SPARK.get(values.dtype.str)
    if kind is None:
        raise NotTracedError(
            f"Spark has no type for numbers of {values.dtype}", instead="Convert them: array.astype(float)."
        )
    node = array.node if isinstance(array, TrackedArray) else None
    lineage = lineage_of(None if node is None else _of_rows(node), str(library.folder.absolute()), "data")
    schema = StructType([StructField(each, kind) for each in named])
    arrow = parquet_schema(schema, name, spark)
    rows = len(values)
    with library.writing(name) as folder:
        with open_parquet(folder / _ROWS, arrow) as writer:
            parts = values.reshape(rows, len(named)).T
            arrays = [pa.array(np.ascontiguousarray(part)).cast(arrow.field(at).type) for at, part in enumerate(parts)]
            writer.write_table(pa.table(arrays, schema=arrow))
        write_rerun(folder, Rerun(refused="it was made of an array"))
        written = Written(folder, rows)
        saved = SavedResult(
            name=name,
            version=0,
            sql=f"-- rows of an array of shape {values.shape}",
            semantics="data",
            saved_at=datetime.now(UTC).isoformat(timespec="seconds"),
            columns=tuple((field.name, type_name(field.dataType)) for field in schema.fields),
            schema=json.loads(schema.json()),
            rows=rows,
            row_files=(row_file(folder, _ROWS, 0, rows),),
            tables=written.tables(lineage),
            data=folder.name,
            keeps_numbers_of=0,
            refers=written.refers(lineage),
            stages=written.stages(lineage),
        )
        return library.publish(lambda newest: saved)


def _names(values: npt.NDArray[np.generic], columns: Sequence[str] | None) -> list[str]:
    if values.ndim not in (1, 2) or values.shape[1:] == (0,):
        raise BadArgumentError(
            f"an array of shape {values.shape} has no rows and columns", instead="Give one with one axis or two."
        )
    wide = 1 if values.ndim == 1 else values.shape[1]
    if columns is None:
        return ["value"] if values.ndim == 1 else [f"value{place}" for place in range(wide)]
    if isinstance(columns, str) or len(columns) != wide:
        raise BadArgumentError(f"the array has {wide} columns", instead="Give columns= a list with a name for each.")
    return list(columns)


def _of_rows(node: Node) -> Node:
    """A state of an array with one cell for each row, made of the cells of the row."""
    out, shape = node.shape[:1], node.shape
    if len(shape) == 1:
        return Node(out, [Edge(node, ())], operation="table")
    into: list[Interval] = [(Line(0), Line(0)), (0, shape[1] - 1)]
    relation = BoxRelation.rule(out, shape, into) if shape[0] else BoxRelation.nothing(out, shape)
    return Node(out, [Edge(node, (relation,))], operation="table")

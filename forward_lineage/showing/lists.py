"""Lineage values as lists of ids, in what `toArrow` and `toPandas` returned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forward_lineage.results import LINEAGE_COLUMN
from udafs.errors import BadArgumentError
from udafs.lineage_set import LineageSet


def ids(data: Any) -> Any:
    """Return data with the row ids of `DL` in place of its bytes.

    Args:
        data: what ``toArrow()`` or ``toPandas()`` gave of a result of `lineage.sql`.

    Returns:
        the same kind, the same rows. In an Arrow table each field of `DL` is a ``list<int64>``, in a pandas DataFrame
        each value of `DL` a dict of table → list of int, ascending; NULL stays NULL. Under LINEAGE ON ids stand for
        values: use `lineage.granules(frame)` before.

    Raises:
        BadArgumentError: it is neither, or has no column `DL` of lineage values.
        CorruptLineageError: a value is no lineage value.

    """
    if isinstance(data, pa.Table):
        return _in_table(data)
    if any(each.__module__.startswith("pandas.") and each.__name__ == "DataFrame" for each in type(data).__mro__):
        return _in_pandas(data)
    raise BadArgumentError(
        f"{type(data).__name__} has no lineage to list",
        instead="Give what toArrow() or toPandas() returned; of a DataFrame of Spark use lineage.ids(frame).",
    )


def _in_table(table: pa.Table) -> pa.Table:
    place = table.schema.get_field_index(LINEAGE_COLUMN)
    kind = table.schema.field(place).type if place >= 0 else None
    if kind is None or not pa.types.is_struct(kind) or not all(_is_bytes(field.type) for field in kind):
        raise _no_lineage(table.column_names)
    lineage = table.column(place).combine_chunks()
    names = [field.name for field in kind]
    fields = [_listed(pc.struct_field(lineage, [at])) for at in range(len(names))]
    listed = pa.StructArray.from_arrays(fields, names, mask=lineage.is_null())
    metadata = table.schema.field(place).metadata
    return table.set_column(place, pa.field(LINEAGE_COLUMN, listed.type, metadata=metadata), listed)


def _listed(values: pa.Array) -> pa.ListArray:
    sets = [None if value is None else LineageSet.from_bytes(value).ids() for value in values.to_pylist()]
    ends = np.cumsum([0, *(0 if each is None else each.size for each in sets)])
    flat = np.concatenate([np.empty(0, np.int64), *(each for each in sets if each is not None)])
    missing = pa.array([each is None for each in sets], pa.bool_())
    kind = pa.large_list(pa.int64()) if ends[-1] > np.iinfo(np.int32).max else pa.list_(pa.int64())
    of = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
    offsets = pa.array(ends, pa.int64() if of is pa.LargeListArray else pa.int32())
    return of.from_arrays(offsets, pa.array(flat), mask=missing)


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _in_pandas(data: Any) -> Any:
    if list(data.columns).count(LINEAGE_COLUMN) != 1:
        raise _no_lineage(map(str, data.columns))
    return data.assign(**{LINEAGE_COLUMN: [_of_value(value, data) for value in data[LINEAGE_COLUMN]]})


def _of_value(value: Any, data: Any) -> dict[str, list[int] | None] | None:
    if value is None:
        return None
    fields = value if isinstance(value, Mapping) else value.asDict() if hasattr(value, "asDict") else None
    if fields is None or not all(isinstance(each, bytes | bytearray | None) for each in fields.values()):
        raise _no_lineage(map(str, data.columns))
    return {
        table: None if each is None else LineageSet.from_bytes(each).ids().tolist() for table, each in fields.items()
    }


def _no_lineage(columns: Any) -> BadArgumentError:
    return BadArgumentError(
        f"there is no column DL of lineage values among {', '.join(columns)}",
        instead="Give what toArrow() or toPandas() returned of a result of lineage.sql(…).",
    )

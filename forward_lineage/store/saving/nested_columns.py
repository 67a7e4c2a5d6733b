"""Columns of structs as Parquet takes them from Arrow.

A struct may be NULL where its fields never are: `IF(x > 1, named_struct('a', 1), NULL)`. Arrow gives the fields of such
a row no values, and then will not write fields that are declared never to be NULL. So these may be NULL in files; the
schema of Spark, which stands in the files, too, says what they are.

The two fields of a VARIANT must be declared so, or Spark does not read them: where there is none, they are empty.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def written_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema with the types of its columns as they are written."""
    return pa.schema([each.with_type(_written(each.type)) for each in schema], metadata=schema.metadata)


def as_written(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a column as values of a type of `written_schema`."""
    if _has_variant(kind):
        return _with_empty_variants(array, kind)
    return array if array.type == kind else array.cast(kind)


def _written(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind) and not _is_variant(kind):
        return pa.struct([each.with_type(_written(each.type)).with_nullable(True) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_written(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(
            kind.key_field.with_type(_written(kind.key_type)), kind.item_field.with_type(_written(kind.item_type))
        )
    return kind


def _is_variant(kind: pa.DataType) -> bool:
    return pa.types.is_struct(kind) and any((each.metadata or {}).get(b"variant") == b"true" for each in kind)


def _has_variant(kind: pa.DataType) -> bool:
    return _is_variant(kind) or any(_has_variant(kind.field(place).type) for place in range(kind.num_fields))


def _with_empty_variants(array: pa.Array, kind: pa.DataType) -> pa.Array:
    missing = array.is_null() if array.null_count else None
    if _is_variant(kind):
        parts = [pc.fill_null(part, b"") for part in _fields(array)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=missing)
    if pa.types.is_struct(kind):
        parts = [as_written(part, field.type) for part, field in zip(_fields(array), kind, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=missing)
    whole = pa.concat_arrays([array])  # a part of an array cannot be given another mask
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(whole.offsets, as_written(whole.values, kind.value_type), kind, mask=missing)
    items = as_written(whole.items, kind.item_type)
    return pa.MapArray.from_arrays(whole.offsets, whole.keys, items, kind, mask=missing)


def _fields(array: pa.StructArray) -> list[pa.Array]:
    return [array.field(place) for place in range(array.type.num_fields)]

"""Ids for any unique key (several columns, strings, dates): a materialised dictionary from key values to ids.

The dictionary is a Parquet copy of the key columns, sorted; the id of a key is its position there. A query over the
table looks the id up by a join. Keys that are new at a refresh are appended, so that every key keeps its id for ever.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, DoubleType, FloatType, MapType, StructType, VariantType

from forward_lineage.row_ids.checks import check_unchanged, source_files
from forward_lineage.row_ids.data_files import DataFile, list_files, read_footers, with_offsets
from forward_lineage.row_ids.key import rows
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.position import ROW_ID
from forward_lineage.spark.names import data_source, quoted, quoted_name, string_literal
from forward_lineage.spark.tables import (
    columns_of,
    fingerprint,
    full_name,
    input_files,
    open_relation,
    open_table,
    type_name,
)
from udafs.errors import LineageError

_NOT_A_KEY = (FloatType, DoubleType, ArrayType, MapType, StructType, VariantType)  # no exact or no simple equality
_ID = "__row_id"


def from_columns(
    spark: SparkSession,
    name: str,
    key: Sequence[str],
    folder: Path,
    *,
    last: Manifest | None,
    next_id: int,
    trusted: bool = False,
) -> Manifest:
    """Register a table or view by unique columns.

    Args:
        spark: the session that knows the table.
        name: the table's name.
        key: the columns that together are unique and never NULL.
        folder: a new folder for the dictionary.
        last: the version before; its keys keep their ids.
        next_id: the id of the first new key.
        trusted: take uniqueness on trust.

    Raises:
        LineageError: there is no such table or column, or the columns are no key.

    """
    frame = open_table(spark, name)
    columns = columns_of(frame)
    names = _key_names(frame, name, key)
    if not trusted:
        check_unique_columns(frame, names, name)
    before = _dictionary_before(last, names)
    keys = frame.select(*[F.col(quoted(column)) for column in names])
    if before is not None:
        old = open_relation(spark, data_source("parquet", before))
        keys = keys.join(old, names, "left_anti")
    keys.orderBy(*[quoted(column) for column in names]).write.option("compression", "zstd").parquet(str(folder))
    added, next_id = with_offsets(read_footers(list_files(folder)), next_id)
    kept = _linked(last, folder) if last is not None and before is not None else []
    identity = full_name(spark, name)
    table = identity or quoted_name(name)
    return Manifest(
        name=name,
        provider=Provider.DICTIONARY,
        columns=columns,
        relation=table,
        row_id=_ID,
        identified=_joined(name, table, columns, names, folder),
        key=tuple(names),
        source={
            "table": name,
            "fingerprint": fingerprint(frame),
            "data": str(folder),
            "files": _json(input_files(frame)),
        },
        identity=identity,
        files=tuple(kept + added),
        next_id=next_id,
        trusted=trusted,
    )


def still_holds(spark: SparkSession, manifest: Manifest, key: Sequence[str]) -> bool:
    """Tell whether a dictionary that exists is of this key and in step with the table, as far as files can tell."""
    if manifest.provider is not Provider.DICTIONARY or [part.lower() for part in manifest.key] != [
        part.lower() for part in key
    ]:
        return False
    try:
        check_unchanged(spark, manifest)
    except LineageError:
        return False
    return bool(source_files(manifest))


def check_unique_columns(frame: DataFrame, names: Sequence[str], name: str) -> None:
    """Check in one aggregate pass that columns are never NULL and together unique.

    Raises:
        LineageError: they are not; the message says which, how often, and gives an example.

    """
    key = F.struct(*[F.col(quoted(column)) for column in names])
    some_null = " OR ".join(f"key.{quoted(column)} IS NULL" for column in names)
    groups = frame.select(key.alias("key")).groupBy("key").agg(F.count("*").alias("n"))
    found = groups.agg(
        F.sum(F.when(F.expr(some_null), F.col("n"))).alias("nulls"),
        F.sum(F.when(F.col("n") > 1, F.col("n") - 1)).alias("repeats"),
        F.to_json(F.min(F.when(F.col("n") > 1, F.col("key")))).alias("repeated"),
    ).first()
    assert found is not None
    what = f"key {', '.join(names)} of {name}"
    if found.nulls:
        raise LineageError(f"{what} is NULL in {rows(found.nulls)}", instead="A key has no NULLs; use other columns.")
    if found.repeats:
        raise LineageError(
            f"{what} is not unique: {rows(found.repeats)} repeat a value, e.g. {found.repeated}",
            instead="Add a column, or use order_by= for a copy whose rows are numbered.",
        )


def _key_names(frame: DataFrame, name: str, key: Sequence[str]) -> list[str]:
    fields = {field.name.lower(): field for field in frame.schema.fields}
    for column in key:
        if column.lower() not in fields:
            raise LineageError(
                f"table {name} has no column {column}", instead=f"It has {', '.join(frame.columns[:8])}."
            )
        kind = fields[column.lower()].dataType
        if isinstance(kind, _NOT_A_KEY):
            raise LineageError(
                f"key {column} of {name} is {type_name(kind).upper()}, which cannot be a key",
                instead="Use other columns.",
            )
    return [fields[column.lower()].name for column in key]


def _joined(name: str, table: str, columns: Sequence[tuple[str, str]], key: Sequence[str], folder: Path) -> str:
    """Write the table with its ids as a relation; a row that is not in the dictionary stops the query."""
    new = string_literal(f"table {name} has rows that are not in its dictionary. Call lineage.refresh('{name}').")
    listed = ", ".join(f"t.{quoted(column)}" for column, _ in columns)
    same = " AND ".join(f"t.{quoted(column)} = d.{quoted(column)}" for column in key)
    entries = f"SELECT {', '.join(map(quoted, key))}, {ROW_ID} AS id FROM {data_source('parquet', folder)}"
    return (
        f"(SELECT {listed}, coalesce(d.id, CAST(raise_error({new}) AS BIGINT)) AS {_ID} "
        f"FROM {table} AS t LEFT JOIN ({entries}) AS d ON {same})"
    )


def _dictionary_before(last: Manifest | None, names: Sequence[str]) -> Path | None:
    if last is None or last.provider is not Provider.DICTIONARY or last.key != tuple(names):
        return None
    return Path(last.source["data"])


def _linked(last: Manifest, folder: Path) -> list[DataFile]:
    """Take the files of the dictionary before into the new folder, as hard links: same bytes, same time, same ids."""
    kept = []
    for number, file in enumerate(last.files):
        path = folder / f"kept-{last.version}-{number:05d}.parquet"
        os.link(file.path, path)
        kept.append(DataFile(str(path), file.size, file.modified, file.inode, file.rows, file.footer, file.offset))
    return kept


def _json(files: Sequence[DataFile]) -> list[dict[str, object]]:
    return [file.to_json() for file in files]

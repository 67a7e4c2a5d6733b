"""Ids for any unique key (several columns, strings, dates): a materialised dictionary from key values to ids.

The dictionary is a Parquet copy of the key columns, sorted; the id of a key is its position there. A query over the
table looks the id up by a join. Keys that are new at a refresh are appended, so that every key keeps its id for ever.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, DoubleType, FloatType, MapType, StructType

from forward_lineage.catalog import no_such_column
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.data_files import DataFile, input_files, list_files, read_footers, with_offsets
from forward_lineage.row_ids.formats.watching import logs_read
from forward_lineage.row_ids.key import a_copy, rows
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.sources import check_source, contents
from forward_lineage.row_ids.written_sql import DICTIONARY_ID, with_ids
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import data_source, quoted, quoted_name
from forward_lineage.spark.own_parquet import write_parquet
from forward_lineage.spark.tables import (
    columns_of,
    fingerprint,
    full_name,
    only_row,
    open_relation,
    open_table,
    type_name,
)
from forward_lineage.spark.versions import VARIANTS
from forward_lineage.storage.own_files import check_no_link
from udafs.errors import BadArgumentError, ChangedError, DamagedError

_NOT_A_KEY = (FloatType, DoubleType, ArrayType, MapType, StructType, *VARIANTS)  # no exact or no simple equality


def from_columns(
    spark: SparkSession,
    name: str,
    key: Sequence[str],
    folder: Path,
    *,
    last: Manifest | None,
    next_id: int,
    trusted: bool = False,
    copied: Mapping[str, Any] | None = None,
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
        copied: of a copy of ours, what it was made from, and in `data` where it is; None: Spark knows the name.

    Raises:
        WrongSqlError: there is no such table, or Spark cannot read it.
        BadArgumentError: there is no such column, or the columns are no key.

    """
    copy = None if copied is None else data_source("parquet", copied["data"])
    frame = open_table(spark, name) if copy is None else open_relation(spark, copy)
    names = _key_names(frame, name, key)
    check_source(frame, name, trusted=trusted)
    if not trusted:
        check_unique_columns(frame, names, name)
    before = last if last is not None and _goes_on(last, names) else None
    _write_new_keys(frame, names, folder, None if before is None else before.source["data"])
    added, next_id = with_offsets(read_footers(list_files(folder)), next_id)
    kept = [] if before is None else _linked(before, folder)
    identity = full_name(spark, name) if copy is None else None
    table = copy or identity or quoted_name(name)
    columns = columns_of(frame)
    source = {**_described(frame, name, folder), **({} if trusted else contents(frame))}
    return Manifest(
        name=name,
        provider=Provider.DICTIONARY,
        columns=columns,
        relation=table,
        row_id=DICTIONARY_ID,
        identified=with_ids(name, table, [column for column, _ in columns], names, folder),
        view=None if copy is None else f"SELECT * FROM {copy}",
        key=tuple(names),
        source=source if copied is None else {**source, "copied": dict(copied)},
        identity=identity,
        files=(*kept, *added),
        next_id=next_id,
        trusted=trusted,
    )


def _goes_on(last: Manifest, names: Sequence[str]) -> bool:
    return last.provider is Provider.DICTIONARY and last.key == tuple(names)


def _write_new_keys(frame: DataFrame, names: Sequence[str], folder: Path, before: str | None) -> None:
    """Write the keys, sorted, that are not in the dictionary before."""
    keys = frame.select(*[F.col(quoted(column)) for column in names])
    if before is not None:
        keys = keys.join(open_relation(frame.sparkSession, data_source("parquet", before)), list(names), "left_anti")
    ordered = keys.orderBy(*[quoted(column) for column in names])
    with spark_errors():
        write_parquet(ordered, folder, compression="zstd")


def _described(frame: DataFrame, name: str, folder: Path) -> dict[str, Any]:
    files = input_files(frame)
    logs = logs_read(frame, (file.path for file in files)) if files else {}
    said = {"table": name, "fingerprint": fingerprint(frame), "data": str(folder)}
    return {**said, **({"logs": logs} if logs else {}), "files": [file.to_json() for file in files]}


def still_holds(spark: SparkSession, manifest: Manifest, key: Sequence[str]) -> bool:
    """Tell whether a dictionary that exists is of this key and in step with the table, as far as files can tell."""
    known, wanted = ([column.lower() for column in columns] for columns in (manifest.key, key))
    if manifest.provider is not Provider.DICTIONARY or known != wanted:
        return False
    try:
        check_unchanged(spark, manifest)
    except (ChangedError, DamagedError):
        return False
    return bool(manifest.source_files())


def check_unique_columns(frame: DataFrame, names: Sequence[str], name: str) -> None:
    """Check in one aggregate pass that columns are never NULL and together unique.

    Raises:
        BadArgumentError: they are not; the message says which, how often, and gives an example.

    """
    found = _faults(frame, names)
    what = f"key {', '.join(names)} of {name}"
    if found.nulls:
        raise BadArgumentError(
            f"{what} is NULL in {rows(found.nulls)}",
            instead=f"A key has no NULLs: use other columns. {a_copy(name)}",
        )
    if found.repeats:
        raise BadArgumentError(
            f"{what} is not unique: {rows(found.repeats)} repeat a value, e.g. {found.repeated}",
            instead="Add a column, or use order_by= for a copy whose rows are numbered.",
        )


def _faults(frame: DataFrame, names: Sequence[str]) -> Row:
    key = F.struct(*[F.col(quoted(column)) for column in names])
    some_null = " OR ".join(f"key.{quoted(column)} IS NULL" for column in names)
    groups = frame.select(key.alias("key")).groupBy("key").agg(F.count("*").alias("n"))
    counts = groups.agg(
        F.sum(F.when(F.expr(some_null), F.col("n"))).alias("nulls"),
        F.sum(F.when(F.col("n") > 1, F.col("n") - 1)).alias("repeats"),
        F.to_json(F.min(F.when(F.col("n") > 1, F.col("key")))).alias("repeated"),
    )
    return only_row(counts)


def _key_names(frame: DataFrame, name: str, key: Sequence[str]) -> list[str]:
    fields = {field.name.lower(): field for field in frame.schema.fields}
    for column in key:
        if column.lower() not in fields:
            raise no_such_column(name, column, frame.columns)
        kind = fields[column.lower()].dataType
        if isinstance(kind, _NOT_A_KEY):
            raise BadArgumentError(
                f"key {column} of {name} is {type_name(kind).upper()}, which cannot be a key",
                instead="Use other columns.",
            )
    return [fields[column.lower()].name for column in key]


def _linked(last: Manifest, folder: Path) -> list[DataFile]:
    """Take the files of the dictionary before into the new folder, as hard links: same bytes, same time, same ids."""
    kept = []
    for number, file in enumerate(last.files):
        path = folder / f"kept-{last.version}-{number:05d}.parquet"
        check_no_link(Path(last.source["data"]), file.path.removeprefix(f"{last.source['data']}/"))
        os.link(file.path, path)
        kept.append(replace(file, path=str(path)))
    return kept

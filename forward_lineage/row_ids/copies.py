"""Ids by materialisation: a Parquet copy whose rows stay where they are, in an order that the user chooses.

The paper gives ids in chronological order, because neighbours in time are neighbours in lineage [Zhang 2007, §4.1];
clustered ids make small sets. The copy also serves sources whose rows have no position of their own: CSV, JSON, JDBC,
views.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.row_ids.data_files import DataFile, input_files, list_files, read_footers, with_offsets
from forward_lineage.row_ids.file_locations import Paths, source_of
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.secrets import REDACTED, check_options, check_path, resolved_options, same_options
from forward_lineage.row_ids.sources import check_rows
from forward_lineage.row_ids.written_sql import ROW_ID
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import data_source, glob_literal
from forward_lineage.spark.own_parquet import write_parquet
from forward_lineage.spark.paths import local_path
from forward_lineage.spark.plan_facts import collections, unrepeatable_parts, unwatched_sources
from forward_lineage.spark.tables import columns_of, fingerprint, open_relation, open_table, refuse_file_metadata
from udafs.errors import BadArgumentError, ChangedError, NotTracedError
from udafs.requests import ask, resolved_once


@dataclass(frozen=True)
class Source:
    """Rows to be copied.

    Attributes:
        frame: the rows.
        what: where they come from, as JSON-able data.
        files: the files they are read from, as far as Spark knows and they are local.

    """

    frame: DataFrame
    what: dict[str, Any]
    files: tuple[DataFile, ...]

    @property
    def can_be_told(self) -> bool:
        """Whether equal files mean equal rows: nothing else is read, and nothing left to chance or to the clock."""
        return not (unwatched_sources(self.frame) or unrepeatable_parts(self.frame) or collections(self.frame))

    def described(self) -> dict[str, Any]:
        """Return what the manifest keeps, to tell later whether the source has changed."""
        return {
            **self.what,
            "fingerprint": fingerprint(self.frame),
            "files": [file.to_json() for file in self.files],
        }


def open_source(
    spark: SparkSession,
    name: str,
    *,
    source: DataFrame | str | None,
    path: Paths | None,
    file_format: str,
    options: dict[str, Any],
) -> Source:
    """Open what is to be copied: a DataFrame, a table, files, or the table of this name.

    Raises:
        WrongSqlError: there is no such table, or Spark cannot read what is there.
        FailedQueryError: the same of files.
        BadArgumentError: an option or the path holds a secret.
        NotTracedError: a stream, or a table that carries lineage.

    """
    if isinstance(source, DataFrame):
        check_rows(source, "the DataFrame")
        return Source(source, {"dataframe": True}, input_files(source))
    if path is not None:
        return _open_files(spark, path, file_format, options)
    table = source or name
    frame = open_table(spark, table)
    check_rows(frame, table)
    return Source(frame, {"table": table}, input_files(frame))


def _open_files(spark: SparkSession, paths: Paths, file_format: str, options: dict[str, Any]) -> Source:
    if not isinstance(paths, str | Path):
        return _open_several(spark, paths, file_format, options)
    path = str(paths)
    check_path(path)
    kept = check_options(options)
    place = path if "://" in path else str(local_path(path).resolve())
    given = resolved_options(options)
    # A name that is there means that file, whatever other names it would match.
    named = glob_literal(place) if os.path.lexists(place) else place
    with spark_errors(instead="Correct path=, format= or options=: Spark reads files with what they say."):
        frame = spark.read.format(file_format).options(**given).load(named)
    return Source(frame, {"path": place, "format": file_format, "options": kept}, input_files(frame))


def _open_several(spark: SparkSession, paths: Paths, file_format: str, options: dict[str, Any]) -> Source:
    kept, given = check_options(options), resolved_options(options)
    where = source_of(spark, paths)
    named = where["paths"] if "paths" in where else [glob_literal(where["path"])]
    with spark_errors(instead="Correct path=, format= or options=: Spark reads files with what they say."):
        frame = spark.read.format(file_format).options(**given).load(named)
    return Source(frame, {**where, "format": file_format, "options": kept}, input_files(frame))


def is_copy_of(manifest: Manifest, source: Source, order_by: Sequence[str]) -> bool:
    """Tell whether a copy that exists has these rows in this order: the same files, untouched, read the same way."""
    if not manifest.copied_from or manifest.order_by != tuple(order_by) or not source.files:
        return False
    if not source.can_be_told:
        return False
    wanted, known = source.described(), manifest.copied_from
    alike = all(wanted[key] == known.get(key) for key in wanted if key != "options")
    read_alike = same_options(wanted.get("options", {}), known.get("options", {}))
    return alike and read_alike and Path(known["data"]).is_dir()


def opened_again(spark: SparkSession, manifest: Manifest) -> Source:
    """Open what a copy was made from once more, with the options that its manifest remembers.

    Raises:
        ChangedError: it was a DataFrame, or a secret among the options is not known any more.
        LineageError: as for `open_source`.

    """
    known: Mapping[str, Any] = manifest.copied_from
    options = dict(known.get("options", {}))
    if not manifest.can_be_copied_again or REDACTED in options.values():
        what = "a DataFrame" if "dataframe" in known else "what is not known any more: a secret, or a view of its name"
        raise ChangedError(
            f"table {manifest.name} is a copy of {what}, so it cannot be copied again by itself",
            instead=f'Register "{manifest.name}" again, with the same key= or order_by=.',
        )
    if "table" in known:
        return open_source(spark, manifest.name, source=known["table"], path=None, file_format="", options={})
    path: Paths = list(known["paths"]) if "paths" in known else known["path"]
    return open_source(spark, manifest.name, source=None, path=path, file_format=known["format"], options=options)


def copy_rows(source: Source, order_by: Sequence[str], folder: Path, name: str) -> Manifest:
    """Write the rows to `folder`, sorted, and number them from 0.

    Args:
        source: the rows.
        order_by: columns or expressions, each with ASC or DESC if need be; empty: as they come.
        folder: a new folder.
        name: the table's name.

    Raises:
        WrongSqlError: Spark cannot sort the rows.
        FailedQueryError: Spark cannot compute or write the rows.
        NotTracedError: a column that Parquet does not keep as it is.

    """
    columns = columns_of(source.frame)
    _refuse_odd_columns(columns, name)
    refuse_file_metadata((column for column, _ in columns), name)
    ordered = sorted_rows(source.frame, order_by)
    with spark_errors():
        write_parquet(ordered, folder, compression="zstd")
    relation = data_source("parquet", folder)
    _check_kept(columns, columns_of(open_relation(source.frame.sparkSession, relation)), name)
    files, next_id = with_offsets(read_footers(list_files(folder)))
    return Manifest(
        name=name,
        provider=Provider.COPY,
        columns=columns,
        relation=relation,
        row_id=ROW_ID,
        view=f"SELECT * FROM {relation}",
        order_by=tuple(order_by),
        source={**source.described(), "data": str(folder)},
        files=tuple(files),
        next_id=next_id,
    )


def sorted_rows(frame: DataFrame, order_by: Sequence[str]) -> DataFrame:
    """Sort rows by SQL sort keys.

    Raises:
        WrongSqlError: Spark's own complaint about a key.

    """
    if not order_by:
        return frame
    view = f"__forward_lineage_{uuid.uuid4().hex}"
    sql = f"SELECT * FROM {view} ORDER BY {', '.join(order_by)}"
    frame.createOrReplaceTempView(view)
    try:
        with spark_errors(instead="Correct order_by=: columns of the rows or SQL over them, each with ASC or DESC."):
            ordered = resolved_once(frame.sparkSession.sql(sql))
        refuse_more_than_order(ordered, order_by)
        return ordered
    finally:
        frame.sparkSession.catalog.dropTempView(view)


def refuse_more_than_order(ordered: DataFrame, order_by: Sequence[str]) -> None:
    """Text in ORDER BY must end there: LIMIT or OFFSET behind it would leave rows out.

    Raises:
        BadArgumentError: it does not.

    """
    if ask(ordered.sparkSession, "last operator", ordered) != "Sort":
        raise BadArgumentError(
            f"order_by= is more than an order: {', '.join(order_by)}",
            instead="Give columns of the rows or SQL over them, each with ASC or DESC.",
        )


def _refuse_odd_columns(columns: Sequence[tuple[str, str]], name: str) -> None:
    seen: set[str] = set()
    for column, kind in columns:
        if column.lower() in seen:
            raise NotTracedError(f"{name} has two columns called {column}", instead="Give one of them another name.")
        if kind == "void":
            raise NotTracedError(f"column {column} of {name} has no type, only NULLs", instead="Cast it to a type.")
        seen.add(column.lower())


def _check_kept(columns: Sequence[tuple[str, str]], written: Sequence[tuple[str, str]], name: str) -> None:
    for (column, kind), (_, kept) in zip(columns, written, strict=True):
        if kind != kept:
            raise NotTracedError(
                f"column {column} of {name} is {kind}, and Parquet keeps it as {kept}",
                instead="Cast it to what Parquet can keep, in a view, and register that.",
            )

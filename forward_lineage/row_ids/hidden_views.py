"""Names of registered files, resolved once a registration instead of at every query.

Spark resolves parquet.`path` anew wherever it stands, in a job that reads footers, about 50 ms a table. A view that is
kept as text does not help. So registering makes temporary views whose plans are kept: the name that queries use;
`__dl_rows_<name>`, the same under a name that no CTE hides; `__dl_ids_<name>`, the rows with their ids. (A view does
not give `_metadata`, which ids by position need.) All read the files that were there when they were made, so they are
kept only if these are the registered ones.

Of a saved result the name alone is made: many are never read again. The first query that is traced through it makes
the others.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace

from pyspark.sql import SparkSession

from forward_lineage.row_ids.checks import check_files
from forward_lineage.row_ids.data_files import input_files, of_far
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.parquet_function import by_kernel
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.far_files import files_known
from forward_lineage.spark.names import quoted, quoted_name
from forward_lineage.spark.settings import configured
from forward_lineage.spark.tables import last_part, open_relation, view_text
from rewrites.tables import BaseTable
from udafs.errors import ChangedError, DamagedError, LineageError
from udafs.requests import ask

_ROW_ID = "__dl_id"
_LISTED_HERE = "spark.sql.sources.parallelPartitionDiscovery.threshold"  # how many places, at most
_NO_STREAM_WROTE_THEM = "spark.sql.streaming.fileStreamSink.ignoreMetadata"


def make_views(spark: SparkSession, manifest: Manifest, table: BaseTable) -> None:
    """Give the session the name of a table whose registration has a view.

    Args:
        spark: a session with the kernel attached.
        manifest: the registration; nothing is done if it has no view.
        table: what the rules know about it.

    Raises:
        WrongSqlError: Spark cannot read the files.
        FailedQueryError: the same, said while it looks into them.

    """
    if manifest.view is None:
        return
    rows, ids = _hidden_names(manifest)
    text = _with_ids(table)
    told = spark_errors(instead=f"Look at the files of {manifest.name}, and register it again.")
    if manifest.provider is Provider.DICTIONARY:  # reads the dictionary beside its files
        with told:
            spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {quoted_name(manifest.name)} AS {manifest.view}")
        return
    with told, files_by_name(spark, manifest):
        ask(spark, "make view", name=ids, query=_with_ids(table, by_kernel), text=text)
        if not _reads_registered_files(spark, manifest, ids):  # what is wrong is said when a query is traced
            drop_hidden_views(spark, manifest)
            if not manifest.gives_name or manifest.has_deleted_rows:
                return
            spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {quoted_name(manifest.name)} AS {manifest.view}")
            return
        # Not from the view with the ids: a scan that was resolved with `_metadata` always fills it in.
        query = _rows_that_are_left(table) if manifest.has_deleted_rows else _rows_by_kernel(manifest)
        ask(spark, "make view", name=rows, query=query, text=manifest.view)
        if not manifest.gives_name:
            return
        name, query = quoted_name(manifest.name), f"SELECT * FROM {rows}"
        ask(spark, "make view", name=name, query=query, text=manifest.view)


def make_name(spark: SparkSession, manifest: Manifest) -> None:
    """Give the session the name of a saved result, whose files nobody changes.

    Args:
        spark: a session with the kernel attached.
        manifest: the registration of its rows.

    Raises:
        LineageError: as for `make_views`.

    """
    with spark_errors(instead=f"Look at the files of {manifest.name}, and save it again."):
        ask(spark, "make view", name=quoted(manifest.name), query=_rows_by_kernel(manifest), text=manifest.view)


def files_by_name(spark: SparkSession, *manifests: Manifest) -> AbstractContextManager[None]:
    """Let Spark look here at local files that are named one by one, as those of a table with a log.

    Else each is a task. In a store that is far away each takes requests, and tasks make them at the same time.

    Spark also takes `/{a.parquet,b.parquet}` for a folder that a stream may have written. It would look for the log of
    that stream, find no such folder, and warn with a stack trace.
    """
    named = [manifest for manifest in manifests if manifest.provider.by_format]
    settings = {_NO_STREAM_WROTE_THEM: "true"} if named else {}
    if named and all(manifest.near for manifest in named):
        settings[_LISTED_HERE] = str(max(len(manifest.files) for manifest in named) + 1)
    return configured(spark, settings)


def resolved(spark: SparkSession, manifest: Manifest, table: BaseTable) -> BaseTable:
    """Return a base table that is read from the hidden views, which are made if they are not there.

    Args:
        spark: a session with the kernel attached.
        manifest: the registration.
        table: the rules' facts about it. It is returned unchanged if registering makes no views, if the name means
            something else now, or if its files are not the registered ones.

    """
    if manifest.view is None or manifest.provider is Provider.DICTIONARY:
        return table
    rows, ids = _hidden_names(manifest)
    text = _with_ids(table)
    if view_text(spark, ids) != text:
        if manifest.gives_name and view_text(spark, manifest.name) != manifest.view:
            return table
        with suppress(LineageError):  # the check before the query says it
            make_views(spark, manifest, table)
        if view_text(spark, ids) != text:
            return table
    return replace(table, relation=rows, identified=ids, row_id=_ROW_ID)


def views_asked_for(manifest: Manifest) -> tuple[str, ...]:
    """Return the views whose texts say whether a table is read as before; see `resolved`, and `checks`."""
    if manifest.view is None:
        return ()
    names = (manifest.name,) if manifest.gives_name else ()
    return (*names, *([] if manifest.provider is Provider.DICTIONARY else [_hidden_names(manifest)[1]]))


def drop_hidden_views(spark: SparkSession, manifest: Manifest) -> None:
    """Take the hidden views of a table out of the session, if they are there."""
    for name in _hidden_names(manifest):
        spark.catalog.dropTempView(last_part(name))


def _hidden_names(manifest: Manifest) -> tuple[str, str]:
    name = last_part(manifest.name) if manifest.gives_name else manifest.identity
    return quoted(f"__dl_rows_{name}"), quoted(f"__dl_ids_{name}")


def _with_ids(table: BaseTable, read: Callable[[str], str] = str) -> str:
    """The text names the manifest, if ids depend on one: the view of another registration has another text."""
    columns = ", ".join(map(quoted, table.columns))
    return f"SELECT {columns}, {table.row_id} AS {_ROW_ID} FROM {read(table.identified or table.relation)}"


def _rows_that_are_left(table: BaseTable) -> str:
    """Where positions say which rows are gone, the manifest has to be asked for every row."""
    return f"SELECT {', '.join(map(quoted, table.columns))} FROM {table.identified}"


def _rows_by_kernel(manifest: Manifest) -> str:
    """The view, the files at its end read by the kernel."""
    view = str(manifest.view)
    if not view.endswith(f" {manifest.relation}"):
        return view
    return view.removesuffix(manifest.relation) + by_kernel(manifest.relation)


def _reads_registered_files(spark: SparkSession, manifest: Manifest, view: str) -> bool:
    if not manifest.files:  # taken on trust
        return True
    try:
        frame = open_relation(spark, view)
        if manifest.near:
            check_files(manifest, input_files(frame))
        else:  # it was listed this very moment
            check_files(manifest, [of_far(file) for file in files_known(frame)])
    except (ChangedError, DamagedError):
        return False
    return True

"""Ids from a table's own format: what its log says is registered, one version of it, and compared before each query.

The ids are the format's promise: a row keeps its id when it is moved or changed, and no other row gets it. Kept here is
the registered version. Another version is a change, whatever is in it: a row that was changed keeps its id.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.row_ids.data_files import DataFile, first_missing, stat_files
from forward_lineage.row_ids.formats import delta, iceberg
from forward_lineage.row_ids.formats.log_files import located
from forward_lineage.row_ids.formats.reading import files_and_parts, with_rows
from forward_lineage.row_ids.formats.snapshot import Snapshot, damaged, other_reader
from forward_lineage.row_ids.formats.versions import FORMATS, LOGS, Table, broken, taken_away
from forward_lineage.row_ids.hidden_views import files_by_name
from forward_lineage.row_ids.key import check_unique_ids
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.sources import refuse_lineage
from forward_lineage.row_ids.written_sql import DICTIONARY_ID, rows_of_parts
from forward_lineage.spark import far_files
from forward_lineage.spark.names import quoted_name
from forward_lineage.spark.paths import is_far
from forward_lineage.spark.tables import columns_of, only_row
from forward_lineage.storage.sealed import seal
from udafs.attach import is_remote
from udafs.errors import BadArgumentError, NotTracedError


def recognised(spark: SparkSession, place: str) -> Table | None:
    """Tell by its log whether a path is that of a table of a format that gives ids.

    Args:
        spark: the session.
        place: an absolute path, or an address.

    Raises:
        NotTracedError: it is one, and the session is a client of Spark Connect.
        SetupError: that cannot be told.

    """
    if is_remote(spark):
        _refuse_behind_a_server(spark, place)
        return None
    if is_far(place) and place.endswith(".parquet"):  # one file: it costs no request to know
        return None
    path = located(spark, place)
    return next((Table(provider, path) for provider, log in LOGS.items() if log.is_table(path)), None)


def _refuse_behind_a_server(spark: SparkSession, place: str) -> None:
    root = place if is_far(place) else f"file:{place}"
    for kind, log in ((delta.KIND, delta.LOG), (iceberg.KIND, "metadata/version-hint.text")):
        if not root.endswith(".parquet") and far_files.is_there(spark, f"{root.rstrip('/')}/{log}"):
            raise NotTracedError(
                f"{place} is a table of {kind}, with files of other versions in its folder, and no client of Spark "
                "Connect reads logs",
                instead="Give the name that Spark knows the table by, and key=.",
            )


def of_format(spark: SparkSession, place: str, file_format: str) -> Table:
    """Return the table of a format that a user named.

    Raises:
        BadArgumentError: there is none.
        NotTracedError: see `recognised`.

    """
    found = recognised(spark, place)
    if found is None or found.provider is not FORMATS[file_format.lower()]:
        raise BadArgumentError(f"there is no {file_format} table in {place}", instead="Correct path= or format=.")
    return found


def from_log(
    spark: SparkSession,
    name: str,
    table: Table,
    last: Manifest | None = None,
    *,
    trusted: bool,
    version: int | None = None,
) -> Manifest:
    """Register a version of a table.

    Args:
        spark: any session.
        name: what queries will call it.
        table: which one.
        last: the version before; ids of the same table mean the same rows where its log says that they were kept.
        trusted: take it on trust that no two rows have the same id written down.
        version: which one, for good; None: the current one.

    Raises:
        LineageError: see `delta.read`, `iceberg.read` and `reading.files_and_parts`.

    """
    snapshot = LOGS[table.provider].read(table.place, version)
    there = stat_files((file.path for file in snapshot.files), spark)
    if version is not None:
        _check_not_taken_away(name, snapshot, there)
    snapshot = with_rows(snapshot)
    files, parts = files_and_parts(spark, snapshot, there)
    refuse_lineage(snapshot.columns, name)
    paths = [file.path for file in files]
    since = (
        last.key[2]
        if last is not None and version is None and broken(last, table, snapshot) is None
        else snapshot.version
    )
    manifest = Manifest(
        name=name,
        provider=table.provider,
        columns=snapshot.columns,
        relation=table.identity or quoted_name(name),
        identity=table.identity,
        row_id=DICTIONARY_ID,
        identified=f"({rows_of_parts(snapshot.columns, paths, parts, row_id=DICTIONARY_ID)})",
        view=rows_of_parts(snapshot.columns, paths, parts),
        key=(snapshot.table_id, snapshot.location, since),
        source={
            "path": str(table.place),
            "format": table.provider.value,
            "version": snapshot.version,
            "log": snapshot.log,
            "log_digest": snapshot.digest,
            "next_id": snapshot.next_id,
            "changed": [file.changed for file in snapshot.files],
            "parts": [part.to_data() for part in parts],
            **({"pinned": True} if version is not None else {}),
        },
        files=files,
        next_id=max(snapshot.next_id, last.next_id if last is not None else 0),
        retired=last.retired if last is not None else (),
        trusted=trusted,
    )
    _check_rows(spark, manifest, snapshot)
    return manifest


def _check_rows(spark: SparkSession, manifest: Manifest, snapshot: Snapshot) -> None:
    """The log describes the rows that Spark reads; and ids that writers wrote down are each one row's."""
    with TemporaryDirectory() as scratch:  # where the kernel looks the files' first ids up; the manifest comes later
        path = Path(scratch) / "1.json"
        path.write_bytes(seal(manifest.to_data()))
        with files_by_name(spark, manifest):
            identified = spark.sql(f"SELECT * FROM {manifest.base_table(path).identified}")
        found = columns_of(identified.drop(DICTIONARY_ID))
        _check_types(snapshot, found, manifest.columns)
        if any(part["row_id"] is not None for part in manifest.source["parts"]) and not manifest.trusted:
            _check_written_ids(identified.selectExpr(f"{DICTIONARY_ID} AS id"), manifest, snapshot)


def _check_types(snapshot: Snapshot, found: tuple[tuple[str, str], ...], columns: tuple[tuple[str, str], ...]) -> None:
    if odd := next(((a, b) for a, b in zip(found, columns, strict=True) if a != b), None):
        (_, read), (column, said) = odd
        raise other_reader(snapshot.what, f"has a column {column} of type {said}, as which Spark reads {read}")


def _check_written_ids(ids: DataFrame, manifest: Manifest, snapshot: Snapshot) -> None:
    """Ids that writers wrote down for rows that they moved: in one pass over all ids, each is one row's."""
    try:
        check_unique_ids(ids, "id", f"row id of {manifest.name}")
    except BadArgumentError as error:
        raise damaged(snapshot.kind, snapshot.log, f"leads to ids that are none: {error.what}") from None
    most = only_row(ids.agg({"id": "max"}))[0]
    if most is not None and most >= snapshot.next_id:
        raise damaged(
            snapshot.kind, snapshot.log, f"says that ids go up to {snapshot.next_id - 1}, and there is {most}"
        )


def _check_not_taken_away(name: str, snapshot: Snapshot, there: Iterable[DataFile]) -> None:
    """Check that the files of an earlier version are there; its log speaks of them as long as it is there itself."""
    if gone := first_missing((file.path for file in snapshot.files), there):
        raise taken_away(name, f"{gone} is missing")

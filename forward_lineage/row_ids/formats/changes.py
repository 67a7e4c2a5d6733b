"""The rows of a table with a log that were written, or went, between two registered versions of it.

A file that both versions have, has the same rows in both, if the same of them are deleted. In the others a row is
unchanged if its id has the number that it had. Of Delta that is the row commit version, of Iceberg the last updated
sequence number. (Greater numbers alone do not tell: a table that is restored to an earlier version has the earlier
numbers, too.) A row that went is one of a file that only the earlier version has so, and its id is in no file that only
the later one has so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from forward_lineage.row_ids.data_files import first_missing, stat_files
from forward_lineage.row_ids.hidden_views import files_by_name
from forward_lineage.row_ids.manifest import THIS_MANIFEST, Manifest
from forward_lineage.row_ids.written_sql import Part
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import quoted, string_literal
from udafs.errors import ChangedError, NotTracedError

GONE, CAME, DIFFERS = "gone", "came", "differs"
_ID = "row_id"


def changed_rows(spark: SparkSession, then: tuple[Manifest, Path], now: tuple[Manifest, Path]) -> DataFrame:
    """Return the ids of rows that were written or went.

    Args:
        spark: a session with the kernel.
        then: an earlier registration of a table, and where its manifest is.
        now: the current one.

    Returns:
        ``row_id BIGINT, change STRING``: ``came``, ``differs`` of a row that was changed, or ``gone`` of one that went.

    Raises:
        NotTracedError: the table's format does not say when rows were changed.
        ChangedError: ids of the two versions do not mean the same rows, or files of the earlier one are gone.

    """
    old, new = (_files(each) for each, _ in (then, now))
    different = {path for path, deleted in old.items() if new.get(path) != deleted}
    _check_comparable(spark, then[0], now[0], different)
    came = _rows(now, {path for path, deleted in new.items() if old.get(path) != deleted})
    went = _rows(then, different)
    kind = f"CASE WHEN b.{_ID} IS NULL THEN '{CAME}' ELSE '{DIFFERS}' END"
    both = f"({came}) AS a LEFT JOIN ({went}) AS b ON a.{_ID} = b.{_ID}"
    written = f"SELECT a.{_ID}, {kind} AS change FROM {both} WHERE b.n IS NULL OR a.n != b.n"
    gone = f"SELECT {_ID}, '{GONE}' AS change FROM ({went}) AS b LEFT ANTI JOIN ({came}) AS a USING ({_ID})"
    with spark_errors(), files_by_name(spark, then[0], now[0]):
        return spark.sql(f"{written} UNION ALL {gone}")


def _files(version: Manifest) -> dict[str, bytes]:
    """Return the files of a version, each with those of its rows that are deleted."""
    found = {file.path: b"" for file in version.files}
    for part in map(Part.of_data, version.source["parts"]):
        deleted = part.deleted_ids().ids()
        for file in (version.files[at] for at in part.files if deleted.size):
            first, end = np.searchsorted(deleted, [file.offset, file.offset + file.rows])
            found[file.path] = deleted[first:end].tobytes()
    return found


def _check_comparable(spark: SparkSession, before: Manifest, after: Manifest, gone: Iterable[str]) -> None:
    if not (before.provider.by_format and after.provider.by_format):
        raise NotTracedError(
            f"when rows of {after.name} were changed is not known: ids by {after.provider} do not say it",
            instead="Register a Delta table that tracks rows, or an Iceberg table of version 3.",
        )
    if before.key != after.key:
        raise ChangedError(
            f"ids of {after.name} in version {before.version} do not mean the same rows now",
            instead="Name a later version.",
        )
    needed = sorted(gone)
    if missing := first_missing(needed, stat_files(needed, spark)):
        raise ChangedError(
            f"which rows of {after.name} went since version {before.version} cannot be told: {missing} is gone",
            instead="Name a later version.",
        )


def _rows(version: tuple[Manifest, Path], chosen: Iterable[str]) -> str:
    """Write the rows in some files as a query: their ids, and as `n` the commit that changed them last."""
    manifest, path = version
    files, among = [file.path for file in manifest.files], set(chosen)
    changed: Sequence[int] = manifest.source["changed"]
    queries = [f"SELECT CAST(NULL AS BIGINT) AS {_ID}, CAST(NULL AS BIGINT) AS n WHERE false"]
    for part in map(Part.of_data, manifest.source["parts"]):
        at_once: dict[int, list[str]] = {}
        for at in part.files:
            if files[at] in among:
                at_once.setdefault(changed[at], []).append(files[at])
        for number, names in at_once.items():
            n = f"coalesce({quoted(part.row_changed)}, {number})" if part.row_changed is not None else str(number)
            queries.append(f"SELECT {part.id_of_row()} AS {_ID}, CAST({n} AS BIGINT) AS n FROM {part.relation(names)}")
    return " UNION ALL ".join(queries).replace(THIS_MANIFEST, string_literal(str(path)))

"""Earlier versions of a table with a log, each a table of its own that never changes.

Its rows have the ids that the format gave them then. So an id of ``orders_as_of_3`` is the row that has this id in
``orders``, with the values that it had in version 3.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from forward_lineage.row_ids.formats import delta, iceberg
from forward_lineage.row_ids.formats.versions import Table
from forward_lineage.row_ids.manifest import Provider
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import split_name, string_literal
from udafs.errors import BadArgumentError, NotTracedError

_COMMIT_INFO = '{"commitInfo"'


def version_of(spark: SparkSession, table: Table, value: str, *, is_time: bool) -> int:
    """Return the version that a literal of VERSION AS OF or TIMESTAMP AS OF means.

    Args:
        spark: the session, whose time zone times are in.
        table: whose log says it.
        value: the literal.
        is_time: whether it is a time.

    Raises:
        BadArgumentError: it means none.
        NotTracedError: it is a branch.

    """
    if is_time:
        return _at(spark, table, value)
    if value.isdecimal():
        return int(value)
    refs = {} if table.provider is Provider.DELTA else iceberg.metadata_of(table.place).get("refs", {})
    if value not in refs:
        raise BadArgumentError(f"there is no version {value}", instead="Give its number, or the name of a tag.")
    if refs[value]["type"] != "tag":
        raise NotTracedError(
            f"{value} is a branch, which has other versions later", instead="Give the number of a snapshot in it."
        )
    return int(refs[value]["snapshot-id"])


def _at(spark: SparkSession, table: Table, value: str) -> int:
    with spark_errors(instead="Correct the time."):
        asked = spark.sql(f"SELECT unix_millis(CAST({string_literal(value)} AS TIMESTAMP))").collect()[0][0]
    if asked is None:
        raise BadArgumentError(f"{value} is no time", instead="Write it as in '2025-01-31 08:00:00'.")
    is_delta = table.provider is Provider.DELTA
    times = _commit_times(table) if is_delta else _snapshot_times(table)
    known = [(time, version) for time, version in times if time <= asked]
    if not known:
        first = _written(times[0][0]) if times else "any"
        raise BadArgumentError(f"the table had no version at {value}: its log begins at {first}", instead="Ask later.")
    if is_delta and asked > times[-1][0]:
        raise BadArgumentError(
            f"{value} is after the last version, of {_written(times[-1][0])}, which Delta refuses",
            instead="Ask for that, or read the table as it is.",
        )
    return known[-1][1]


def _commit_times(table: Table) -> list[tuple[int, int]]:
    """Milliseconds of each commit: those that it says itself, else its file's, each after the one before."""
    found: list[tuple[int, int]] = []
    for version in sorted(delta.commits(table.place)):
        path = delta.commit_file(table.place, version)
        with path.open(encoding="utf-8") as lines:
            first = lines.readline()
        said = json.loads(first)["commitInfo"].get("inCommitTimestamp") if first.startswith(_COMMIT_INFO) else None
        time = path.stat().st_mtime_ns // 1_000_000 if said is None else int(said)
        found.append((time if not found else max(time, found[-1][0] + 1), version))
    return found


def _snapshot_times(table: Table) -> list[tuple[int, int]]:
    log = iceberg.metadata_of(table.place).get("snapshot-log", ())
    return [(int(each["timestamp-ms"]), int(each["snapshot-id"])) for each in log]


def _written(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")


def name_of_version(name: str, version: int) -> str:
    """Return what a version of a table is registered as: ``orders_as_of_3``."""
    parts = (re.sub(r"\W", "_", part) for part in split_name(name, keep_case=True))
    return f"{'_'.join(parts)}_as_of_{version}"

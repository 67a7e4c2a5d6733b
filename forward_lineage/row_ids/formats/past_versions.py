"""Earlier versions of a table with a log, each a table of its own that never changes.

Its rows have the ids that the format gave them then. So an id of ``orders_as_of_3`` is the row that has this id in
``orders``, with the values that it had in version 3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from forward_lineage.row_ids.formats import delta, iceberg
from forward_lineage.row_ids.formats.log_files import fetch, first_line, modified
from forward_lineage.row_ids.formats.versions import Table
from forward_lineage.row_ids.manifest import Provider
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import split_name, string_literal
from udafs.errors import BadArgumentError, ChangedError, NotTracedError

_COMMIT_INFO = b'{"commitInfo"'
_LISTED = 3  # versions that a message names, the newest first


@dataclass(frozen=True)
class _Past:
    """The versions of a table, asked for in a session.

    Attributes:
        spark: the session, whose time zone times are in.
        name: what messages call the table.
        table: whose log says which there are.

    """

    spark: SparkSession
    name: str
    table: Table

    @property
    def is_delta(self) -> bool:
        """Whether versions count from 0; those of Iceberg are numbers of snapshots, in no order."""
        return self.table.provider is Provider.DELTA

    def numbered(self, value: str) -> int:
        """Return a version that its number names."""
        number = int(value)
        known = set(delta.commits(self.table.place)) if self.is_delta else {each for _, each in self.all()}
        if number not in known:
            what = "version" if self.is_delta else "snapshot"
            raise ChangedError(f"{self.name} has no {what} {value}; {self._newest()}", instead=self._write_newest())
        return number

    def tagged(self, value: str) -> int:
        """Return a version that has a name."""
        refs = {} if self.is_delta else iceberg.metadata_of(self.table.place).get("refs", {})
        if value not in refs:
            tags = ", ".join(sorted(name for name, ref in refs.items() if ref["type"] == "tag"))
            what = "versions have numbers in Delta" if self.is_delta else f"its tags: {tags or 'none'}"
            said = f"{self.name} has no version called {value} ({what}); {self._newest()}"
            raise BadArgumentError(said, instead=self._write_newest())
        if refs[value]["type"] != "tag":
            number = refs[value]["snapshot-id"]
            raise NotTracedError(
                f"{value} is a branch, which has other versions later",
                instead=f"Write the number of a snapshot in it: VERSION AS OF {number} is its newest.",
            )
        return int(refs[value]["snapshot-id"])

    def at(self, value: str) -> int:
        """Return the version that was the current one at a time."""
        with spark_errors(instead="Correct the time."):
            time = f"unix_millis(try_cast({string_literal(value)} AS TIMESTAMP))"
            asked = self.spark.sql(f"SELECT {time}").collect()[0][0]
        if asked is None:
            raise BadArgumentError(f"{value} is no time", instead="Write it as in '2025-01-31 08:00:00'.")
        times = _commit_times(self.table) if self.is_delta else _snapshot_times(self.table)
        known = [(time, version) for time, version in times if time <= asked]
        if known and not (self.is_delta and asked > times[-1][0]):
            return known[-1][1]
        if not times:
            raise BadArgumentError(f"{self.name} has no version yet", instead="Write rows into it first.")
        (first, last) = self._written([times[0][0], times[-1][0]])
        if not known:
            raise BadArgumentError(
                f"{self.name} had no version at {value}: the oldest in its log is {times[0][1]}, of {first}",
                instead=f"Write TIMESTAMP AS OF '{first}', or a later time.",
            )
        raise BadArgumentError(
            f"{value} is after the last version of {self.name}, which is {times[-1][1]}, of {last}; Delta refuses that",
            instead=f"Write TIMESTAMP AS OF '{last}', or read the table as it is.",
        )

    def all(self) -> list[tuple[int, int]]:
        """Return all versions in order, each behind its time in milliseconds."""
        if self.is_delta:
            return _commit_times(self.table)
        snapshots = iceberg.metadata_of(self.table.place).get("snapshots", ())
        return sorted((int(each["timestamp-ms"]), int(each["snapshot-id"])) for each in snapshots)

    def _newest(self) -> str:
        found = self.all()[: -_LISTED - 1 : -1]
        times = self._written([time for time, _ in found])
        listed = ", ".join(f"{version} ({time})" for (_, version), time in zip(found, times, strict=True))
        return f"the newest: {listed or 'none'}"

    def _write_newest(self) -> str:
        found = self.all()
        return f"Write one that is there: VERSION AS OF {found[-1][1]}." if found else "Write rows into it first."

    def _written(self, milliseconds: Sequence[int]) -> list[str]:
        """Times as literals of the session's SQL mean them."""
        if not milliseconds:
            return []
        columns = ", ".join(f"CAST(timestamp_millis({each}L) AS STRING)" for each in milliseconds)
        with spark_errors():
            return list(self.spark.sql(f"SELECT {columns}").collect()[0])


def version_of(spark: SparkSession, name: str, table: Table, value: str, *, is_time: bool) -> int:
    """Return the version that a literal of VERSION AS OF or TIMESTAMP AS OF means.

    Args:
        spark: the session, whose time zone times are in.
        name: what messages call the table.
        table: whose log says it.
        value: the literal.
        is_time: whether it is a time.

    Raises:
        ChangedError: there is no such number, or not any more.
        BadArgumentError: it means none.
        NotTracedError: it is a branch.

    """
    past = _Past(spark, name, table)
    if is_time:
        return past.at(value)
    return past.numbered(value) if value.isdecimal() else past.tagged(value)


def _commit_times(table: Table) -> list[tuple[int, int]]:
    """Milliseconds of each commit: those that it says itself, else its file's, each after the one before."""
    found: list[tuple[int, int]] = []
    versions = sorted(delta.commits(table.place))
    fetch(delta.commit_file(table.place, version) for version in versions)
    for version in versions:
        path = delta.commit_file(table.place, version)
        first = first_line(path)
        said = json.loads(first)["commitInfo"].get("inCommitTimestamp") if first.startswith(_COMMIT_INFO) else None
        time = modified(path) if said is None else int(said)
        found.append((time if not found else max(time, found[-1][0] + 1), version))
    return found


def _snapshot_times(table: Table) -> list[tuple[int, int]]:
    log = iceberg.metadata_of(table.place).get("snapshot-log", ())
    return [(int(each["timestamp-ms"]), int(each["snapshot-id"])) for each in log]


def name_of_version(name: str, version: int) -> str:
    """Return what a version of a table is registered as: ``orders_as_of_3``."""
    parts = (re.sub(r"\W", "_", part) for part in split_name(name, keep_case=True))
    return f"{'_'.join(parts)}_as_of_{version}"

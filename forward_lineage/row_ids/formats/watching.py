"""The logs of Delta tables whose rows have ids by value, read by whatever reader the session has.

Files do not show all changes of such a table: a deletion vector takes rows out of a file that does not change. So the
number of the last commit is registered, too, and compared before each query.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.row_ids.formats.delta import LOG
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.spark import far_files
from forward_lineage.spark.names import glob_literal
from forward_lineage.spark.paths import is_address, is_local, local_path
from udafs.errors import ChangedError

_COMMIT = re.compile(r"(\d{20})\.json")


def logs_read(frame: DataFrame, files: Iterable[str]) -> dict[str, int]:
    """Return the folders that a plan reads from and that have a log, each with the number of its last commit.

    Args:
        frame: the plan.
        files: the paths of the files that it reads, as manifests have them: a file has no log.

    Raises:
        SetupError: a folder cannot be listed.

    """
    known = set(files)
    roots = sorted({_place(root) for root in far_files.roots_read(frame)} - known)
    found = {root: _last_commit(frame.sparkSession, root) for root in roots}
    return {root: version for root, version in found.items() if version is not None}


def check_logs(spark: SparkSession, manifest: Manifest) -> None:
    """Compare the logs with what was registered.

    Raises:
        ChangedError: there is another commit, or the log is gone.
        SetupError: a folder cannot be listed.

    """
    for root, then in manifest.source.get("logs", {}).items():
        now = _last_commit(spark, root)
        if now != then:
            found = "is gone" if now is None else f"goes up to version {now}, and was registered with version {then}"
            raise ChangedError(
                f"table {manifest.name} has changed: the log of the Delta table in {root} {found}",
                instead=f'Call lineage.refresh("{manifest.name}").',
            )


def _place(root: str) -> str:
    return str(local_path(root)) if is_local(root) else root


def _last_commit(spark: SparkSession, root: str) -> int | None:
    place = root if is_address(root) else f"file:{root}"
    names = (address.rpartition("/")[2] for address in far_files.matching(spark, f"{glob_literal(place)}/{LOG}/*.json"))
    return max((int(match[1]) for name in names if (match := _COMMIT.fullmatch(name))), default=None)

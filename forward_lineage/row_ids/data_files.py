"""The Parquet files of a table: what they were when they were registered, and whether they still are."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from forward_lineage.spark.names import is_text
from forward_lineage.spark.paths import is_local, local_path
from forward_lineage.spark.plan_facts import files_read
from udafs.delta import MAX_ID
from udafs.errors import BadArgumentError, DamagedError

Looks = tuple[int, int, str]  # size, time and footer: what a file keeps when it is moved
_HIDDEN = (".", "_")  # names of files that Spark does not read


@dataclass(frozen=True)
class DataFile:
    """One Parquet file as it was registered.

    Attributes:
        path: absolute path.
        size: bytes.
        modified: nanoseconds since 1970.
        inode: number of the file on its file system; tells two swapped files from each other.
        rows: number of rows.
        footer: SHA-256 of the Parquet footer, hexadecimal.
        offset: the id of its first row.

    """

    path: str
    size: int
    modified: int
    inode: int
    rows: int = 0
    footer: str = ""
    offset: int = 0

    def same_place_and_time(self, other: DataFile) -> bool:
        """Tell whether neither was written to nor replaced since."""
        return (self.path, self.size, self.modified, self.inode) == (
            other.path,
            other.size,
            other.modified,
            other.inode,
        )

    def check(self) -> None:
        """Check what a manifest says of a file.

        Raises:
            ValueError: no file can be so.

        """
        if not self.path.startswith("/") or min(self.size, self.inode, self.rows, self.offset) < 0:
            raise ValueError("a file that cannot be")
        if max(self.offset + self.rows, self.size, self.modified) > MAX_ID:
            raise ValueError("numbers beyond 63 bits")

    @property
    def looks(self) -> Looks:
        """What stays the same when the file is moved."""
        return self.size, self.modified, self.footer

    def to_json(self) -> dict[str, Any]:
        """Return the attributes as JSON-able data."""
        return dict(vars(self))


def list_files(path: Path) -> list[DataFile]:
    """List the Parquet files under a path as Spark would, without reading any: one `stat` each.

    Raises:
        BadArgumentError: there is no such path.

    """
    if os.path.isfile(path):  # noqa: PTH113 - unlike Path.is_file, False for a name that none can have
        return [_stat(path)]
    if not os.path.isdir(path):  # noqa: PTH112
        raise BadArgumentError(f"there is no {path}", instead="Name a Parquet file, or a folder of them.")
    return sorted(_walk(path), key=lambda file: file.path)


def stat_files(paths: Iterable[str]) -> list[DataFile]:
    """Look at these files; those that are missing are left out."""
    return [_stat(Path(path)) for path in paths if Path(path).is_file()]


def input_files(frame: DataFrame) -> tuple[DataFile, ...]:
    """Return the local files that a table or view reads, in order; empty when it reads none or they lie elsewhere."""
    uris = files_read(frame)
    if not all(map(is_local, uris)):
        return ()
    return tuple(sorted(stat_files(str(local_path(uri)) for uri in uris), key=lambda file: file.path))


def read_footers(files: Sequence[DataFile]) -> list[DataFile]:
    """Fill in the row counts and footer checksums. Only footers are read, several at a time.

    Raises:
        DamagedError: a file is not Parquet, or its footer is damaged.

    """
    with ThreadPoolExecutor(max_workers=min(32, 4 * (os.cpu_count() or 1))) as pool:
        return list(pool.map(_read_footer, files))


def with_offsets(files: Sequence[DataFile], first: int = 0) -> tuple[list[DataFile], int]:
    """Number the rows of the files one file after the other.

    Returns:
        the files with their offsets, and the first id that is not used.

    """
    placed = []
    for file in files:
        placed.append(replace(file, offset=first))
        first += file.rows
    return placed, first


def _walk(folder: Path) -> Iterable[DataFile]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if "=" in entry.name and not entry.name.startswith("."):  # a partition; Spark passes others over
                    yield from _walk(Path(entry.path))
            elif not entry.name.startswith(_HIDDEN) and not entry.name.endswith("._COPYING_"):
                yield _stat(Path(entry.path))


def _stat(path: Path) -> DataFile:
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise DamagedError(f"{path} is a pipe or a device, and no file", instead="Take it out of the folder.")
    if not is_text(str(path)):
        raise BadArgumentError(
            f"the name of {str(path)!r} is not UTF-8, so neither SQL nor a manifest can say it",
            instead="Rename the file.",
        )
    return DataFile(str(path), found.st_size, found.st_mtime_ns, found.st_ino)


def _read_footer(file: DataFile) -> DataFile:
    import pyarrow as arrow  # noqa: PLC0415 - half a second that a key table does not need
    from pyarrow import parquet  # noqa: PLC0415

    try:
        with parquet.ParquetFile(file.path) as opened:
            metadata = opened.metadata
            rows, length = metadata.num_rows, metadata.serialized_size
    except (arrow.ArrowException, OSError) as error:
        reason = str(error).strip().split("\n")[0].split(". ")[0].rstrip(".")
        raise DamagedError(
            f"{file.path} cannot be read as Parquet: {reason}",
            instead="Write that file again, or take it out of the folder; other formats are named by format=.",
        ) from None
    with Path(file.path).open("rb") as stream:
        stream.seek(-(min(length, file.size - 8) + 8), os.SEEK_END)
        return replace(file, rows=rows, footer=hashlib.sha256(stream.read()).hexdigest())

"""The Parquet files of a table: what they were when they were registered, and whether they still are."""

from __future__ import annotations

import hashlib
import io
import os
import stat
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.row_ids.secrets import check_addresses
from forward_lineage.spark import far_files
from forward_lineage.spark.far_files import FarFile
from forward_lineage.spark.names import is_text
from forward_lineage.spark.paths import address_of, is_address, is_far, is_local, local_path
from forward_lineage.spark.plan_facts import files_read
from udafs.attach import is_remote
from udafs.delta import MAX_ID
from udafs.errors import BadArgumentError, DamagedError

Looks = tuple[int, int, str]  # size, time and footer: what a file keeps when it is moved
PARQUET_MARK = b"PAR1"
"""What Parquet files begin with. Before a footer it is enough of a file to read the footer from."""
_HIDDEN = (".", "_")  # names of files that Spark does not read


@dataclass(frozen=True)
class DataFile:
    """One registered Parquet file.

    Attributes:
        path: absolute path; of a file that is not local its address, nothing encoded.
        size: bytes.
        modified: nanoseconds since 1970.
        inode: number of the file on the local file system, else 0; tells two swapped files from each other.
        rows: number of rows.
        footer: SHA-256 of the Parquet footer, hexadecimal.
        offset: the id of its first row.
        tag: what an object store says of its contents (an ETag), if its listings do.

    """

    path: str
    size: int
    modified: int
    inode: int
    rows: int = 0
    footer: str = ""
    offset: int = 0
    tag: str = ""

    @property
    def far(self) -> bool:
        """Whether it is not on the local file system."""
        return is_far(self.path)

    def same_place_and_time(self, other: DataFile) -> bool:
        """Tell whether neither was written to nor replaced since."""
        if self.tag != other.tag and self.tag and other.tag:
            return False
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
        if (self.far and not is_address(self.path)) or min(self.size, self.inode, self.rows, self.offset) < 0:
            raise ValueError("a file that cannot be")
        if max(self.offset + self.rows, self.size, self.modified) > MAX_ID:
            raise ValueError("numbers beyond 63 bits")

    @property
    def looks(self) -> Looks:
        """The part that stays the same when the file is moved."""
        return self.size, self.modified, self.footer

    def to_json(self) -> dict[str, Any]:
        """Return the attributes as JSON-able data; no tag where there is none, as earlier releases wrote it."""
        said = dict(vars(self))
        if not self.tag:
            del said["tag"]
        return said


def list_files(path: Path, spark: SparkSession | None = None) -> list[DataFile]:
    """List the Parquet files under a path as Spark would, without reading any: one `stat` each.

    Args:
        path: local to the machine where Spark is.
        spark: the session; None where Spark is here.

    Raises:
        BadArgumentError: there is no such path.

    """
    if spark is not None and is_remote(spark):
        there = far_files.near_files(spark, str(path))
        if there is None:
            raise _no_path(path)
        return sorted((DataFile(*file) for file in there), key=lambda file: file.path)
    if os.path.isfile(path):  # noqa: PTH113 - unlike Path.is_file, False for a name that none can have
        return [_stat(path)]
    if not os.path.isdir(path):  # noqa: PTH112
        raise _no_path(path)
    return sorted(_walk(path), key=lambda file: file.path)


def _no_path(path: Path) -> BadArgumentError:
    return BadArgumentError(f"there is no {path}", instead="Name a Parquet file, or a folder of them.")


def stat_files(paths: Iterable[str], spark: SparkSession | None = None) -> list[DataFile]:
    """Look at these files, as by `list_files`; those that are missing are left out.

    Args:
        paths: as manifests have them.
        spark: the session; without one no file is seen that is not local.

    Raises:
        SetupError: another file system cannot be listed.

    """
    wanted = list(paths)
    near = [path for path in wanted if not is_far(path)]
    if spark is not None and is_remote(spark):
        found = [DataFile(*file) for file in far_files.near_files_there(spark, near)]
    else:
        found = [_stat(Path(path)) for path in near if Path(path).is_file()]
    if spark is not None and len(near) < len(wanted):
        found += map(of_far, far_files.files_there(spark, (), [path for path in wanted if is_far(path)]))
    return found


def first_missing(paths: Iterable[str], there: Iterable[DataFile]) -> str | None:
    """Return the first of these files that was not found by `stat_files`; None: all were."""
    found = {file.path for file in there}
    return next((path for path in paths if path not in found), None)


def input_files(frame: DataFrame) -> tuple[DataFile, ...]:
    """Look at the files that a table or view reads, wherever they lie; in order.

    Raises:
        BadArgumentError: the address of one holds a user or a password.
        SetupError: their file system cannot be listed.

    """
    uris = files_read(frame)
    found = stat_files((str(local_path(uri)) for uri in uris if is_local(uri)), frame.sparkSession)
    if far := [address_of(uri) for uri in uris if not is_local(uri)]:
        check_addresses(far)
        roots = [root for root in far_files.roots_read(frame) if not is_local(root)]
        found += map(of_far, far_files.files_there(frame.sparkSession, roots, far))
    return tuple(sorted(found, key=lambda file: file.path))


def of_far(file: FarFile) -> DataFile:
    """Return what a listing of another file system says of a file."""
    return DataFile(file.path, file.size, file.modified, 0, tag=file.tag)


def read_footers(files: Sequence[DataFile], spark: SparkSession | None = None) -> list[DataFile]:
    """Fill in the row counts and footer checksums. Only footers are read, several at a time.

    Args:
        files: all local, or none.
        spark: a session that reaches them, where they are not.

    Raises:
        DamagedError: a file is not Parquet, or its footer is damaged.
        SetupError: it cannot be read.

    """
    if spark is not None and files and (files[0].far or is_remote(spark)):
        tails = far_files.read_tails(spark, [(_address(file), file.size) for file in files])
        return [replace(file, rows=rows, footer=footer) for file, (rows, footer) in zip(files, tails, strict=True)]
    with ThreadPoolExecutor(max_workers=min(32, 4 * (os.cpu_count() or 1))) as pool:
        return list(pool.map(_read_footer, files))


def of_footer(file: DataFile, footer: bytes) -> DataFile:
    """Fill in what `read_footers` does, of a file whose footer was read, with all that stands behind it.

    Raises:
        DamagedError: it is no footer.

    """
    import pyarrow as arrow  # noqa: PLC0415 - half a second that a key table does not need
    from pyarrow import parquet  # noqa: PLC0415

    try:
        rows = parquet.read_metadata(io.BytesIO(PARQUET_MARK + footer)).num_rows
    except (arrow.ArrowException, OSError) as error:
        raise _no_parquet(file, error) from None
    return replace(file, rows=rows, footer=hashlib.sha256(footer).hexdigest())


def _address(file: DataFile) -> str:
    return file.path if file.far else f"file:{file.path}"


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


def is_data(name: str) -> bool:
    """Tell whether Spark reads a file of this name."""
    return not name.startswith(_HIDDEN) and not name.endswith("._COPYING_")


def _walk(folder: Path) -> Iterable[DataFile]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if "=" in entry.name and not entry.name.startswith("."):  # a partition; Spark passes others over
                    yield from _walk(Path(entry.path))
            elif is_data(entry.name):
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
        raise _no_parquet(file, error) from None
    with Path(file.path).open("rb") as stream:
        stream.seek(-(min(length, file.size - 8) + 8), os.SEEK_END)
        return replace(file, rows=rows, footer=hashlib.sha256(stream.read()).hexdigest())


def _no_parquet(file: DataFile, error: Exception) -> DamagedError:
    reason = str(error).strip().split("\n")[0].split(". ")[0].rstrip(".")
    return DamagedError(
        f"{file.path} cannot be read as Parquet: {reason}",
        instead="Write that file again, or take it out of the folder; other formats are named by format=.",
    )

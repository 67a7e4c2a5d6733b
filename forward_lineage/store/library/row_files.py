"""The Parquet files of a result: brought to the disk when they are written, checked before they are read.

Of a home in an object store Spark reads them there, when the session's Hadoop knows the store. In a local session they
are fetched otherwise, since driver and tasks have one disk.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from forward_lineage.relations.segment import CorruptSegmentError
from forward_lineage.spark.stores import address_in, is_one_machine
from forward_lineage.storage.mirror import FETCHED, LOCAL, Files, checksum_of
from forward_lineage.storage.object_store import ObjectStore
from forward_lineage.storage.own_files import check_no_link
from forward_lineage.store.library.made_of import RowFile
from forward_lineage.store.library.saved import SAVE_AGAIN, Saved
from forward_lineage.store.library.saved_result import SavedResult
from udafs.errors import SetupError

ROW_NUMBER = "CAST(substring(_metadata.file_name, 6, 19) AS BIGINT) + _metadata.row_index"
"""The number of a row, in SQL: files of rows are called by the number of their first row."""


def row_file(folder: Path, path: str, first_row: int, rows: int) -> RowFile:
    """Bring a finished file to the disk and note its size and checksum."""
    size, checksum = checksum_of(folder / path, to_disk=True)
    return RowFile(path, first_row, rows, size, checksum)


def check_row_files(saved: Saved) -> None:
    """Check that the files of a result's rows, or of an array's cells, are those that were written.

    Sizes are always compared. A file that was touched after the manifest was written is read through and its checksum
    compared.

    Raises:
        CorruptSegmentError: a file is missing or another one; the message names it.

    """
    check_files(saved, saved.content_files, saved.contents)


def check_files(saved: Saved, files: Sequence[RowFile], folder: str) -> None:
    """Check the files of a folder in a result's data folder, as `check_row_files` does: Spark reads all that are there.

    Args:
        saved: the result.
        files: those that the manifest names; an earlier release may have named none.
        folder: the folder.

    Raises:
        DamagedError: a file is missing or another one, or none, or not in the manifest; the message names it.

    """
    saved.files.fetch_all((saved.folder / file.path, file.size, file.checksum) for file in files)
    if files:
        _check_no_other(saved, {file.path for file in files}, folder)
    written = saved.manifest_path.stat().st_mtime_ns if saved.manifest_path.exists() else 0
    written = max(written, 0 if saved.files is LOCAL else FETCHED)
    for file in files:
        path = saved.folder / file.path
        check_no_link(saved.home.parent, f"{saved.home.name}/{saved.data}/{file.path}")
        fault = _fault(path, file, written)
        if fault:
            raise CorruptSegmentError(f"{path} {fault}", instead=SAVE_AGAIN)


def rows_as_read(spark: SparkSession, saved: SavedResult) -> str:
    """Return the path or address that Spark reads a result's rows from, which are what was written.

    Raises:
        CorruptSegmentError: a file is missing or another one; the message names it.
        SetupError: Spark cannot read where they are.

    """
    return files_as_read(spark, saved, saved.row_files, "rows")


def files_as_read(spark: SparkSession, saved: Saved, files: Sequence[RowFile], folder: str) -> str:
    """Return the path or address that Spark reads some files of a result from, as `rows_as_read` does."""
    if not saved.files.address(saved.folder):
        check_files(saved, files, folder)
        return str(saved.folder / folder)
    found = as_read(spark, saved.files, saved.folder, folder, files)
    if found == str(saved.folder / folder):
        check_files(saved, files, folder)
    return found


def place_as_read(spark: SparkSession, saved: SavedResult) -> str:
    """Return the path or address of the rows without a look at them.

    Raises:
        SetupError: Spark cannot read where they are.

    """
    address = saved.files.address(saved.rows_folder)
    return str(saved.rows_folder.resolve()) if not address else _seen_by(spark, address) or str(saved.rows_folder)


def as_read(spark: SparkSession, files: Files, data: Path, folder: str, listed: Sequence[RowFile]) -> str:
    """Return the path or address that Spark reads a folder of Parquet files from, once they are all there.

    Args:
        spark: the session.
        files: where they are.
        data: the data folder that the folder is in.
        folder: the folder.
        listed: the files.

    Raises:
        CorruptSegmentError: a file in a store is missing or of another size, or there is one more.
        SetupError: Spark cannot read where they are.

    """
    address = files.address(data / folder)
    seen = _seen_by(spark, address) if address else None
    if seen is None:
        files.fetch_all((data / file.path, file.size, file.checksum) for file in listed)
        return str(data / folder)
    files.send(data / folder)
    _check_sizes(ObjectStore(address), {file.path.rpartition("/")[2]: file.size for file in listed})
    return seen


def _seen_by(spark: SparkSession, address: str) -> str | None:
    """Return an address as the session's Hadoop knows it; None where files are fetched for it.

    Raises:
        SetupError: it does not, and the executors have other disks than the driver.

    """
    seen = address_in(spark, address)
    if seen is None and not is_one_machine(spark):
        raise SetupError(
            f"{address} is in an object store that this session of Spark cannot read, so its rows are no table here",
            instead="Add the store's jars and settings (for s3://: spark.jars.packages "
            "org.apache.hadoop:hadoop-aws:<version of Hadoop>, and spark.hadoop.fs.s3a.…; see docs/deploying.md). "
            "Questions with rows= and ids= need no Spark.",
        )
    return seen


def _check_sizes(place: ObjectStore, sizes: Mapping[str, int]) -> None:
    there = {each.key: each.size for each in place.tree("") if not each.key.startswith((".", "_"))}
    for name in sorted(sizes.keys() | there.keys()):
        if name not in sizes:
            fault = "is not in the manifest, and Spark would read it"
        elif name not in there:
            fault = "is missing"
        elif there[name] != sizes[name]:
            fault = f"is damaged: it has {there[name]} bytes, not {sizes[name]}"
        else:
            continue
        raise CorruptSegmentError(f"{place.where(name)} {fault}", instead=SAVE_AGAIN)


def _check_no_other(saved: Saved, known: set[str], folder: str) -> None:
    try:
        there = os.listdir(saved.folder / folder)  # noqa: PTH208 - names are all that is asked for
    except OSError:
        return  # whoever misses a file in it says so
    for name in there:
        if not name.startswith((".", "_")) and f"{folder}/{name}" not in known:
            raise CorruptSegmentError(
                f"{saved.folder / folder / name} is not in the manifest, and Spark would read it", instead=SAVE_AGAIN
            )


def _fault(path: Path, file: RowFile, written: int) -> str | None:
    try:
        found = path.stat()
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if not stat.S_ISREG(found.st_mode):
        return "is no file"
    if found.st_size != file.size:
        return f"is damaged: it has {found.st_size} bytes, not {file.size}"
    if found.st_mtime_ns > written and checksum_of(path) != (file.size, file.checksum):
        return "is damaged: its checksum is wrong"
    return None

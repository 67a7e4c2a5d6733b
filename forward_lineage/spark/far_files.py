"""Files on any file system that Hadoop knows: listed, and their footers read, by the JVM, in one call for all of them.

The session's settings say how a file system is reached (`spark.hadoop.fs.…`), as for Spark's own readers. See
`udafs/scala/files` for how many requests it takes.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.spark.errors import spark_errors, without_users
from udafs.errors import ChangedError, DamagedError, SetupError
from udafs.requests import ask

_NUL = "\0"  # between what is given and what is answered; no path has one
_NANOSECONDS = 1_000_000  # in a millisecond
_GONE = "-"  # answered of a file that is not there
_MOST_BYTES = 64 << 20  # of one answer, as far as that is known before
_MOST_FOOTERS = 1000  # of one answer: most have a few thousand bytes


class FarFile(NamedTuple):
    """A file as a listing shows it.

    Attributes:
        path: its address, nothing encoded.
        size: bytes.
        modified: nanoseconds since 1970; file systems say milliseconds, some seconds.
        tag: what tells its contents from others, if listings of its store have that; else empty.

    """

    path: str
    size: int
    modified: int
    tag: str


class NearFile(NamedTuple):
    """A local file of the machine where a Spark Connect server runs.

    Attributes:
        path: absolute.
        size: bytes.
        modified: nanoseconds since 1970.
        inode: number of the file there.

    """

    path: str
    size: int
    modified: int
    inode: int


class Tail(NamedTuple):
    """The end of a Parquet file: its number of rows, and the SHA-256 of the footer, hexadecimal."""

    rows: int
    footer: str


class Span(NamedTuple):
    """A part of a file.

    Attributes:
        path: address of the file.
        offset: of its first byte.
        size: bytes; None: all to the end of the file, whose length its store is then asked for.

    """

    path: str
    offset: int = 0
    size: int | None = None


def default_is_local(spark: SparkSession) -> bool:
    """Tell whether a path without a scheme is local to this session (`fs.defaultFS`)."""
    return _asked(spark, "local") == "true"


def qualified(spark: SparkSession, path: str) -> str:
    """Return a path with scheme and authority, as its file system writes it.

    Raises:
        SetupError: the session knows no such file system, or cannot reach it.

    """
    return _one(_asked(spark, "qualified", path=path))


def is_there(spark: SparkSession, address: str) -> bool:
    """Tell whether there is a file or folder of just this name; one request.

    Raises:
        SetupError: it cannot be told.

    """
    return _one(_asked(spark, "there", path=address)) == "true"


def matching(spark: SparkSession, pattern: str) -> list[str]:
    """Return the addresses that a pattern in Hadoop's syntax names.

    Raises:
        SetupError: folders cannot be listed.

    """
    return list(_answer(_asked(spark, "matching", path=pattern)) or ())


def files_under(spark: SparkSession, address: str, *, pattern: bool = False) -> list[FarFile] | None:
    """List the files that Spark would read under an address; None if there is nothing.

    Args:
        spark: the session.
        address: of a file or folder.
        pattern: whether it is a pattern in Hadoop's syntax, that names some of them.

    Raises:
        ChangedError: a folder went meanwhile.
        SetupError: they cannot be listed.

    """
    found = _answer(_asked(spark, "matched" if pattern else "under", path=address))
    return None if found is None else list(_far_files(found))


def files_there(spark: SparkSession, roots: Iterable[str], addresses: Sequence[str]) -> list[FarFile]:
    """Look at some files, by listing folders; those that are not there are left out.

    Args:
        spark: the session.
        roots: folders that most of them are in.
        addresses: the files.

    Raises:
        SetupError: folders cannot be listed.

    """
    asked = _asked(spark, "some", roots=_NUL.join(roots), files=_NUL.join(addresses))
    return list(_far_files(_answer(asked) or ()))


def files_inside(spark: SparkSession, folder: str) -> list[FarFile] | None:
    """List all files in a folder, and none below it; None if there is nothing.

    Raises:
        SetupError: it cannot be listed.

    """
    found = _answer(_asked(spark, "inside", path=folder))
    return None if found is None else list(_far_files(found))


def near_files(spark: SparkSession, path: str) -> list[NearFile] | None:
    """List the files that Spark would read under a local path of the server's machine; None if there is nothing.

    Raises:
        SetupError: they cannot be listed.

    """
    found = _answer(_asked(spark, "near", path=path))
    return None if found is None else list(_near_files(found))


def near_files_there(spark: SparkSession, paths: Iterable[str]) -> list[NearFile]:
    """Look at some local files of the server's machine; those that are not there are left out.

    Raises:
        SetupError: one cannot be looked at.

    """
    return list(_near_files(_answer(_asked(spark, "near some", files=_NUL.join(paths))) or ()))


def read_tails(spark: SparkSession, files: Sequence[tuple[str, int]]) -> list[Tail]:
    """Read the ends of Parquet files, given with their sizes, up to 32 at a time.

    Raises:
        DamagedError: one is no Parquet.
        ChangedError: one is gone, or shorter.
        SetupError: one cannot be read.

    """
    asked = _NUL.join(f"{path}{_NUL}{size}" for path, size in files)
    found = _answer(_asked(spark, "footers", files=asked)) or ()
    return [Tail(int(rows), footer) for rows, footer in zip(found[::2], found[1::2], strict=True)]


def whole_footers(spark: SparkSession, files: Sequence[tuple[str, int]]) -> Iterator[bytes]:
    """Yield the footer of each Parquet file, with all that stands behind it; otherwise as `read_tails`."""
    for first in range(0, len(files), _MOST_FOOTERS):
        asked = _NUL.join(f"{path}{_NUL}{size}" for path, size in files[first : first + _MOST_FOOTERS])
        yield from map(base64.b64decode, _answer(_asked(spark, "whole footers", files=asked)) or ())


def read_spans(spark: SparkSession, spans: Sequence[Span]) -> Iterator[bytes | None]:
    """Yield the bytes of each part of a file, read up to 32 at a time; None if there is no such file.

    Raises:
        ChangedError: a file is shorter.
        SetupError: one cannot be read.

    """
    for together in _in_answers(spans):
        asked = _NUL.join(
            f"{path}{_NUL}{offset}{_NUL}{-1 if size is None else size}" for path, offset, size in together
        )
        for said in _answer(_asked(spark, "read", files=asked)) or ():
            yield None if said == _GONE else base64.b64decode(said)


def _in_answers(spans: Sequence[Span]) -> Iterator[list[Span]]:
    """Divide parts of files into those that are read in one answer, which has to fit into memory as text."""
    together: list[Span] = []
    for span in spans:
        if together and sum(each.size or 0 for each in (*together, span)) > _MOST_BYTES:
            yield together
            together = []
        together.append(span)
    if together:
        yield together


def roots_read(frame: DataFrame) -> list[str]:
    """Return the addresses of the files and folders that a plan reads from."""
    found = _asked(frame.sparkSession, "roots", frame)
    return found.split(_NUL) if found else []


def files_known(frame: DataFrame) -> list[FarFile]:
    """Return the files that a plan reads as Spark listed them when it resolved it, without tags; no request is made.

    Raises:
        SetupError: Spark has to list them anew, and cannot.

    """
    return list(_far_files(_answer(_asked(frame.sparkSession, "known", frame)) or ()))


def _far_files(fields: Sequence[str]) -> Iterator[FarFile]:
    for path, size, modified, tag in zip(*(fields[at::4] for at in range(4)), strict=True):
        yield FarFile(path, int(size), int(modified) * _NANOSECONDS, tag)


def _near_files(fields: Sequence[str]) -> Iterator[NearFile]:
    for path, size, modified, inode in zip(*(fields[at::4] for at in range(4)), strict=True):
        yield NearFile(path, int(size), int(modified), int(inode))


def _one(answer: str) -> str:
    found = _answer(answer)
    return found[0] if found else ""


def _answer(answer: str) -> Sequence[str] | None:
    """Return the fields of an answer; None where something is missing."""
    said, *fields = answer.split(_NUL)
    if said == "ok":
        return fields
    if said == "missing":
        return None
    place, why = map(without_users, fields)
    if said == "changed":
        raise ChangedError(
            f"{place} changed while it was listed or read", instead="Do it again, when nobody writes there."
        )
    if said == "damaged":
        raise DamagedError(
            f"{place} cannot be read as Parquet: {why}",
            instead="Write that file again, or take it out of the folder; other formats are named by format=.",
        )
    if said == "denied":
        raise SetupError(
            f"{place} may not be listed or read: {why}",
            instead="Let the user of this session read it: spark.hadoop.fs.… settings say who that is.",
        )
    raise SetupError(
        f"{place} cannot be listed or read: {why}",
        instead="Do it again. If it fails again, spark.read.parquet(…) does, too: see to spark.hadoop.fs.… settings.",
    )


def _asked(spark: SparkSession, what: str, frame: DataFrame | None = None, /, **arguments: str) -> str:
    with spark_errors():
        return ask(spark, f"files {what}", frame, **arguments)

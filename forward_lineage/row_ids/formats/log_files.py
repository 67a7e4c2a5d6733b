"""Files of a table's log, wherever they lie: local ones as a `Path`, others by the session's Hadoop as a `FarPath`.

Both are asked in the same words: `/`, `name`, `parent`, `is_dir`, `is_file`, `iterdir`, `read_bytes`. A store that is
far away is asked little. A folder is listed once, and `fetch` reads many files in one call, some at the same time. What
was read is kept as long as the paths that were made of one `located`. That is one look at a table: all that is said of
it is of that moment.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import SparkSession

from forward_lineage.spark import far_files
from forward_lineage.spark.far_files import FarFile, Span
from forward_lineage.spark.paths import is_address, is_far, is_local

_MILLISECOND = 1_000_000  # nanoseconds


@dataclass
class _Seen:
    """What was listed and read in one look at a table."""

    folders: dict[str, dict[str, FarFile] | None] = field(default_factory=dict)
    parts: dict[Span, bytes | None] = field(default_factory=dict)


@dataclass(frozen=True)
class FarPath:
    """A path on another file system than the local one.

    Attributes:
        address: with scheme, nothing encoded.
        spark: a session that reaches it.

    """

    address: str
    spark: SparkSession = field(compare=False, repr=False)
    _seen: _Seen = field(default_factory=_Seen, compare=False, repr=False)

    def __str__(self) -> str:
        return self.address

    def __truediv__(self, name: str) -> FarPath:
        parts = [part for part in name.split("/") if part not in ("", ".")]
        return replace(self, address="/".join([self.address.rstrip("/"), *parts]))

    @property
    def name(self) -> str:
        """The last part."""
        return self.address.rstrip("/").rpartition("/")[2]

    @property
    def parent(self) -> FarPath:
        """The folder that it is in."""
        return replace(self, address=self.address.rstrip("/").rpartition("/")[0])

    def is_dir(self) -> bool:
        """Tell whether it is there, without listing it."""
        return self._seen.folders.get(self.address) is not None or far_files.is_there(self.spark, self.address)

    def is_file(self) -> bool:
        """Tell whether it is there; one request, if its folder was not listed yet."""
        folder = self._seen.folders.get(self.parent.address)
        return self.name in folder if folder is not None else far_files.is_there(self.spark, self.address)

    def iterdir(self) -> Iterator[FarPath]:
        """Yield the files in it; those below are left out."""
        found = self._files()
        if found is None:
            raise FileNotFoundError(self.address)
        return (self / name for name in found)

    def read_bytes(self) -> bytes:
        """Return what stands in it."""
        return read_part(self, 0, None)

    def modified(self) -> int:
        """Return when it was written, in milliseconds since 1970, by a listing of its folder."""
        found = self.parent._files() or {}
        if self.name not in found:
            raise FileNotFoundError(self.address)
        return found[self.name].modified // _MILLISECOND

    def span(self, offset: int, size: int | None) -> Span:
        """Return a part of it; a store need not be asked for the length of a file that was listed."""
        listed = (self._seen.folders.get(self.parent.address) or {}).get(self.name)
        return Span(self.address, offset, listed.size if size is None and listed is not None else size)

    def _files(self) -> dict[str, FarFile] | None:
        if self.address not in self._seen.folders:
            found = far_files.files_inside(self.spark, self.address)
            named = None if found is None else {file.path.rpartition("/")[2]: file for file in found}
            self._seen.folders[self.address] = named
        return self._seen.folders[self.address]


LogPath = Path | FarPath
"""Where a file or a folder of a log is."""


def located(spark: SparkSession, place: str) -> LogPath:
    """Return a place as manifests have it as one that can be read, for one look at a table."""
    return FarPath(place, spark) if is_far(place) else Path(place)


def beside(known: LogPath, place: str) -> LogPath | None:
    """Return another place that a log names, with nothing encoded, read in the same look.

    Args:
        known: a place of the table.
        place: a path, or an address; a path is where the session has those without a scheme.

    Returns:
        the place; None: no session is there that reaches it.

    """
    if isinstance(known, Path):
        return Path(_plain(place)) if is_local(place) else None
    if is_local(place) and (is_address(place) or far_files.default_is_local(known.spark)):
        return Path(_plain(place))
    address = place if is_address(place) else far_files.qualified(known.spark, place)
    return replace(known, address=address)


def _plain(place: str) -> str:
    return "/" + place.removeprefix("file:").lstrip("/") if place.startswith("file:") else place


def names_in(folder: LogPath) -> list[str]:
    """Return the names of the files in a folder; none if it is not there."""
    try:
        return [entry.name for entry in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def is_folder(path: LogPath) -> bool:
    """Tell whether a path is that of a folder."""
    return os.path.isdir(path) if isinstance(path, Path) else path.is_dir()  # noqa: PTH112 - `is_dir` raises of a long name


def is_file(path: LogPath) -> bool:
    """Tell whether a path is that of a file."""
    return os.path.isfile(path) if isinstance(path, Path) else path.is_file()  # noqa: PTH113 - as above


def fetch(paths: Iterable[LogPath], parts: Iterable[tuple[LogPath, int, int | None]] = ()) -> None:
    """Read files that are far away in one call, so that `read_bytes` and `read_part` find them; local ones are let be.

    Args:
        paths: files of one look at a table, all of each.
        parts: files, each with an offset and how many bytes there; None: all that are left.

    """
    wanted = [(path, path.span(0, None)) for path in paths if isinstance(path, FarPath)]
    wanted += [(path, path.span(offset, size)) for path, offset, size in parts if isinstance(path, FarPath)]
    by_look: dict[int, tuple[FarPath, dict[Span, None]]] = {}
    for path, span in wanted:
        if span not in path._seen.parts:
            by_look.setdefault(id(path._seen), (path, {}))[1][span] = None
    for path, spans in by_look.values():
        read = far_files.read_spans(path.spark, list(spans))
        path._seen.parts.update(zip(spans, read, strict=True))


def read_part(path: LogPath, offset: int, size: int | None) -> bytes:
    """Return some bytes of a file.

    Args:
        path: of the file.
        offset: of the first byte.
        size: how many there are; None: all that are left.

    Raises:
        FileNotFoundError: it is not there.

    """
    if isinstance(path, Path):
        with path.open("rb") as stream:
            stream.seek(offset)
            return stream.read(-1 if size is None else size)
    fetch((), [(path, offset, size)])
    found = path._seen.parts[path.span(offset, size)]
    if found is None:
        raise FileNotFoundError(str(path))
    return found


def first_line(path: LogPath) -> bytes:
    """Return the first line of a file; of a local one no more is read."""
    if isinstance(path, Path):
        with path.open("rb") as stream:
            return stream.readline()
    return path.read_bytes().partition(b"\n")[0]


def modified(path: LogPath) -> int:
    """Return when a file was written, in milliseconds since 1970."""
    return path.modified() if isinstance(path, FarPath) else path.stat().st_mtime_ns // _MILLISECOND

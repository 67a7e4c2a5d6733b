"""The promise of a registration, written down: a manifest, one for each version of a table."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from forward_lineage.row_ids.data_files import DataFile
from forward_lineage.row_ids.secrets import redacted
from forward_lineage.showing.html import facts_html, table_html
from forward_lineage.showing.plain_text import counted
from forward_lineage.spark.names import split_name, string_literal
from forward_lineage.spark.paths import is_address, is_far
from forward_lineage.storage.fields import made, number, text
from forward_lineage.storage.sealed import FORMAT
from rewrites.tables import BaseTable
from udafs.delta import MAX_ID

#: Of a registration whose files are not all local, or that names several paths: format 2, but for that.
ANYWHERE = 3
#: Of a table whose own log says which rows have which ids: format 3, but for that.
WITH_A_LOG = 4
#: Of a table with a key that is a copy, or of whose rows hashes are kept: any of the formats before, but for that.
WITH_OLD_ROWS = 5
#: Of a table with a log whose files are not read row by row as they are: format 4, but for that.
WITH_DELETED_ROWS = 6
#: Of a table with a log that is not local: format 6, but for that.
WITH_A_FAR_LOG = 7
THIS_MANIFEST = "{manifest}"  # in a row id: stands for the path of the manifest itself, as a SQL string


class Provider(StrEnum):
    """The provider of a table's row ids. The values stand in manifests and never change."""

    KEY = "key"  # an integer column of the table
    COLUMN = "column"  # an expression that is a row id already
    POSITION = "position"  # of the row in registered Parquet files
    COPY = "copy"  # the position in a materialised copy
    DICTIONARY = "dictionary"  # a materialised dictionary of any unique key
    RESULT = "result"  # the number of a row of a saved result
    DELTA = "delta"  # what row tracking says, of a Delta table
    ICEBERG = "iceberg"  # what row lineage says, of an Iceberg table
    DROPPED = "dropped"  # nothing: the last version of a table that is not registered any more

    @property
    def by_position(self) -> bool:
        """Whether ids are positions in Parquet files that the manifest lists."""
        return self in (Provider.POSITION, Provider.COPY, Provider.RESULT)

    @property
    def by_format(self) -> bool:
        """Whether the table's own log says which rows have which ids."""
        return self in (Provider.DELTA, Provider.ICEBERG)

    @property
    def numbered(self) -> bool:
        """Whether ids are given out once and never again; the others' are values of the table."""
        return self in (Provider.POSITION, Provider.COPY, Provider.DICTIONARY)


_ALWAYS_WRITTEN = {"name", "provider", "columns", "relation", "row_id", "version", "source", "files", "next_id"}
#: Of `Manifest.source`: what is text if it is there, and where the files of a provider are.
_TEXTS = {"path", "table", "data", "relation", "format", "fingerprint", "rows", "digest"}
_PLACE = {Provider.POSITION: "path", Provider.RESULT: "path", Provider.COPY: "data", Provider.DICTIONARY: "data"}
_OF_A_LOG = {
    **dict.fromkeys(("path", "version", "log", "log_digest"), str),
    **{"next_id": int, "parts": list, "changed": list},
}
_NAMES_OF_A_LOG = 3  # see `Manifest.key`


@dataclass(frozen=True)
class Manifest:
    """One version of a table's registration.

    Attributes:
        name: the name that queries use.
        version: counts from 1; every registration that changes anything, and every refresh, adds one.
        provider: what gives the ids.
        columns: the user's columns in order, each with its Spark type.
        relation: see `BaseTable`.
        row_id: see `BaseTable`.
        identified: see `BaseTable`.
        view: SQL of the temporary view that gives the name to queries, when registering made one. Of a table with a log
            that a catalog knows by name, SQL of its rows as registered.
        key: the key columns, or the expression that is the row id. Of a table with a log its id, its place, and the
            version since which its ids are known to have been kept.
        order_by: the order of a materialised copy.
        source: where the rows came from: {"path": …}, {"table": …} or {"dataframe": …}, and the format with its
            options, secrets among them by reference (`row_ids/secrets.py`).
        identity: for a table of one of Spark's catalogs, its full name; two tables may answer to one name after `USE`.
        files: the files that a query reads or whose rows the ids were made from.
        next_id: the first id that was never given to a row.
        retired: ranges [first, end) of ids whose rows are gone; they are never given again.
        trusted: whether uniqueness was taken on trust.

    """

    name: str
    provider: Provider
    columns: tuple[tuple[str, str], ...]
    relation: str
    row_id: str
    identified: str | None = None
    version: int = 0
    view: str | None = None
    key: tuple[str, ...] = ()
    order_by: tuple[str, ...] = ()
    source: dict[str, Any] = field(default_factory=dict)
    identity: str | None = None
    files: tuple[DataFile, ...] = ()
    next_id: int = 0
    retired: tuple[tuple[int, int], ...] = ()
    trusted: bool = False

    def __repr__(self) -> str:
        on_trust = ", on trust" if self.trusted else ""
        columns = counted(len(self.columns), "column")
        return f"Manifest({self.name}, version {self.version}, ids by {self.ids_by}{on_trust}, {columns})"

    def _repr_html_(self) -> str:
        facts = [("ids by", self.ids_by), ("version", str(self.version)), ("on trust", "yes" if self.trusted else "no")]
        facts += [("files", f"{len(self.files):,}")] if self.files else []
        return facts_html(self.name, facts, [table_html(("column", "type"), self.columns)])

    @property
    def ids_by(self) -> str:
        """The source of the ids, in words: ``key (t_id)``, ``position``."""
        by = () if self.provider.by_format else self.key or self.order_by
        return f"{self.provider.value} ({', '.join(by)})" if by else self.provider.value

    def base_table(self, path: Path) -> BaseTable:
        """Return what the rules need to know.

        Args:
            path: where this manifest is kept.

        """
        columns, types = (tuple(each[part] for each in self.columns) for part in (0, 1))
        identified = None if self.identified is None else self._at(path, self.identified)
        return BaseTable(self.name, columns, self.relation, self._at(path, self.row_id), identified, types=types)

    def _at(self, path: Path, sql: str) -> str:
        """SQL that looks ids up in this manifest; a column may be called like what stands for it."""
        if not (self.provider.by_position or self.provider.by_format or self.provider is Provider.DICTIONARY):
            return sql
        return sql.replace(f"dl_row_id({THIS_MANIFEST}, ", f"dl_row_id({string_literal(str(path))}, ")

    def digest(self) -> str:
        """Return a short checksum that tells this version from one of the same number in a home that was made anew."""
        ends = [(file.path, file.size, file.modified, file.offset) for file in (*self.files[:1], *self.files[-1:])]
        said = (self.name, self.version, self.provider.value, self.columns, self.row_id, self.key, self.next_id)
        more = (self.retired, self.source.get("fingerprint"), len(self.files), ends)
        return hashlib.sha256(repr((*said, *more)).encode()).hexdigest()[:16]

    @property
    def near(self) -> bool:
        """Whether all its files are local, so that they can be read without Spark."""
        return not any(file.far for file in self.files)

    def says_the_same(self, other: Manifest) -> bool:
        """Tell whether the two differ in nothing but the version."""
        return vars(self) | {"version": 0} == vars(other) | {"version": 0}

    def to_data(self) -> dict[str, Any]:
        """Return the manifest as JSON-able data, in lists rather than tuples, as it is read back; files come last."""
        head = {key: _in_lists(value) for key, value in vars(self).items() if key != "files"}
        return {"format": self._format, **head, "files": [file.to_json() for file in self.files]}

    @property
    def _format(self) -> int:
        if self.provider.by_format:
            if is_far(self.source["path"]) or not self.near:
                return WITH_A_FAR_LOG
            plain = bool(self.files) and self.identity is None and not self.is_past
            later = any(part.keys() & {"renamed", "cast", "deleted"} for part in self.source["parts"])
            return WITH_A_LOG if plain and not later else WITH_DELETED_ROWS
        made_from = (file["path"] for file in self.source.get("files", ()))
        of_anything = self.provider is Provider.COPY  # as it always was
        if self.source.keys() & {"copied", "hashes"}:
            return WITH_OLD_ROWS
        place = "/" if of_anything else self.source.get("path", "/")
        far = "paths" in self.source or is_far(place) or not self.near or any(map(is_far, made_from))
        return ANYWHERE if far else FORMAT

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Manifest:
        """Read what `to_data` gave, in this release or an earlier one.

        Raises:
            ValueError: it cannot be a manifest.
            BadArgumentError: its name cannot be one.

        """
        if not isinstance(data, dict) or not data.keys() >= _ALWAYS_WRITTEN:
            raise ValueError("a field is missing")
        if not all(isinstance(file, dict) and "offset" in file for file in data["files"]):
            raise ValueError("a file without ids")  # the kernel believes in no default
        found = made(cls, {key: value for key, value in data.items() if key != "format"})
        found.check()
        if found._format > max(FORMAT, data.get("format", FORMAT)):
            raise ValueError("files elsewhere or a log, of which earlier formats know nothing")
        return replace(found, source=redacted(found.source))

    def check(self) -> None:
        """Check that a registration can be so: names are names, places are there, no id is given twice.

        Raises:
            ValueError: it cannot.

        """
        split_name(self.name)
        if self.version < 0 or not 0 <= self.next_id <= MAX_ID:
            raise ValueError("no such version, or no such id")
        for file in self.files:
            file.check()
        if self.provider is Provider.DROPPED:
            return
        self._check_source()
        if self.provider.by_position or self.provider.by_format or self.provider is Provider.DICTIONARY:
            self._check_ids()
        keyed = self.provider in (Provider.KEY, Provider.COLUMN, Provider.DICTIONARY) or self.provider.by_format
        if keyed != bool(self.key) and "relation" not in self.source:  # a catalog's table has an expression, and no key
            raise ValueError("a key where there is none, or none")

    def source_files(self) -> tuple[DataFile, ...]:
        """Return the files that a copy or a dictionary was made from, as they were then."""
        return _files_in(self.source)

    @property
    def copied_from(self) -> dict[str, Any]:
        """What the rows were copied from, as `source` says it; nothing if they are no copy."""
        return self.source if self.provider is Provider.COPY else self.source.get("copied", {})

    def copied_files(self) -> tuple[DataFile, ...]:
        """Return the files that the rows were copied from, as they were then."""
        return _files_in(self.copied_from)

    def hash_files(self) -> tuple[DataFile, ...]:
        """Return the files with a hash for each row, if these are kept."""
        return _files_in(self.source.get("hashes", {}))

    @property
    def gives_name(self) -> bool:
        """Whether registering gives queries the name, as that of a temporary view; else a catalog has it."""
        return self.view is not None and not (self.provider.by_format and self.identity is not None)

    @property
    def is_past(self) -> bool:
        """Whether it is one version of a table with a log, for good."""
        return self.source.get("pinned") is True

    @property
    def has_deleted_rows(self) -> bool:
        """Whether files have rows that the table has not any more."""
        return self.provider.by_format and any("deleted" in part for part in self.source["parts"])

    @property
    def can_be_copied_again(self) -> bool:
        """Whether what the rows were copied from has another name than the copy, by which it is found again."""
        return "dataframe" not in self.copied_from and self.copied_from.get("table", "").lower() != self.name.lower()

    @property
    def keeps_old_rows(self) -> bool:
        """Whether a row that was changed keeps its id, and files of the version before still have what it was."""
        return self.provider.by_format or "copied" in self.source

    def _check_source(self) -> None:
        _check_texts(self.source)
        for old_rows in self.source.keys() & {"copied", "hashes"}:
            _check_old_rows(self.source[old_rows])
        logs = self.source.get("logs", {})
        if not isinstance(logs, dict) or any(number(version) < 0 for version in logs.values()):
            raise ValueError("logs")
        for file in self.source_files():
            file.check()
        if self.provider.by_format:
            self._check_log()
        needed = _PLACE.get(self.provider)
        for pattern in _texts(self.source.get("paths", [])):
            if not (pattern.startswith("/") or is_address(pattern)):
                raise ValueError("paths")
        if needed == "path" and "paths" in self.source and self.provider is Provider.POSITION:
            return
        place = self.source.get(needed or "", "")
        if needed is not None and not (
            place.startswith("/") or (self.provider in (Provider.POSITION, Provider.RESULT) and is_address(place))
        ):
            raise ValueError(f"no {needed}")
        inside = self.source["data"] + "/" if needed == "data" else ""
        if not all(file.path.startswith(inside) for file in self.files):
            raise ValueError("a file of another place")

    def _check_log(self) -> None:
        if not self.source.keys() >= _OF_A_LOG.keys() or len(self.key) != _NAMES_OF_A_LOG:
            raise ValueError("no log")
        if not all(type(self.source[key]) is kind for key, kind in _OF_A_LOG.items()):
            raise ValueError("a log of another type")
        if len([number(each) for each in self.source["changed"]]) != len(self.files):
            raise ValueError("files of which it is not known when they came")
        place = self.source["path"]
        if not 0 <= self.source["next_id"] <= self.next_id or (is_far(place) and not is_address(place)):
            raise ValueError("no such id, or no such place")
        if self.provider is Provider.DELTA and not self.source["version"].isdecimal():
            raise ValueError("no such version")

    def _check_ids(self) -> None:
        """Ids of files, and of rows that are gone, are all different and below the next one."""
        names = {file.path if file.far else os.path.normpath(file.path) for file in self.files}
        if len(names) < len(self.files):  # a home may be called ../home
            raise ValueError("a file twice")
        given = [(file.offset, file.offset + file.rows) for file in self.files if file.rows]
        ends = 0
        retired = () if self.provider.by_format else self.retired  # those are of an earlier registration, of other rows
        for first, end in sorted((*given, *retired)):
            if not ends <= first < end:
                raise ValueError("ids that are given twice")
            ends = end
        if ends > self.next_id:
            raise ValueError("ids that were never given")


@dataclass(frozen=True)
class _Files:
    files: tuple[DataFile, ...]


def _files_in(source: dict[str, Any]) -> tuple[DataFile, ...]:
    return made(_Files, {"files": source.get("files", [])}).files


def _check_texts(source: dict[str, Any]) -> None:
    for key in _TEXTS & source.keys():
        text(source[key])
    if not isinstance(source.get("options", {}), dict):
        raise ValueError("options")


def _check_old_rows(source: dict[str, Any]) -> None:
    _check_texts(source)
    if not text(source.get("data", "")).startswith("/"):
        raise ValueError("no copy, or no hashes")
    for file in _files_in(source):
        file.check()


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise ValueError("paths")
    return [text(each) for each in value]


def _in_lists(value: Any) -> Any:
    return [_in_lists(each) for each in value] if isinstance(value, tuple) else value


def same_ids(one: Manifest | None, other: Manifest | None) -> bool:
    """Tell whether ids of two registrations of a table mean the same rows; of none that is not known."""
    if one is None or other is None:
        return False
    if one.provider.numbered and other.provider.numbered:
        return True
    return (one.provider, one.key, one.row_id, one.identity) == (
        other.provider,
        other.key,
        other.row_id,
        other.identity,
    )

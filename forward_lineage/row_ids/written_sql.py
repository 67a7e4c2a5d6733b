"""The SQL that a registration holds, which is run when its table is queried: none but what its other fields spell.

A manifest has its relation, its view and its row id as SQL, so that readers need not know how they are made. A writer
of a manifest could write any SQL there. So a reader composes it again, from names and paths, and compares.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forward_lineage.row_ids.file_locations import relation_of
from forward_lineage.row_ids.manifest import THIS_MANIFEST, Manifest, Provider
from forward_lineage.spark.names import data_source, data_sources, glob_literal, quoted, quoted_name, string_literal
from forward_lineage.storage.fields import text
from udafs.lineage_set import LineageSet

ROW_ID = f"dl_row_id({THIS_MANIFEST}, _metadata)"
#: The column that a dictionary's ids are in; earlier releases had another name for it.
DICTIONARY_ID = "__dl_row_id"
_DICTIONARY_IDS = (DICTIONARY_ID, "__row_id")
_LATER = {"renamed", "cast", "deleted"}  # of a part, since format 6
_HEX = re.compile(r"(?:[0-9a-f]{2})*")
_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|`(?:[^`]|``)*`|\w+|\s+|--|/\*|.", re.DOTALL)
_PLAIN = re.compile(r"`(\w+)`")
#: Types that can stand in CAST, whatever they are made of: nothing in them ends it.
_TYPE = re.compile(r"(?:(?:decimal\(\d+,\d+\)|(?:var)?char\(\d+\)|\w+|[<>,: ]))+")
_FULL_NAME = re.compile(r"(?:`(?:[^`]|``)+`|\w+)(?:\.(?:`(?:[^`]|``)+`|\w+)){1,3}")


def with_ids(
    name: str, table: str, columns: Sequence[str], key: Sequence[str], folder: Path, *, row_id: str = DICTIONARY_ID
) -> str:
    """Write a table with the ids of its dictionary as a relation; a row that is not there stops the query.

    Args:
        name: the table's name, for the message.
        table: what stands after FROM.
        columns: of the table.
        key: those that the dictionary is over.
        folder: of the dictionary's files.
        row_id: what the ids are called.

    """
    new = string_literal(f"table {name} has rows that are not in its dictionary. Call lineage.refresh('{name}').")
    listed = ", ".join(f"t.{quoted(column)}" for column in columns)
    same = " AND ".join(f"t.{quoted(column)} = d.{quoted(column)}" for column in key)
    number = "__dl_id" if "id" in map(str.lower, key) else "id"  # a name that no column of the key has
    entries = f"SELECT {', '.join(map(quoted, key))}, {ROW_ID} AS {number} FROM {data_source('parquet', folder)}"
    return (
        f"(SELECT {listed}, coalesce(d.{number}, CAST(raise_error({new}) AS BIGINT)) AS {row_id} "
        f"FROM {table} AS t LEFT JOIN ({entries}) AS d ON {same})"
    )


@dataclass(frozen=True)
class Part:
    """Files of a table with a log, which are read alike.

    Attributes:
        put_in: columns that they have not, each with its value, as text; None is NULL.
        renamed: columns that they have under another name, and which.
        cast: columns that have another type in them, all values of which the column's type has, too.
        deleted: rows that the table has not any more, by the ids of their positions: bytes of a set, hexadecimal.
        row_id: their column in which some rows have an id of their own; None: none has.
        row_changed: their column that says when rows were changed, of those that were moved; None: no such.
        files: their places in the manifest's list.

    """

    put_in: tuple[tuple[str, str | None], ...] = ()
    row_id: str | None = None
    row_changed: str | None = None
    files: tuple[int, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    cast: tuple[str, ...] = ()
    deleted: str = ""

    def to_data(self) -> dict[str, Any]:
        """Return it as a manifest's source has it; what came later is there only if it says something."""
        later = {"renamed": dict(self.renamed), "cast": list(self.cast), "deleted": self.deleted}
        data = {key: value for key, value in vars(self).items() if key not in later}
        said = {key: value for key, value in later.items() if value}
        return {**data, "put_in": dict(self.put_in), "files": list(self.files), **said}

    @classmethod
    def of_data(cls, data: Any) -> Part:
        """Read what `to_data` gave.

        Raises:
            ValueError: it cannot be.

        """
        if not isinstance(data, dict) or data.keys() - _LATER != {"put_in", "row_id", "row_changed", "files"}:
            raise ValueError("parts")
        put_in = {text(column): value if value is None else text(value) for column, value in data["put_in"].items()}
        if not all(type(at) is int and at >= 0 for at in data["files"]):
            raise ValueError("parts")
        row_id, row_changed = (data[key] if data[key] is None else text(data[key]) for key in ("row_id", "row_changed"))
        renamed = {text(column): text(name) for column, name in data.get("renamed", {}).items()}
        cast, deleted = tuple(map(text, data.get("cast", ()))), text(data.get("deleted", ""))
        if not _HEX.fullmatch(deleted):
            raise ValueError("deleted rows")
        return cls(
            tuple(put_in.items()), row_id, row_changed, tuple(data["files"]), tuple(renamed.items()), cast, deleted
        )

    def deleted_ids(self) -> LineageSet:
        """Return the ids of the positions whose rows the table has not any more."""
        return LineageSet.from_bytes(bytes.fromhex(self.deleted)) if self.deleted else LineageSet()

    def column(self, name: str, kind: str) -> str:
        """Write a column of the table as an expression over the files.

        Args:
            name: the column's.
            kind: its Spark type.

        """
        put_in, renamed = dict(self.put_in), dict(self.renamed)
        if name in put_in:
            return _value(put_in[name], kind, name)
        found = quoted(renamed.get(name, name))
        if name in self.cast:
            return f"CAST({found} AS {kind}) AS {quoted(name)}"
        return f"{found} AS {quoted(name)}" if name in renamed else found

    def id_of_row(self) -> str:
        """Write the id of a row as an expression over the files."""
        return f"coalesce({quoted(self.row_id)}, {ROW_ID})" if self.row_id is not None else ROW_ID

    def relation(self, files: Sequence[str]) -> str:
        """Write its files, or some of them, as what stands after FROM, without the rows that are gone."""
        found = data_sources("parquet", [glob_literal(path) for path in files])
        # The module that has this name brings sqlglot, which commands without Spark do without.
        return f"{found} WHERE NOT dl_contains(X'{self.deleted}', {ROW_ID})" if self.deleted else found


def rows_of_parts(
    columns: Sequence[tuple[str, str]], files: Sequence[str], parts: Sequence[Part], *, row_id: str | None = None
) -> str:
    """Write the rows of a table with a log as a query.

    Args:
        columns: names and Spark types.
        files: their paths.
        parts: how they are read.
        row_id: what the ids are called; None: without.

    """
    if not parts:  # no row is there
        ids = [] if row_id is None else [f"CAST(NULL AS BIGINT) AS {row_id}"]
        return f"SELECT {', '.join([*(_value(None, kind, name) for name, kind in columns), *ids])} WHERE false"
    queries = []
    for part in parts:
        listed = [part.column(name, kind) for name, kind in columns]
        if row_id is not None:
            listed.append(f"{part.id_of_row()} AS {row_id}")
        queries.append(f"SELECT {', '.join(listed)} FROM {part.relation([files[at] for at in part.files])}")
    return " UNION ALL ".join(queries)


def can_be_cast(kind: str) -> bool:
    """Tell whether a type can be written by its name."""
    return _TYPE.fullmatch(kind) is not None


def _value(value: str | None, kind: str, name: str) -> str:
    written = "NULL" if value is None else string_literal(value)
    return f"CAST({written} AS {kind}) AS {quoted(name)}"


def check_sql(manifest: Manifest) -> None:
    """Check that the SQL of a manifest is what its names and paths make it.

    Raises:
        ValueError: it is something else.
        BadArgumentError: a name cannot stand in SQL.

    """
    if manifest.provider is Provider.DROPPED:
        return  # nobody runs it
    if manifest.identity is not None and not _FULL_NAME.fullmatch(manifest.identity):
        raise ValueError("identity")
    relation = _relation(manifest)
    _demand_same(manifest.relation, relation, "relation")
    if manifest.provider.by_format:
        _check_parts(manifest)
        return
    if manifest.view is not None:
        _demand_same(manifest.view, f"SELECT * FROM {relation}", "view")
    _check_ids(manifest, relation)


def _check_parts(manifest: Manifest) -> None:
    """A table with a log: its SQL follows from its columns, its files and how they are read."""
    if manifest.view is None or manifest.identified is None or manifest.row_id != DICTIONARY_ID:
        raise ValueError("row id")
    parts = [Part.of_data(each) for each in manifest.source["parts"]]
    if sorted(at for part in parts for at in part.files) != list(range(len(manifest.files))):
        raise ValueError("parts")
    written = {column for part in parts for column in (*dict(part.put_in), *part.cast)}
    if not all(can_be_cast(kind) for column, kind in manifest.columns if column in written or not parts):
        raise ValueError("a type")
    files = [file.path for file in manifest.files]
    with_ids = rows_of_parts(manifest.columns, files, parts, row_id=DICTIONARY_ID)
    # To the letter: a literal is a value here, where elsewhere it is a message.
    if (manifest.view, manifest.identified) != (rows_of_parts(manifest.columns, files, parts), f"({with_ids})"):
        raise ValueError("view")


def _relation(manifest: Manifest) -> str:
    """The text after FROM: files that have no other name, or a table of Spark's."""
    if manifest.provider.by_format:
        return manifest.identity or quoted_name(manifest.name)
    if manifest.provider is Provider.DICTIONARY and "copied" in manifest.source:
        return data_source("parquet", manifest.source["copied"]["data"])
    place = manifest.source.get("data" if manifest.provider is Provider.COPY else "path")
    if manifest.identity is None and manifest.provider is not Provider.DICTIONARY and place is not None:
        return data_source("parquet", place)
    if manifest.identity is None and "paths" in manifest.source and manifest.provider is not Provider.COPY:
        return relation_of(manifest.source)
    return manifest.identity or quoted_name(manifest.name)


def _check_ids(manifest: Manifest, relation: str) -> None:
    row_id, key = manifest.row_id, manifest.key
    if "relation" in manifest.source:
        raise ValueError("a table of a catalog, which is not registered")
    match manifest.provider:
        case Provider.KEY:
            _demand_same(row_id, f"CAST({quoted(key[0])} AS BIGINT)", "row id")
        case Provider.COLUMN:
            _demand_same(row_id, f"CAST({key[0]} AS BIGINT)", "row id")
            _check_expression(key[0])
        case Provider.DICTIONARY:
            if row_id not in _DICTIONARY_IDS:
                raise ValueError("row id")
            columns, folder = [column for column, _ in manifest.columns], Path(manifest.source["data"])
            wanted = with_ids(manifest.name, relation, columns, key, folder, row_id=row_id)
            _demand_same(manifest.identified or "", wanted, "identified")
            return
        case _:
            _demand_same(row_id, ROW_ID, "row id")
    if manifest.identified is not None:
        raise ValueError("identified")


def _check_expression(sql: str) -> None:
    """An expression of the user's own: it must at least end where it seems to end."""
    depth = 0
    for token in _TOKEN.findall(sql):
        depth += (token in "([") - (token in ")]")
        # Raw strings end where others do not: no backslash is taken for what it may not be.
        if depth < 0 or token in ("--", "/*", ";", '"', "'", "`") or "\\" in token:
            raise ValueError("row id")
    if depth:
        raise ValueError("row id")


def _demand_same(sql: str, wanted: str, what: str) -> None:
    if sql != wanted and _tokens(sql) != _tokens(wanted):
        raise ValueError(what)


def _tokens(sql: str) -> list[str]:
    """The parts of SQL: backticks around a plain name do not matter, nor do the words of a message."""
    found = [token for token in _TOKEN.findall(sql) if not token.isspace()]
    return ["'…'" if token[0] == "'" and len(token) > 1 else _PLAIN.sub(r"\1", token) for token in found]

"""Facts about tables that a rewrite needs: their columns, where their rows are read, and what identifies a row.

A `Catalog` is plain data: it needs no Spark, and `rewrite_sql` reads nothing else. A live session builds its own from
its registrations (`ForwardLineage.catalog`). Otherwise write one down, in Python or as JSON, or point at a folder of
Parquet files.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from forward_lineage.parquet_files import parquet_columns, parquet_files
from forward_lineage.parquet_files import parquet_tables as parquet_tables  # noqa: PLC0414 - handed on
from forward_lineage.spark.names import data_source, quoted, quoted_name, split_name
from forward_lineage.stored_tables import Kept, RowIds
from rewrites.tables import BaseTable, StoredTable
from udafs.errors import BadArgumentError, NameTakenError, NotTracedError, listed

ENTRY = (
    'An entry is {"columns": […], "key": "an integer column"}, {"path": "a Parquet file"} or '
    '{"columns": […], "relation": "…", "row_id": "…"}; of a table that carries lineage it is {"columns": […], '
    '"meaning": "its property forward_lineage.meaning"}.'
)
_RELATION = ("columns", "relation", "row_id")
_CATALOG = "Give a JSON file of tables by name, or a folder of Parquet files."
_FILE = "Give a Parquet file that is whole, or a folder that holds one."


class Catalog:
    """Base tables by name, without regard to case, as Spark resolves them.

    Args:
        tables: base tables, or what their JSON would say, by name:
            ``Catalog({"sales": {"columns": ["t_id", "price"], "key": "t_id"}})``.

    Raises:
        BadArgumentError: an entry that says too little.
        NameTakenError: the same name twice.

    """

    def __init__(self, tables: Iterable[BaseTable] | Mapping[str, BaseTable | Mapping[str, Any]] = ()) -> None:
        self._tables: dict[tuple[str, ...], BaseTable] = {}
        self._names: dict[tuple[str, ...], str] = {}
        self._stored: dict[tuple[str, ...], Kept] = {}
        if isinstance(tables, Mapping):
            for name, entry in tables.items():
                self._take(name, entry, Path())
        else:
            for table in tables:
                self.add(table)

    def add(self, table: BaseTable) -> None:
        """Add a base table.

        Raises:
            NameTakenError: the name is taken.

        """
        name = split_name(table.name)
        self._check_free(table.name)
        self._tables[name] = table
        self._names[name] = table.name

    def add_stored(self, name: str, columns: Sequence[str], meaning: str) -> None:
        """Add a table that carries the lineage of its rows, such as CREATE TABLE … AS makes when it is rewritten.

        Args:
            name: what queries call it.
            columns: the user's: without `DL`.
            meaning: its property `forward_lineage.meaning`, as SHOW TBLPROPERTIES says it.

        Raises:
            NotTracedError: that is none.
            NameTakenError: the name is taken.

        """
        kept = Kept(name, tuple(columns), meaning)
        kept.meaning()
        self._check_free(name)
        self._stored[split_name(name)] = kept

    def _take(self, name: str, entry: object, folder: Path) -> None:
        if isinstance(entry, Mapping) and "meaning" in entry:
            columns = _columns(name, entry.get("columns"))
            if columns is None or set(entry) != {"columns", "meaning"}:
                raise BadArgumentError(f"the entry of table {name} says {{{', '.join(entry)}}}", instead=ENTRY)
            self.add_stored(name, columns, str(entry["meaning"]))
        else:
            self.add(entry if isinstance(entry, BaseTable) else _from_entry(name, entry, folder))

    def _check_free(self, name: str) -> None:
        if split_name(name) in self._tables or split_name(name) in self._stored:
            raise NameTakenError(f"table {name} is in the catalog already", instead="Name each table once.")

    def add_alias(self, alias: str, table: BaseTable) -> None:
        """Let queries call a table by another name too, unless that is the name of something else."""
        self._tables.setdefault(split_name(alias), table)

    def register(self, name: str, columns: Sequence[str], *, key: str) -> None:
        """Add a table that Spark knows by this name and whose rows a unique, non-negative integer column identifies.

        Raises:
            BadArgumentError: the key is not one of the columns.
            NameTakenError: the name is taken.

        """
        self.add(key_table(name, columns, key))

    def find(self, parts: Sequence[str]) -> BaseTable | StoredTable | None:
        """Return the table that a name means, or None.

        Raises:
            NotTracedError: it carries lineage that cannot be traced through.

        """
        name = tuple(part.lower() for part in parts)
        kept = self._stored.get(name)
        return kept.table() if kept is not None else self._tables.get(name)

    def base_table(self, parts: Sequence[str]) -> BaseTable | None:
        """Return the base table that a name means, or None."""
        return self._tables.get(tuple(part.lower() for part in parts))

    def qualifier(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Return the name as it stands: which database a name without one is of, only a session knows."""
        return tuple(parts)

    def is_variable(self, parts: Sequence[str]) -> bool:
        """Say no: variables are those of a session."""
        return False

    def replacing(self, table: BaseTable) -> Catalog:
        """Return a copy in which this one takes the place of the table of the same name, under all its names."""
        copy = Catalog()
        copy._names, copy._stored = dict(self._names), dict(self._stored)
        copy._tables = {key: table if known.name == table.name else known for key, known in self._tables.items()}
        return copy

    def names(self) -> list[str]:
        """Return the names as they were given, in that order."""
        return [*self._names.values(), *(kept.called for kept in self._stored.values())]

    def nearest(self, parts: Sequence[str]) -> list[str]:
        """Return up to three names that look like this one, the likeliest first."""
        wanted = ".".join(parts).lower()
        by_spelling = {name.lower(): name for name in self.names()}
        close = difflib.get_close_matches(wanted, by_spelling, n=3)
        return [by_spelling[spelling] for spelling in close]

    def __iter__(self) -> Iterator[BaseTable]:
        return (self._tables[key] for key in self._names)

    def __len__(self) -> int:
        return len(self._names) + len(self._stored)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and split_name(name) in {**self._tables, **self._stored}

    def __repr__(self) -> str:
        return f"Catalog({', '.join(self.names())})"

    @classmethod
    def from_json(cls, path: str | Path) -> Catalog:
        """Read a JSON file of entries by table name; relative paths start at the file's folder.

        Raises:
            BadArgumentError: the file is missing, is not JSON, or an entry says too little.

        """
        path = Path(path)
        entries = _json_object(path)
        catalog = cls()
        for name, entry in entries.items():
            catalog._take(name, entry, path.parent)
        return catalog

    def to_json(self, path: str | Path) -> None:
        """Write every table with its columns, relation and row id; `from_json` reads it back."""
        entries = {table.name: _to_entry(table) for table in self}
        entries |= {
            kept.called: {"columns": list(kept.columns), "meaning": kept.text} for kept in self._stored.values()
        }
        Path(path).write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def from_parquet(cls, folder: str | Path) -> Catalog:
        """Take every Parquet file in a folder, and every subfolder that holds one, as a table; ids are row positions.

        Raises:
            BadArgumentError: there is no such folder, or it holds no Parquet file.
            NotTracedError: a table has several files, whose positions need a manifest (`ForwardLineage.register`
                writes one).

        """
        catalog = cls()
        for name, path in parquet_tables(Path(folder)).items():
            catalog.add(parquet_table(name, path, parquet_files(path)))
        return catalog


def key_table(name: str, columns: Sequence[str], key: str, *, relation: str | None = None) -> BaseTable:
    """Describe a table whose rows an integer column identifies.

    Raises:
        BadArgumentError: the key is not one of the columns.

    """
    by_spelling = {column.lower(): column for column in columns}
    if key.lower() not in by_spelling:
        raise no_such_column(name, key, columns)
    relation = relation or quoted_name(name)
    return BaseTable(name, tuple(columns), relation, f"CAST({quoted(by_spelling[key.lower()])} AS BIGINT)")


def no_such_column(table: str, column: str, columns: Sequence[str]) -> BadArgumentError:
    """Say that a table has no such column, and which it has: those that look like it, else the first eight."""
    by_spelling = {each.lower(): each for each in columns}
    close = difflib.get_close_matches(column.lower(), by_spelling, n=3) or list(by_spelling)
    known = listed([by_spelling[spelling] for spelling in close])
    return BadArgumentError(f"table {table} has no column {column}", instead=f"It has {known}.")


def parquet_table(name: str, path: Path, files: Sequence[Path]) -> BaseTable:
    """Describe a table that is one Parquet file, in `path`; its rows are identified by their position.

    Raises:
        NotTracedError: there are several files.
        DamagedError: the one is not Parquet.

    """
    if len(files) > 1:
        raise NotTracedError(
            f"table {name} has {len(files)} Parquet files, and positions across files need a manifest",
            instead=f'Register it, lineage.register("{name}", path="{path}") or in the shell forward-lineage register '
            f"{name} --path {path}; then leave --catalog out.",
        )
    columns = parquet_columns(files[0])
    return BaseTable(name, columns, data_source("parquet", files[0].resolve()), "_metadata.row_index")


def _json_object(path: Path) -> dict[str, Any]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadArgumentError(f"there is no catalog file {path}", instead=_CATALOG) from None
    except (ValueError, OSError) as error:
        raise BadArgumentError(f"{path} cannot be read as a JSON catalog: {error}", instead=_CATALOG) from None
    if not isinstance(entries, dict):
        raise BadArgumentError(f"{path} is not a JSON object of tables by name", instead=ENTRY)
    return entries


def _from_entry(name: str, entry: object, folder: Path) -> BaseTable:
    """Build a base table from what a JSON entry says."""
    if not isinstance(entry, Mapping):
        raise BadArgumentError(f"the entry of table {name} is not an object", instead=ENTRY)
    columns = _columns(name, entry.get("columns"))
    match sorted(set(entry) - {"columns"}):
        case ["path"] if columns is None:
            return _in_folder(name, folder / str(entry["path"]))
        case ["key"] if columns:
            return key_table(name, columns, str(entry["key"]))
        case [*_, "relation", "row_id"] if columns and set(entry) <= {*_RELATION, "identified", "ids"}:
            identified, ids = (str(entry[each]) if each in entry else None for each in ("identified", "ids"))
            _check_ids(name, ids)
            return BaseTable(name, columns, str(entry["relation"]), str(entry["row_id"]), identified, ids)
    raise BadArgumentError(f"the entry of table {name} says {{{', '.join(entry)}}}", instead=ENTRY)


def _check_ids(name: str, ids: str | None) -> None:
    try:
        known = ids is None or RowIds.of_data(json.loads(ids)).name == name
    except (ValueError, TypeError):
        known = False
    if not known:
        raise BadArgumentError(
            f"the entry of table {name} says of its ids what no catalog wrote",
            instead="Write the catalog anew: to_json.",
        )


def _columns(name: str, columns: Any) -> tuple[str, ...] | None:
    if columns is None:
        return None
    if isinstance(columns, str) or not columns or not all(isinstance(column, str) for column in columns):
        raise BadArgumentError(f"the columns of table {name} are not a list of names", instead=ENTRY)
    return tuple(columns)


def _in_folder(name: str, path: Path) -> BaseTable:
    if not path.exists():
        raise BadArgumentError(f"table {name}: there is no {path}", instead=_FILE)
    return parquet_table(name, path, parquet_files(path) or [path])


def _to_entry(table: BaseTable) -> dict[str, Any]:
    entry: dict[str, Any] = {"columns": list(table.columns), "relation": table.relation, "row_id": table.row_id}
    others = {"identified": table.identified, "ids": table.ids}
    return entry | {key: value for key, value in others.items() if value is not None}

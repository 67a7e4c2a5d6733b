"""Whether a tuple of values occurs in a table: a filter says no, or the table is looked up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forward_lineage.approximate.asked_values import Never, asked_value, compared_as
from forward_lineage.approximate.filters.choosing import Comparison, TupleFilter, plain_filter, with_learned
from forward_lineage.approximate.filters.files import FileFilter, file_filter
from forward_lineage.approximate.filters.hashing import Tuples, hash_of, hashes_of
from forward_lineage.approximate.filters.storing import as_arrays, file_filter_of, from_arrays, put_fuse
from forward_lineage.approximate.filters.tuples import MOST_COLUMNS, CodedColumns
from forward_lineage.approximate.row_lookup import RowLookup
from forward_lineage.approximate.table_columns import Kinds, TableColumns
from forward_lineage.columns.array_cache import ArrayReader, Shelf, Writer
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.settings import settings_of_values
from forward_lineage.storage.derived import digest
from udafs.errors import BadArgumentError, DamagedError

_ROOM = "filters"
_FORMAT = 2  # 2 says what columns and files are, for the kernel, and hashes decimals of any length
_OF_FILES = 0.01


@dataclass(frozen=True)
class Occurrence:
    """Whether a tuple occurs; it is true in `if` where it does.

    Attributes:
        occurs: whether it does; that is exact.
        row: the id of a row that has it; None: there is none.
        how: in words: the filter that said no, or where it was looked up.

    """

    occurs: bool
    row: int | None
    how: str

    def __bool__(self) -> bool:
        return self.occurs


@dataclass(frozen=True, eq=False)
class Membership:
    """A filter of the tuples of some columns of a table.

    Attributes:
        table: its name.
        columns: in lower case, in order.
        kind: ``bitmap``, ``fuse`` or ``learned``.
        bits: how many it takes, without that of files.
        keys: how many tuples occur, with all choices of wildcards.
        remark: what else was tried; empty: nothing.
        path: the folder that it is kept in, for `dl_may_occur` and `dl_may_be_in` in SQL. It goes once the filter is of
            another version of the table.

    """

    table: str
    columns: tuple[str, ...]
    kind: str
    bits: int
    keys: int
    remark: str
    path: str
    _filter: TupleFilter
    _files: FileFilter | None

    def __repr__(self) -> str:
        more = f"; {self.remark}" if self.remark else ""
        rate = self.bits / self.keys if self.keys else 0
        return f"Membership({self.table}({', '.join(self.columns)}), {self.kind}, {rate:.2f} bits a key{more})"

    def may_occur(self, values: Mapping[str, object]) -> bool:
        """Tell whether a tuple may occur, as `asked_value` returns its values; False is proven."""
        return bool(self._filter.occurs(_tuple(self.columns, values))[0])

    def files_with(self, values: Mapping[str, object]) -> npt.NDArray[np.bool_] | None:
        """Tell for each file of rows whether it may have a tuple; None: nobody knows."""
        if self._files is None:
            return None
        asked = _tuple(self.columns, values)
        return self._files.may_have(asked.hashes[0], asked.given[0])


class Occurrences:
    """Answers whether tuples occur in the tables of a session.

    Args:
        tables: what is registered.
        home: the folder where what can be made again is kept.
        bring_up_to_date: lets names of saved results mean their newest versions, whoever saved these.

    """

    def __init__(self, tables: RegisteredTables, home: Path, bring_up_to_date: Callable[[], None]) -> None:
        self._tables, self._home, self._bring_up_to_date = tables, home, bring_up_to_date
        self._columns, self._rows = TableColumns(tables, home), RowLookup(tables)
        self._made: dict[tuple[str, tuple[str, ...]], tuple[str, Membership]] = {}

    def occurs(self, table: str, values: Mapping[str, object]) -> Occurrence:
        """Tell whether a tuple occurs; None among the values stands for any."""
        if not isinstance(values, Mapping):
            raise BadArgumentError(f"values={values!r}", instead='Give a dictionary: {"origin": "ORD", "dest": None}.')
        manifest, kinds = self._table(table, list(values))
        asked = {
            name.lower(): asked_value(value, kinds[name.lower()]) for name, value in values.items() if value is not None
        }
        never = [name for name, value in asked.items() if isinstance(value, Never)]
        if never:
            return Occurrence(False, None, f"{never[0]} cannot have that value")
        if manifest.trusted:
            row = self._rows.by_spark(manifest, kinds, asked)
            return Occurrence(row is not None, row, f"looked up: {manifest.name} is on trust, so no filter is used")
        found = self._covering(manifest, kinds)
        if not found.may_occur(asked):
            return Occurrence(False, None, f"proven by a {found.kind} filter of {', '.join(found.columns)}")
        row, how = self._rows.of(manifest, kinds, asked, found.files_with(asked))
        return Occurrence(row is not None, row, how)

    def membership(self, table: str, columns: Sequence[str], *, learned: bool) -> Membership:
        """Return the filter of some columns, which is made unless it is there."""
        if isinstance(columns, str):
            raise BadArgumentError("columns is a text", instead=f'Give a list: columns=["{columns}"].')
        manifest, kinds = self._table(table, columns)
        if manifest.trusted:
            raise BadArgumentError(
                f"a filter of {manifest.name}, which is on trust: nobody knows when its rows change",
                instead="Register files or a table with a key that is checked. occurs looks rows up meanwhile.",
            )
        return self._kept(manifest, kinds, learned=learned)

    def _table(self, table: str, columns: Sequence[str]) -> tuple[Manifest, Kinds]:
        self._bring_up_to_date()
        manifest = self._tables.registered(table)
        check_unchanged(self._tables.spark, manifest)
        if len({str(name).lower() for name in columns}) < len(columns):
            raise BadArgumentError("a column is named twice", instead="Name each once.")
        if len(columns) > MOST_COLUMNS:
            raise BadArgumentError(f"a tuple of {len(columns)} columns", instead=f"Name {MOST_COLUMNS} at most.")
        kinds = self._columns.kinds(manifest, columns, "a filter")
        return manifest, {name: kinds[name] for name in sorted(kinds)}

    def _covering(self, manifest: Manifest, kinds: Kinds) -> Membership:
        """A filter of these columns, or of more that was made already."""
        version = self._version(manifest)
        for (name, columns), (made_of, found) in self._made.items():
            if name == manifest.name.lower() and made_of == version and set(kinds) <= set(columns):
                return found
        return self._kept(manifest, kinds, learned=False)

    def _kept(self, manifest: Manifest, kinds: Kinds, *, learned: bool) -> Membership:
        version, key = self._version(manifest), (manifest.name.lower(), tuple(kinds))
        made_of, known = self._made.get(key, ("", None))
        if known is not None and made_of == version and (known.remark or not learned):
            return known
        shelf = Shelf(self._home, _ROOM, digest(*key, learned))
        found = _opened(manifest, tuple(kinds), shelf.find(version))
        if found is None:
            with shelf.making():
                found = _opened(manifest, tuple(kinds), shelf.find(version))  # made meanwhile
                if found is None:
                    with shelf.writing(version) as writer:
                        self._make(writer, manifest, kinds, learned=learned)
                    found = _opened(manifest, tuple(kinds), shelf.find(version))
        if found is None:
            raise DamagedError(f"the filter of {manifest.name} was damaged while it was made", instead="Ask again.")
        self._made[key] = version, found
        return found

    def _make(self, writer: Writer, manifest: Manifest, kinds: Kinds, *, learned: bool) -> None:
        ids, read = self._columns.read(manifest, kinds)
        check_unchanged(self._tables.spark, manifest)
        columns, remark = coded([read[name] for name in kinds]), ""
        distinct = columns.distinct()
        if learned:
            kept, compared = with_learned(distinct)
            remark = _said(compared)
        else:
            kept = plain_filter(distinct)
        arrays, described = as_arrays(kept)
        described["of"] = [
            {"name": each.name, "values": compared_as(each), "width": each.width} for each in kinds.values()
        ]
        files = self._rows.files(manifest, kinds)
        if files is not None:
            described["files"] = [{"path": each.path, "size": each.size, "modified": each.modified} for each in files]
        if files is not None and len(files) > 1:
            file_of = np.searchsorted([each.offset for each in files], ids, "right") - 1
            of_files = file_filter(columns, file_of, len(files), _OF_FILES)
            pairs = put_fuse(arrays, "files", of_files.pairs)
            described["of_files"] = {"pairs": pairs, "files": of_files.files}
        for name, array in arrays.items():
            writer.put(name, array)
        writer.finish({**described, "bits": kept.bits, "count": int(distinct.keys().size), "remark": remark})

    def _version(self, manifest: Manifest) -> str:
        settings = settings_of_values(self._tables.spark)
        return digest(_FORMAT, manifest.name, manifest.version, manifest.digest(), settings)


def _said(compared: Comparison | None) -> str:
    if compared is None:
        return "nearly every tuple occurs, so nothing is learned"
    (plain, learned), (soon, late) = compared.bits, compared.seconds
    return f"a learned one takes {learned:,} bits instead of {plain:,}, and {late / max(soon, 1e-9):.1f} times as long"


def coded(columns: Sequence[pa.Array]) -> CodedColumns:
    """Return columns as numbers of their values; those that have the same hash are one."""
    codes, hashes = [], []
    for column in columns:
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        unique, number = np.unique(hashes_of(encoded.dictionary.to_pylist()), return_inverse=True)
        place = encoded.indices.fill_null(0).to_numpy().astype(np.int64)
        found = number[place] if number.size else np.full(place.size, -1)
        if column.null_count:
            found = np.where(column.is_valid().to_numpy(zero_copy_only=False), found, -1)
        codes.append(found.astype(np.int64))
        hashes.append(unique)
    return CodedColumns(np.stack(codes, axis=1), hashes)


def _tuple(columns: Sequence[str], values: Mapping[str, object]) -> Tuples:
    hashes = [hash_of(values[name]) if name in values else 0 for name in columns]
    return Tuples(np.array([hashes], np.uint64), np.array([[name in values for name in columns]], np.bool_))


def _opened(manifest: Manifest, columns: tuple[str, ...], reader: ArrayReader | None) -> Membership | None:
    if reader is None:
        return None
    described = reader.described
    files = file_filter_of(reader, described["of_files"]) if "of_files" in described else None
    said = (described["kind"], described["bits"], described["count"], described["remark"])
    return Membership(manifest.name, columns, *said, str(reader.folder), from_arrays(reader, described), files)

"""Tables that carry the lineage of their rows, in a column `DL`, and say themselves what it means.

`CREATE TABLE … AS` writes the meaning with the table, in a table property that stands in the rewritten text: whoever
runs the text writes it. A plain copy of the table has the column and not the property, and its lineage is not believed.

    TBLPROPERTIES ('forward_lineage.meaning' = '{"format": 1, "semantics": "data", …, "tables": [{"name": …}, …]}')
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from forward_lineage.spark.names import in_backticks, split_name
from rewrites.tables import BaseTable, StoredTable
from udafs.errors import BadArgumentError, NotTracedError

PROPERTY = "forward_lineage.meaning"
"""The table property; the kernel reads it, too (udafs/scala/session/StoredLineage.scala)."""
_OF_EARLIER_ROWS = "of rows before"  # what the kernel gives where the property speaks of later rows than are read
_FORMAT = 1
_DIGITS = 16
_SEMANTICS = ("data", "control")
_GRANULARITIES = ("rows", "granules")


@dataclass(frozen=True)
class RowIds:
    """The source of a base table's row ids, as it travels with tables that were made of it.

    Attributes:
        name: of the base table; also of the field of `DL`.
        home: where it is registered; None: nowhere, a catalog says what its ids are.
        version: of the registration; 0 where it has none.
        provider: see `row_ids.manifest.Provider`.
        numbered: whether ids are given out once in a home, and never again to another row.
        digest: of the registration, which tells it from another one of the same number.
        trusted: whether it was taken on trust.
        row_id, relation, identified: see `BaseTable`; "" and None where numbers are given out.
        added: whether the field of `DL` came after the table's first rows, which have NULL there for the empty set.

    """

    name: str
    home: str | None = None
    version: int = 0
    provider: str | None = None
    numbered: bool = False
    digest: str | None = None
    trusted: bool = False
    row_id: str = ""
    relation: str = ""
    identified: str | None = None
    added: bool = False

    @classmethod
    def of(cls, table: BaseTable) -> RowIds:
        """Return what a table of a catalog says of its ids."""
        if table.ids is not None:
            return cls(**json.loads(table.ids))
        return cls(table.name, row_id=table.row_id, relation=table.relation, identified=table.identified)

    def text(self) -> str:
        """Return it as `BaseTable.ids` has it."""
        return json.dumps(self.to_data())

    def to_data(self) -> dict[str, Any]:
        """Return what is not as it mostly is, as JSON-able data."""
        usual = RowIds(self.name)
        unusual = {key: value for key, value in asdict(self).items() if value != getattr(usual, key)}
        return {"name": self.name, **unusual}

    @classmethod
    def of_data(cls, data: dict[str, Any]) -> RowIds:
        """Read what `to_data` gave.

        Raises:
            TypeError: it gave no such thing.

        """
        found = cls(**data)
        for key, value in asdict(found).items():
            kind = type(getattr(_ANY, key))
            if type(value) is not kind and not (value is None and key in _MAY_BE_NONE):
                raise TypeError(f"{key} is {value!r}")
        return found

    def means_the_same_as(self, other: RowIds) -> bool:
        """Tell whether an id of the one is that of the same row by the other."""
        if None not in (self.home, other.home) and self.home != other.home:
            return False
        if self.numbered or other.numbered:
            return self.numbered and other.numbered and self.home is not None and self.home == other.home
        mine, others = (self.row_id, self.identified), (other.row_id, other.identified)
        return mine == others and _same_relation(self.relation, other.relation)


_ANY = RowIds("", home="", provider="", digest="", identified="")  # of each field, a value of its type
_MAY_BE_NONE = ("home", "provider", "digest", "identified")


@dataclass(frozen=True)
class Meaning:
    """The meaning of the lineage in a table's column `DL`.

    Attributes:
        tables: what gives the ids, for each field of `DL`, in their order.
        semantics: ``"data"`` or ``"control"``.
        granularity: ``"rows"``; ``"granules"`` under LINEAGE ON.
        open, fleeting: under control semantics, what may change in the rows, see `rewrites.non_monotonic.Shape`.

    """

    tables: tuple[RowIds, ...]
    semantics: str = "data"
    granularity: str = "rows"
    open: bool = False
    fleeting: tuple[str, ...] | None = ()

    def text(self) -> str:
        """Return the value of the property: plain ASCII, and nothing that Spark puts a variable for."""
        said: dict[str, Any] = {"format": _FORMAT, "semantics": self.semantics, "granularity": self.granularity}
        if self.semantics == "control":
            said |= {"open": self.open, "fleeting": None if self.fleeting is None else list(self.fleeting)}
        return json.dumps({**said, "tables": [table.to_data() for table in self.tables]}).replace("${", "\\u0024{")

    @classmethod
    def of_text(cls, text: str) -> Meaning:
        """Read the value of the property.

        Raises:
            ValueError: it is none that this release, or an earlier one, wrote.

        """
        said = json.loads(text)
        if not isinstance(said, dict) or said.get("format") != _FORMAT:
            raise ValueError("another format")
        if said.get("semantics") not in _SEMANTICS or said.get("granularity") not in _GRANULARITIES:
            raise ValueError("another semantics or granularity")
        fleeting = said.get("fleeting", ())
        try:
            tables = tuple(RowIds.of_data(each) for each in said["tables"])
            return cls(
                tables,
                said["semantics"],
                said["granularity"],
                bool(said.get("open", False)),
                None if fleeting is None else tuple(map(str, fleeting)),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(str(error)) from None

    def names(self) -> list[str]:
        """Return the base tables, in the order of the fields of `DL`."""
        return [table.name for table in self.tables]


def check_of(text: str) -> str:
    """Return the short checksum of a property's value by which rewritten SQL knows it; the kernel computes the same."""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


@dataclass(frozen=True)
class Kept:
    """A table that carries lineage, as it stands in a catalog.

    Attributes:
        called: what messages call it.
        columns: the user's columns.
        fields: those of its column `DL`; None where they are not known.
        text: what it says of their meaning; None: nothing.

    """

    called: str
    columns: tuple[str, ...]
    text: str | None
    fields: tuple[str, ...] | None = field(default=None)

    def meaning(self) -> Meaning:
        """Return what its lineage means.

        Raises:
            NotTracedError: it does not say, or says it of another column than it has.

        """
        if self.text is None:
            raise NotTracedError(
                f"{self.called} has a column DL and does not say what it means: its property {PROPERTY} is missing, as "
                "it is in a table that was made, or copied, without lineage.sql(…)",
                instead=_make(self.called),
            )
        if self.text == _OF_EARLIER_ROWS:
            raise NotTracedError(
                f"the rows of {self.called} were written before CREATE OR REPLACE made it anew, and its property "
                f"{PROPERTY} speaks of rows that were written since",
                instead="Go back to a snapshot that was written since, or make the table anew.",
            )
        try:
            meaning = Meaning.of_text(self.text)
        except ValueError as error:
            raise NotTracedError(
                f"{self.called} says of its column DL what this release cannot read: its property {PROPERTY} is "
                f"damaged, or from a later release ({error})",
                instead=_make(self.called),
            ) from None
        if self.fields is not None and list(self.fields) != meaning.names():
            new = self.fields[len(meaning.tables) :]
            is_halfway = bool(new) and [*meaning.names(), *new] == list(self.fields)
            raise NotTracedError(
                f"the column DL of {self.called} has the fields {', '.join(self.fields)}, and its property {PROPERTY} "
                f"speaks of {', '.join(meaning.names())}",
                instead=add_fields(self.called, new) if is_halfway else _make(self.called),
            )
        return meaning

    def table(self, gone: Mapping[str, str] | None = None) -> StoredTable:
        """Return what the rules need to know.

        Args:
            gone: base table → ids whose rows are gone since.

        Raises:
            NotTracedError: as for `meaning`; or its ids stand for values.

        """
        meaning = self.meaning()
        if meaning.granularity != "rows":
            raise NotTracedError(
                f"the lineage in {self.called} was made with LINEAGE ON: its ids stand for values, not for rows",
                instead=_make(self.called, "without LINEAGE ON"),
            )
        text = str(self.text)
        return StoredTable(
            name=self.called,
            columns=self.columns,
            lineage=tuple(meaning.names()),
            semantics=meaning.semantics,
            meaning=text,
            check=check_of(text),
            open=meaning.open,
            fleeting=meaning.fleeting,
            gone=dict(gone or {}),
            added=frozenset(each.name for each in meaning.tables if each.added),
        )


def add_fields(called: str, bases: Sequence[str]) -> str:
    """Return the remedy where the lineage that a table keeps has no field for some base tables."""
    fields = ", ".join(f"DL.{in_backticks(each)} BINARY" for each in bases)
    return f"Run ALTER TABLE {called} ADD COLUMNS ({fields}) with lineage.sql."


def _make(called: str, how: str = "") -> str:
    return (
        f'Make {called} anew{f" {how}" if how else ""}, with lineage.sql("CREATE TABLE … AS SELECT …"); or query it '
        "with spark.sql(…)."
    )


def row_ids_of(name: str, sources: Iterable[BaseTable | StoredTable]) -> RowIds:
    """Return what gives the ids of a base table in a statement: by the oldest registration, where there are several.

    Args:
        name: of the base table.
        sources: the tables that the statement reads.

    Raises:
        NotTracedError: they name different rows by the same ids.

    """
    found = {each: source.name for source in sources for each in _said_by(source) if each.name.lower() == name.lower()}
    first, *others = found
    for other in others:
        if not first.means_the_same_as(other):
            raise NotTracedError(
                f"ids of {name} mean other rows in {found[first]} than in {found[other]}",
                instead=f"Make both of the same registration of {name}.",
            )
    return replace(min(found, key=lambda each: (each.home is None, each.version)), added=False)


def _said_by(source: BaseTable | StoredTable) -> Sequence[RowIds]:
    return [RowIds.of(source)] if isinstance(source, BaseTable) else Meaning.of_text(source.meaning).tables


def check_fields(traced: Sequence[str], fields: Sequence[str], called: str) -> None:
    """Check that the column `DL` of a table has fields for all tables that rows are traced to.

    Args:
        traced: these tables.
        fields: those of the column.
        called: what messages call the table.

    Raises:
        NotTracedError: a field is missing.

    """
    there = [each.lower() for each in fields]
    missing = [table for table in traced if table.lower() not in there]
    if missing:
        raise NotTracedError(
            f"rows made of {', '.join(missing)} go into {called}, whose column DL is lineage in {', '.join(fields)}",
            instead=f"{add_fields(called, missing)} Delta and Iceberg know such a column. For other "
            "formats, make the table anew, or use lineage.save(…).",
        )


def check_insert(rows: Meaning, target: Meaning, called: str) -> None:
    """Check that rows to be inserted mean by their lineage what the table means by it.

    Args:
        rows: what the lineage of the rows means.
        target: what the table says.
        called: what messages call the table.

    Raises:
        NotTracedError: they do not.

    """
    check_fields(rows.names(), target.names(), called)
    if (rows.semantics, rows.granularity) != (target.semantics, target.granularity):
        kind = f"{target.semantics} lineage" if target.granularity == "rows" else "lineage of LINEAGE ON"
        raise NotTracedError(
            f"{called} has {kind}, and the rows to be inserted have {rows.semantics} lineage",
            instead=f'Say semantics="{target.semantics}", or insert them into a table of their own.',
        )
    there = {each.name.lower(): each for each in target.tables}
    for mine in rows.tables:
        others = there[mine.name.lower()]
        if not mine.means_the_same_as(others):
            raise NotTracedError(
                f"ids of {mine.name} mean other rows in {called}, which {_made_by(others)}, than in the rows to be "
                f"inserted, which are {_by(mine)}",
                instead=f"Make {called} anew, or insert them into a table of their own.",
            )
    if rows.open > target.open or not _within(rows.fleeting, target.fleeting):
        raise NotTracedError(
            f"the rows to be inserted may change with base rows in ways that those of {called} may not, which control "
            "lineage relies on",
            instead=f'Make {called} by the same query with lineage.sql("CREATE TABLE … AS SELECT … WHERE false").',
        )


def _within(inner: tuple[str, ...] | None, outer: tuple[str, ...] | None) -> bool:
    return outer is None or (inner is not None and set(inner) <= set(outer))


def _made_by(ids: RowIds) -> str:
    return f"was made with ids {_by(ids)}"


def _by(ids: RowIds) -> str:
    if ids.home is None:
        return f"by {ids.row_id}"
    return f"by {ids.provider} (version {ids.version} under {ids.home})"


def _same_relation(one: str, other: str) -> bool:
    """Tell whether two relations may be read in one place: a name may be written shorter than it is."""
    if one == other:
        return True
    try:
        short, long = sorted((split_name(one), split_name(other)), key=len)
    except BadArgumentError:
        return False
    return long[len(long) - len(short) :] == short

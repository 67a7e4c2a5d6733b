"""Base rows for the statements of a file: which tables are registered, and when.

A table gets ids right before the first query that reads it, and again when it was changed. It is a table of the scratch
catalog, a table of `--data`, or a temporary view whose own text holds its rows. Such a view (`CREATE TEMPORARY VIEW t
AS SELECT * FROM VALUES …`) is kept as files under its own name, so that it has base rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from forward_lineage.checking.data import as_parquet
from forward_lineage.checking.scratch import HIDDEN
from forward_lineage.checking.statements import defined_name, names_in
from forward_lineage.session import ForwardLineage
from forward_lineage.spark.errors import from_spark
from forward_lineage.spark.names import joined, split_name
from forward_lineage.spark.tables import view_text
from forward_lineage.spark.versions import FAILURES
from udafs.errors import LineageError

_READS = re.compile(r"(?<!Local)(?<!OneRow)Relation\b|RelationV2|LogicalRDD")
_VIEW = re.compile(r"\bView \(")


@dataclass(frozen=True)
class ViewText:
    """A view: its name, its columns, and the query it stands for."""

    name: str
    columns: tuple[str, ...]
    text: str


@dataclass
class BaseTables:
    """The base tables of a file.

    Attributes:
        lineage: the file's session.
        data: the tables of `--data`: name in lower case → file or folder.
        scratch: where those of other formats than Parquet are copied to.
        unregistered: why a table has no ids, by its name in lower case.

    """

    lineage: ForwardLineage
    data: dict[str, Path]
    scratch: Path
    unregistered: dict[str, str] = field(default_factory=dict)
    _made_of: dict[str, set[str]] = field(default_factory=dict)  # what a CREATE statement makes → its words
    _current: dict[str, str] = field(default_factory=dict)  # tables with ids: name in lower case → kind
    _passed: set[str] = field(default_factory=set)  # what was looked at and has no rows of its own

    @property
    def spark(self) -> SparkSession:
        """The file's session."""
        return self.lineage.spark

    def before_set_up(self, sql: str) -> None:
        """Give names back to what a statement is about to change."""
        words, made = names_in(sql), defined_name(sql)
        for name, kind in list(self._current.items()):
            moved = kind == "table" and words & {"use"}
            if moved or (kind == "stand-in" and _last(name) in words) or (kind == "data" and name == made):
                self._forget(name)
        if made is not None:
            self.data.pop(made, None)
            self._made_of.pop(made, None)
            self._made_of[made] = words

    def after_set_up(self, sql: str) -> None:
        """Take note that tables named in a statement may have other rows now."""
        words = names_in(sql)
        for name, kind in list(self._current.items()):
            stands = kind == "data" or (kind == "inline" and self._is_ours(name))
            if _last(name) in words and not stands:
                self._forget(name)
        self._passed.clear()
        self.unregistered.clear()

    def prepare(self, sql: str) -> None:
        """Register what a query may read: every table or view whose name is among its words."""
        words = self._all_words(sql)
        for name in sorted(words & self.data.keys()):
            if name not in self._current:
                self._register_data(name)
        for name, kind in list(self._listed()):
            if _last(name) in words and name not in self._current and name not in self._passed:
                self._passed.add(name)
                self._give_ids(name, kind)

    def views(self, sql: str) -> list[ViewText]:
        """Return the views that a query may read, those that it makes out of base rows, in the order they were made."""
        words = self._all_words(sql)
        names = [name for name in self._made_of if name in words and name not in self._current]
        return [view for name in names if (view := self._view(name)) is not None]

    def _view(self, name: str) -> ViewText | None:
        session: Any = self.spark._jsparkSession.sessionState()
        try:
            identifier = session.sqlParser().parseTableIdentifier(joined((name,)))
            found = session.catalog().getTempViewOrPermanentTableMetadata(identifier)
            columns = self.spark.table(joined((name,))).columns
        except (PySparkException, Py4JJavaError):  # dropped meanwhile
            return None
        if found.tableType().name() != "VIEW" or found.viewText().isEmpty():
            return None
        return ViewText(name, tuple(columns), str(found.viewText().get()))

    def _all_words(self, sql: str) -> set[str]:
        words, seen = names_in(sql), set[str]()
        while unseen := (words & self._made_of.keys()) - seen:
            seen |= unseen
            words = words.union(*(self._made_of[name] for name in unseen))
        return words

    def _listed(self) -> Iterator[tuple[str, str]]:
        """Yield the tables and views of the scratch catalog and what each is: table, view, or temporary view."""
        catalog: Any = self.spark._jsparkSession.sessionState().catalog()
        here = str(catalog.getCurrentDatabase())
        for schema in _sequence(catalog.listDatabases()):
            for table in _sequence(catalog.listTables(schema)):
                if table.table().startswith(("__dl_", HIDDEN)):
                    continue
                if table.database().isEmpty():
                    if schema == here:
                        yield joined((table.table(),)).lower(), "temporary view"
                    continue
                parts = (table.table(),) if schema == here else (schema, table.table())
                kind = catalog.getTableMetadata(table).tableType().name()
                yield joined(parts).lower(), "view" if kind == "VIEW" else "table"

    def _give_ids(self, name: str, kind: str) -> None:
        if kind == "table":
            if not self._register(name, "table"):
                self._stand_in(name, "stand-in")
        elif self._holds_its_rows(name):
            self._stand_in(name, "inline" if kind == "temporary view" else "stand-in")

    def _stand_in(self, name: str, kind: str) -> None:
        if len(split_name(name)) == 1:
            self._register(name, kind, source=name)

    def _register(self, name: str, kind: str, **how: Any) -> bool:
        try:
            self.lineage.register(name, **how)
        except (LineageError, *FAILURES) as error:
            self.unregistered[name] = str(error)
            return False
        self._current[name] = kind
        self.unregistered.pop(name, None)
        return True

    def _register_data(self, name: str) -> None:
        try:
            path = as_parquet(self.spark, self.data[name], self.scratch)
        except FAILURES as error:
            self.unregistered[name] = from_spark(error).what
        else:
            self._register(name, "data", path=path)

    def _forget(self, name: str) -> None:
        del self._current[name]
        with suppress(LineageError):  # it is gone already
            self.lineage.unregister(name)

    def _holds_its_rows(self, name: str) -> bool:
        """Whether a view reads nothing but rows written in its own text, and always the same."""
        try:
            plan: Any = self.spark.table(name)._jdf.queryExecution().analyzed()
        except PySparkException:
            return False
        text = str(plan.toString())
        # The view itself is one; another in it is read, whatever that is made of.
        reads_nothing = not _READS.search(text) and len(_VIEW.findall(text)) == 1
        return reads_nothing and bool(plan.deterministic())

    def _is_ours(self, name: str) -> bool:
        """Whether a temporary view is still the one that gave it its rows."""
        return view_text(self.spark, name) in {each.view for each in self.lineage.tables().values()} - {None}


def _last(name: str) -> str:
    return split_name(name)[-1]


def _sequence(values: Any) -> Iterator[Any]:
    yield from (values.apply(place) for place in range(values.size()))

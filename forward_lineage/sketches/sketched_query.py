"""A query as sketches see it: of what kind it is, which registered tables its names mean, what is known of them."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlglot import exp

from forward_lineage.frontend import Statement, parse
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.sketches.safety.facts import Facts
from forward_lineage.sketches.safety.template import Instance, template
from forward_lineage.sketches.statistics import ColumnStatistics, statistics_of
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import string_literal
from forward_lineage.spark.planning import Arguments
from forward_lineage.spark.tables import is_char
from forward_lineage.storage.derived import digest
from forward_lineage.tracing.names import SessionNames
from rewrites.aliases import table_name
from rewrites.tables import BaseTable
from udafs.errors import LineageError

_REMEMBERED = 256  # texts of which is known what they say


@dataclass(frozen=True)
class QueriedTable:
    """A registered table, as a query names it.

    Attributes:
        name: in the query, in lower case.
        manifest: its registration.
        statistics: of its columns, by name in lower case, as far as files say.

    """

    name: str
    manifest: Manifest
    statistics: Mapping[str, ColumnStatistics]

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(file.size for file in self.manifest.files)

    @property
    def state(self) -> tuple[str, str]:
        """Its present state: its name, and the digest of its registration."""
        return self.manifest.name, self.manifest.digest()


@dataclass(frozen=True)
class AskedQuery:
    """A query that a sketch may serve.

    Attributes:
        sql: its text.
        args: values of its parameters.
        statement: what was read from it.
        instance: its template and its literals.
        tables: that it reads, the largest first.
        facts: what is known of them.

    """

    sql: str
    args: Arguments
    statement: Statement
    instance: Instance
    tables: Sequence[QueriedTable]
    facts: Facts

    @cached_property
    def kind(self) -> str:
        """A short name for its template."""
        return digest(self.instance.template)

    @property
    def bindings(self) -> tuple[str, ...]:
        """The literals of its instance."""
        return self.instance.bindings

    @property
    def size(self) -> int:
        """Bytes of the files of its tables."""
        return sum(table.size for table in self.tables)

    @cached_property
    def states(self) -> tuple[tuple[str, str], ...]:
        """The present states of its tables."""
        return tuple(sorted(table.state for table in self.tables))


class QueryReader:
    """Reads the queries of a session.

    Args:
        tables: the registered tables.
        names: what names mean.

    """

    def __init__(self, tables: RegisteredTables, names: SessionNames) -> None:
        self._spark, self._tables, self._names = tables.spark, tables, names
        self._read: OrderedDict[str, tuple[Statement, Instance] | str] = OrderedDict()
        self._of_type_char: dict[tuple[str, str], Sequence[str]] = {}  # by what tables are

    def query(self, sql: str, args: Arguments, *, least: int) -> AskedQuery | str:
        """The facts about a query; or why no sketch can serve it, or one over so few bytes would not be worth it."""
        if sum(file.size for each in self._tables.all().values() for file in each.files) < least:
            return "the registered tables are small"
        read = self.statement(sql, args)
        if isinstance(read, str):
            return read
        statement, instance = read
        found = tables_of(statement, self._names, self._tables)
        if isinstance(found, str):
            return found
        if sum(each.size for each in found) < least:
            return "its tables are small"
        padded = next((name for each in found for name in self._padded(each) if names_column(statement, name)), None)
        if padded is not None:
            return f"{padded} is of type CHAR, which Spark pads where it is compared"
        ansi = str(self._spark.conf.get("spark.sql.ansi.enabled")).lower() == "true"
        return AskedQuery(sql, args, statement, instance, found, facts_of(found, ansi=ansi))

    def _padded(self, table: QueriedTable) -> Sequence[str]:
        """The columns of type CHAR: to Spark's schemas they are strings. Files alone have none."""
        if table.manifest.relation.lower().startswith("parquet."):
            return ()
        if table.state not in self._of_type_char:
            with spark_errors():
                fields = self._spark.sql(f"SELECT * FROM {table.manifest.relation}").schema.fields
            self._of_type_char[table.state] = [field.name for field in fields if is_char(field)]
        return self._of_type_char[table.state]

    def statement(self, sql: str, args: Arguments) -> tuple[Statement, Instance] | str:
        """The reading of a text, with the values of its parameters; or why it is no query."""
        key = repr((sql, args))
        if key not in self._read:
            try:
                statement = parse(sql)
                is_one = statement.is_query and statement.lineage_on is None
                self._read[key] = (statement, template(statement, literals(args))) if is_one else "it is no query"
            except LineageError as error:
                self._read[key] = f"{error}".splitlines()[0]
            if len(self._read) > _REMEMBERED:
                self._read.popitem(last=False)
        self._read.move_to_end(key)
        return self._read[key]


def tables_of(statement: Statement, names: SessionNames, tables: RegisteredTables) -> list[QueriedTable] | str:
    """Return the registered tables that a query reads, the largest first; or why no sketch can be of use.

    Args:
        statement: a query.
        names: what names mean.
        tables: the registered tables.

    Raises:
        LineageError: a name means something that is damaged, or a table is no longer what was registered.

    """
    here = names.here()
    ctes = {cte.alias.lower() for cte in statement.tree.find_all(exp.CTE)}
    found: dict[str, QueriedTable] = {}
    for node in statement.tree.find_all(exp.Table):
        parts = table_name(node)
        called = ".".join(parts).lower()
        if called in found or (len(parts) == 1 and called in ctes):
            continue
        means = here.find(parts)
        if not isinstance(means, BaseTable):
            return f"{'.'.join(parts)} is no registered table"
        (manifest,) = tables.check_unchanged([means.name])  # before its files are asked for statistics
        if len({name.lower() for name, _ in manifest.columns}) < len(manifest.columns):
            return f"{manifest.name} has columns that differ in case alone"
        found[called] = QueriedTable(called, manifest, statistics_of(manifest))
    known = [each.manifest.name.lower() for each in found.values()]
    if not known:
        return "it reads no registered table"
    if len(set(known)) < len(known):
        return "it reads a table by two names"
    return sorted(found.values(), key=lambda each: -each.size)


def names_column(statement: Statement, column: str) -> bool:
    """Say whether a query may read a column of that name."""
    named = (node.name.lower() for node in statement.tree.find_all(exp.Column))
    return column.lower() in named or any(not _is_counted(star) for star in statement.tree.find_all(exp.Star))


def _is_counted(star: exp.Star) -> bool:
    return isinstance(star.parent, exp.Func) and star.parent.name.lower() == "count"


def facts_of(tables: Sequence[QueriedTable], *, ansi: bool) -> Facts:
    """Return what is known of tables for proofs.

    Args:
        tables: of a query.
        ansi: whether Spark fails where a number overflows.

    """
    statistics = {
        (each.name, column): (*((known.low, known.high) if known.exact else (None, None)), known.has_nulls)
        for each in tables  # a bound that was cut short is no value
        for column, known in each.statistics.items()
    }
    keys = [
        (each.name, *each.manifest.key) for each in tables if len(each.manifest.key) == 1 and not each.manifest.trusted
    ]
    return Facts.of_statistics({each.name: dict(each.manifest.columns) for each in tables}, statistics, keys, ansi=ansi)


_PLAIN = re.compile(r"-?\d{1,18}(\.\d{1,18})?|(DATE\s*)?'[^'\\]*'", re.ASCII | re.IGNORECASE)


def is_plain(literal: str) -> bool:
    """Whether a literal is read by all alike: no escapes, no exponents, no letters behind a number."""
    return _PLAIN.fullmatch(literal) is not None


def literals(args: Arguments) -> Mapping[str, str] | None:
    """Return the values of parameters as SQL, by name or by number; None where they are not known here."""
    if not args or not can_be_written(args):
        return None
    named = args if isinstance(args, dict) else {str(i): value for i, value in enumerate(args)}
    return {name: _literal(value) for name, value in named.items()}


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return string_literal(value)
    return "NULL" if value is None else str(value).upper() if isinstance(value, bool) else repr(value)


def can_be_written(args: Arguments) -> bool:
    """Whether values of parameters are of types that stand for themselves in JSON and in SQL."""
    values = args.values() if isinstance(args, dict) else args or []
    return all(value is None or isinstance(value, bool | int | float | str) for value in values)

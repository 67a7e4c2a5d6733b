"""A query before and after an edit, and what DuckDB says of the texts of the rules over its tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import duckdb
from sqlglot import exp

from forward_lineage.frontend import parse
from forward_lineage.store.updating import columns_read
from forward_lineage.store.updating.hidden_keys import NUMBER
from forward_lineage.store.updating.joining_rows import KEYS, PLACE, Probe, key_column
from forward_lineage.store.updating.sources_in_parts import Source
from forward_lineage.store.updating.touched_rows import before, both, kept
from tests.oracle.algebra import BaseTable, Database, Statement, Value
from tests.oracle.comparison import AnnotatedRow
from tests.oracle.printing import to_sql

_DUCKDB = duckdb.connect(config={"threads": 1})
_TYPES = {"int": "BIGINT", "str": "VARCHAR", "bool": "BOOLEAN"}

Keys = set[tuple[Value, ...]]
KnownSource = tuple[Source, Keys]


@dataclass(frozen=True)
class Changes:
    """Keys of rows of a table that went, came and differ, and in which columns."""

    gone: frozenset[Value]
    came: frozenset[Value]
    differs: frozenset[Value]
    columns: frozenset[str]

    @property
    def before(self) -> frozenset[Value]:
        return self.gone | self.differs

    @property
    def after(self) -> frozenset[Value]:
        return self.came | self.differs

    def as_read(self, tree: exp.Expr) -> Changes:
        """Return them as a query reads them."""
        return self if columns_read.reads_any(tree, self.columns) else replace(self, differs=frozenset())


def changes(then: BaseTable, now: BaseTable) -> Changes:
    """Compare two versions of a table by key."""
    old, new = ({row[0]: row for row in table.rows} for table in (then, now))
    differs = frozenset(key for key in old.keys() & new.keys() if old[key] != new[key])
    others = {
        at for key in differs for at, values in enumerate(zip(old[key], new[key], strict=True)) if len(set(values)) > 1
    }
    columns = frozenset(then.columns[at] for at in others)
    return Changes(frozenset(old.keys() - new.keys()), frozenset(new.keys() - old.keys()), differs, columns)


@dataclass(frozen=True)
class Case:
    """A query, its tables before and after an edit, and its rows with their lineage before."""

    statement: Statement
    then: Database
    now: Database
    saved: Counter[AnnotatedRow]
    keeps_old_rows: bool = True

    @cached_property
    def tree(self) -> exp.Expr:
        """The query as the rules see it."""
        return parse(to_sql(self.statement)).tree

    @cached_property
    def changed(self) -> dict[str, Changes]:
        """The tables that have other rows now, as the query reads them."""
        found = {name: changes(self.then[name], self.now[name]).as_read(self.tree) for name in self.then}
        return {name: each for name, each in found.items() if each.before or each.after}

    @property
    def went(self) -> set[str] | None:
        """The tables of which rows went or differ; None: they cannot be read any more."""
        found = {name for name, each in self.changed.items() if each.before}
        return found if self.keeps_old_rows or not found else None

    def is_touched(self, lineage: frozenset[tuple[str, Value]]) -> bool:
        """Whether a row with this lineage was made of a row that went or differs."""
        return any(one in self.changed[table].before for table, one in lineage if table in self.changed)

    def comes(self, table: str) -> BaseTable:
        """The rows of a table that came or differ."""
        rows = tuple(row for row in self.now[table].rows if row[0] in self.changed[table].after)
        return replace(self.now[table], rows=rows)

    def stays(self, table: str) -> BaseTable:
        """The rows of a table that did not come or differ."""
        rows = tuple(row for row in self.now[table].rows if row[0] not in self.changed[table].after)
        return replace(self.now[table], rows=rows)

    def goes(self, table: str) -> BaseTable:
        """The rows of a table that went or differ, as they were."""
        rows = tuple(row for row in self.then[table].rows if row[0] in self.changed[table].before)
        return replace(self.then[table], rows=rows)


class Answers:
    """What DuckDB says of texts of the rules.

    Args:
        case: whose tables are read.
        probe: that is asked, if it is one.
        keys: the rows of `KEYS`.
        rows_of: the table whose rows are to be numbered.
        sources: queries that stand as tables.
        gone: whether the probe is to read the rows that went alone.

    """

    def __init__(
        self,
        case: Case,
        probe: Probe | None = None,
        keys: Collection[tuple[Value, ...]] | None = None,
        rows_of: str = "",
        sources: Sequence[KnownSource] = (),
        *,
        gone: bool = False,
    ) -> None:
        self._case, self._probe, self._keys, self._rows_of = case, probe, keys, rows_of
        self._sources, self._gone = sources, gone

    def rows(self, sql: str) -> list[tuple[Value, ...]]:
        """Return the rows of a text in Spark's dialect."""
        tables = {**self._case.now, **self._of_probe()}
        texts = " ".join([sql, *(text for source, _ in self._sources for text in (*source.whole, *source.part))])
        named = [name for name in tables if name in texts]
        parts = [_values(name, tables[name].columns, tables[name].kinds, tables[name].rows) for name in named]
        if self._keys is not None:
            kinds = [_kind(column) for column in zip(*self._keys, strict=True)]
            parts.append(_values(KEYS, tuple(key_column(i) for i in range(len(kinds))), kinds, list(self._keys)))
        parts += self._of_sources()
        text = _in_duckdb(sql)
        own, rest = (text.removeprefix("WITH "), "") if text.startswith("WITH ") else ("", text)
        names = ", ".join(filter(None, [*parts, own]))
        return _DUCKDB.execute(f"WITH {names} {rest}" if names else rest).fetchall()

    def _of_sources(self) -> Iterator[str]:
        """Queries that stand as tables, and their touched parts, as relations that a text may read."""
        for source, keys in self._sources:
            name = f"__keys_of_{source.name}"
            whole = [_in_duckdb(text) for text in source.whole]
            now = then = f"SELECT * FROM ({whole[0]}) AS none WHERE false"
            if keys:
                yield _values(name, source.keys, [_kind(column) for column in zip(*keys, strict=True)], list(keys))
                now, then = (_in_duckdb(text.replace(KEYS, name)) for text in source.part)
            yield f"{source.name} AS ({whole[0]})"
            yield f"{before(source.name)} AS ({whole[1]})"
            yield f"{both(source.name)} AS (({whole[0]}) UNION ALL ({then}))"
            if self._probe is not None and self._probe.table == source.name:
                yield f"{PLACE} AS (({now}) UNION ALL ({then}))"

    def _of_probe(self) -> Database:
        case, probe = self._case, self._probe
        if probe is None:
            return {PLACE: _numbered(case.now[self._rows_of])} if self._rows_of else {}
        found: Database = {}
        if probe.table in case.changed:
            came = case.comes(probe.table)
            found[PLACE] = _both(case.goes(probe.table), came) if probe.both else came
            if self._gone:
                found[PLACE] = case.goes(probe.table)
        for name in case.changed:
            found[both(name)] = _both(case.goes(name), case.now[name])
            found[before(name)] = case.then[name]
            found[kept(name)] = case.stays(name)
        return found


def _both(one: BaseTable, other: BaseTable) -> BaseTable:
    return replace(other, rows=(*one.rows, *other.rows))


def _numbered(table: BaseTable) -> BaseTable:
    """Rows with their keys in front, as their numbers."""
    rows = tuple((row[0], *row) for row in table.rows)
    return BaseTable((NUMBER, *table.columns), (table.kinds[0], *table.kinds), rows)


def _values(name: str, columns: Sequence[str], kinds: Sequence[str], rows: Sequence[tuple[Value, ...]]) -> str:
    """Rows as a relation that a text may read; there is one without rows, too."""
    listed = [tuple(None for _ in columns), *rows]
    typed = ", ".join(
        f"CAST({column} AS {_TYPES[kind]}) AS {column}" for column, kind in zip(columns, kinds, strict=True)
    )
    values = ", ".join(f"({i}, {', '.join(map(_literal, row))})" for i, row in enumerate(listed))
    return f"{name} AS (SELECT {typed} FROM (VALUES {values}) AS v(nr, {', '.join(columns)}) WHERE nr > 0)"


def _literal(value: Value) -> str:
    if value is None:
        return "NULL"
    return "'{}'".format(value.replace("'", "''")) if isinstance(value, str) else str(value)


def _kind(values: Sequence[Value]) -> str:
    known = {type(value) for value in values if value is not None}
    return {bool: "bool", int: "int", str: "str"}[known.pop()] if known else "str"


def _in_duckdb(sql: str) -> str:
    text = sql.replace("LEFT SEMI JOIN", "SEMI JOIN").replace("LEFT ANTI JOIN", "ANTI JOIN")
    text = text.replace("AS STRING", "AS VARCHAR")
    return text.replace("<=>", "IS NOT DISTINCT FROM")

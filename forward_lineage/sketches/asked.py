"""A query as sketches see it: of what kind it is, which registered tables its names mean, what is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from forward_lineage.frontend import Statement
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.registered_tables import RegisteredTables
from forward_lineage.sketches.safety.facts import ColumnFacts, Facts
from forward_lineage.sketches.statistics import ColumnStatistics, statistics_of
from forward_lineage.tracing.names import SessionNames
from rewrites.aliases import table_name
from rewrites.tables import BaseTable


@dataclass(frozen=True)
class Table:
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
        """What it is now: its name, and the digest of its registration."""
        return self.manifest.name, self.manifest.digest()


def tables_of(statement: Statement, names: SessionNames, tables: RegisteredTables) -> list[Table] | str:
    """Return the registered tables that a query reads, the largest first; or why no sketch can be of use.

    Args:
        statement: a query.
        names: what names mean.
        tables: the registered tables.

    Raises:
        LineageError: a name means something that is damaged, or no longer what was registered.

    """
    here = names.here()
    ctes = {cte.alias.lower() for cte in statement.tree.find_all(exp.CTE)}
    found: dict[str, Table] = {}
    for node in statement.tree.find_all(exp.Table):
        parts = table_name(node)
        called = ".".join(parts).lower()
        if called in found or (len(parts) == 1 and called in ctes):
            continue
        means = here.find(parts)
        if not isinstance(means, BaseTable):
            return f"{'.'.join(parts)} is no registered table"
        manifest = tables.registered(means.name)
        found[called] = Table(called, manifest, statistics_of(manifest))
    known = [each.manifest.name.lower() for each in found.values()]
    if not known:
        return "it reads no registered table"
    if len(set(known)) < len(known):
        return "it reads a table by two names"
    return sorted(found.values(), key=lambda each: -each.size)


def facts_of(tables: Sequence[Table], *, ansi: bool) -> Facts:
    """Return what is known of tables for proofs.

    Args:
        tables: of a query.
        ansi: whether Spark fails where a number overflows.

    """
    return Facts({each.name: _columns(each) for each in tables}, ansi)


def _columns(table: Table) -> dict[str, ColumnFacts]:
    key = table.manifest.key if not table.manifest.trusted and len(table.manifest.key) == 1 else ()
    found = {}
    for name, kind in table.manifest.columns:
        known = table.statistics.get(name.lower())
        unique = name.lower() in {each.lower() for each in key}
        if known is None:
            found[name.lower()] = ColumnFacts(kind, unique=unique)
        else:
            found[name.lower()] = ColumnFacts(kind, known.low, known.high, known.has_nulls, unique)
    return found

"""Queries in FROM and WITH that group, as tables of their own: their rows that differ are those of some keys.

    SELECT n, count(*) FROM (SELECT shop, count(*) AS n FROM sales GROUP BY shop) s GROUP BY n
    the source:    SELECT shop, count(*) AS n FROM sales GROUP BY shop        in parts, by its key `shop`
    the query:     SELECT n, count(*) FROM <source> s GROUP BY n              in parts, by its key `n`

The probes of the source give the keys of its touched parts. What it gives for these over D, and over D′, are the rows
that went and came of a table. So the rules for tables tell what these do to the query around it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from forward_lineage.frontend import parse, print_sql
from forward_lineage.frontend.joins import table_name
from forward_lineage.frontend.row_values import has_aggregates
from forward_lineage.store.updating import joining_rows as joined
from forward_lineage.store.updating.joining_rows import NotProvableError, Probe
from forward_lineage.store.updating.touched_rows import before

_NAME = "__fl_source_{}__"
_OF_PARTS = ("group", "distinct", "having", "qualify")


@dataclass(frozen=True)
class Source:
    """A query within a query, that stands as a table in it.

    Attributes:
        name: of the table.
        probes: give the keys of its touched parts.
        keys: the columns of these.
        whole: its text, over the tables as they are now, and as they were.
        part: the same for the parts whose keys are in a relation called as `replacement_rules.KEYS` says.

    """

    name: str
    probes: tuple[Probe, ...]
    keys: tuple[str, ...]
    whole: tuple[str, str]
    part: tuple[str, str]


InParts = Callable[[exp.Expr, set[str], Sequence[Source]], tuple[Sequence[Probe], Sequence[str], str]]
"""Gives the probes, names of keys and the restricted text of a query, some tables being changed."""


def expanded(sql: str, sources: Sequence[Source]) -> str:
    """Put the queries back in a text, where it names them as tables."""
    for source in reversed(sources):
        sql = sql.replace(source.name, f"({source.whole[0]})")
    return sql


def with_sources(tree: exp.Expr, changed: Collection[str], in_parts: InParts) -> tuple[exp.Expr, tuple[Source, ...]]:
    """Return a query with tables in the place of queries in FROM and WITH, and what these are.

    Args:
        tree: the query; it is not changed.
        changed: names of tables, in lower case.
        in_parts: tells how a query falls apart.

    Raises:
        NotProvableError: one of them is not known to.

    """
    names = set(changed)
    joined.check_names(tree, names)
    if any(each.parent is not tree for each in tree.find_all(exp.With)):
        return tree, ()
    split = _Split(tree.copy(), names, in_parts)
    split.names()
    split.queries(split.tree)
    return split.tree, tuple(split.found)


class _Split:
    def __init__(self, tree: exp.Expr, changed: set[str], in_parts: InParts) -> None:
        self.tree, self._changed, self._in_parts = tree, changed, in_parts
        self.found: list[Source] = []

    def names(self) -> None:
        """Of WITH."""
        named = self.tree.args.get("with_")
        for cte in list(named.expressions) if named is not None else ():
            self.queries(cte.this)
            if not joined.mentions(cte.this, self._changed):
                continue
            name, columns = self._add(cte.this), cte.args["alias"].columns
            cte.pop()
            for table in list(self.tree.find_all(exp.Table)):
                if table_name(table) == cte.alias.lower():
                    _stand_in(table, name, table.args.get("alias"), cte.args["alias"].this, columns)
        if named is not None and not named.expressions:
            self.tree.set("with_", None)

    def queries(self, tree: exp.Expr) -> None:
        """Those in FROM, the inner ones first."""
        for query in reversed(list(tree.find_all(exp.Subquery))):
            if not isinstance(query.parent, exp.From | exp.Join) or not joined.mentions(query, self._changed):
                continue
            if query.args.get("alias") is None or not (self._is_in_parts(query.this) or _is_asked(query, tree)):
                continue
            joined.refuse_parts(query, {"this", "alias"})
            name = self._add(query.this)
            query.replace(exp.Table(this=exp.to_identifier(name), alias=query.args["alias"].copy()))

    def _is_in_parts(self, query: exp.Expr) -> bool:
        """Whether a query is more than joined rows."""
        if not isinstance(query, exp.Select):
            return False
        asks = joined.mentions(query.args.get("where"), self._changed)
        return asks or has_aggregates(query) or any(query.args.get(part) for part in _OF_PARTS)

    def _add(self, query: exp.Expr) -> str:
        if not isinstance(query, exp.Select):
            raise NotProvableError("a query in FROM or WITH that a change touches is more than one SELECT")
        alone = query.copy()
        probes, keys, sql = self._in_parts(alone, set(self._changed), self.found)
        name = _NAME.format(len(self.found))
        texts = [(text, self._then(text)) for text in (print_sql(alone), sql)]
        self.found.append(Source(name, tuple(probes), tuple(keys), *texts))
        self._changed.add(name)
        return name

    def _then(self, sql: str) -> str:
        """A text over the tables as they were."""
        tree = parse(sql).tree
        for table in list(tree.find_all(exp.Table)):
            if table_name(table) in self._changed:
                joined.read_instead(table, before(table_name(table)))
        return print_sql(tree)


def _stand_in(
    table: exp.Table, name: str, alias: exp.TableAlias | None, called: exp.Expr, columns: Sequence[exp.Expr]
) -> None:
    alias = alias.copy() if alias is not None else exp.TableAlias(this=called.copy())
    if columns and not alias.columns:
        alias.set("columns", [each.copy() for each in columns])
    table.replace(exp.Table(this=exp.to_identifier(name), alias=alias))


def _is_asked(query: exp.Expr, tree: exp.Expr) -> bool:
    """Whether a query in FROM is in one that an expression asks."""
    return any(isinstance(each, exp.Where | exp.Having | exp.Qualify) for each in _above(query, tree))


def _above(node: exp.Expr, top: exp.Expr) -> Iterator[exp.Expr]:
    while node is not top and node.parent is not None:
        node = node.parent
        yield node

"""What control lineage promises: the base tables, cut down to the lineage of a row, give the row back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tests.oracle.algebra import (
    Agg,
    Cte,
    Database,
    Derived,
    Exists,
    InQuery,
    Join,
    LateralView,
    Node,
    Over,
    Query,
    Scalar,
    Select,
    SetOp,
    Statement,
    Table,
)
from tests.oracle.algebra import Values as ValuesList
from tests.oracle.expressions import Lineage, MoreThanOneRowError, NondeterministicError, Values
from tests.oracle.interpreter import descendants, interpret


def is_promised(statement: Statement) -> bool:
    """Whether nothing is made of rows that others were kept out of, but groups that have with them what kept those out.

    Not so are windows, padding, LIMIT over such rows; groups in subqueries of expressions, and of values that may be
    others.
    """
    nodes = list(descendants(statement))
    ctes = {node.name: node.query for node in nodes if isinstance(node, Cte)}
    once = len(ctes) == sum(isinstance(node, Cte) for node in nodes)
    in_expressions = {
        id(inner) for node in nodes if isinstance(node, Scalar | Exists | InQuery) for inner in descendants(node.query)
    }
    return not any(
        _is_made_of_what_is_left(node, set(ctes))
        and not (once and id(node) not in in_expressions and _has_what_kept_out(node, ctes))
        for node in nodes
    )


def _is_made_of_what_is_left(node: Node, ctes: set[str]) -> bool:
    if isinstance(node, Query):
        return (node.limit is not None or node.offset is not None) and _keeps_out([node.body], ctes)
    if not isinstance(node, Select) or not _is_made_of_others(node):
        return False
    if _shares_rows(node) and any(isinstance(each, Over) for each in _own(node)):
        return True
    return _keeps_out([each for each in (node.source, node.where) if each is not None], ctes)


def _shares_rows(select: Select) -> bool:
    """Whether a base row may be in several groups: over those of one group, another one then has other values."""
    if select.group is None:
        return False
    nodes = [] if select.source is None else [select.source, *descendants(select.source)]
    return bool(select.group.kind or select.views) or any(isinstance(node, Join | LateralView) for node in nodes)


def _has_what_kept_out(select: Node, ctes: Mapping[str, Query]) -> bool:
    """Whether rows are kept out of a group only in the ways that its control lineage counts."""
    if not isinstance(select, Select) or any(isinstance(node, Over) for node in _own(select)):
        return False
    return select.source is None or _lets_in(select.source, ctes)


def _lets_in(source: Node, ctes: Mapping[str, Query]) -> bool:
    match source:
        case Table(name):
            # In its own text the name means what it meant before: WITH t AS (SELECT … FROM t).
            return name not in ctes or _lets_in(ctes[name], {each: ctes[each] for each in ctes if each != name})
        case Derived(query):
            return _lets_in(query, ctes)
        case Query(body):
            return source.limit is None and source.offset is None and _lets_in(body, ctes)
        case SetOp(op, left, right):
            return op == "UNION" and _lets_in(left, ctes) and _lets_in(right, ctes)
        case Select():
            made_anew = source.group is not None or source.having is not None or source.qualify is not None
            if made_anew or any(isinstance(node, Agg | Over | Scalar) for node in _own(source, where=False)):
                return False
            return source.source is None or _lets_in(source.source, ctes)
        case Join():
            plain = source.kind in ("INNER", "CROSS", "COMMA", "SEMI") or (source.kind == "ANTI" and source.on)
            return bool(plain) and _lets_in(source.left, ctes) and _lets_in(source.right, ctes)
        case ValuesList():
            return True
    return False


def _own(select: Select, *, where: bool = True) -> Iterator[Node]:
    """The nodes of a SELECT's expressions; of its subqueries the first node only."""
    stack: list[Node] = [each for each in select.children() if each is not select.source]
    if not where:
        stack = [each for each in stack if each is not select.where]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, Query):
            stack.extend(node.children())


def _is_made_of_others(select: Select) -> bool:
    if select.group is not None or select.having is not None:
        return True
    return any(
        isinstance(node, Agg | Over) or (isinstance(node, Join) and node.kind in ("LEFT", "RIGHT", "FULL"))
        for node in descendants(select)
    )


def _keeps_out(roots: list[Node], ctes: set[str]) -> bool:
    return any(
        isinstance(node, Scalar | Exists | InQuery | SetOp)
        or (isinstance(node, Join) and node.kind not in ("INNER", "CROSS", "COMMA", "SEMI"))
        or (isinstance(node, Select) and (node.having is not None or node.qualify is not None or _shares_rows(node)))
        or (isinstance(node, Query) and (node.limit is not None or node.offset is not None))
        or (isinstance(node, Table) and node.name in ctes)
        for root in roots
        for node in [root, *descendants(root)]
    )


def broken(statement: Statement, database: Database, rows: Iterator[tuple[Values, Lineage]]) -> Values | None:
    """Return a row that its lineage does not give back, None if there is none; `rows` as (values, lineage)."""
    for values, lineage in rows:
        cut = {
            name: replace(table, rows=tuple(row for row in table.rows if (name, row[0]) in lineage))
            for name, table in database.items()
        }
        try:
            again = interpret(statement, cut, "data")
        except NondeterministicError:
            continue
        except MoreThanOneRowError:
            return values
        if values not in {row.values for row in again.rows}:
            return values
    return None

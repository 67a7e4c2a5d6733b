"""Invariants that every rule keeps, checked after each; the rule that broke one is named.

user columns  as many as before, under the same names, in the same order; of a star: the columns that the user excepts
lineage       no table that was traced is lost, none comes in that is not to be traced; in the end there is one hidden
              column for each, stars show none, and nothing else was added
clauses       a rule that adds a clause to a SELECT answers for it

A broken one is a mistake of ours: the query is refused before Spark sees it. (A clause of the user's that no rule
answers for is no mistake but a refusal: `Block.refuse_unclaimed`.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn

from sqlglot import exp

from rewrites.aliases import output_name
from rewrites.block import Block
from rewrites.environment import Environment, TracedQuery
from rewrites.refusals import position_of
from rewrites.rules import BlockRule, QueryRule, name_of
from rewrites.rules.stars import star_of
from rewrites.tables import FILE_METADATA
from rewrites.terms import HIDDEN_PREFIX, LINEAGE_COLUMN, hidden_column
from udafs.errors import InternalError

_Rule = BlockRule | QueryRule


class BlockInvariants:
    """One SELECT before its rules ran, and what they may make of it."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._columns = _shown(block.select.expressions)
        self._unclaimed = set(block.unclaimed())
        self._tables: set[str] = set()

    def check(self, rule: BlockRule) -> None:
        """Compare the block with what it was before `rule`.

        Raises:
            InternalError: the rule broke something.
        """
        block = self._block
        items = block.select.expressions
        split = len(self._columns)
        if (found := _shown(items[:split])) != self._columns:
            _broken(block.select, rule, f"the user's columns {_listed(self._columns)} became {_listed(found)}")
        added = [output_name(item) for item in items[split:]]
        if added != [hidden_column(table) for table in block.hidden]:
            _broken(block.select, rule, f"there are columns that nobody asked for: {_listed(added)}")
        self._check_clauses(rule)
        self._check_tables(rule)

    def check_end(self, rule: BlockRule) -> None:
        """Check a block whose last rule has run.

        Raises:
            InternalError: a traced table has no hidden column, or a star shows one.
        """
        block = self._block
        if missing := self._tables - block.hidden.keys():
            _broken(block.select, rule, f"no hidden column for {_listed(sorted(missing))}")
        for item in block.select.expressions[: len(self._columns)]:
            self._check_star(item, rule)

    def _check_clauses(self, rule: BlockRule) -> None:
        if added := set(self._block.unclaimed()) - self._unclaimed:
            _broken(self._block.select, rule, f"nobody answers for {_listed(sorted(added))}")

    def _check_tables(self, rule: BlockRule) -> None:
        block = self._block
        tables = {*block.rows, *block.constants, *block.groups}
        for item in block.scope.from_items:
            if item.traced:
                self._tables.update(item.hidden)
        if lost := self._tables - tables:
            _broken(block.select, rule, f"the lineage in {_listed(sorted(lost))} is lost")
        if others := [table for table in tables - self._tables if not _to_be_traced(table, block.env)]:
            _broken(block.select, rule, f"{_listed(others)} is not to be traced")
        self._tables = tables

    def _check_star(self, item: exp.Expr, rule: BlockRule) -> None:
        star = star_of(item)
        if star is None:
            return
        one = self._block.scope.source_of_star(item) if isinstance(item, exp.Column) else None
        seen = [one] if one is not None else self._block.scope.from_items if star is item else []
        hidden = sorted(hidden_column(table) for source in seen if one or source.in_star for table in source.hidden)
        excepted = sorted(name for name in _excepted(star) if name.startswith(HIDDEN_PREFIX))
        if excepted != hidden:
            _broken(item, rule, f"a star excepts {_listed(excepted)}, and the hidden columns are {_listed(hidden)}")


def check_query(traced: TracedQuery, users: Sequence[str] | None, rule: QueryRule) -> None:
    """Compare a rewritten query with what it says of itself, and with the user's.

    Args:
        traced: the query, after `rule`.
        users: its columns as the user wrote them; None where there was a star.
        rule: the rule that answered for it.

    Raises:
        InternalError: the rule broke something.
    """
    if users is not None and [column or "" for column in traced.columns or ()] != users:
        _broken(traced.tree, rule, f"the user's columns {_listed(users)} became {_listed(traced.columns or ())}")
    hidden = [hidden_column(table) for table in traced.hidden]
    for select in _making_rows(traced.tree):
        names = [output_name(item) for item in select.expressions]
        split = len(names) - len(hidden)
        if names[split:] != hidden or any(name.startswith(HIDDEN_PREFIX) for name in names[:split]):
            _broken(select, rule, f"the hidden columns are not {_listed(hidden)}: {_listed(names)}")


def check_result(result: exp.Query, traced: TracedQuery) -> None:
    """Check the outermost query: `DL` is its last column if any table is traced, and none is hidden.

    Raises:
        InternalError: it is not so.
    """
    if not traced.hidden:
        return
    *users, last = [output_name(item) for item in result.selects]
    if last != LINEAGE_COLUMN or any(name.startswith(HIDDEN_PREFIX) for name in users):
        raise InternalError(f"the result has the columns {_listed([*users, last])}", at=position_of(result))


def user_columns(query: exp.Query) -> list[str] | None:
    """Return the names of a query's columns as the user wrote them, its own or its left side's; None with a star."""
    first: exp.Expr = query
    while isinstance(first, exp.Subquery | exp.SetOperation):
        first = first.this
    items = first.expressions if isinstance(first, exp.Select) else []
    if not items or any(star_of(item) is not None for item in items):
        return None
    return [output_name(item) for item in items]


def _making_rows(query: exp.Expr) -> Iterator[exp.Select]:
    """Yield every SELECT whose rows are rows of the query."""
    if isinstance(query, exp.Select):
        yield query
    elif isinstance(query, exp.Subquery | exp.SetOperation):
        yield from _making_rows(query.this)
        if isinstance(query, exp.SetOperation):
            yield from _making_rows(query.expression)


def _shown(items: Sequence[exp.Expr]) -> list[str]:
    """Return what the user sees of each item: its name, or of a star what it is a star of, and the exceptions."""
    return [_star_shown(item, star) if (star := star_of(item)) is not None else output_name(item) for item in items]


def _star_shown(item: exp.Expr, star: exp.Star) -> str:
    users = [name for name in _excepted(star) if not name.startswith(HIDDEN_PREFIX) and name != FILE_METADATA]
    return f"{item.text('table')}.* EXCEPT ({', '.join(users)})"


def _excepted(star: exp.Star) -> list[str]:
    return [column.name for column in star.args.get("except_") or ()]


def _to_be_traced(table: str, env: Environment) -> bool:
    return env.tracing and (env.chosen is None or table.lower() in env.chosen)


def _listed(names: Sequence[str | None]) -> str:
    return ", ".join(name or "(no name)" for name in names) or "none"


def _broken(node: exp.Expr, rule: _Rule, how: str) -> NoReturn:
    raise InternalError(f"the rule {name_of(rule)} broke a query: {how}", at=position_of(node))

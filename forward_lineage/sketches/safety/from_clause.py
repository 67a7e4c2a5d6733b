"""FROM, read into joins of accesses and of queries; semi and anti joins become EXISTS and NOT EXISTS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from forward_lineage.frontend.joins import EXISTENCE, OF_JOIN, join_form, join_words, table_name
from forward_lineage.sketches.safety.algebra import (
    Access,
    Call,
    Column,
    Constants,
    Filter,
    Join,
    Plan,
    Project,
    Ref,
    Scalar,
    Subquery,
)
from forward_lineage.sketches.safety.facts import Facts, family
from forward_lineage.sketches.safety.functions import common
from forward_lineage.sketches.safety.names import Names, Source, common_names
from forward_lineage.sketches.safety.scalars import ReadQuery, ScalarReader
from forward_lineage.sketches.safety.verdicts import unproven

_OF_TABLE = {"this", "alias", "joins", "db", "catalog"}


@dataclass
class FromReader:
    """Reads a FROM clause into one plan, and puts its names into `names`."""

    facts: Facts
    ctes: Mapping[str, Any]
    names: Names
    cte: Callable[[str], Plan | None]
    read_query: ReadQuery

    def read(self, clause: exp.From, joins: list[exp.Join]) -> Plan:
        """Read the clause and the joins behind it."""
        plan = self._item(clause.this)
        for join in joins:
            plan = self._join(plan, join)
        return plan

    # --- items ----------------------------------------------------------------------------------------------

    def _item(self, node: exp.Expr) -> Plan:
        if node.args.get("pivots") or node.args.get("sample") or node.args.get("laterals"):
            unproven("PIVOT and TABLESAMPLE are not read", node)
        if isinstance(node, exp.Paren):
            return self._item(node.this)
        inner = node.args.get("joins") or []
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table | exp.Subquery) and not node.alias:
            plan = self._item(node.this)
        else:
            plan = self._named(node)
        for join in inner:
            plan = self._join(plan, join)
        return plan

    def _named(self, node: exp.Expr) -> Plan:
        match node:
            case exp.Table():
                plan, name = self._table(node), node.name
            case exp.Subquery() if isinstance(node.this, exp.Values):
                plan, name = _values(node.this), ""
            case exp.Subquery():
                plan, name = self.read_query(node.this, Names(outer=None)), ""
            case exp.Values():
                plan, name = _values(node), ""
            case _:
                unproven(f"{node.key} in FROM is not read", node)
        alias = node.args.get("alias")
        columns = [each.name for each in alias.args.get("columns") or []] if isinstance(alias, exp.TableAlias) else []
        if columns:
            plan = _with_names(plan, columns, node)
        self.names.sources.append(Source((node.alias or name).lower(), plan.columns))
        return plan

    def _table(self, node: exp.Table) -> Plan:
        if {key for key, value in node.args.items() if value} - _OF_TABLE or not isinstance(node.this, exp.Identifier):
            unproven("such a table is not read", node)
        name = table_name(node)
        if "." not in name:
            query = self.cte(name)
            if query is not None:
                return query
        known = self.facts.tables.get(name)
        if known is None:
            unproven(f"{name} is no table that is known", node)
        columns = tuple(Column(column, family(facts.type), facts) for column, facts in known.items())
        return Access(columns, name, node=node)

    # --- joins ----------------------------------------------------------------------------------------------

    def _join(self, left: Plan, node: exp.Join) -> Plan:
        form = join_form(node)
        if {key for key, value in node.args.items() if value} - OF_JOIN or form is None:
            unproven(f"{join_words(node)} is not read", node)
        before = list(self.names.sources)
        right = self._item(node.this)
        added = self.names.sources[len(before) :]
        if form in EXISTENCE:
            return self._existence(left, right, node, form, before, added)
        using = [each.name.lower() for each in node.args.get("using") or []]
        if str(node.args.get("method") or "").upper() == "NATURAL":
            using = common_names(before, added)
        on = [self._equal(name, before, added, form, node) for name in using]
        if condition := node.args.get("on"):
            on += ScalarReader(self.names, self.read_query, ansi=self.facts.ansi).conditions(condition)
        columns = (*left.columns, *right.columns)
        match form:
            case "INNER":
                plan: Plan = Join(columns, "inner", left, right, (), node=node)
                return Filter(columns, plan, tuple(on), node=node) if on else plan
            case "LEFT":
                return Join(columns, "left", left, right, tuple(on), node=node)
            case "RIGHT":
                return Join(columns, "left", right, left, tuple(on), node=node)
        return Join(columns, "full", left, right, tuple(on), node=node)

    def _equal(self, name: str, left: list[Source], right: list[Source], form: str, node: exp.Expr) -> Scalar:
        """The condition that a column of USING stands for; the name then means the column that is there."""
        a = Names(left, merged=dict(self.names.merged)).meaning(exp.column(name), aliases="last")
        b = Names(right).meaning(exp.column(name), aliases="last")
        merged = {"RIGHT": b, "FULL": Call("coalesce", (a, b), family=common([a.family, b.family]), node=node)}
        self.names.merged[name] = merged.get(form, a)
        return Call("=", (a, b), family="bool", node=node)

    def _existence(  # noqa: PLR0917
        self, left: Plan, right: Plan, node: exp.Join, form: str, before: list[Source], added: list[Source]
    ) -> Plan:
        if node.args.get("using") or node.args.get("method"):
            unproven(f"{form} JOIN with USING is not read", node)
        if condition := node.args.get("on"):
            on = ScalarReader(self.names, self.read_query, ansi=self.facts.ansi).conditions(condition)
            right = Filter(right.columns, right, on, node=node)
        self.names.sources = before
        del added
        found: Scalar = Subquery("exists", right, (), node, family="bool")
        if form == "ANTI":
            found = Call("not", (found,), family="bool", node=node)
        return Filter(left.columns, left, (found,), node=node)


def _with_names(plan: Plan, names: list[str], node: exp.Expr) -> Plan:
    if len(names) != len(plan.columns):
        unproven("another number of names than of columns", node)
    items = tuple(
        (Column(name, column.family), Ref(column, family=column.family))
        for name, column in zip(names, plan.columns, strict=True)
    )
    return Project(tuple(column for column, _ in items), plan, items, node=node)


def _values(node: exp.Values) -> Plan:
    first = node.expressions[0]
    width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
    if any(isinstance(each, exp.Anonymous | exp.Query) for each in node.walk() if isinstance(each, exp.Expr)):
        unproven("VALUES of expressions is not read", node)
    return Constants(tuple(Column(f"col{i + 1}") for i in range(width)), single=False, node=node)

"""From the parsed statement to our algebra: queries, blocks, set operations.   [Niu 2021, §3]

SQL that is not read raises `UnprovenError`, with its place; nothing is guessed. A CTE that is read twice is its query
twice, as Spark may evaluate it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from forward_lineage.sketches.safety.algebra import (
    Aggregate,
    Call,
    Column,
    Constants,
    Distinct,
    Filter,
    Plan,
    Project,
    Ref,
    Scalar,
    SetOperation,
    SortKey,
    Subquery,
    TopK,
    Windows,
)
from forward_lineage.sketches.safety.facts import Facts
from forward_lineage.sketches.safety.from_clause import FromReader
from forward_lineage.sketches.safety.functions import common
from forward_lineage.sketches.safety.names import Names
from forward_lineage.sketches.safety.scalars import ScalarReader
from forward_lineage.sketches.safety.verdicts import UnprovenError, unproven
from rewrites.spark_functions import AGGREGATES

Items = list[tuple[Column, Scalar]]
Ctes = Mapping[str, tuple[exp.CTE, "Ctes"]]

_READ = {
    *("expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with_"),
    *("qualify", "kind", "hint", "this", "expression", "by_name", "side", "on", "operation_modifiers", "windows"),
}


def read_plan(tree: exp.Expr, facts: Facts) -> Plan:
    """Read a statement.

    Raises:
        UnprovenError: something in it is not read.
    """
    return QueryReader(facts, {}).query(tree, None)


@dataclass(frozen=True)
class QueryReader:
    """Reads queries in which some CTEs have names."""

    facts: Facts
    ctes: Ctes

    def query(self, node: exp.Expr, outer: Names | None) -> Plan:
        """Read a query with its WITH, ORDER BY and LIMIT."""
        if isinstance(node, exp.Subquery) and not node.args.get("pivots"):
            inner = self._with(node).query(node.this, outer)
            return self._ordered(node, inner, Names(), None, outer)
        reader = self._with(node)
        unread = {key for key, value in node.args.items() if value} - _READ
        if unread:
            unproven(f"{min(unread).upper().replace('_', ' ')} is not read", node)
        match node:
            case exp.Select():
                return reader.select(node, outer)
            case exp.SetOperation():
                plan = reader.set_operation(node, outer)
                return reader._ordered(node, plan, Names(), None, outer)
        raise UnprovenError(f"{node.key} is not read", node)

    def _with(self, node: exp.Expr) -> QueryReader:
        clause = node.args.get("with_")
        if clause is None:
            return self
        if clause.args.get("recursive"):
            unproven("a recursive CTE is not read", clause)
        ctes = self.ctes
        for cte in clause.expressions:
            ctes = {**ctes, cte.alias.lower(): (cte, ctes)}
        return replace(self, ctes=ctes)

    # --- SELECT ---------------------------------------------------------------------------------------------

    def select(self, node: exp.Select, outer: Names | None) -> Plan:
        """Read one block: FROM, WHERE, GROUP BY, HAVING, windows, the select list, DISTINCT, ORDER BY, LIMIT."""
        if node.args.get("kind"):
            unproven(f"SELECT {node.args['kind']} is not read", node)
        names = Names(outer=outer)
        plan = self._from(node, names)
        reader = ScalarReader(names, self.query, ansi=self.facts.ansi)
        if where := node.args.get("where"):
            plan = Filter(plan.columns, plan, reader.conditions(where.this), node=where)
        group = node.args.get("group")
        reader.grouped = group is not None or _has_aggregates(node)
        items = self._items(node, names, reader)
        keys = [] if group is None else self._keys(group, node, names, reader, items)
        having, qualify = node.args.get("having"), node.args.get("qualify")
        passing = reader.conditions(having.this, aliases="same") if having else ()
        asked = reader.conditions(qualify.this, aliases="same") if qualify else ()
        order = node.args.get("order")
        sorting = [] if order is None else [self._sort_key(each, items, reader) for each in order.expressions]
        if reader.grouped:
            plan = Aggregate((), plan, tuple(keys), tuple(reader.calls), node=node)
            items, passing, sorting = _over_groups(keys, items, passing, sorting)
        if passing:
            plan = Filter((), plan, passing, node=having)
        if reader.windows:
            plan = Windows((), plan, tuple(reader.windows), node=node)
        if asked:
            plan = Filter((), plan, asked, node=qualify)
        plan = Project(tuple(column for column, _ in items), plan, tuple(items), node=node)
        if node.args.get("distinct"):
            if node.args["distinct"].args.get("on"):
                unproven("DISTINCT ON is not read", node)
            plan = Distinct(plan.columns, plan, node=node)
        return self._ordered(node, plan, names, sorting, outer)

    def _from(self, node: exp.Select, names: Names) -> Plan:
        clause = node.args.get("from_")
        if clause is None:
            return Constants((), single=True, node=node)
        return FromReader(self.facts, self.ctes, names, self._cte, self.query).read(
            clause, node.args.get("joins") or []
        )

    def _cte(self, name: str) -> Plan | None:
        """Read the query of a CTE anew; None if there is none of that name."""
        if name not in self.ctes:
            return None
        cte, ctes = self.ctes[name]
        plan = replace(self, ctes=ctes).query(cte.this, None)
        names = [each.name for each in cte.args["alias"].args.get("columns") or []]
        return renamed(plan, names) if names else plan

    def _items(self, node: exp.Select, names: Names, reader: ScalarReader) -> Items:
        items: Items = []
        for item in node.expressions:
            if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
                star = item if isinstance(item, exp.Star) else item.this
                if any(star.args.values()):
                    unproven("a star with EXCEPT is not read", item)
                qualifier = "" if isinstance(item, exp.Star) else item.table.lower()
                items += [(Column(name, each.family), each) for name, each in names.star(qualifier, item)]
                continue
            named = isinstance(item, exp.Alias)
            scalar = reader.read(item.this if named else item)
            name = item.alias if named else item.name if isinstance(item, exp.Column) else None
            column = Column(name, scalar.family)
            items.append((column, scalar))
            if name and named:
                names.aliases.setdefault(name.lower(), scalar)
        return items

    def _keys(
        self,
        group: exp.Group,
        node: exp.Select,
        names: Names,
        reader: ScalarReader,
        items: Items,
    ) -> Items:
        if group.args.get("all"):
            if any((each.name or "").lower() == "all" for source in names.sources for each in source.columns):
                unproven("GROUP BY all, where a column is called so, is not read", group)
            found = [scalar for (_, scalar), item in zip(items, node.expressions, strict=False) if not _folds(item)]
        else:
            others = [key for key, value in group.args.items() if value and key != "expressions"]
            special = [each for each in group.expressions if isinstance(each, exp.Rollup | exp.Cube | exp.GroupingSets)]
            if others or special:
                unproven("ROLLUP, CUBE and GROUPING SETS are not read", group)
            plain = replace(reader, grouped=False)
            found = [_at(items, each)[1] if _ordinal(each) else plain.read(each) for each in group.expressions]
        return [(_key_column(scalar), scalar) for scalar in dict.fromkeys(found)]

    # --- set operations, order ------------------------------------------------------------------------------

    def set_operation(self, node: exp.SetOperation, outer: Names | None) -> Plan:
        """Read UNION, INTERSECT or EXCEPT; columns go by position."""
        if node.args.get("by_name"):
            unproven("BY NAME is not read", node)
        left, right = self.query(node.this, outer), self.query(node.expression, outer)
        if len(left.columns) != len(right.columns):
            unproven("sides of different width", node)
        columns = tuple(
            Column(a.name, common([a.family, b.family])) for a, b in zip(left.columns, right.columns, strict=True)
        )
        every = node.args.get("distinct") is False
        match node:
            case exp.Union():
                plan: Plan = SetOperation(columns, "union all", left, right, node=node)
                return plan if every else Distinct(columns, plan, node=node)
            case exp.Intersect():
                return SetOperation(columns, "intersect all" if every else "intersect", left, right, node=node)
        return SetOperation(columns, "except all" if every else "except", left, right, node=node)

    def _sort_key(self, node: exp.Expr, items: Items, reader: ScalarReader) -> SortKey:
        """Read a key of a block's ORDER BY: a position, a name of the select list, or any expression."""
        inner = node.this if isinstance(node, exp.Ordered) else node
        if _ordinal(inner):
            column = _at(items, inner)[0]
            plain = exp.Ordered(this=exp.Null(), **{k: v for k, v in node.args.items() if k != "this"})
            return replace(reader.sort_key(plain), expr=Ref(column, family=column.family))
        before, reader._aliases = reader._aliases, "first"
        try:
            return reader.sort_key(node)
        finally:
            reader._aliases = before

    def _ordered(
        self, node: exp.Expr, plan: Plan, names: Names, sorting: list[SortKey] | None, outer: Names | None
    ) -> Plan:
        limit, offset, order = (node.args.get(each) for each in ("limit", "offset", "order"))
        if limit is None and offset is None:
            return plan  # an order alone keeps every row
        if order is not None and order.find(exp.Query, exp.Window):
            # What these look at is not in the lineage, so nothing reproduces the key.
            unproven("a subquery or a window in an ORDER BY with LIMIT", order)
        if sorting is None:
            names = Names([], outer, {}, {})
            names.aliases = {(c.name or "").lower(): Ref(c, family=c.family) for c in plan.columns}
            reader = ScalarReader(names, self.query, ansi=self.facts.ansi)
            items = _as_items(plan)
            sorting = [] if order is None else [self._sort_key(each, items, reader) for each in order.expressions]
        return TopK(plan.columns, plan, tuple(sorting), _count(limit), _count(offset) or 0, node=node)


def _over_groups(
    keys: Items, items: Items, passing: tuple[Scalar, ...], sorting: list[SortKey]
) -> tuple[Items, tuple[Scalar, ...], list[SortKey]]:
    """The expressions above a GROUP BY, its keys replaced by the columns that hold them."""
    replaced: dict[Scalar, Scalar] = {scalar: Ref(column, family=column.family) for column, scalar in keys}
    return (
        [(column, substituted(scalar, replaced)) for column, scalar in items],
        tuple(substituted(each, replaced) for each in passing),
        [replace(key, expr=substituted(key.expr, replaced)) for key in sorting],
    )


def _as_items(plan: Plan) -> Items:
    return [(column, Ref(column, family=column.family)) for column in plan.columns]


def _count(clause: exp.Expr | None) -> int | None:
    """The number of LIMIT or OFFSET."""
    if clause is None:
        return None
    number = clause.expression
    if isinstance(number, exp.Var) and number.name.lower() == "all":
        return None
    if not isinstance(number, exp.Literal) or number.is_string or not str(number.this).isdigit():
        unproven("LIMIT by something else than a number is not read", clause)
    return int(number.this)


def _ordinal(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit()


def _at(items: Items, ordinal: exp.Expr) -> tuple[Column, Scalar]:
    """The item of the select list that a position means."""
    place = int(str(ordinal.this))
    if not 1 <= place <= len(items):
        unproven(f"there is no column {place} in the select list", ordinal)
    return items[place - 1]


def _key_column(scalar: Scalar) -> Column:
    """A key that is a column stays that column; a group has its value."""
    return scalar.column if isinstance(scalar, Ref) else Column(None, scalar.family)


def _folds(node: exp.Expr) -> bool:
    """Whether an aggregate stands in an expression, not within its subqueries or windows."""
    if isinstance(node, exp.Query | exp.Window):
        return False
    if isinstance(node, exp.Anonymous) and str(node.this).lower() in AGGREGATES:
        return True
    return any(_folds(child) for child in node.iter_expressions())


def _has_aggregates(node: exp.Select) -> bool:
    order = node.args.get("order")
    clauses = [*node.expressions, *filter(None, [node.args.get("having")]), *(order.expressions if order else [])]
    return node.args.get("having") is not None or any(_folds_in_windows_too(each) for each in clauses)


def _folds_in_windows_too(node: exp.Expr) -> bool:
    if isinstance(node, exp.Window):
        inside = [*node.this.iter_expressions(), *(node.args.get("partition_by") or [])]
        order = node.args.get("order")
        return any(_folds(each) for each in [*inside, *(order.expressions if order else [])])
    if isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Anonymous) and str(node.this).lower() in AGGREGATES:
        return True
    return any(_folds_in_windows_too(child) for child in node.iter_expressions())


def substituted(scalar: Scalar, replaced: Mapping[Scalar, Scalar]) -> Scalar:
    """Replace expressions that are keys of a GROUP BY by the columns that hold them."""
    if scalar in replaced:
        return replaced[scalar]
    match scalar:
        case Call():
            return replace(scalar, args=tuple(substituted(each, replaced) for each in scalar.args))
        case Subquery():
            return replace(scalar, operands=tuple(substituted(each, replaced) for each in scalar.operands))
    return scalar


def renamed(plan: Plan, names: list[str]) -> Plan:
    """Give the columns of a query other names."""
    items = tuple(
        (Column(name, column.family), Ref(column, family=column.family))
        for name, column in zip(names, plan.columns, strict=True)
    )
    return Project(tuple(column for column, _ in items), plan, items, node=plan.node)

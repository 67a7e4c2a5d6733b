"""A naive interpreter of annotated relations.   [Zhang 2007, §3, Definition 1 and §3.4]

A relation is a list of rows, each with the set of (table, row id) pairs it came from. Every operator is the
definition, written with loops; nothing is optimised, hoisted or decorrelated: a subquery is evaluated anew for every
outer row.

What each operator does to lineage ("control adds" = only under control semantics):

- base table: the row's id. VALUES and SELECT without FROM: nothing.
- WHERE, ON, ORDER BY, LIMIT, projection: the input row's. Control adds the rows of the subqueries in a predicate.
- OFFSET: the row's own. Control adds the rows that it skips.
- joins: the union of the sides that matched; an unmatched row of an outer join keeps its own.
- LEFT SEMI JOIN: the left row's. Control adds the right rows that match it, with the rows of the subqueries in ON.
  LEFT ANTI JOIN: the left row's; no right row matches.
- scalar subquery in a select list: adds the rows the subquery returns for this row, also under data. What it returns
  carries its own lineage: an aggregate the union over its group, which may be empty.
- [NOT] EXISTS, [NOT] IN: nothing. Control adds *all* rows the subquery returns for this outer row, whether or not
  they are equal (paper, Q9).
- GROUP BY, ROLLUP, CUBE, GROUPING SETS: the union over the rows of the group, also those a FILTER or DISTINCT inside
  the aggregate drops. A global group over no rows: nothing. Control adds the rows of the subqueries in HAVING.
- DISTINCT, UNION: the union over equal rows (NULL equals NULL). UNION ALL: the row's own.
- INTERSECT [ALL]: all equal rows of both sides, for every copy.
- EXCEPT [ALL]: all equal rows of the left side, for every copy. Control adds all rows of the right side.
- window aggregate: the row's own and all rows of its frame. Control adds those between the row and a ROWS frame.
- lag, lead: the row's own and that of the row that is looked at. Control adds those that are passed over.
- ranking: the row's own. Control adds the rows of its partition.
- explode: the input row's. Lateral: as a join with the subquery evaluated for the left row.
- LINEAGE ON: the id of a base row is the tuple of the values of the expressions on its table; tables not named have
  no lineage.

Decisions where the rule table leaves room:

 1. IN adds all rows of its subquery under control, not only the equal ones (the table says so of NOT IN; the paper's
    Q9 hoists all of IN).
 2. Lineage follows the text, not short-circuits: a subquery counts in an untaken CASE arm, behind `FALSE AND`, and so
    on.
 3. A scalar subquery anywhere within a select-list expression counts as being in the output (`1 + (SELECT …)`, `CASE
    WHEN (SELECT …) > 1`), also as the argument of an aggregate, where the group's union includes the subquery's rows
    for each row of the group. EXISTS and IN in a select list add nothing under data.
 4. lag and lead are aggregates over a frame of one row: they add the row they read. NULLs they skip or defaults they
    take add nothing.
 5. QUALIFY is a predicate, as WHERE is: the frames (and partitions) of the windows in it count under control only.
 6. A window's frame is made of the rows that reach the window (after WHERE, GROUP BY, HAVING), with the lineage they
    have there. A FILTER on a window aggregate does not shrink the frame.
 7. A subquery in ON adds to the pair it was evaluated for; an unmatched row of an outer join gets the rows of the
    subquery evaluated on the row as it comes out, padded with NULLs (the same for uncorrelated subqueries, the only
    ones that are generated there). So does a row for which a later join pads the pair.
 8. A row that ORDER BY … LIMIT drops is not in the lineage of the rows that stay, under either semantics.
 9. A column that nobody reads still counts: a scalar subquery in a derived table's select list is in the lineage of
    its rows.
10. With GROUPING SETS, a set given twice yields its groups twice, each with the lineage of its rows.
11. Under control a subquery that is asked for more than whether a row is there (by NOT, a comparison, in a select
    list), the right sides of EXCEPT and ANTI JOIN, and groups also have what keeps other rows out of them. Which rows
    these are has no single answer: the least is none, the widest all rows of the tables that are read. `promise` says
    what they must be enough for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Literal

from tests.oracle.algebra import (
    Agg,
    Col,
    Cte,
    Database,
    Derived,
    Exists,
    Explode,
    ExplodeItem,
    Expr,
    GroupBy,
    InQuery,
    Item,
    Join,
    LateralView,
    Lit,
    Node,
    Op,
    Over,
    Query,
    Rel,
    Scalar,
    Select,
    SetOp,
    SortKey,
    Star,
    Statement,
    Table,
    Value,
)
from tests.oracle.algebra import Values as ValuesList
from tests.oracle.expressions import (
    Env,
    Evaluator,
    Lineage,
    NondeterministicError,
    Relation,
    Row,
    SpellingDecidesError,
    TooMuchWorkError,
    Values,
    conjunction,
    has_aggregate,
    infix,
    own_nodes,
    windows_in,
)
from tests.oracle.scoping import Column, Scope, resolve
from tests.oracle.window import Unit, WindowFunctions, ordered

Semantics = Literal["data", "control"]
NOTHING: Lineage = frozenset()

# Rows and pairs of rows about which a condition is asked, in one statement: a second or two.
MOST_WORK = 100_000


def interpret(statement: Statement, database: Database, semantics: Semantics, *, widest: bool = False) -> Relation:
    """The rows of a statement with their lineage; under control the least there may be, or the `widest`.

    Raises:
        NondeterministicError: SQL allows several answers; or one would take minutes to find.
        MoreThanOneRowError: a scalar subquery returned several rows.

    """
    return Interpreter(statement, database, semantics, widest=widest).query(statement.query, Env())


def union(lineages: Iterable[Lineage]) -> Lineage:
    return NOTHING.union(*lineages)


def may_let_rows_in(query: Node, ctes: set[str]) -> bool:
    """Whether a query or a relation may have further rows, or other values, over fewer base rows; a broad guess."""
    nodes = [query, *descendants(query)]
    inner = [node for each in nodes if isinstance(each, Derived | Cte | SetOp) for node in descendants(each)]
    return any(
        isinstance(node, Scalar | Exists | InQuery | SetOp)
        or (isinstance(node, Join) and node.kind not in ("INNER", "CROSS", "COMMA"))
        or (isinstance(node, Select) and (node.having is not None or node.qualify is not None))
        or (isinstance(node, Query) and (node.offset or (node.limit is not None and node.order)))
        or (isinstance(node, Table) and node.name in ctes)
        for node in nodes
    ) or any(isinstance(node, Agg | Over) for node in inner)


def tables_read(query: Node, ctes: set[str], database: Database) -> set[str]:
    """The base tables that a query or relation may read: all there are if it reads a CTE from further out."""
    names = {node.name for node in [query, *descendants(query)] if isinstance(node, Table)}
    return set(database) if names & ctes else names & set(database)


def asks(condition: Expr) -> bool:
    """Whether there are subqueries in a condition."""
    return any(isinstance(node, Scalar | Exists | InQuery) for node in (condition, *descendants(condition)))


def descendants(node: Node) -> Iterator[Node]:
    for child in node.children():
        yield child
        yield from descendants(child)


class Interpreter:
    """Evaluates one statement over one database."""

    def __init__(self, statement: Statement, database: Database, semantics: Semantics, *, widest: bool) -> None:
        self._database = database
        self._widest = widest
        self._control = semantics == "control"
        self._lineage_on = statement.lineage_on
        self._evaluate = Evaluator(self.query)
        self._windows = WindowFunctions(self._evaluate, self._control)
        self._work = 0

    def _count_work(self, rows: int) -> None:
        self._work += rows
        if self._work > MOST_WORK:
            raise TooMuchWorkError

    # --- queries --------------------------------------------------------------------------------------------

    def query(self, query: Query, env: Env) -> Relation:
        env = replace(env, ctes=dict(env.ctes))
        for cte in query.ctes:  # each sees the ones before it, and shadows what had its name
            env.ctes[cte.name] = renamed(self.query(cte.query, env), cte.name, cte.columns)
        columns, results = self._body(query.body, env)
        if query.order:
            keys = [self._sort_values(query.order, columns, row, at, env) for row, at in results]
            results, keys = ordered(results, keys, query.order)
        else:
            keys = [()] * len(results)
        start = query.offset or 0
        end = len(results) if query.limit is None else start + query.limit
        for cut in (start, end):
            check_cut(cut, [row for row, _ in results], keys)
        skipped = union(row.lineage for row, _ in results[:start]) if self._control else NOTHING
        return Relation(columns, tuple(Row(row.values, row.lineage | skipped) for row, _ in results[start:end]))

    def _body(self, body: Select | SetOp | Query, env: Env) -> tuple[Scope, list[tuple[Row, Env]]]:
        """Rows, each with the environment in which a sort key that is no output column is evaluated."""
        if isinstance(body, Select):
            return self._select(body, env)
        relation = self._set_operation(body, env) if isinstance(body, SetOp) else self.query(body, env)
        return relation.columns, [(row, env) for row in relation.rows]

    def _sort_values(self, order: Sequence[SortKey], columns: Scope, row: Row, at: Env, env: Env) -> Values:
        here = replace(at, scopes=((columns, row.values), *at.scopes))  # output names before input names
        return tuple(
            row.values[int(key.expr.value or 0) - 1]
            if isinstance(key.expr, Lit)
            else self._evaluate.value(key.expr, here)
            for key in order
        )

    def _set_operation(self, op: SetOp, env: Env) -> Relation:
        columns, left_rows = self._body(op.left, env)
        left = [row for row, _ in left_rows]
        right = [row for row, _ in self._body(op.right, env)[1]]
        columns = tuple(Column(column.name, None, column.kind) for column in columns)
        if op.op == "UNION":
            return Relation(columns, tuple(left + right) if op.all else distinct(left + right))
        rows = []
        for row in distinct(left):
            copies = sum(each.values == row.values for each in left)
            equal = [each for each in right if each.values == row.values]
            if op.op == "INTERSECT":
                copies = min(copies, len(equal))
                lineage = row.lineage | union(each.lineage for each in equal)
            else:
                copies = copies - len(equal) if op.all else copies * (not equal)
                lineage = row.lineage | union(each.lineage for each in right if self._control)
                lineage |= self._kept_out_of(op.right, env)
            rows += [Row(row.values, lineage)] * (copies if op.all else min(copies, 1))
        return Relation(columns, tuple(rows))

    # --- one SELECT block, in SQL's order of evaluation -----------------------------------------------------

    def _select(self, select: Select, env: Env) -> tuple[Scope, list[tuple[Row, Env]]]:
        source = self.relation(select.source, env) if select.source is not None else Relation((), (Row((), NOTHING),))
        for view in select.views:
            source = self._lateral_view(view, source, env)
        units = [Unit(env.inside(source.columns, row.values), row.lineage) for row in source.rows]
        units = self._filter(select.where, units)
        items = [item.expr for item in select.items if isinstance(item, Item)]
        if select.group is not None or any(has_aggregate(e) for e in [*items, *filter(None, [select.having])]):
            units = self._grouped(select.group or GroupBy(), source.columns, units, env)
            kept_out = self._kept_out_of_groups(select, env)
            units = [unit.adding(kept_out) for unit in units]
        kept_in = self._kept_out_of_anti_joins(select.source, env)
        units = [unit.adding(kept_in) for unit in units]
        if _spelling_decides(select, items):
            raise SpellingDecidesError
        units = self._filter(select.having, units)
        units = [unit.adding(self._aggregated_for_windows(items, unit)) for unit in units]
        before = units
        units = self._windows.annotate(before, windows_in(items))
        if select.qualify is not None:
            # Its windows see rows, not what other windows have made of these.
            asked = self._windows.annotate(before, windows_in([select.qualify]), predicate=True)
            answered = self._windows.annotate(units, windows_in([select.qualify]), predicate=True)
            units = [
                replace(after, lineage=unit.lineage | own.lineage)
                for after, unit, own in zip(answered, units, asked, strict=True)
            ]
            units = self._filter(select.qualify, units)
        columns = tuple(column for item in select.items for column in output_columns(item, source.columns))
        rows = [
            (Row(values, self._output_lineage(items, unit)), unit.env)
            for unit in units
            for values in self._output(select, source.columns, unit)
        ]
        if select.distinct:
            rows = [(row, env) for row in distinct([row for row, _ in rows])]
        return columns, rows

    def _filter(self, predicate: Expr | None, units: list[Unit]) -> list[Unit]:
        if predicate is None:
            return units
        self._count_work(len(units))
        return [
            unit.adding(self.subquery_lineage(predicate, unit.env, selected=False, presence=True))
            for unit in units
            if self._evaluate.holds(predicate, unit.env)
        ]

    def _output(self, select: Select, scope: Scope, unit: Unit) -> list[Values]:
        """The output rows of a unit: one, or with explode in the select list one for each element."""
        rows: list[Values] = [()]
        for item in select.items:
            if isinstance(item, Star):
                rows = [(*row, *(unit.env.scopes[0][1][i] for i in star(item, scope))) for row in rows]
            elif isinstance(item, ExplodeItem):
                elements = [self._evaluate.value(element, unit.env) for element in item.elements]
                rows = [(*row, element) for row in rows for element in elements]
            else:
                value = self._evaluate.value(item.expr, unit.env)
                rows = [(*row, value) for row in rows]
        return rows

    def _output_lineage(self, items: Sequence[Expr], unit: Unit) -> Lineage:
        return unit.lineage | union(self.subquery_lineage(item, unit.env, selected=True) for item in items)

    def _aggregated_for_windows(self, items: Sequence[Expr], unit: Unit) -> Lineage:
        """What subqueries in aggregates of the group add where a window sees these: to each row of its frame."""
        parts = [part for over in windows_in(items) for part in (*over.function.args, *over.partition, *over.order)]
        aggregates = [node for part in parts for node in own_nodes(part) if isinstance(node, Agg)]
        return union(self.subquery_lineage(each, unit.env, selected=True) for each in aggregates)

    def subquery_lineage(self, expr: Expr, env: Env, *, selected: bool, presence: bool = False) -> Lineage:
        """What the subqueries of an expression add to the row: `selected` in a select list, else in a predicate.

        `presence`: the expression is a condition, or one of those that AND and OR connect in it.
        """
        match expr:
            case Scalar(query):
                return self._rows_of(query, env, presence=False) if selected or self._control else NOTHING
            case Exists(query, negated):
                return self._rows_of(query, env, presence=presence and not negated) if self._control else NOTHING
            case InQuery(operands, query, negated):
                below = union(self.subquery_lineage(operand, env, selected=selected) for operand in operands)
                asked = presence and not negated
                return below | (self._rows_of(query, env, presence=asked) if self._control else NOTHING)
            case Op("AND" | "OR", left, right) if presence:
                sides = (self.subquery_lineage(side, env, selected=selected, presence=True) for side in (left, right))
                return union(sides)
            case Agg() if env.group is not None:
                parts = [*expr.args, *filter(None, [expr.where])]
                return union(
                    self.subquery_lineage(part, row, selected=selected and part is not expr.where)
                    for row in env.group
                    for part in parts
                )
            case Over():
                return NOTHING  # but for those in aggregates of the group: see `_aggregated_for_windows`
        below = (child for child in expr.children() if isinstance(child, Expr))
        return union(self.subquery_lineage(child, env, selected=selected) for child in below)

    def _rows_of(self, query: Query, env: Env, *, presence: bool) -> Lineage:
        """The rows of a subquery; in the widest reading all that may keep others out of it, where that counts."""
        rows = union(row.lineage for row in self.query(query, env).rows)
        return rows if presence else rows | self._kept_out_of(query, env)

    def _kept_out_of(self, node: Node, env: Env) -> Lineage:
        """In the widest reading all rows of the tables that a query or relation reads, if others may come into it."""
        return self._all_read_by([node], env) if self._lets_rows_in(node, env) else NOTHING

    def _kept_out_of_groups(self, select: Select, env: Env) -> Lineage:
        """Of FROM and WHERE together: the rows that a condition keeps out are those of FROM."""
        parts = [part for part in (select.source, select.where) if part is not None]
        return self._all_read_by(parts, env) if any(self._lets_rows_in(part, env) for part in parts) else NOTHING

    def _lets_rows_in(self, node: Node, env: Env) -> bool:
        return self._widest and self._control and may_let_rows_in(node, set(env.ctes))

    def _all_read_by(self, nodes: Iterable[Node], env: Env) -> Lineage:
        names = {name for node in nodes for name in tables_read(node, set(env.ctes), self._database)}
        return union(row.lineage for name in names for row in self._base_table(name).rows)

    def _kept_out_of_anti_joins(self, rel: Rel | None, env: Env) -> Lineage:
        """For all rows of the block, those too in which an outer join pads the left side of the anti join."""
        if not isinstance(rel, Join):
            return NOTHING
        own = self._kept_out_of(rel.right, env) if rel.kind == "ANTI" else NOTHING
        return own | self._kept_out_of_anti_joins(rel.left, env) | self._kept_out_of_anti_joins(rel.right, env)

    # --- grouping -------------------------------------------------------------------------------------------

    def _grouped(self, group: GroupBy, scope: Scope, units: list[Unit], env: Env) -> list[Unit]:
        everything = dict.fromkeys([*group.plain, *(expr for each in group.sets for expr in each)])
        grouped = []
        for keys in grouping_sets(group):
            groups: dict[Values, list[Unit]] = {}
            for unit in units:
                groups.setdefault(tuple(self._evaluate.value(key, unit.env) for key in keys), []).append(unit)
            if not everything and not groups:
                groups[()] = []  # a global aggregate has its one row even over no rows
            absent = frozenset(everything) - frozenset(keys)
            grouped += [self._group_unit(members, absent, scope, env) for members in groups.values()]
        return grouped

    def _group_unit(self, members: list[Unit], absent: frozenset[Expr], scope: Scope, env: Env) -> Unit:
        """A group as one row: its first member, of which only grouping expressions are read; absent ones are NULL."""
        values = list(members[0].env.scopes[0][1]) if members else [None] * len(scope)
        for expr in absent:
            found = resolve([scope], expr.name, expr.qualifier) if isinstance(expr, Col) else None
            if found:
                values[found[1]] = None
        here = replace(
            env.inside(scope, tuple(values)), group=tuple(member.env for member in members), rolled_up=absent
        )
        return Unit(here, union(member.lineage for member in members))

    # --- FROM -----------------------------------------------------------------------------------------------

    def relation(self, rel: Rel, env: Env) -> Relation:
        match rel:
            case Table(name, alias):
                found = env.ctes.get(name) or self._base_table(name)
                return renamed(found, alias or name, ())
            case Derived(query, alias, columns):
                return renamed(self.query(query, env), alias, columns)
            case ValuesList(rows, kinds, alias, columns):
                named = tuple(Column(name, alias, kind) for name, kind in zip(columns, kinds, strict=True))
                return Relation(named, tuple(Row(values, NOTHING) for values in rows))
            case Explode(items, alias, column):
                values = (self._evaluate.value(item, env) for item in items)
                return Relation((Column(column, alias),), tuple(Row((value,), NOTHING) for value in values))
            case Join():
                return self._join(rel, env)
        raise TypeError(rel)

    def _base_table(self, name: str) -> Relation:
        table = self._database[name]
        columns = tuple(Column(c, name, kind) for c, kind in zip(table.columns, table.kinds, strict=True))
        return Relation(columns, tuple(Row(values, self._base_lineage(name, columns, values)) for values in table.rows))

    def _base_lineage(self, table: str, columns: Scope, values: Values) -> Lineage:
        if self._lineage_on is None:
            return frozenset({(table, values[0])})
        granule = tuple(
            self._evaluate.value(
                on.expr, Env().inside(tuple(replace(c, qualifier=on.qualifier) for c in columns), values)
            )
            for on in self._lineage_on
            if on.table == table
        )
        return frozenset({(table, granule)}) if granule else NOTHING

    def _lateral_view(self, view: LateralView, source: Relation, env: Env) -> Relation:
        rows = []
        for row in source.rows:
            here = env.inside(source.columns, row.values)
            values = [self._evaluate.value(item, here) for item in view.items]
            if not values and view.outer:
                values = [None]
            rows += [Row((*row.values, value), row.lineage) for value in values]
        return Relation((*source.columns, Column(view.column, view.alias)), tuple(rows))

    def _join(self, join: Join, env: Env) -> Relation:
        left = self.relation(join.left, env)
        lateral = isinstance(join.right, Explode) or (isinstance(join.right, Derived) and join.right.lateral)
        if lateral:
            rights = [self.relation(join.right, env.inside(left.columns, row.values)) for row in left.rows]
            # With no left row there is nothing to evaluate the right side for; only its columns are needed.
            right = rights[0] if rights else self._columns_only(join.right, left.columns, env)
        else:
            right = self.relation(join.right, env)
            rights = [right] * len(left.rows)
        scope = (*left.columns, *right.columns)
        common = join.using or (natural_names(left.columns, right.columns) if join.natural else ())
        self._count_work(sum(len(each.rows) for each in rights))
        matched = [
            (i, j)
            for i, row in enumerate(left.rows)
            for j, other in enumerate(rights[i].rows)
            if self._matches(join, common, (left.columns, row), (right.columns, other), env)
        ]

        def pair(a: Row | None, b: Row | None) -> Row:
            values = (
                *(a.values if a else (None,) * len(left.columns)),
                *(b.values if b else (None,) * len(right.columns)),
            )
            lineage = union(side.lineage for side in (a, b) if side)
            if join.on is not None:
                here = env.inside(scope, values)
                lineage |= self.subquery_lineage(join.on, here, selected=False, presence=True)
            if a is None or b is None:
                lineage |= self._asked_of_padding(join.left if a is None else join.right, env)
            return Row(values, lineage)

        if join.kind in ("SEMI", "ANTI"):
            partners: dict[int, list[Lineage]] = {}
            for i, j in matched:
                partners.setdefault(i, []).append(pair(left.rows[i], rights[i].rows[j]).lineage)
            return Relation(left.columns, tuple(self._existence(join.kind, left.rows, partners)))
        rows = [pair(left.rows[i], rights[i].rows[j]) for i, j in matched]
        if join.kind in ("LEFT", "FULL"):
            rows += [pair(row, None) for i, row in enumerate(left.rows) if i not in {i for i, _ in matched}]
        if join.kind in ("RIGHT", "FULL"):
            rows += [pair(None, row) for j, row in enumerate(right.rows) if j not in {j for _, j in matched}]
        return merged(join.kind, common, left.columns, right.columns, rows)

    def _asked_of_padding(self, rel: Rel, env: Env) -> Lineage:
        """What the subqueries in ON, within a side of an outer join that found no row, count for the padding."""
        if not isinstance(rel, Join):
            return NOTHING
        inside = self._asked_of_padding(rel.left, env)
        if rel.kind not in ("SEMI", "ANTI"):
            inside |= self._asked_of_padding(rel.right, env)
        if rel.kind == "ANTI" or rel.on is None or not asks(rel.on):
            return inside
        columns = self.relation(rel, env).columns
        if rel.kind == "SEMI":
            columns = (*columns, *self.relation(rel.right, env).columns)
        padding = env.inside(columns, (None,) * len(columns))
        return inside | self.subquery_lineage(rel.on, padding, selected=False, presence=True)

    def _columns_only(self, rel: Rel, left: Scope, env: Env) -> Relation:
        return Relation(self.relation(rel, env.inside(left, (None,) * len(left))).columns, ())

    def _matches(
        self, join: Join, common: Sequence[str], left: tuple[Scope, Row], right: tuple[Scope, Row], env: Env
    ) -> bool:
        verdict: bool | None = True
        for name in common:
            a, b = (Env().inside(columns, row.values).column(name, None) for columns, row in (left, right))
            verdict = conjunction(verdict, infix("=", a, b))
        if join.on is not None:
            here = env.inside((*left[0], *right[0]), (*left[1].values, *right[1].values))
            # Not `holds`: in ON, Spark mistakes a NOT IN that is unknown for one that is true.
            verdict = conjunction(verdict, self._evaluate.value(join.on, here))
        return verdict is True

    def _existence(self, kind: str, rows: Sequence[Row], partners: Mapping[int, list[Lineage]]) -> Iterable[Row]:
        for i, row in enumerate(rows):
            if kind == "SEMI" and i in partners:
                yield Row(row.values, row.lineage | union(partners[i] if self._control else ()))
            elif kind == "ANTI" and i not in partners:
                yield row


def distinct(rows: Iterable[Row]) -> tuple[Row, ...]:
    """One row for each value, with the union of the lineage of its equals; NULL equals NULL."""
    found: dict[Values, Lineage] = {}
    for row in rows:
        found[row.values] = found.get(row.values, NOTHING) | row.lineage
    return tuple(Row(values, lineage) for values, lineage in found.items())


def check_cut(cut: int, rows: Sequence[Row], keys: Sequence[Values]) -> None:
    """A cut between rows tied on the sort key is determined only if the tied rows are the same, lineage included."""
    if not 0 < cut < len(rows) or keys[cut - 1] != keys[cut]:
        return
    if len({row for row, key in zip(rows, keys, strict=True) if key == keys[cut]}) > 1:
        raise NondeterministicError("LIMIT within ties")


def _spelling_decides(select: Select, items: Sequence[Expr]) -> bool:
    """Whether Spark 4.3 may evaluate windows before HAVING: `s <> 'x'` is found among their results, `1 < a` is not."""
    having, sets = select.having, select.group is not None and select.group.kind is not None
    windows = windows_in([*items, *filter(None, [select.qualify])])
    return sets and having is not None and not has_aggregate(having) and bool(windows)


def grouping_sets(group: GroupBy) -> list[tuple[Expr, ...]]:
    """The grouping sets a GROUP BY stands for."""
    sets: list[tuple[Expr, ...]]
    match group.kind:
        case "ROLLUP":
            sets = [tuple(e for each in group.sets[:n] for e in each) for n in range(len(group.sets), -1, -1)]
        case "CUBE":
            masks = product([True, False], repeat=len(group.sets))
            sets = [
                tuple(e for each, keep in zip(group.sets, mask, strict=True) if keep for e in each) for mask in masks
            ]
        case "GROUPING SETS":
            sets = list(group.sets)
        case _:
            sets = [()]
    return [(*group.plain, *each) for each in sets]


def renamed(relation: Relation, qualifier: str, names: Sequence[str]) -> Relation:
    """The visible columns under a new qualifier, and new names if there are any."""
    shown = [i for i, column in enumerate(relation.columns) if not column.hidden]
    columns = tuple(
        Column(names[n] if names else relation.columns[i].name, qualifier, relation.columns[i].kind)
        for n, i in enumerate(shown)
    )
    return Relation(columns, tuple(Row(tuple(row.values[i] for i in shown), row.lineage) for row in relation.rows))


def natural_names(left: Scope, right: Scope) -> tuple[str, ...]:
    """The names that both sides of a NATURAL JOIN show, in the left side's order."""
    there = {column.name for column in right if not column.hidden}
    return tuple(c.name for c in left if not c.hidden and c.name is not None and c.name in there)


def merged(kind: str, common: Sequence[str], left: Scope, right: Scope, rows: Sequence[Row]) -> Relation:
    """USING and NATURAL: each common column once, first; the two it was made of are hidden."""
    scope = (*left, *right)
    if not common:
        return Relation(scope, tuple(rows))
    sides = [(resolved(left, name), len(left) + resolved(right, name)) for name in common]
    used = {position for side in sides for position in side}
    columns = (
        *(Column(name, None, scope[a].kind) for name, (a, _) in zip(common, sides, strict=True)),
        *(column.hide() if i in used else column for i, column in enumerate(scope)),
    )

    def common_value(values: Values, a: int, b: int) -> Value:
        if kind == "RIGHT" or (kind == "FULL" and values[a] is None):
            return values[b]
        return values[a]

    return Relation(
        columns,
        tuple(Row((*(common_value(r.values, a, b) for a, b in sides), *r.values), r.lineage) for r in rows),
    )


def resolved(scope: Scope, name: str) -> int:
    found = resolve([scope], name, None)
    if found is None:
        raise LookupError(name)
    return found[1]


def star(item: Star, scope: Scope) -> list[int]:
    """Positions that a star stands for."""
    return [i for i, column in enumerate(scope) if not column.hidden and item.qualifier in (None, column.qualifier)]


def output_columns(item: Item | ExplodeItem | Star, scope: Scope) -> list[Column]:
    if isinstance(item, ExplodeItem):
        return [Column(item.alias, None)]
    if isinstance(item, Star):
        return [scope[i] for i in star(item, scope)]
    # A bare column keeps its name; any other expression without an alias cannot be referred to.
    return [Column(item.alias or (item.expr.name if isinstance(item.expr, Col) else None), None)]

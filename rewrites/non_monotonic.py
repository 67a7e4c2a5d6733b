"""The rows of a query, and the values in them, that hold only as long as other base rows are there.

Control lineage promises that the base tables, cut down to it, give the row back. A row of a join keeps its values, or
is gone. But of a group that lost rows an aggregate says something else, and what NOT EXISTS kept out may come in.
*Fleeting* is a column that may then have another value; *open* a query in which other rows may then appear. Both are
read off the user's text; where it does not say, the answer is yes.

    base table, VALUES                      neither
    table that carries lineage              what was said of the query when it was stored
    aggregate, window, subquery             fleeting
    sides that an outer join pads           fleeting, but for conditions that no NULL satisfies
    a condition that asks a fleeting column, or a subquery in another way than `… AND x IN (…) AND EXISTS (…)`   open
    ANTI JOIN, EXCEPT, QUALIFY, OFFSET; HAVING and LIMIT by what is fleeting                                     open
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from rewrites import own_fragments
from rewrites.aliases import listed, output_name, table_name
from rewrites.block import is_aggregate
from rewrites.conditions import asks_for_presence, conjuncts, is_strict, own_nodes, subqueries_in
from rewrites.environment import Definition, Environment, TracedQuery
from rewrites.sources import Place, all_of_join, is_join, joins, places
from rewrites.tables import BaseTable, StoredTable, View

Names = frozenset[str] | None
"""Column names in lower case; None: it may be any."""
NONE: Names = frozenset()


@dataclass(frozen=True)
class Shape:
    """The parts of a query's rows that may change.

    Attributes:
        open: whether rows may appear that are not there now.
        fleeting: the columns whose values may be others.
    """

    open: bool = False
    fleeting: Names = NONE


@dataclass(frozen=True)
class Source:
    """Something in FROM as the user wrote it.

    Attributes:
        place: where it stands there.
        shape: of its rows.
        columns: the names of its columns, lower case; None: not known.
    """

    place: Place
    shape: Shape
    columns: Names = None

    @property
    def node(self) -> exp.Expr:
        """The table, subquery, …"""
        return self.place.node

    @property
    def alias(self) -> str:
        """The name that qualifies its columns, lower case."""
        return self.node.alias_or_name.lower()

    @property
    def fleeting(self) -> Names:
        """The columns whose values may be others, padding included."""
        return None if self.place.padded else self.shape.fleeting


def shape_of(query: exp.Query, env: Environment) -> Shape:
    """Return what may change in the rows of a query, as the user wrote it; `env`: where it stands."""
    env = bound(query, env)
    if isinstance(query, exp.Select):
        return Reading(query, env).shape
    if isinstance(query, exp.Subquery):
        shape = shape_of(query.this, env)
    elif isinstance(query, exp.SetOperation):
        shape = _of_both(query, shape_of(query.this, env), shape_of(query.expression, env))
    else:
        return Shape()
    cut = query.args.get("offset") or (query.args.get("limit") and shape.fleeting != NONE)
    return replace(shape, open=True) if cut else shape


def _of_both(operation: exp.SetOperation, left: Shape, right: Shape) -> Shape:
    fleeting = NONE if left.fleeting == right.fleeting == NONE else None
    compares = isinstance(operation, exp.Except) or (isinstance(operation, exp.Intersect) and fleeting is None)
    return Shape(left.open or right.open or compares, fleeting)


def bound(query: exp.Query, env: Environment) -> Environment:
    """Return the environment in which the names of the query's WITH clause mean its queries, as the user wrote them."""
    with_clause = query.args.get("with_")
    for cte in with_clause.expressions if with_clause is not None else ():
        definition = Definition(cte.this, env, listed(cte), with_clause)
        env = env.with_cte(cte.alias, TracedQuery(cte.this, None, {}, definition=definition))
    return env


def definition_of(node: exp.Expr, env: Environment) -> Definition | None:
    """Return the query that a source in FROM stands for; None for what is no query."""
    node = node.this if isinstance(node, exp.Lateral) else node
    if isinstance(node, exp.Subquery):
        return Definition(all_of_join(node.this.copy()) if is_join(node.this) else node.this, env)
    parts = table_name(node)
    if len(parts) == 1 and parts[0].lower() in env.ctes:
        return env.ctes[parts[0].lower()].definition
    view = env.find(parts) if parts else None
    text = env.parse(view.sql) if isinstance(view, View) else None
    if isinstance(view, View) and isinstance(text, exp.Query):
        return Definition(text, env.of_view(), view.columns)
    return None


class Reading:
    """One SELECT: which of its conditions may become true for other rows.

    Args:
        select: as the user wrote it.
        env: where it is read; its own WITH clause bound.
    """

    def __init__(self, select: exp.Select, env: Environment) -> None:
        self.select, self.env = select, env

    @cached_property
    def sources(self) -> list[Source]:
        """An item of FROM."""
        return [_source(place, self.env) for place in places(self.select)]

    @cached_property
    def shape(self) -> Shape:
        """The parts of its rows that may change."""
        return Shape(self.is_open, self._fleeting_output())

    @property
    def is_open(self) -> bool:
        """Whether rows may appear that are not there now."""
        return self.changes_itself or bool(self.to_fix)

    @property
    def changes_itself(self) -> bool:
        """Whether rows may appear though the sources in FROM stay what they are."""
        leaves_out = self.asking or self.padding or self.fleeting_having or self.select.args.get("qualify")
        return bool(leaves_out) or self.cuts_what_is_fleeting or bool(self.open_on)

    @cached_property
    def asking(self) -> list[exp.Expr]:
        """The conditions of WHERE that ask a subquery for more than whether a row is there."""
        return [each for each in self._where() if self.asks(each)]

    @cached_property
    def padding(self) -> list[exp.Expr]:
        """The conditions of WHERE that may hold where an outer join pads a row."""
        return [each for each in self._where() if each not in self.asking and self._may_hold_of_padding(each)]

    @cached_property
    def to_fix(self) -> list[Source]:
        """The sources in FROM that must not change, or conditions would answer otherwise."""
        conditions = [*self._where(), *self._on(), *self.generators]
        using = [key for join in self.joins for key in join.args.get("using") or ()]
        natural = any(join.method == "NATURAL" for join in self.joins)
        return [
            source
            for source in self.sources
            if source.shape.open
            or (source.place.join is not None and source.place.join.kind == "ANTI")
            or (natural and source.shape.fleeting != NONE)
            or any(self.mentions(each, source, source.shape.fleeting) for each in (*conditions, *using))
        ]

    @property
    def joins(self) -> list[exp.Join]:
        """The joins of FROM, those in parentheses too."""
        return joins(self.select)

    @property
    def generators(self) -> list[exp.Expr]:
        """The sources that are computed anew for each row before them."""
        views = self.select.args.get("laterals") or []
        return [*views, *(each.node for each in self.sources if isinstance(each.node, exp.Lateral))]

    @property
    def fleeting_having(self) -> list[exp.Expr]:
        """The conditions of HAVING that may hold of a group which has lost rows."""
        having = self.select.args.get("having")
        return [each for each in conjuncts(having.this if having else None) if self.is_fleeting(each)]

    @property
    def cuts_what_is_fleeting(self) -> bool:
        """Whether LIMIT or OFFSET may let other rows through."""
        args = self.select.args
        if args.get("offset") or not args.get("limit") or not args.get("order"):
            return bool(args.get("offset"))
        by = [key.this for key in args["order"].expressions]
        if any(isinstance(key, exp.Literal) for key in by):  # the number of an item
            by = [item.unalias() for item in self.select.expressions]
        return any(map(self.is_fleeting, by))

    @property
    def asks_subqueries(self) -> bool:
        """Whether there are subqueries in its expressions."""
        roots = [*self.select.expressions, *(self.select.args.get(each) for each in ("where", "having"))]
        return any(root is not None and root.find(exp.Query) is not None for root in roots)

    @property
    def is_grouped(self) -> bool:
        """Whether its rows stand for groups of rows."""
        if self.select.args.get("group") or self.select.args.get("having"):
            return True
        return any(is_aggregate(node) for item in self.select.expressions for node in own_nodes(item))

    def is_fleeting(self, value: exp.Expr) -> bool:
        """Say whether a value of a row, computed after grouping, may be another one."""
        return self._depends(value, self._fleeting_aliases)

    @cached_property
    def _fleeting_aliases(self) -> set[str]:
        found: set[str] = set()
        for item in self.select.expressions:
            if isinstance(item, exp.Alias) and self._depends(item.this, found):
                found.add(item.alias.lower())
        return found

    def _depends(self, value: exp.Expr, aliases: Iterable[str]) -> bool:
        if any(isinstance(each, exp.Window | exp.Query) or is_aggregate(each) for each in value.walk()):
            return True
        if any(each.name.lower() in aliases and not each.table for each in value.find_all(exp.Column)):
            return True
        return any(self.mentions(value, source, source.fleeting) for source in self.sources)

    def _fleeting_output(self) -> Names:
        names: set[str] = set()
        for item in self.select.expressions:
            if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
                for source in self.sources:
                    if source.fleeting is None:
                        return None
                    names |= source.fleeting
            elif self.is_fleeting(item.unalias()):
                if not output_name(item):
                    return None
                names.add(output_name(item).lower())
        return frozenset(names)

    def _where(self) -> list[exp.Expr]:
        where = self.select.args.get("where")
        return list(conjuncts(where.this if where else None))

    @cached_property
    def open_on(self) -> list[exp.Expr]:
        """The conditions of ON that may become true: like `asking` and `padding`."""
        return [each for each in self._on() if self.asks(each) or self._may_hold_of_padding(each)]

    def _on(self) -> list[exp.Expr]:
        return [each for join in self.joins for each in conjuncts(join.args.get("on"))]

    def asks(self, condition: exp.Expr) -> bool:
        """Say whether a condition asks a subquery for more than whether a row is there."""
        return any(not self._is_harmless(query, condition) for query in subqueries_in(condition))

    def _is_harmless(self, query: exp.Query, condition: exp.Expr) -> bool:
        if own_fragments.is_marked(query):
            return True
        if not asks_for_presence(query, condition):
            return False
        shape = shape_of(query, self.env)
        return not shape.open and (isinstance(query.parent, exp.Exists) or shape.fleeting == NONE)

    def _may_hold_of_padding(self, condition: exp.Expr) -> bool:
        padded = (source for source in self.sources if source.place.padded)
        return not is_strict(condition) and any(self.mentions(condition, source) for source in padded)

    def mentions(self, node: exp.Expr, source: Source, names: Names = None) -> bool:
        """Say whether an expression, its subqueries included, may read one of these columns of a source."""
        if names == NONE:
            return False
        if isinstance(node, exp.Identifier):  # of USING
            return names is None or node.name.lower() in names
        return any(self._reads(each, source, names) for each in node.find_all(exp.Column, exp.Star))

    def _reads(self, node: exp.Expr, source: Source, names: Names) -> bool:
        if not isinstance(node, exp.Column):
            return not isinstance(node.parent, exp.Column | exp.Anonymous)  # the star of count(*) reads nothing
        parts = [part.name.lower() for part in node.parts]
        if source.alias in parts[:-1]:
            return names is None or parts[parts.index(source.alias) + 1] in (*names, "*")
        if names is not None:
            return parts[0] in names
        others = (each for each in self.sources if each is not source)
        elsewhere = any(parts[0] == each.alias or parts[0] in (each.columns or ()) for each in others)
        return not elsewhere and (source.columns is None or parts[0] in source.columns)


def _source(place: Place, env: Environment) -> Source:
    definition = definition_of(place.node, env)
    has_names = bool(listed(place.node))
    if definition is None:
        table = env.find(table_name(place.node)) if table_name(place.node) else None
        columns = None
        if isinstance(table, BaseTable | StoredTable) and not has_names and not place.node.args.get("pivots"):
            columns = frozenset(each.lower() for each in table.columns)
        return Source(place, _pivoted(place, _stored(table, has_names=has_names)), columns)
    shape = _remembered(definition)
    if shape.fleeting != NONE and (definition.columns or has_names):
        shape = replace(shape, fleeting=None)  # under other names
    return Source(place, _pivoted(place, shape))


def _stored(table: object, *, has_names: bool) -> Shape:
    """The facts stored about a query with its rows; of a base table nothing may change."""
    if not isinstance(table, StoredTable):
        return Shape()
    if table.fleeting is None or (table.fleeting and has_names):  # under other names
        return Shape(table.open, None)
    return Shape(table.open, frozenset(table.fleeting))


def _remembered(definition: Definition) -> Shape:
    """Each CTE is looked at once, however often others name it."""
    known = definition.env.remembered.get(id(definition.query))
    shape = known[1] if known is not None else shape_of(definition.query, definition.env)
    assert isinstance(shape, Shape)
    definition.env.remembered[id(definition.query)] = definition.query, shape
    return shape


def _pivoted(place: Place, shape: Shape) -> Shape:
    return replace(shape, fleeting=None) if place.node.args.get("pivots") else shape

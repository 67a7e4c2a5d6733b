"""The queries that are answered from a part of the rows: SELECT keys, aggregates FROM a table WHERE … GROUP BY ….

HAVING compares an aggregate with a number. ORDER BY one aggregate, or keys, may be followed by LIMIT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from forward_lineage.frontend import parse, print_sql
from rewrites.refusals import position_of, refuse
from udafs.errors import NotTracedError

EXACT = "Ask lineage.sql for the exact answer."
_FUNCTIONS = {"avg": "AVG", "mean": "AVG", "sum": "SUM", "count": "COUNT"}
_HANDLED = {"kind", "expressions", "from_", "where", "group", "having", "order", "limit"}
_CALLED = {"distinct": "DISTINCT", "joins": "a join", "laterals": "LATERAL", "with_": "WITH", "qualify": "QUALIFY"}
_COMPARED: dict[type[exp.Expr], str] = {exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}
_TURNED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}


@dataclass(frozen=True)
class Aggregate:
    """An aggregate over the rows of a group.

    Attributes:
        function: AVG, SUM or COUNT.
        column: its column, in lower case; None: COUNT(*).

    """

    function: str
    column: str | None


@dataclass(frozen=True)
class Threshold:
    """A comparison of HAVING.

    Attributes:
        aggregate: its place among `AggregateQuery.aggregates`.
        operator: >, >=, < or <=.
        value: what it is compared with.

    """

    aggregate: int
    operator: str
    value: float


@dataclass(frozen=True)
class Order:
    """The order that is asked for.

    Attributes:
        aggregate: by which one, its place; None: by keys.
        keys: by which ones, their places, each with whether the greatest comes first.
        descending: of an aggregate: whether the greatest comes first.
        limit: how many groups are wanted; None: all.

    """

    aggregate: int | None
    keys: tuple[tuple[int, bool], ...]
    descending: bool
    limit: int | None


@dataclass(frozen=True)
class AggregateQuery:
    """A query, taken apart.

    Attributes:
        text: as the user wrote it.
        table: the name behind FROM.
        keys: the columns behind GROUP BY, in lower case.
        aggregates: all that the query mentions, each once.
        shown: for each item of the select list its name, whether it is a key, and its place among keys or aggregates.
        condition: the text behind WHERE, without qualifiers; None: there is none.
        having: the comparisons behind HAVING, which all must hold.
        order: the order; None: none is asked for.
        aliases: names of the select list that HAVING or ORDER BY use, in lower case.

    """

    text: str
    table: str
    keys: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    shown: tuple[tuple[str, bool, int], ...]
    condition: str | None
    having: tuple[Threshold, ...]
    order: Order | None
    aliases: frozenset[str]


def read_query(sql: str) -> AggregateQuery:
    """Take a query apart.

    Raises:
        WrongSqlError: it is malformed.
        NotTracedError: it has other parts than those named above; says where.

    Examples:
        >>> found = read_query("SELECT item, avg(amount) AS a FROM sales GROUP BY item HAVING avg(amount) > 30")
        >>> found.keys, found.aggregates, found.having
        (('item',), (Aggregate(function='AVG', column='amount'),), (Threshold(aggregate=0, operator='>', value=30.0),))

    """
    statement = parse(sql)
    tree = statement.tree
    if statement.lineage_on is not None or not isinstance(tree, exp.Select):
        raise NotTracedError("approximate answers one SELECT", at=position_of(tree), instead=EXACT)
    return _Reader(tree).query(sql)


class _Reader:
    def __init__(self, tree: exp.Select) -> None:
        self._tree = tree
        self._check_parts()
        source = self._source()
        table = source.copy()
        table.set("alias", None)
        self._table, self._alias = print_sql(table), source.alias_or_name.lower()
        self._aggregates: list[Aggregate] = []
        self._used: set[str] = set()
        self._named: dict[str, exp.Expr] = {
            each.alias.lower(): each.this for each in tree.expressions if isinstance(each, exp.Alias)
        }

    def query(self, sql: str) -> AggregateQuery:
        keys = self._keys()
        shown = tuple(self._shown(each, keys) for each in self._tree.expressions)
        where, having = self._tree.args.get("where"), self._tree.args.get("having")
        compared = tuple(self._threshold(each) for each in _conjuncts(having.this)) if having else ()
        order = self._order(keys)
        condition = print_sql(self._plain(where.this)) if where else None
        return AggregateQuery(
            sql, self._table, keys, tuple(self._aggregates), shown, condition, compared, order, frozenset(self._used)
        )

    def _check_parts(self) -> None:
        tree = self._tree
        for name, part in tree.args.items():
            if part and name not in _HANDLED:
                at = part[0] if isinstance(part, list) else part if isinstance(part, exp.Expr) else tree
                refuse(at, f"{_CALLED.get(name, name.strip('_').upper())} in an approximate query", EXACT)
        for query in tree.find_all(exp.Query):
            if query is not tree:
                refuse(query, "a subquery in an approximate query", EXACT)

    def _source(self) -> exp.Table:
        source = self._tree.args["from_"].this if self._tree.args.get("from_") else None
        if isinstance(source, exp.Table):
            parts = {name for name, part in source.args.items() if part}
            if parts <= {"this", "db", "catalog", "alias"} and not source.alias_column_names:
                return source
        raise NotTracedError(
            "an approximate query over something else than a table", at=position_of(source or self._tree), instead=EXACT
        )

    def _keys(self) -> tuple[str, ...]:
        group = self._tree.args.get("group")
        if group is None:
            return ()
        odd = [name for name, part in group.args.items() if part and name != "expressions"]
        if odd:
            refuse(group, f"GROUP BY with {odd[0].strip('_').upper()} in an approximate query", EXACT)
        return tuple(self._column(each, "GROUP BY") for each in group.expressions)

    def _shown(self, item: exp.Expr, keys: Sequence[str]) -> tuple[str, bool, int]:
        inner = item.unalias()
        name = item.alias or (inner.name if isinstance(inner, exp.Column) else print_sql(inner))
        if isinstance(inner, exp.Anonymous):
            return name, False, self._aggregate(inner)
        column = self._column(inner, "the select list")
        if column not in keys:
            refuse(inner, f"{column}, which is neither a key nor an aggregate", "Put it behind GROUP BY.")
        return name, True, keys.index(column)

    def _aggregate(self, call: exp.Expr) -> int:
        function = _FUNCTIONS.get(call.name.lower()) if isinstance(call, exp.Anonymous) else None
        if function is None:
            refuse(call, f"{print_sql(call)} in an approximate query", f"AVG, SUM and COUNT are bounded. {EXACT}")
        arguments = call.expressions
        if len(arguments) != 1 or isinstance(arguments[0], exp.Distinct):
            refuse(call, f"{call.name}(DISTINCT …) or of several values in an approximate query", EXACT)
        every = isinstance(arguments[0], exp.Star | exp.Literal)
        if every and function != "COUNT":
            refuse(call, f"{call.name} of no column in an approximate query", "Write count(*).")
        found = Aggregate(function, None if every else self._column(arguments[0], call.name))
        if found not in self._aggregates:
            self._aggregates.append(found)
        return self._aggregates.index(found)

    def _column(self, node: exp.Expr, where: str) -> str:
        node = node.unnest()
        if not isinstance(node, exp.Column) or len(node.parts) > 2 or node.table.lower() not in ("", self._alias):
            refuse(
                node, f"{print_sql(node)} in {where} of an approximate query", f"Name a column of the table. {EXACT}"
            )
        return node.name.lower()

    def _threshold(self, node: exp.Expr) -> Threshold:
        node = node.unnest()
        operator = _COMPARED.get(type(node))
        if operator is not None and isinstance(node, exp.Binary):
            left, right = self._meant(node.this), self._meant(node.expression)
            if (value := _number(right)) is not None:
                return Threshold(self._aggregate(left), operator, value)
            if (value := _number(left)) is not None:
                return Threshold(self._aggregate(right), _TURNED[operator], value)
        raise NotTracedError(
            "HAVING with something else than aggregates compared with numbers",
            at=position_of(node),
            instead=f"Write AVG(x) > 10. {EXACT}",
        )

    def _order(self, keys: Sequence[str]) -> Order | None:
        order, limit = self._tree.args.get("order"), self._tree.args.get("limit")
        count = None
        if limit is not None:
            count = _number(limit.expression)
            if order is None or count is None or count != int(count) or count < 1:
                refuse(limit, "LIMIT without ORDER BY, or of no number", "Say ORDER BY which aggregate.")
        if order is None:
            return None
        for each in order.expressions:
            if bool(each.args.get("nulls_first")) is bool(each.args.get("desc")):
                refuse(each, "NULLS FIRST or NULLS LAST in an approximate query", "Leave it out.")
        items = [(self._meant(each.this), bool(each.args.get("desc"))) for each in order.expressions]
        first, descending = items[0]
        limited = None if count is None else int(count)
        if isinstance(first, exp.Anonymous):
            if len(items) > 1:
                refuse(order, "ORDER BY an aggregate and more", "Order by the aggregate alone.")
            return Order(self._aggregate(first), (), descending, limited)
        columns = [(self._column(node, "ORDER BY"), down) for node, down in items]
        unknown = [name for name, _ in columns if name not in keys]
        if unknown:
            refuse(order, f"ORDER BY {unknown[0]}, which is no key", "Order by keys or by one aggregate.")
        return Order(None, tuple((keys.index(name), down) for name, down in columns), False, limited)

    def _meant(self, node: exp.Expr) -> exp.Expr:
        """Return the expression that a name of the select list stands for."""
        node = node.unnest()
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in self._named:
            self._used.add(node.name.lower())
            return self._named[node.name.lower()]
        return node

    def _plain(self, condition: exp.Expr) -> exp.Expr:
        """A condition whose columns are not qualified."""
        found = condition.copy()
        for column in list(found.find_all(exp.Column)):
            if column.table.lower() == self._alias and len(column.parts) == 2:
                column.set("table", None)
        return found


def _conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


def _number(node: exp.Expr | None) -> float | None:
    if isinstance(node, exp.Neg):
        inner = _number(node.this)
        return None if inner is None else -inner
    return float(node.this) if isinstance(node, exp.Literal) and not node.is_string else None

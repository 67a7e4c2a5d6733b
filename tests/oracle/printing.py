"""The query tree as Spark SQL text. Fully parenthesised expressions; set operations with the fewest parentheses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.oracle.algebra import (
    Agg,
    AliasRef,
    BaseTable,
    Between,
    Case,
    Col,
    Derived,
    Exists,
    Explode,
    ExplodeItem,
    Expr,
    Frame,
    Func,
    GroupBy,
    Grouping,
    InList,
    InQuery,
    IsNull,
    Item,
    Join,
    LateralView,
    Lit,
    Node,
    Not,
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
    Values,
)
from tests.oracle.expressions import own_nodes

SPARK_TYPES = {"int": "BIGINT", "str": "STRING", "bool": "BOOLEAN", "dbl": "DOUBLE"}


class Printer:
    """Prints trees; `rename` maps table names, so that many cases can live in one session."""

    def __init__(self, rename: Mapping[str, str] | None = None) -> None:
        self._rename = rename or {}

    def statement(self, statement: Statement) -> str:
        text = self.query(statement.query)
        if statement.lineage_on is None:
            return text
        return f"{text} LINEAGE ON {self._list(on.expr for on in statement.lineage_on) or '()'}"

    # --- queries --------------------------------------------------------------------------------------------

    def query(self, query: Query) -> str:
        parts = []
        if query.ctes:
            definitions = [
                f"{self._table(cte.name)}{_columns(cte.columns)} AS ({self.query(cte.query)})" for cte in query.ctes
            ]
            parts.append("WITH " + ", ".join(definitions))
        parts.append(self._body(query.body))
        if query.order:
            parts.append("ORDER BY " + self._sort_keys(query.order))
        if query.limit is not None:
            parts.append(f"LIMIT {query.limit}")
        if query.offset is not None:
            parts.append(f"OFFSET {query.offset}")
        return " ".join(parts)

    def _body(self, body: Select | SetOp | Query) -> str:
        match body:
            case Select():
                return self._select(body)
            case SetOp(op, left, right, keep_all):
                left_text = self._body(left)
                # INTERSECT binds tighter than UNION and EXCEPT, which are left-associative among themselves.
                if isinstance(left, Query) or (
                    isinstance(left, SetOp) and op == "INTERSECT" and left.op != "INTERSECT"
                ):
                    left_text = f"({left_text})"
                right_text = self._body(right)
                if not isinstance(right, Select):
                    right_text = f"({right_text})"
                return f"{left_text} {op}{' ALL' if keep_all else ''} {right_text}"
            case Query():
                return self.query(body)

    def _select(self, select: Select) -> str:
        items = ", ".join(self._item(item) for item in select.items)
        named = [over for item in select.items for over in own_nodes(item) if isinstance(over, Over) and over.name]
        parts = [f"SELECT {'DISTINCT ' if select.distinct else ''}{items}"]
        if select.source is not None:
            parts.append("FROM " + self.relation(select.source))
        parts.extend(self._view(view) for view in select.views)
        if select.where is not None:
            parts.append("WHERE " + self.expr(select.where))
        if select.group is not None:
            parts.append(self._group(select.group))
        if select.having is not None:
            parts.append("HAVING " + self.expr(select.having))
        if named:
            parts.append("WINDOW " + ", ".join(f"{o.name} AS ({self._window(o)})" for o in dict.fromkeys(named)))
        if select.qualify is not None:
            parts.append("QUALIFY " + self.expr(select.qualify))
        return " ".join(part for part in parts if part)

    def _item(self, item: Item | ExplodeItem | Star) -> str:
        if isinstance(item, ExplodeItem):
            return f"explode{'_outer' if item.outer else ''}(array({self._list(item.elements)})) AS {item.alias}"
        if isinstance(item, Star):
            return f"{self._table(item.qualifier)}.*" if item.qualifier else "*"
        return self.expr(item.expr) + (f" AS {item.alias}" if item.alias else "")

    def _group(self, group: GroupBy) -> str:
        elements = [group.spelling] if group.spelling else [self.expr(e) for e in group.plain]
        if group.kind == "GROUPING SETS":
            elements.append("GROUPING SETS (" + ", ".join(f"({self._list(each)})" for each in group.sets) + ")")
        elif group.kind:
            elements.append(f"{group.kind}({', '.join(self._list(each) for each in group.sets)})")
        return f"GROUP BY {', '.join(elements)}" if elements else ""

    # --- relations ------------------------------------------------------------------------------------------

    def relation(self, rel: Rel) -> str:
        match rel:
            case Table(name, alias):
                return self._table(name) + (f" AS {self._table(alias)}" if alias else "")
            case Derived(query, alias, columns, lateral):
                return (
                    f"{'LATERAL ' if lateral else ''}({self.query(query)}) AS {self._table(alias)}{_columns(columns)}"
                )
            case Values(rows, kinds, alias, columns):
                return f"(VALUES {values_rows(rows, kinds)}) AS {alias}{_columns(columns)}"
            case Explode(items, alias, column):
                return f"LATERAL explode(array({self._list(items)})) AS {alias}({column})"
            case Join():
                return self._join(rel)
        raise TypeError(rel)

    def _join(self, join: Join) -> str:
        words = {"INNER": "JOIN", "SEMI": "LEFT SEMI JOIN", "ANTI": "LEFT ANTI JOIN"}
        word = words.get(join.kind, f"{join.kind} JOIN")
        right = self.relation(join.right)
        if isinstance(join.right, Join):
            right = f"({right})"
        if join.kind == "COMMA":
            return f"{self.relation(join.left)}, {right}"
        text = f"{self.relation(join.left)} {'NATURAL ' if join.natural else ''}{word} {right}"
        if join.using:
            return f"{text} USING ({', '.join(join.using)})"
        return f"{text} ON {self.expr(join.on)}" if join.on is not None else text

    def _view(self, view: LateralView) -> str:
        outer = "OUTER " if view.outer else ""
        return f"LATERAL VIEW {outer}explode(array({self._list(view.items)})) {view.alias} AS {view.column}"

    # --- expressions ----------------------------------------------------------------------------------------

    def expr(self, expr: Expr) -> str:  # noqa: C901 - one arm for each kind of expression
        match expr:
            case Lit(value, kind):
                return literal(value, kind)
            case Col(name, qualifier):
                return f"{self._table(qualifier)}.{name}" if qualifier else name
            case Op(op, left, right):
                return f"({self.expr(left)} {op} {self.expr(right)})"
            case Not(operand):
                return f"(NOT {self.expr(operand)})"
            case IsNull(operand, negated):
                return f"({self.expr(operand)} IS {'NOT ' if negated else ''}NULL)"
            case Between(operand, low, high):
                return f"({self.expr(operand)} BETWEEN {self.expr(low)} AND {self.expr(high)})"
            case InList(operand, items, negated):
                return f"({self.expr(operand)} {'NOT ' if negated else ''}IN ({self._list(items)}))"
            case Case(whens, otherwise):
                arms = " ".join(f"WHEN {self.expr(when)} THEN {self.expr(then)}" for when, then in whens)
                return f"CASE {arms}{f' ELSE {self.expr(otherwise)}' if otherwise is not None else ''} END"
            case Func(name, args):
                return f"{name}({self._list(args)})"
            case Agg():
                return self._aggregate(expr)
            case Grouping(operand):
                return f"grouping({self.expr(operand)})"
            case Over():
                return f"{self.expr(expr.function)} OVER {expr.name or f'({self._window(expr)})'}"
            case AliasRef(name):
                return name
            case Scalar(query):
                return f"({self.query(query)})"
            case Exists(query, negated):
                return f"({'NOT ' if negated else ''}EXISTS ({self.query(query)}))"
            case InQuery(operands, query, negated):
                left = self._list(operands) if len(operands) == 1 else f"({self._list(operands)})"
                return f"({left} {'NOT ' if negated else ''}IN ({self.query(query)}))"
        raise TypeError(expr)

    def _aggregate(self, agg: Agg) -> str:
        inside = self._list(agg.args) if agg.args else "*"
        where = f" FILTER (WHERE {self.expr(agg.where)})" if agg.where is not None else ""
        return f"{agg.name}({'DISTINCT ' if agg.distinct else ''}{inside}){where}"

    def _window(self, over: Over) -> str:
        parts = []
        if over.partition:
            parts.append("PARTITION BY " + self._list(over.partition))
        if over.order:
            parts.append("ORDER BY " + self._sort_keys(over.order))
        if over.frame:
            parts.append(_frame(over.frame))
        return " ".join(parts)

    def _sort_keys(self, keys: Iterable[SortKey]) -> str:
        return ", ".join(
            self.expr(key.expr) + (" DESC" if key.descending else "") + (f" NULLS {key.nulls}" if key.nulls else "")
            for key in keys
        )

    def _list(self, exprs: Iterable[Expr]) -> str:
        return ", ".join(self.expr(expr) for expr in exprs)

    def _table(self, name: str | None) -> str:
        return self._rename.get(name or "", name or "")


def to_sql(node: Node) -> str:
    """SQL text of a statement, query or expression."""
    printer = Printer()
    match node:
        case Statement():
            return printer.statement(node)
        case Query():
            return printer.query(node)
        case Expr():
            return printer.expr(node)
    raise TypeError(node)


def literal(value: Value, kind: str) -> str:
    match value:
        case None:
            return f"CAST(NULL AS {SPARK_TYPES[kind]})"
        case bool():
            return "true" if value else "false"
        case str():
            return "'" + value.replace("'", "\\'") + "'"
        case int() if value < 0:
            return f"({value})"
    return str(value)


def values_rows(rows: Iterable[tuple[Value, ...]], kinds: tuple[str, ...]) -> str:
    """The rows of a VALUES list, every cell cast, so that columns of NULLs have a type and integers are BIGINT."""
    return ", ".join(
        "(" + ", ".join(f"CAST({literal(v, k)} AS {SPARK_TYPES[k]})" for v, k in zip(row, kinds, strict=True)) + ")"
        for row in rows
    )


def create_view(name: str, table: BaseTable) -> str:
    """A temporary view that holds the base table's rows."""
    return f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {rows_of(table)}"


def rows_of(table: BaseTable) -> str:
    """A query that returns the base table's rows."""
    columns = ", ".join(table.columns)
    if table.rows:
        rows = values_rows(table.rows, table.kinds)
        return f"SELECT * FROM VALUES {rows} AS v({columns})"
    typed = ", ".join(f"CAST(NULL AS {SPARK_TYPES[k]}) AS {c}" for c, k in zip(table.columns, table.kinds, strict=True))
    return f"SELECT {typed} WHERE false"


def _columns(names: tuple[str, ...]) -> str:
    return f"({', '.join(names)})" if names else ""


def _frame(frame: Frame) -> str:
    def bound(offset: int | None, word: str) -> str:
        if offset is None:
            return f"UNBOUNDED {word}"
        if offset == 0:
            return "CURRENT ROW"
        return f"{abs(offset)} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"

    return f"{frame.unit} BETWEEN {bound(frame.start, 'PRECEDING')} AND {bound(frame.end, 'FOLLOWING')}"

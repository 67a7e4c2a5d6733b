"""The oracle's query tree.

Names stay unresolved, as in SQL: a `Col` means whatever `scoping.resolve` finds. Every node is frozen and hashable, so
that Hypothesis can print it and a failing query can be pasted into a test.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

Value = int | float | str | bool | None


@dataclass(frozen=True)
class Node:
    """Base of all nodes."""

    def children(self) -> Iterator[Node]:
        """Direct child nodes, those inside tuples included."""
        for field in fields(self):
            yield from _nodes(getattr(self, field.name))


def _nodes(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)


# --- expressions --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expr(Node):
    """Anything with a value."""


@dataclass(frozen=True)
class Lit(Expr):
    """A literal; `kind` types a NULL."""

    value: Value
    kind: str = "int"


@dataclass(frozen=True)
class Col(Expr):
    """A column by name, resolved from the innermost scope outwards."""

    name: str
    qualifier: str | None = None


@dataclass(frozen=True)
class Op(Expr):
    """An infix operator: + - * || = <> < <= > >= <=> AND OR LIKE."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Not(Expr):
    """Three-valued NOT."""

    operand: Expr


@dataclass(frozen=True)
class IsNull(Expr):
    """IS [NOT] NULL."""

    operand: Expr
    negated: bool = False


@dataclass(frozen=True)
class Between(Expr):
    """BETWEEN low AND high."""

    operand: Expr
    low: Expr
    high: Expr


@dataclass(frozen=True)
class InList(Expr):
    """[NOT] IN (expressions)."""

    operand: Expr
    items: tuple[Expr, ...]
    negated: bool = False


@dataclass(frozen=True)
class Case(Expr):
    """CASE WHEN … THEN … [ELSE …] END."""

    whens: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr | None = None


@dataclass(frozen=True)
class Func(Expr):
    """A scalar function: coalesce, nullif, abs, upper, length, negative."""

    name: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Agg(Expr):
    """An aggregate: count, sum, min, max, avg, bool_or, bool_and; no args = count(*)."""

    name: str
    args: tuple[Expr, ...] = ()
    distinct: bool = False
    where: Expr | None = None


@dataclass(frozen=True)
class Grouping(Expr):
    """grouping(expression): 1 where a grouping set has rolled the expression up."""

    operand: Expr


@dataclass(frozen=True)
class SortKey(Node):
    """One ORDER BY key; `nulls` FIRST, LAST or None for Spark's default (first when ascending)."""

    expr: Expr
    descending: bool = False
    nulls: str | None = None


@dataclass(frozen=True)
class Frame(Node):
    """A window frame; a bound is None (unbounded) or an offset (negative = preceding, 0 = current row)."""

    unit: str  # ROWS or RANGE
    start: int | None
    end: int | None


@dataclass(frozen=True)
class Over(Expr):
    """A window function: an `Agg`, or a `Func` such as row_number, rank, percent_rank, ntile, lag, lead."""

    function: Agg | Func
    partition: tuple[Expr, ...] = ()
    order: tuple[SortKey, ...] = ()
    frame: Frame | None = None
    name: str | None = None  # then it is written in a WINDOW clause


@dataclass(frozen=True)
class AliasRef(Expr):
    """A lateral column alias: the name of an earlier item of the same select list, and what it stands for."""

    name: str
    stands_for: Expr


@dataclass(frozen=True)
class Scalar(Expr):
    """A scalar subquery."""

    query: Query


@dataclass(frozen=True)
class Exists(Expr):
    """[NOT] EXISTS (query)."""

    query: Query
    negated: bool = False


@dataclass(frozen=True)
class InQuery(Expr):
    """(operands) [NOT] IN (query)."""

    operands: tuple[Expr, ...]
    query: Query
    negated: bool = False


# --- relations in FROM --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rel(Node):
    """Anything in FROM."""


@dataclass(frozen=True)
class Table(Rel):
    """A base table or a CTE."""

    name: str
    alias: str | None = None


@dataclass(frozen=True)
class Derived(Rel):
    """A subquery in FROM, perhaps LATERAL, perhaps with its columns renamed."""

    query: Query
    alias: str
    columns: tuple[str, ...] = ()
    lateral: bool = False


@dataclass(frozen=True)
class Values(Rel):
    """(VALUES …) AS alias(columns); `kinds` types the columns, for their NULLs."""

    rows: tuple[tuple[Value, ...], ...]
    kinds: tuple[str, ...]
    alias: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Explode(Rel):
    """LATERAL explode(array(items)) AS alias(column) in FROM."""

    items: tuple[Expr, ...]
    alias: str
    column: str


@dataclass(frozen=True)
class Join(Rel):
    """kind: INNER LEFT RIGHT FULL CROSS SEMI ANTI COMMA. At most one of on, using, natural.

    In Spark a comma binds like JOIN, from the left: `a, b RIGHT JOIN c` is `(a, b) RIGHT JOIN c`.
    """

    kind: str
    left: Rel
    right: Rel
    on: Expr | None = None
    using: tuple[str, ...] = ()
    natural: bool = False


@dataclass(frozen=True)
class LateralView(Node):
    """LATERAL VIEW [OUTER] explode(array(items)) alias AS column."""

    items: tuple[Expr, ...]
    alias: str
    column: str
    outer: bool = False


# --- queries ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Item(Node):
    """An item of the select list."""

    expr: Expr
    alias: str | None = None


@dataclass(frozen=True)
class ExplodeItem(Node):
    """explode(array(elements)) AS alias in a select list; explode_outer when `outer`."""

    elements: tuple[Expr, ...]
    alias: str
    outer: bool = False


@dataclass(frozen=True)
class Star(Node):
    """`*` or `qualifier.*`."""

    qualifier: str | None = None


@dataclass(frozen=True)
class GroupBy(Node):
    """GROUP BY plain expressions and, with `kind` ROLLUP, CUBE or GROUPING SETS, a second part.

    `sets` lists the elements: one expression each for ROLLUP and CUBE, the sets themselves for GROUPING SETS.
    `spelling` is how the plain expressions are written if not in full: as ordinals, aliases or ALL.
    """

    plain: tuple[Expr, ...] = ()
    kind: str | None = None
    sets: tuple[tuple[Expr, ...], ...] = ()
    spelling: str | None = None


@dataclass(frozen=True)
class Select(Node):
    """One SELECT block."""

    items: tuple[Item | ExplodeItem | Star, ...]
    source: Rel | None = None
    views: tuple[LateralView, ...] = ()
    where: Expr | None = None
    group: GroupBy | None = None
    having: Expr | None = None
    qualify: Expr | None = None
    distinct: bool = False


@dataclass(frozen=True)
class SetOp(Node):
    """op: UNION, INTERSECT or EXCEPT; without `all` the result is a set."""

    op: str
    left: Select | SetOp | Query
    right: Select | SetOp | Query
    all: bool = False


@dataclass(frozen=True)
class Cte(Node):
    """One name of a WITH clause."""

    name: str
    query: Query
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Query(Node):
    """WITH … body ORDER BY … LIMIT … OFFSET …; a key that is an int literal is an ordinal."""

    body: Select | SetOp
    ctes: tuple[Cte, ...] = ()
    order: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int | None = None


# --- data ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BaseTable:
    """A base table: the first column is its key, the row id."""

    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


Database = dict[str, BaseTable]


@dataclass(frozen=True)
class LineageOn(Node):
    """One expression of LINEAGE ON over the columns of `table`; `qualifier` is its name or an alias of it."""

    table: str
    qualifier: str
    expr: Expr


@dataclass(frozen=True)
class Statement(Node):
    """A query with its LINEAGE ON list; None = trace every table by row id."""

    query: Query
    lineage_on: tuple[LineageOn, ...] | None = None

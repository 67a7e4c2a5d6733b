"""The relational algebra in which a statement is reasoned about.   [Niu 2021, §3, fig. 2, and what SQL adds to it]

A column is an object: the same table read twice has two of each. An operator only adds columns to its input's. So a row
of any operator is thought of as wide: besides its output columns it has all those that it was made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from forward_lineage.sketches.safety.facts import ColumnFacts, Family, Known

# --- scalar expressions -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Column:
    """A column of one operator's output; two are the same only if they are one object.

    Attributes:
        name: what it is called; None where Spark names it after an expression.
        family: what its values are.
        facts: what statistics say of it, where it is a table's own.
    """

    name: str | None
    family: Family = "other"
    facts: ColumnFacts = field(default_factory=ColumnFacts)


@dataclass(frozen=True)
class Scalar:
    """Anything with a value for each row."""

    family: Family = field(default="other", kw_only=True)


@dataclass(frozen=True)
class Ref(Scalar):
    """A column, of the same block or of one around it."""

    column: Column


@dataclass(frozen=True)
class Const(Scalar):
    """A literal; dates as ordinals. None: NULL."""

    value: Known


@dataclass(frozen=True)
class Param(Scalar):
    """A parameter, or a literal that nothing is known of but that it is the same for all rows."""

    name: str


@dataclass(frozen=True)
class Call(Scalar):
    """An operator or a deterministic function: ``+ - * / = <> < <= <=> and or not is_null case in …``."""

    op: str
    args: tuple[Scalar, ...]
    node: exp.Expr | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True, eq=False)
class Subquery(Scalar):
    """A subquery in an expression; what negates it is a `Call` around it.

    Attributes:
        kind: ``exists``, ``in`` or ``scalar``.
        plan: its rows; it may mention columns of the blocks around it.
        operands: left of IN.
    """

    kind: str
    plan: Plan
    operands: tuple[Scalar, ...] = ()
    node: exp.Expr | None = None

    # What `Scalar` inherits to it compares fields; two subqueries are the same only if they are one object.
    __eq__ = object.__eq__
    __hash__ = object.__hash__


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate function over a group: no arguments is ``count(*)``."""

    name: str
    args: tuple[Scalar, ...] = ()
    distinct: bool = False
    where: Scalar | None = None
    node: exp.Expr | None = field(default=None, compare=False)


@dataclass(frozen=True)
class SortKey:
    """One key of ORDER BY."""

    expr: Scalar
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class WindowCall:
    """A function over a window; `whole` where the frame is the whole partition, `ranged` where peers are in or out."""

    name: str
    args: tuple[Scalar, ...]
    partition: tuple[Scalar, ...]
    order: tuple[SortKey, ...]
    whole: bool
    ranged: bool
    node: exp.Expr | None = field(default=None, compare=False)


# --- operators ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Plan:
    """A bag of rows.

    Attributes:
        columns: its output.
        node: where it stands in the SQL.
    """

    columns: tuple[Column, ...]
    node: exp.Expr | None = field(default=None, kw_only=True)


@dataclass(frozen=True, eq=False)
class Access(Plan):
    """All rows of a base table, which is known under a name in lower case."""

    table: str


@dataclass(frozen=True, eq=False)
class Constants(Plan):
    """Rows that come from the text: VALUES, SELECT without FROM."""

    single: bool


@dataclass(frozen=True, eq=False)
class Filter(Plan):
    """Rows for which all conditions are true."""

    input: Plan
    conditions: tuple[Scalar, ...]


@dataclass(frozen=True, eq=False)
class Project(Plan):
    """One new column for each expression."""

    input: Plan
    items: tuple[tuple[Column, Scalar], ...]


@dataclass(frozen=True, eq=False)
class Join(Plan):
    """kind: ``inner``, ``left`` or ``full``; a right join is a left one with its sides changed over."""

    kind: str
    left: Plan
    right: Plan
    on: tuple[Scalar, ...]


@dataclass(frozen=True, eq=False)
class Aggregate(Plan):
    """One row for each group; one in any case where there are no keys."""

    input: Plan
    keys: tuple[tuple[Column, Scalar], ...]
    calls: tuple[tuple[Column, AggregateCall], ...]


@dataclass(frozen=True, eq=False)
class Distinct(Plan):
    """Each row once."""

    input: Plan


@dataclass(frozen=True, eq=False)
class SetOperation(Plan):
    """kind: ``union all``, ``intersect``, ``intersect all``, ``except`` or ``except all``; columns by position."""

    kind: str
    left: Plan
    right: Plan


@dataclass(frozen=True, eq=False)
class TopK(Plan):
    """The rows from `offset` to `offset + limit` in an order; `limit` None: all behind `offset`."""

    input: Plan
    keys: tuple[SortKey, ...]
    limit: int | None
    offset: int


@dataclass(frozen=True, eq=False)
class Windows(Plan):
    """One new column for each window function."""

    input: Plan
    calls: tuple[tuple[Column, WindowCall], ...]


def parts(scalar: Scalar) -> Iterator[Scalar]:
    """The expression and all it is made of; of a subquery only the operands."""
    yield scalar
    inner = scalar.args if isinstance(scalar, Call) else scalar.operands if isinstance(scalar, Subquery) else ()
    for each in inner:
        yield from parts(each)


def references(scalar: Scalar) -> set[Column]:
    """The columns that an expression mentions itself, not within its subqueries."""
    return {each.column for each in parts(scalar) if isinstance(each, Ref)}


def subqueries(scalar: Scalar) -> list[Subquery]:
    """The subqueries of an expression, not those within them."""
    return [each for each in parts(scalar) if isinstance(each, Subquery)]


def any_subquery(scalars: Iterable[Scalar]) -> bool:
    """Say whether a subquery stands in one of several expressions."""
    return any(subqueries(scalar) for scalar in scalars)


def inputs(plan: Plan) -> tuple[Plan, ...]:
    """The operators right below."""
    match plan:
        case Join() | SetOperation():
            return (plan.left, plan.right)
        case Filter() | Project() | Aggregate() | Distinct() | TopK() | Windows():
            return (plan.input,)
    return ()


def expressions(plan: Plan) -> list[Scalar]:  # noqa: PLR0911 - one arm for each kind
    """The expressions of one operator."""
    match plan:
        case Filter():
            return list(plan.conditions)
        case Project():
            return [scalar for _, scalar in plan.items]
        case Join():
            return list(plan.on)
        case Aggregate():
            inside = [each for _, call in plan.calls for each in (*call.args, *([call.where] if call.where else []))]
            return [*(scalar for _, scalar in plan.keys), *inside]
        case TopK():
            return [key.expr for key in plan.keys]
        case Windows():
            return [
                each
                for _, call in plan.calls
                for each in (*call.args, *call.partition, *(key.expr for key in call.order))
            ]
    return []


def operators(plan: Plan) -> Iterator[Plan]:
    """The operator and all below it, those of subqueries too."""
    yield plan
    for below in inputs(plan):
        yield from operators(below)
    for scalar in expressions(plan):
        for subquery in subqueries(scalar):
            yield from operators(subquery.plan)

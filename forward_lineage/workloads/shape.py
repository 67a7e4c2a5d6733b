"""A consuming query, taken apart: aggregates over the rows that rows of one saved result were made of.   [Smoke, §4]

    SELECT keys and aggregates FROM BACKWARD(result [WHERE …], table) [WHERE … AND …] [GROUP BY keys]

Expressions are compared by their text, once names are written in one way: two that are the same say the same. A query
of another form, or in other words, has no shape that forms are made for. It is answered from the captured lineage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from forward_lineage.frontend import parse, print_sql
from forward_lineage.frontend.consuming import BACKWARD, FoundCall, LineageCall, find_calls, with_names
from forward_lineage.frontend.pushed_conditions import texts_over
from rewrites.conditions import conjuncts
from rewrites.refusals import position_of
from rewrites.spark_functions import AGGREGATES
from udafs.errors import NotTracedError

FUNCTIONS = frozenset({"count", "sum", "avg", "mean", "min", "max"})
PLACE = "__dlw0"
"""Stands for the function in the text of a shape."""
_HANDLED = {"kind", "expressions", "from_", "where", "group"}
_COMPARED: dict[type[exp.Expr], str] = {exp.EQ: "=", exp.GTE: ">=", exp.GT: ">", exp.LTE: "<=", exp.LT: "<"}
_TURNED = {"=": "=", ">=": "<=", ">": "<", "<=": ">=", "<": ">"}


@dataclass(frozen=True)
class Call:
    """An aggregate: its function, and the text of what it is of; None of count(*)."""

    function: str
    argument: str | None


@dataclass(frozen=True)
class Compared:
    """A condition that compares an expression with something that is known when the query is asked.

    Attributes:
        expression: its text.
        operator: ``=``, ``<``, ``<=``, ``>`` or ``>=``.
        with_what: a literal, or a parameter.
        text: of the whole condition.

    """

    expression: str
    operator: str
    with_what: exp.Expr = field(compare=False)
    text: str

    @property
    def parameter(self) -> bool:
        """Whether it is compared with a parameter."""
        return isinstance(self.with_what, exp.Placeholder)


@dataclass(frozen=True)
class Shape:
    """The parts of a consuming query.

    Attributes:
        text: as the user wrote it.
        placed: the same with `PLACE` for the function.
        call: the function.
        items: for each column of the answer an aggregate, or the text of a key.
        keys: the texts of all keys.
        compared: conditions that compare an expression with a value.
        fixed: the texts of the other conditions, without any parameter.

    """

    text: str
    placed: str
    call: LineageCall
    items: tuple[Call | str, ...]
    keys: tuple[str, ...]
    compared: tuple[Compared, ...]
    fixed: tuple[str, ...]

    @property
    def calls(self) -> tuple[Call, ...]:
        """The aggregates, each once."""
        return tuple(dict.fromkeys(item for item in self.items if isinstance(item, Call)))


def shape_of(sql: str) -> Shape:
    """Take a consuming query apart.

    Raises:
        NotTracedError: it is of another form; says how.
        LineageError: it is malformed.

    """
    found = _only_call(sql)
    placed = with_names(sql, [found], [PLACE])
    statement = parse(placed)
    tree = statement.tree
    if not isinstance(tree, exp.Select):
        raise _other(tree, "something else than one SELECT")
    for name, part in tree.args.items():
        if part and name not in _HANDLED:
            raise _other(tree, name.strip("_").upper().replace("JOINS", "a join"))
    table = tree.args["from_"].this
    if not isinstance(table, exp.Table) or table.alias_column_names:
        raise _other(tree, "another item of FROM, or names for its columns")
    if any(query is not tree for query in tree.find_all(exp.Query)):
        raise _other(tree, "a subquery")
    text = texts_over(table.alias_or_name)
    items = tuple(_item(each, text) for each in tree.expressions)
    keys = tuple(dict.fromkeys(_keys(tree, text)))
    if not any(isinstance(item, Call) for item in items):
        raise _other(tree, "no aggregate")
    for item in items:
        if isinstance(item, str) and item not in keys:
            raise _other(tree, f"{item}, which is neither a key nor an aggregate")
    where = tree.args.get("where")
    parts = list(conjuncts(where.this if where else None))
    compared = tuple(each for part in parts for each in _compared(part, text))
    others = [part for part in parts if not list(_compared(part, text))]
    for part in others:
        if part.find(exp.Placeholder):
            raise _other(part, "a parameter that is not compared with an expression")
    return Shape(sql, placed, found.call, items, keys, compared, tuple(map(text, others)))


def texts_of(expression: exp.Expr | str) -> list[str]:
    """Return the text of an expression over `PLACE`, of the operands that it is made of, and of its columns."""
    tree = parse(f"SELECT {expression} FROM {PLACE}").tree.expressions[0] if isinstance(expression, str) else expression
    bare, text = tree.unnest(), texts_over(PLACE)
    found = [text(bare)]
    if isinstance(bare, exp.Mul | exp.Add | exp.Sub):
        found += [each for side in (bare.this, bare.expression) for each in texts_of(side)]
    return list(dict.fromkeys([*found, *(text(column) for column in bare.find_all(exp.Column))]))


def column_text(name: str) -> str:
    """Return the text of a column."""
    return print_sql(exp.column(name.lower(), quoted=True))


def normalised(expression: str) -> str:
    """Return the text of an expression over a table's columns."""
    return texts_of(expression)[0]


def parameters_in(expression: str) -> bool:
    """Tell whether there are parameters in an expression."""
    tree: exp.Expr = parse(f"SELECT {expression} FROM {PLACE}").tree
    return tree.find(exp.Placeholder) is not None


def parts_of(condition: exp.Expr) -> list[exp.Expr]:
    """Return the conditions that AND connects."""
    return list(conjuncts(condition))


def compared_with(condition: exp.Expr, alias: str) -> Iterator[Compared]:
    """Return the comparisons with values that a condition over the rows of a table is; none if it is another one."""
    return _compared(condition, texts_over(alias))


def _only_call(sql: str) -> FoundCall:
    calls = find_calls(sql)
    if len(calls) != 1 or calls[0].call.function != BACKWARD or isinstance(calls[0].call.source, LineageCall):
        what = "not exactly one BACKWARD(result …, table) in FROM"
        raise NotTracedError(f"the query has {what}", at=calls[0].call.at if calls else None)
    return calls[0]


def _other(node: exp.Expr, what: str) -> NotTracedError:
    return NotTracedError(f"the query has {what}", at=position_of(node))


def _item(item: exp.Expr, text: Callable[[exp.Expr], str]) -> Call | str:
    call = item.unalias()
    if isinstance(call, exp.Anonymous) and call.name.lower() in FUNCTIONS:
        arguments = call.expressions
        if len(arguments) != 1 or isinstance(arguments[0], exp.Distinct) or _aggregates(arguments[0]):
            raise _other(call, f"{call.name} of several values, DISTINCT or another aggregate")
        function = call.name.lower().replace("mean", "avg")
        if isinstance(arguments[0], exp.Star) or (function == "count" and isinstance(arguments[0], exp.Literal)):
            return Call(function, None)
        return Call(function, text(arguments[0]))
    if item.find(exp.Star) or item.find(exp.Placeholder) or _aggregates(call):
        raise _other(item, "a column that is neither a key nor count, sum, avg, min or max")
    return text(call)


def _aggregates(node: exp.Expr) -> bool:
    return any(each.name.lower() in FUNCTIONS | AGGREGATES for each in node.find_all(exp.Anonymous)) or bool(
        node.find(exp.Window, exp.Filter)
    )


def _keys(tree: exp.Select, text: Callable[[exp.Expr], str]) -> Iterator[str]:
    group = tree.args.get("group")
    if group is None:
        return
    if [name for name, part in group.args.items() if part and name not in ("expressions", "all")]:
        raise _other(group, "grouping sets")
    plain = [each.unalias() for each in tree.expressions if not isinstance(_item(each, text), Call)]
    if group.args.get("all"):
        yield from map(text, plain)
    named = {each.alias.lower(): each.unalias() for each in tree.expressions if isinstance(each, exp.Alias)}
    for key in group.expressions:
        if isinstance(key, exp.Literal) or key.find(exp.Placeholder):
            if not key.name.isdecimal() or not 0 < int(key.name) <= len(tree.expressions):
                raise _other(key, "a key that is a value")
            key = tree.expressions[int(key.name) - 1].unalias()  # noqa: PLW2901 - the same key by its number
        elif isinstance(key, exp.Column) and not key.table and key.name.lower() in named:
            if text(named[key.name.lower()]) != text(key):
                raise _other(key, "a key that is named by an alias")  # a column of that name would go first
        elif isinstance(key, exp.Rollup | exp.Cube | exp.GroupingSets):
            raise _other(key, "grouping sets")
        yield text(key)


def _compared(condition: exp.Expr, text: Callable[[exp.Expr], str]) -> Iterator[Compared]:
    """The comparisons that a condition is, none if it is something else."""
    bare = condition.unnest()
    if isinstance(bare, exp.Between) and not bare.args.get("symmetric"):
        ends = ((">=", bare.args["low"]), ("<=", bare.args["high"]))
        if all(_known(value) for _, value in ends) and not _known(bare.this):
            for operator, value in ends:
                yield Compared(text(bare.this), operator, value, text(bare))
        return
    if type(bare) not in _COMPARED:
        return
    operator, left, right = _COMPARED[type(bare)], bare.this, bare.expression
    if _known(left) and not _known(right):
        left, right, operator = right, left, _TURNED[operator]
    if _known(right) and not left.find(exp.Placeholder) and left.find(exp.Column):
        yield Compared(text(left), operator, right, text(bare))


def _known(value: exp.Expr) -> bool:
    return isinstance(value, exp.Literal | exp.Placeholder)

"""From expressions of the parsed statement to those of our algebra."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlglot import exp

from forward_lineage.frontend.nodes import KeywordCall, TypedLiteral, UnaryPlus
from forward_lineage.sketches.safety import functions
from forward_lineage.sketches.safety.algebra import (
    AggregateCall,
    Call,
    Column,
    Const,
    Param,
    Plan,
    Ref,
    Scalar,
    SortKey,
    Subquery,
    WindowCall,
)
from forward_lineage.sketches.safety.facts import Family, family
from forward_lineage.sketches.safety.literals import literal, shifted_date, typed_literal
from forward_lineage.sketches.safety.names import Names
from forward_lineage.sketches.safety.overflow import holds_every_integer, may_be_null
from forward_lineage.sketches.safety.verdicts import UnprovenError, unproven
from rewrites.spark_functions import AGGREGATES, WINDOW_ONLY

ReadQuery = Callable[[exp.Expr, Names], Plan]

_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.And: "and",
    exp.Or: "or",
    exp.DPipe: "||",
    exp.Like: "like",
    exp.ILike: "ilike",
}
_ARITHMETIC = {"+", "-", "*", "%"}


@dataclass
class ScalarReader:
    """Reads the expressions of one block.

    Attributes:
        names: what names mean.
        read_query: reads a subquery.
        grouped: whether aggregates may stand here; they become columns, in `calls`.
        calls: the aggregates so far.
        windows: the window functions so far.
        ansi: whether a number fails that leaves its range; else an integer wraps around, and a decimal is NULL.
    """

    names: Names
    read_query: ReadQuery
    grouped: bool = False
    calls: list[tuple[Column, AggregateCall]] = field(default_factory=list)
    windows: list[tuple[Column, WindowCall]] = field(default_factory=list)
    ansi: bool = True
    _aliases: str = "last"

    def read(self, node: exp.Expr, *, aliases: str = "last") -> Scalar:
        """Read an expression; `aliases` as in `Names.meaning`."""
        before, self._aliases = self._aliases, aliases
        try:
            return self._read(node)
        finally:
            self._aliases = before

    def conditions(self, node: exp.Expr, *, aliases: str = "last") -> tuple[Scalar, ...]:
        """Read a condition as its conjuncts."""
        return tuple(conjuncts(self.read(node, aliases=aliases)))

    def _read(self, node: exp.Expr) -> Scalar:  # noqa: C901, PLR0911, PLR0912 - one arm for each kind of expression
        operator = _BINARY.get(type(node))
        if operator:
            return self._binary(node, operator)
        match node:
            case exp.Column():
                if isinstance(node.this, exp.Star):
                    unproven("a star in an expression", node)
                return self.names.meaning(node, aliases=self._aliases)
            case exp.Paren() | UnaryPlus():
                return self._read(node.this)
            case exp.Literal():
                return literal(node)
            case TypedLiteral():
                return typed_literal(node)
            case exp.Null():
                return Const(None)
            case exp.Boolean():
                return Const(bool(node.this), family="bool")
            case exp.Placeholder():
                return Param(f":{node.this}" if node.this else "?")
            case exp.Neg():
                return _negative(self._read(node.this), node)
            case exp.Not():
                return Call("not", (self._read(node.this),), family="bool", node=node)
            case exp.Is():
                return self._is(node)
            case exp.Between():
                return self._between(node)
            case exp.In():
                return self._in(node)
            case exp.Exists():
                return Subquery("exists", self.read_query(node.this, self.names), (), node, family="bool")
            case exp.Subquery() | exp.Select() | exp.SetOperation():
                plan = self.read_query(node, self.names)
                return Subquery("scalar", plan, (), node, family=plan.columns[0].family)
            case exp.Case():
                return self._case(node)
            case exp.Cast() | exp.TryCast():
                to = family(str(node.args["to"].args.get("kind") or node.args["to"].sql()))
                kind = "cast" if isinstance(node, exp.Cast) else "try_cast"
                operand = self._read(node.this)
                if to == "decimal" and not self.ansi and not holds_every_integer(node.args["to"].sql()):
                    to = "other"  # it may be NULL
                return Call(f"{kind} {node.args['to'].sql()}".lower(), (operand,), family=to, node=node)
            case exp.Window():
                return self._window(node)
            case exp.Filter() | exp.Anonymous():
                return self._function(node)
        raise UnprovenError(f"{node.key} is not read", node)

    def _binary(self, node: exp.Expr, operator: str) -> Scalar:
        left, right = self._read(node.this), self._read(node.expression)
        if operator in _ARITHMETIC:
            result: Family = functions.common([left.family, right.family])
            if result == "int" and not self.ansi:
                result = "other"  # it may wrap around
            dates = {left.family, right.family} & {"date", "timestamp"}
            if dates and operator in ("+", "-"):
                result = "date" if "date" in dates else "timestamp"
        elif operator == "/":
            result = "decimal" if "decimal" in (left.family, right.family) else "float"
            result = "float" if "float" in (left.family, right.family) else result
        else:
            result = "int" if operator == "div" else "string" if operator == "||" else "bool"
        if result == "decimal" and not self.ansi and may_be_null(operator, left, right, dict(self.calls)):
            result = "other"
        call = Call(operator, (left, right), family=result, node=node)
        return shifted_date(call) or call

    def _is(self, node: exp.Is) -> Scalar:
        operand, negated = self._read(node.this), bool(node.args.get("negate"))
        if isinstance(node.expression, exp.Null):
            found = Call("is_null", (operand,), family="bool", node=node)
        else:
            found = Call("<=>", (operand, self._read(node.expression)), family="bool", node=node)
        return Call("not", (found,), family="bool", node=node) if negated else found

    def _between(self, node: exp.Between) -> Scalar:
        if node.args.get("symmetric"):
            unproven("BETWEEN SYMMETRIC is not read", node)
        operand = self._read(node.this)
        low = Call(">=", (operand, self._read(node.args["low"])), family="bool", node=node)
        high = Call("<=", (operand, self._read(node.args["high"])), family="bool", node=node)
        return Call("and", (low, high), family="bool", node=node)

    def _in(self, node: exp.In) -> Scalar:
        wanted = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        query = node.args.get("query")
        if query is not None:
            plan = self.read_query(query, self.names)
            return Subquery("in", plan, tuple(self._read(each) for each in wanted), node, family="bool")
        if len(wanted) > 1 or not node.expressions:
            unproven("IN over such a list is not read", node)
        operand = self._read(wanted[0])
        equal: list[Scalar] = [
            Call("=", (operand, self._read(each)), family="bool", node=node) for each in node.expressions
        ]
        found = equal[0]
        for each in equal[1:]:
            found = Call("or", (found, each), family="bool", node=node)
        return found

    def _case(self, node: exp.Case) -> Scalar:
        operand = None if node.this is None else self._read(node.this)
        arms: list[Scalar] = []
        for arm in node.args["ifs"]:
            when = self._read(arm.this)
            if operand is not None:
                when = Call("=", (operand, when), family="bool", node=arm)
            arms += [when, self._read(arm.args["true"])]
        default = node.args.get("default")
        arms.append(Const(None) if default is None else self._read(default))
        values = [each for each in [*arms[1:-1:2], arms[-1]] if each != Const(None)]
        return Call("case", tuple(arms), family=functions.common([each.family for each in values]), node=node)

    # --- functions ------------------------------------------------------------------------------------------

    def _function(self, node: exp.Filter | exp.Anonymous) -> Scalar:
        call = node.this if isinstance(node, exp.Filter) else node
        if not isinstance(call, exp.Anonymous):
            unproven(f"{call.key} is not read", node)
        name = str(call.this).lower()
        if name in AGGREGATES:
            return self._aggregate(node, call, name)
        if isinstance(call, KeywordCall):
            return self._keyword_call(call, name)
        args = tuple(self._read(each) for each in call.expressions)
        found = functions.family_of(name, [each.family for each in args if each != Const(None)])
        if found is None or isinstance(node, exp.Filter):
            unproven(f"{name} is not known to give the same value whenever it is asked", node)
        if name == "negative":
            return _negative(args[0], node)
        if name in ("isnull", "isnotnull"):
            null = Call("is_null", args, family="bool", node=node)
            return null if name == "isnull" else Call("not", (null,), family="bool", node=node)
        if name == "if" and len(args) == 3:
            return Call("case", args, family=found, node=node)
        return Call("coalesce" if name in ("nvl", "ifnull") else name, args, family=found, node=node)

    def _keyword_call(self, call: KeywordCall, name: str) -> Scalar:
        if name == "extract" and isinstance(call.expressions[0], exp.Var):
            unit = call.expressions[0].name.lower()
            return Call(f"extract {unit}", (self._read(call.expressions[1]),), family="int", node=call)
        if name in ("substring", "trim"):
            words = " ".join(str(each.name if isinstance(each, exp.Expr) else each) for each in call.args["words"])
            args = tuple(self._read(each) for each in call.expressions)
            return Call(f"{name} {words}".lower(), args, family="string", node=call)
        raise UnprovenError(f"{name} with words between its arguments is not read", call)

    def _aggregate(self, node: exp.Expr, call: exp.Anonymous, name: str) -> Scalar:
        found = self._aggregate_call(node, call, name)
        if not self.grouped:
            unproven(f"the aggregate {name} stands where none may", node)
        for column, known in self.calls:
            if known == found:
                return Ref(column, family=column.family)
        column = Column(None, aggregate_family(found))
        self.calls.append((column, found))
        return Ref(column, family=column.family)

    def _aggregate_call(self, node: exp.Expr, call: exp.Anonymous, name: str) -> AggregateCall:
        arguments, distinct = list(call.expressions), False
        if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
            arguments, distinct = list(arguments[0].expressions), True
        if any(isinstance(each, exp.Star) for each in arguments):
            arguments = []
        inside = replace_grouped(self)
        where = None
        if isinstance(node, exp.Filter):
            where = inside.read(node.expression.this, aliases="same")
        name = functions.AGGREGATE_SYNONYMS.get(name, name)
        return AggregateCall(
            name, tuple(inside.read(each, aliases="same") for each in arguments), distinct, where, node
        )

    def _window(self, node: exp.Window) -> Scalar:
        function = node.this
        if not isinstance(function, exp.Anonymous) or isinstance(function, KeywordCall) or node.args.get("alias"):
            unproven("such a window function is not read", node)
        name = functions.AGGREGATE_SYNONYMS.get(str(function.this).lower(), str(function.this).lower())
        if name not in AGGREGATES and name not in WINDOW_ONLY:
            unproven(f"{name} over a window is not read", node)
        if any(isinstance(each, exp.Distinct) for each in function.expressions):
            unproven("DISTINCT over a window is not read", node)
        args = tuple(self._read(each) for each in function.expressions if not isinstance(each, exp.Star))
        order = node.args.get("order")
        keys = tuple(self.sort_key(each) for each in (order.expressions if order else []))
        partition = tuple(self._read(each) for each in node.args.get("partition_by") or [])
        frame = node.args.get("spec")
        whole = not keys and frame is None
        call = WindowCall(name, args, partition, keys, whole, frame is None or whole, node)
        column = Column(None, "int" if name in functions.RANKINGS else aggregate_family(AggregateCall(name, args)))
        self.windows.append((column, call))
        return Ref(column, family=column.family)

    def sort_key(self, node: exp.Expr) -> SortKey:
        """Read a key of ORDER BY: by default NULL comes first when it ascends."""
        if not isinstance(node, exp.Ordered):
            return SortKey(self._read(node), False, True)
        descending, first = bool(node.args.get("desc")), node.args.get("nulls_first")
        return SortKey(self._read(node.this), descending, not descending if first is None else bool(first))


def replace_grouped(reader: ScalarReader) -> ScalarReader:
    """Return a reader for the arguments of an aggregate, where no aggregate may stand."""
    return replace(reader, grouped=False, calls=[], windows=reader.windows)


def aggregate_family(call: AggregateCall) -> Family:
    """Return the family of an aggregate's value."""
    if call.name in ("count", "count_if"):
        return "int"
    inner: Family = call.args[0].family if call.args else "other"
    if call.name in ("avg", "median", "percentile"):
        return "decimal" if inner == "decimal" and call.name == "avg" else "float"
    if call.name in ("bool_or", "bool_and"):
        return "bool"
    return inner if call.name in ("sum", "min", "max", "bit_and", "bit_or", "bit_xor") else "float"


def conjuncts(condition: Scalar) -> list[Scalar]:
    """Return the conditions that are all true where this one is."""
    if isinstance(condition, Call) and condition.op == "and":
        return [each for arg in condition.args for each in conjuncts(arg)]
    return [condition]


def _negative(operand: Scalar, node: exp.Expr) -> Scalar:
    if isinstance(operand, Const) and operand.family in ("int", "decimal", "float"):
        return Const(-operand.value, family=operand.family)  # type: ignore[operator]
    return Call("neg", (operand,), family=operand.family, node=node)

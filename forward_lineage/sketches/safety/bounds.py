"""Between what the value of an expression is, by interval arithmetic; and whether it is ever NULL."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from forward_lineage.sketches.safety.algebra import Call, Column, Const, Ref, Scalar
from forward_lineage.sketches.safety.facts import EXACT, as_number
from forward_lineage.sketches.safety.state import UNBOUNDED, Interval, State

_NULL_IF_ONE_IS = frozenset(
    """
    + - * = <> < <= > >= || neg abs upper lower length
    """.split()  # noqa: SIM905 - a list of words is read like one
)


def interval(scalar: Scalar, state: State) -> Interval:  # noqa: PLR0911 - one arm for each kind
    """Return between what a number or a date is wherever it is not NULL; floating-point arithmetic is left open."""
    match scalar:
        case Const(value):
            number = as_number(value)
            return (number, number)
        case Ref(column):
            return state.interval(column)
        case Call(op, args) if op in _RULES and (scalar.family in EXACT):
            return _RULES[op](*(interval(each, state) for each in args))
        case Call("case", args):
            return hull([interval(each, state) for each in [*args[1:-1:2], args[-1]] if each != Const(None)])
        case Call("coalesce" | "greatest" | "least", args):
            return hull([interval(each, state) for each in args])
        case Call(op, args) if op.startswith("cast ") and scalar.family == "decimal" and args[0].family == "int":
            return interval(args[0], state)
    return UNBOUNDED


def hull(intervals: list[Interval]) -> Interval:
    """Return the least interval that holds several."""
    if not intervals:
        return UNBOUNDED
    lows, highs = [low for low, _ in intervals], [high for _, high in intervals]
    low = None if any(each is None for each in lows) else min(each for each in lows if each is not None)
    high = None if any(each is None for each in highs) else max(each for each in highs if each is not None)
    return (low, high)


def both(a: Interval, b: Interval) -> Interval:
    """Return what lies in both."""
    lows = [each for each in (a[0], b[0]) if each is not None]
    highs = [each for each in (a[1], b[1]) if each is not None]
    return (max(lows, default=None), min(highs, default=None))


def is_empty(between: Interval) -> bool:
    """Say whether nothing lies in it; a condition that left it empty is true of no row."""
    return between[0] is not None and between[1] is not None and between[0] > between[1]


def is_present(scalar: Scalar, state: State) -> bool:  # noqa: PLR0911 - one arm for each kind
    """Say whether an expression is known never to be NULL."""
    match scalar:
        case Const(value):
            return value is not None
        case Ref(column):
            return state.is_present(column)
        case Call("is_null" | "<=>"):
            return True
        case Call("coalesce", args):
            return any(is_present(each, state) for each in args)
        case Call("case", args):
            return all(is_present(each, state) for each in [*args[1:-1:2], args[-1]])
        case Call(op, args) if op in _NULL_IF_ONE_IS or op in ("and", "or", "not", "greatest", "least"):
            return all(is_present(each, state) for each in args)
    return False


def learnt(condition: Scalar, state: State) -> tuple[dict[Column, Interval], set[Column]]:
    """Return what a condition that is true says of columns: between what they are, and that they are not NULL."""
    found: dict[Column, Interval] = {}
    if not isinstance(condition, Call):
        return found, {condition.column} if isinstance(condition, Ref) else set()
    op, args = condition.op, condition.args
    if op == "not" and isinstance(args[0], Call) and args[0].op == "is_null":
        return found, {args[0].args[0].column} if isinstance(args[0].args[0], Ref) else set()
    if op not in ("=", "<", "<=", ">", ">=", "<>"):
        return found, set()
    left, right = args
    for a, b, way in ((left, right, op), (right, left, _FLIPPED.get(op, op))):
        comparable = a.family == b.family or {a.family, b.family} <= set(EXACT)
        if isinstance(a, Ref) and comparable and a.family != "float":
            low, high = interval(b, state)
            if way in ("<", "<="):
                found[a.column] = (None, high)
            elif way in (">", ">="):
                found[a.column] = (low, None)
            elif way == "=":
                found[a.column] = (low, high)
    return found, {column for each in args for column in _strict_columns(each)}


def _strict_columns(scalar: Scalar) -> set[Column]:
    """Columns that are not NULL where the expression is not."""
    if isinstance(scalar, Ref):
        return {scalar.column}
    if isinstance(scalar, Call) and scalar.op in _NULL_IF_ONE_IS:
        return {column for each in scalar.args for column in _strict_columns(each)}
    return set()


_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _plus(a: Interval, b: Interval) -> Interval:
    return (
        None if a[0] is None or b[0] is None else a[0] + b[0],
        None if a[1] is None or b[1] is None else a[1] + b[1],
    )


def _minus(a: Interval, b: Interval) -> Interval:
    return _plus(a, _negated(b))


def _negated(a: Interval) -> Interval:
    return (None if a[1] is None else -a[1], None if a[0] is None else -a[0])


def _times(a: Interval, b: Interval) -> Interval:
    known = [each for each in (*a, *b) if each is not None]
    if len(known) == 4:
        products = [x * y for x in a for y in b if x is not None and y is not None]
        return (min(products), max(products))
    if is_at_least(a, 0) and is_at_least(b, 0):
        return (Fraction(0), None)
    if is_at_most(a, 0) and is_at_most(b, 0):
        return (Fraction(0), None)
    mixed = (is_at_least(a, 0) and is_at_most(b, 0)) or (is_at_most(a, 0) and is_at_least(b, 0))
    return (None, Fraction(0)) if mixed else UNBOUNDED


def _absolute(a: Interval) -> Interval:
    if a[0] is None or a[1] is None:
        return (Fraction(0), None)
    return (Fraction(0), max(abs(a[0]), abs(a[1])))


def is_at_least(a: Interval, number: int) -> bool:
    """Say whether nothing in it is below a number."""
    return a[0] is not None and a[0] >= number


def is_at_most(a: Interval, number: int) -> bool:
    """Say whether nothing in it is above a number."""
    return a[1] is not None and a[1] <= number


_RULES: dict[str, Callable[..., Interval]] = {
    "+": _plus,
    "-": _minus,
    "*": _times,
    "neg": _negated,
    "abs": _absolute,
}

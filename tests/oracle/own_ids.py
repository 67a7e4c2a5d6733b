"""Granules whose ids are computed from their values: what the rules are told, and the ids that must come out."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewrites.domains import Domain, Integers, Listed
from rewrites.tables import BaseTable
from tests.oracle.algebra import Col, Expr, Value
from tests.oracle.strategies import SCHEMAS, VALUES

MOST = 1000  # beyond all integers of a database
STRINGS = sorted(value for value in VALUES["str"] if isinstance(value, str))
DOMAINS: dict[str, Domain] = {
    "int": Integers("BIGINT", -MOST, MOST),
    "bool": Integers("BOOLEAN", 0, 1),
    "str": Listed(tuple(each.encode() for each in STRINGS)),
}
_KINDS = {name: kind for names, kinds in SCHEMAS.values() for name, kind in zip(names, kinds, strict=True)}


def known_values(table: BaseTable, expressions: Sequence[exp.Expr]) -> Sequence[Domain]:
    """The domains of expressions in LINEAGE ON: columns, and numbers computed from them."""
    return [DOMAINS[_KINDS[each.name] if isinstance(each, exp.Column) else "int"] for each in expressions]


def own_id(granule: tuple[Value, ...], expressions: Sequence[Expr]) -> int:
    """The id of a granule, written down once more: places of values as digits, that of the first in front."""
    number = 0
    for value, expression in zip(granule, expressions, strict=True):
        size = {"int": 2 * MOST + 2, "bool": 3, "str": len(STRINGS) + 1}[_kind(expression)]
        number = number * size + _place(value)
    return number


def _kind(expression: Expr) -> str:
    return _KINDS[expression.name] if isinstance(expression, Col) else "int"


def _place(value: Value) -> int:
    match value:
        case None:
            return 0
        case bool():
            return 1 + value
        case int():
            return 1 + MOST + value
        case str():
            return 1 + STRINGS.index(value)
    raise TypeError(value)

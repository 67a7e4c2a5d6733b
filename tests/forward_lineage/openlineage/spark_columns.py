"""Column lineage as Spark's own analysed plan has it: another way to the same answer, for tests.

Columns are told apart by their names alone, which in TPC-H no two tables share.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

Names = frozenset[str]
_LISTS = {
    "Project": "projectList",
    "Aggregate": "aggregateExpressions",
    "Window": "windowExpressions",
}


def columns_of(frame: DataFrame) -> list[Names]:
    """Return for each column of a frame the base columns that its value is computed from."""
    plan = frame._jdf.queryExecution().analyzed()  # type: ignore[operator]
    found = _Found()
    found.walk(plan)
    return [found.made[_id(each)] for each in _each(plan.output())]


class _Found:
    def __init__(self) -> None:
        self.made: dict[int, Names] = {}
        self._ctes: dict[int, list[Names]] = {}

    def walk(self, plan: Any) -> None:
        kind = plan.getClass().getSimpleName()
        if kind == "WithCTE":
            for definition in _each(plan.cteDefs()):
                self.walk(definition)
                self._ctes[definition.id()] = [self.made[_id(each)] for each in _each(definition.output())]
            self.walk(plan.plan())
            return
        for child in _each(plan.children()):
            self.walk(child)
        if kind == "CTERelationRef":
            for each, made in zip(_each(plan.output()), self._ctes[plan.cteId()], strict=True):
                self.made[_id(each)] = made
        elif kind in ("LogicalRelation", "LocalRelation", "OneRowRelation", "Range"):
            self.made |= {_id(each): frozenset({each.name().lower()}) for each in _each(plan.output())}
        elif kind == "Union":
            sides = [list(_each(child.output())) for child in _each(plan.children())]
            for each, *parts in zip(_each(plan.output()), *sides, strict=True):
                self.made[_id(each)] = frozenset().union(*(self.made[_id(part)] for part in parts))
        elif kind in _LISTS:
            for each in _each(getattr(plan, _LISTS[kind])()):
                self.made[_id(each)] = self._of(each)

    def _of(self, expression: Any) -> Names:
        kind = expression.getClass().getSimpleName()
        if kind == "AttributeReference":
            return self.made[_id(expression)]
        if kind == "OuterReference":
            return self.made[_id(expression.e())]
        if kind == "ScalarSubquery":
            inner = expression.plan()
            self.walk(inner)
            (output,) = _each(inner.output())
            return self.made[_id(output)]
        return frozenset[str]().union(*(self._of(child) for child in _each(expression.children())))


def _each(scala: Any) -> Iterator[Any]:
    return (scala.apply(at) for at in range(scala.size()))


def _id(named: Any) -> int:
    return int(named.exprId().id())

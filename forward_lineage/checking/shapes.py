"""The kind of a query, from Spark's own analysis of it: it decides which laws can be tried."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

_BAG = {"Project", "Filter", "Join", "SubqueryAlias", "View", "Sort"}
_INNER = {"Inner", "Cross"}
_SAMPLES = "Sample"


def is_deterministic(frame: DataFrame) -> bool:
    """Whether a query is made of deterministic expressions only, its subqueries included, and samples nothing."""
    plan = _analyzed(frame)
    return bool(plan.deterministic()) and all(_sound(each) for each in _walk(plan))


def is_join_of_tables(frame: DataFrame) -> bool:
    """Whether a query only selects, projects and joins: each result row is there because of one row of each table."""
    return all(_in_bag(each) for each in _walk(_analyzed(frame)))


def _analyzed(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().analyzed()


def _walk(plan: Any) -> list[Any]:
    """A plan's nodes, subqueries included."""
    found = [plan]
    for several in (plan.children(), plan.subqueries()):
        for place in range(several.size()):
            found += _walk(several.apply(place))
    return found


def _sound(node: Any) -> bool:
    return node.nodeName() != _SAMPLES and bool(node.deterministic())


def _in_bag(node: Any) -> bool:
    if node.subqueries().size():
        return False
    if not node.children().size():
        return node.nodeName() not in ("OneRowRelation", "LocalRelation", "Range")
    if node.nodeName() == "Join" and node.joinType().toString() not in _INNER:
        return False
    return node.nodeName() in _BAG and bool(node.deterministic())

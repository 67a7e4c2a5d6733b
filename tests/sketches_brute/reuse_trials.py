"""Trials of reuse: a sketch of one instance, used for another, beside the answer of all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any

from forward_lineage.frontend.statement import parse
from forward_lineage.sketches.safety.reuse import serves
from forward_lineage.sketches.safety.template import template
from forward_lineage.sketches.safety.verdicts import Proof
from tests.oracle.algebra import Between, InList, Lit, Node, Op, Query, SortKey, Statement
from tests.oracle.printing import to_sql
from tests.sketches_brute.trials import BruteCase, cases
from tests.sketches_brute.writing import COMPARISONS


@dataclass(frozen=True)
class ReuseCase:
    """An instance with sketches, and one that asks for them."""

    captured: BruteCase
    asked: Statement

    @property
    def sql(self) -> str:
        return f"{self.captured.sql}\n{to_sql(self.asked)}"

    def verdict(self) -> Proof:
        captured, asked = template(parse(self.captured.sql)), template(parse(to_sql(self.asked)))
        return serves(captured, asked, self.captured.attributes, self.captured.world.facts())


def reuse_cases(seed: int) -> Iterator[ReuseCase]:
    """Cases without end; the captured instance is proven safe, the other has other literals."""
    random = Random(seed)
    for case in cases(seed):
        if case.verdict().safe:
            query = varied(case.statement.query, random)
            if query != case.statement.query:
                yield ReuseCase(case, Statement(query))


def varied(node: Any, random: Random, *, compared: bool = False) -> Any:
    """The query with other literals in comparisons, and another LIMIT."""
    if isinstance(node, tuple):
        return tuple(varied(each, random, compared=compared) for each in node)
    if isinstance(node, Lit) and compared and random.random() < 0.5:
        return Lit(max(0, int(node.value or 0) + random.choice([-1, 1])))
    if not isinstance(node, Node) or isinstance(node, SortKey):
        return node
    compared = isinstance(node, Between | InList) or (isinstance(node, Op) and (node.op in COMPARISONS))
    found = replace(
        node, **{each.name: varied(getattr(node, each.name), random, compared=compared) for each in fields(node)}
    )
    if isinstance(found, Query) and found.limit is not None and random.random() < 0.5:
        found = replace(found, limit=max(1, found.limit + random.choice([-1, 1])))
    return found

"""Trials of reuse: a sketch of one instance, used for another, beside the answer of all rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any

from forward_lineage.frontend.statement import parse
from forward_lineage.sketches.safety.reuse import serves
from forward_lineage.sketches.safety.template import template
from forward_lineage.sketches.safety.verdicts import Verdict
from tests.oracle.algebra import Between, InList, Lit, Node, Op, Query, SortKey, Statement
from tests.oracle.expressions import MoreThanOneRowError, NondeterministicError
from tests.oracle.interpreter import interpret
from tests.oracle.printing import to_sql
from tests.sketches_brute.trials import BruteCase, Refutation, cases, sketched
from tests.sketches_brute.writing import COMPARISONS


@dataclass(frozen=True)
class ReuseCase:
    """An instance with sketches, and one that asks for them."""

    captured: BruteCase
    asked: Statement

    @property
    def sql(self) -> str:
        return f"{self.captured.sql}\n{to_sql(self.asked)}"

    def verdict(self) -> Verdict:
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


def reuse_trial(case: ReuseCase, random: Random) -> Refutation | str:
    """One database, one partition, sketches of the captured instance; outcomes as of `trials.trial`."""
    database = case.captured.world.database(random)
    checks = case.captured.verdict_checks
    try:
        captured = interpret(case.captured.statement, database, "control")
        answer = Counter(row.values for row in interpret(case.asked, database, "data").rows)
    except (NondeterministicError, MoreThanOneRowError):
        return "open"
    if not captured.rows and any(check.kind == "rows" for check in checks):
        return "open"
    needed = {pair for row in captured.rows for pair in row.lineage}
    kept = dict(database)
    for table, column in case.captured.attributes.items():
        kept[table] = sketched(database[table], table, column, needed, random)
    try:
        again = Counter(row.values for row in interpret(case.asked, kept, "data").rows)
    except NondeterministicError:
        return "open"
    except MoreThanOneRowError:
        return Refutation(database, kept, answer, Counter())
    if answer != again:
        return Refutation(database, kept, answer, again)
    skipped = any(len(kept[table].rows) < len(database[table].rows) for table in case.captured.attributes)
    return "telling" if answer and skipped else "agrees"

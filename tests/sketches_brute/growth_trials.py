"""Trials of growth: a sketch that was captured before rows were added, with their fragments, beside all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from forward_lineage.frontend.statement import parse
from forward_lineage.sketches.safety.growth import grows
from forward_lineage.sketches.safety.reuse import serves
from forward_lineage.sketches.safety.template import template
from forward_lineage.sketches.safety.verdicts import Verdict
from tests.oracle.algebra import Statement
from tests.oracle.expressions import MoreThanOneRowError, NondeterministicError
from tests.oracle.interpreter import interpret
from tests.oracle.printing import to_sql
from tests.sketches_brute.reuse_trials import varied
from tests.sketches_brute.trials import BruteCase, Refutation, cases, cut, rows_of


@dataclass(frozen=True)
class GrowthCase:
    """A query with one sketch, whose table gets rows; and an instance of it that asks for the sketch then."""

    captured: BruteCase
    asked: Statement

    @property
    def sql(self) -> str:
        return f"{self.captured.sql}\n{to_sql(self.asked)}"

    def verdict(self) -> Verdict:
        captured, asked = template(parse(self.captured.sql)), template(parse(to_sql(self.asked)))
        facts = self.captured.world.facts()
        served = serves(captured, asked, self.captured.attributes, facts)
        ((table, column),) = self.captured.attributes.items()
        return grows(asked.statement, table, column, facts) if served else served


def growth_cases(seed: int) -> Iterator[GrowthCase]:
    """Cases without end, whose sketch is proven safe; one in four asks for another instance."""
    random = Random(seed)
    for case in cases(seed):
        if len(case.attributes) == 1 and case.verdict().safe and not case.verdict_checks:
            query = case.statement.query
            yield GrowthCase(case, Statement(varied(query, random) if random.random() < 0.25 else query))


def growth_trial(case: GrowthCase, random: Random) -> Refutation | str:
    """One database, one state of it before some rows were added, one partition; see `trial` for what is returned."""
    after = case.captured.world.database(random)
    ((name, column),) = case.captured.attributes.items()
    table = after[name]
    added = random.sample(table.rows, min(len(table.rows), random.choice([1, 1, 2, 4])))
    old = replace(table, rows=tuple(row for row in table.rows if row not in added))
    try:
        captured = interpret(case.captured.statement, {**after, name: old}, "control")
        answer = rows_of(interpret(case.asked, after, "data"))
    except (NondeterministicError, MoreThanOneRowError):
        return "open"
    needed = {pair for row in captured.rows for pair in row.lineage} | {(name, row[0]) for row in added}
    kept = {**after, name: cut(table, name, column, needed, random)}
    try:
        with_sketch = rows_of(interpret(case.asked, kept, "data"))
    except NondeterministicError:
        return "open"
    except MoreThanOneRowError:
        return Refutation(after, kept, answer, answer - answer)
    if answer != with_sketch:
        return Refutation({**after, f"{name} before": old}, kept, answer, with_sketch)
    return "telling" if answer and len(kept[name].rows) < len(table.rows) else "agrees"

"""Trials of growth: a sketch that was captured before rows were added, with their fragments, beside all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from forward_lineage.frontend.statement import parse
from forward_lineage.sketches.safety.growth import grows
from forward_lineage.sketches.safety.reuse import serves
from forward_lineage.sketches.safety.template import template
from forward_lineage.sketches.safety.verdicts import Proof
from tests.oracle.algebra import Statement
from tests.oracle.expressions import MoreThanOneRowError, NondeterministicError
from tests.oracle.interpreter import interpret
from tests.oracle.printing import to_sql
from tests.sketches_brute.reuse_trials import varied
from tests.sketches_brute.trials import BruteCase, Refutation, cases, over_sketches, rows_of


@dataclass(frozen=True)
class GrowthCase:
    """A query with one sketch, whose table gets rows; and an instance of it that asks for the sketch then."""

    captured: BruteCase
    asked: Statement

    @property
    def sql(self) -> str:
        return f"{self.captured.sql}\n{to_sql(self.asked)}"

    def verdict(self) -> Proof:
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
    """One database, a state of it before some rows were added to the sketch's table; see `trial`."""
    database = case.captured.world.database(random)
    (name,) = case.captured.attributes
    table = database[name]
    added = random.sample(table.rows, min(len(table.rows), random.choice([1, 1, 2, 4])))
    before = replace(table, rows=tuple(row for row in table.rows if row not in added))
    try:
        captured = interpret(case.captured.statement, {**database, name: before}, "control")
        answer = rows_of(interpret(case.asked, database, "data"))
    except (NondeterministicError, MoreThanOneRowError):
        return "open"
    needed = {pair for row in captured.rows for pair in row.lineage} | {(name, row[0]) for row in added}
    found = over_sketches(case.asked, database, case.captured.attributes, needed, answer, random)
    return replace(found, database={**database, f"{name} before": before}) if isinstance(found, Refutation) else found

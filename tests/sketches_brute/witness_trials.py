"""Trials of sketches of one witness: of a group whose values are `min` and `max`, a row that attains each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from forward_lineage.frontend.statement import parse
from forward_lineage.sketches.safety.proving import prove
from forward_lineage.sketches.safety.verdicts import Proof
from tests.oracle.algebra import Agg, Database, Expr, Item, Select, Statement
from tests.oracle.expressions import Env, Relation, own_nodes
from tests.oracle.interpreter import Interpreter, descendants, union
from tests.oracle.window import Unit
from tests.sketches_brute.trials import BruteCase, cases


@dataclass(frozen=True)
class WitnessCase(BruteCase):
    """A query with groups of which rows that attain their values may be enough, and the attributes of its sketches."""

    def verdict(self) -> Proof:
        return prove(parse(self.sql), self.attributes, self.world.facts(), one_witness=True)

    def capture(self, database: Database, random: Random) -> Relation:
        return Witnessing(self.statement, database, random).query(self.statement.query, Env())


def witness_cases(seed: int) -> Iterator[WitnessCase]:
    """Cases without end."""
    for case in cases(seed):
        query = case.statement.query
        if any(isinstance(node, Select) and attained(node) for node in descendants(query)):
            yield WitnessCase(case.statement, case.attributes, case.world)


def attained(select: Select) -> list[Agg]:
    """The aggregates of a block, if each is a value that one row attains; else none."""
    roots = [item.expr for item in select.items if isinstance(item, Item)] + [each for each in [select.having] if each]
    found = [node for root in roots for node in own_nodes(root) if isinstance(node, Agg)]
    return found if all(each.name in ("min", "max") and each.where is None for each in found) else []


class Witnessing(Interpreter):
    """Evaluates a statement with the lineage that a capture of witnesses has."""

    def __init__(self, statement: Statement, database: Database, random: Random) -> None:
        super().__init__(statement, database, "control", widest=False)
        self._random, self._blocks = random, list[Select]()

    def _select(self, select: Select, env: Env):  # type: ignore[no-untyped-def]
        self._blocks.append(select)
        found = super()._select(select, env)
        self._blocks.pop()
        return found

    def _group_unit(self, members: list[Unit], absent: frozenset[Expr], scope, env: Env) -> Unit:  # type: ignore[no-untyped-def]
        unit, calls = super()._group_unit(members, absent, scope, env), attained(self._blocks[-1])
        if not calls or not members:
            return unit
        return replace(unit, lineage=union(self._witness(each, members).lineage for each in calls))

    def _witness(self, call: Agg, members: Sequence[Unit]) -> Unit:
        """Some row that attains a value; any row where there is none."""
        values = [self._evaluate.value(call.args[0], each.env) for each in members]
        known = [value for value in values if value is not None]
        wanted = (min if call.name == "min" else max)(known) if known else None
        return self._random.choice([each for each, value in zip(members, values, strict=True) if value == wanted])

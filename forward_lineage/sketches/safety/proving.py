"""Whether sketches over some attributes are safe, whatever their fragments.   [Niu 2021, def. 5 and thm. 2]"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from forward_lineage.frontend.statement import Statement
from forward_lineage.sketches.safety.algebra import (
    Access,
    Aggregate,
    Column,
    Constants,
    Distinct,
    Filter,
    Join,
    Plan,
    Project,
    SetOperation,
    Subquery,
    TopK,
    Windows,
    expressions,
    operators,
    references,
    subqueries,
)
from forward_lineage.sketches.safety.context import Context, Place
from forward_lineage.sketches.safety.facts import Facts
from forward_lineage.sketches.safety.plan import read_plan
from forward_lineage.sketches.safety.rules.groups import aggregation, distinct
from forward_lineage.sketches.safety.rules.joins import join
from forward_lineage.sketches.safety.rules.order import top_k
from forward_lineage.sketches.safety.rules.rows import access, constants, projection, selection
from forward_lineage.sketches.safety.rules.sets import set_operation
from forward_lineage.sketches.safety.rules.windows import windows
from forward_lineage.sketches.safety.state import State
from forward_lineage.sketches.safety.verdicts import Proof, RunTimeCheck, UnprovenError

_SAFE = "each operator's rows over the sketch are contained in those over all rows, and what is returned is reproduced"


class Prover:
    """One proof."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, plan: Plan, place: Place) -> State:
        """Return what is known of an operator's rows."""
        state = self._rule(plan, place)
        return state.as_reproduced() if place.kept else state

    def subquery(self, subquery: Subquery, state: State, place: Place) -> State:
        """Return what is known of the rows that a subquery finds for rows of an operator in that place."""
        kept = place.kept
        if not kept and self.context.has_rows and place.reached and _is_closed(subquery.plan):
            self.context.checks.append(RunTimeCheck("rows", 1))
            kept = True
        return self(subquery.plan, Place(kept, state))

    def _rule(self, plan: Plan, place: Place) -> State:  # noqa: PLR0911 - one arm for each kind
        context = self.context
        match plan:
            case Access():
                return access(plan, place, context)
            case Constants():
                return constants(plan, place)
            case Filter():
                return selection(plan, place, context, self)
            case Project():
                return projection(plan, place, self)
            case Join():
                return join(plan, place, context, self)
            case Aggregate():
                return aggregation(plan, place, context, self)
            case Distinct():
                return distinct(plan, place, context, self)
            case SetOperation():
                return set_operation(plan, place, self)
            case TopK():
                return top_k(plan, place, context, self)
            case Windows():
                return windows(plan, place, context, self)
        raise TypeError(plan)


def prove(statement: Statement, attributes: Mapping[str, str], facts: Facts, *, one_witness: bool = False) -> Proof:
    """Say whether every set of sketches over these attributes gives the answer of all rows.

    Args:
        statement: a query.
        attributes: table → the column of its sketch; every access of the table reads the rows of the sketch. Tables
            that are not named are read whole.
        facts: what is known of the tables; nothing else is looked at.
        one_witness: sketches may be captured from one row that attains each min and max, and one of equal rows, not
            from all control lineage.

    Returns:
        the proven facts. The answer is a bag of rows: of rows that tie in ORDER BY the order is not promised, as
        without a sketch. Failures: a statement that fails over all rows (a cast, a division by zero) may succeed with a
        sketch that skips the row. It is never the other way round.
    """
    try:
        return prove_plan(read_plan(statement.tree, facts), attributes, facts, one_witness=one_witness)
    except UnprovenError as error:
        return Proof(False, str(error))


def prove_plan(plan: Plan, attributes: Mapping[str, str], facts: Facts, *, one_witness: bool = False) -> Proof:
    """Say the same of a statement that was read already."""
    sketched = {table.lower(): column.lower() for table, column in attributes.items()}
    found = Proof(False, "")
    for has_rows in (False, True) if any(map(subqueries_of, operators(plan))) else (False,):
        context = Context(sketched, facts, one_witness, has_rows)
        try:
            Prover(context)(plan, Place(kept=True, outermost=True, reached=True))
        except UnprovenError as error:
            found = Proof(False, str(error))
        else:
            return Proof(True, _SAFE, tuple(dict.fromkeys(context.checks)))
    return found


def subqueries_of(plan: Plan) -> list[Subquery]:
    """The subqueries in the expressions of one operator."""
    return [each for scalar in expressions(plan) for each in subqueries(scalar)]


def _is_closed(plan: Plan) -> bool:
    """Whether a subquery mentions no column of a block around it."""
    made: set[Column] = set()
    asked: set[Column] = set()
    for each in operators(plan):
        made |= set(each.columns)
        if isinstance(each, Aggregate):
            made |= {column for column, _ in (*each.keys, *each.calls)}
        if isinstance(each, Windows):
            made |= {column for column, _ in each.calls}
        asked |= {column for scalar in expressions(each) for column in references(scalar)}
    return asked <= made


def safe_attributes(statement: Statement, facts: Facts, *, one_witness: bool = False) -> dict[str, tuple[str, ...]]:
    """Return table → its columns that are proven safe where it alone has a sketch, in the table's order.

    Combinations are another matter (`prove`): two columns that are safe alone need not be so together. A group may be
    known to be whole by the one but not by the other. `safe_together` finds those that are.
    """
    try:
        plan = read_plan(statement.tree, facts)
    except UnprovenError:
        return {}
    tables = dict.fromkeys(each.table for each in operators(plan) if isinstance(each, Access))
    found = {
        table: tuple(
            column
            for column in facts.tables[table]
            if prove_plan(plan, {table: column}, facts, one_witness=one_witness)
        )
        for table in tables
    }
    return {table: columns for table, columns in found.items() if columns}


def safe_together(
    statement: Statement,
    wanted: Mapping[str, Sequence[str]],
    facts: Facts,
    *,
    one_witness: bool = False,
    most: int = 200,
) -> dict[str, str]:
    """Return one column for each of as many tables as can be proven together.

    Args:
        statement: a query.
        wanted: table → the columns that are wanted for it, the best one first; tables that matter most first.
        facts: what is known of the tables.
        one_witness: as for `prove`.
        most: how many combinations are tried at most.
    """
    try:
        plan = read_plan(statement.tree, facts)
    except UnprovenError:
        return {}
    tried = itertools.count()
    for size in range(len(wanted), 0, -1):
        for tables in itertools.combinations(wanted, size):
            for columns in itertools.product(*(wanted[table] for table in tables)):
                if next(tried) >= most:
                    return {}
                chosen = dict(zip(tables, columns, strict=True))
                if prove_plan(plan, chosen, facts, one_witness=one_witness):
                    return chosen
    return {}

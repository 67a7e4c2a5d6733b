"""The sketches that serve an instance of a template.   [Niu 2021, §7, thm. 3]

Sketches that were captured for an instance Q serve another instance Q′ of the template if

1. they are over attributes that are safe for Q′ (`proving`), and
2. the lineage of Q′ lies in that of Q, over whatever tables: then they hold the fragments of Q′, and more.

The second is proven by going through both plans side by side (`side_by_side`):

WHERE, HAVING  the conditions of Q′ imply those of Q; the values of groups as far as they are linked.
LIMIT          k′ ≤ k, of the same rows in the same order: the first k′ are among the first k. Over fewer rows a row
               may be among the first k′ of Q′ and not among the first k of Q. The exception is a Q that returned fewer
               than k rows: then all its rows are in its result, as if it had no LIMIT.
subqueries     no truer for Q′ than for Q; below NOT, in EXCEPT, in windows of counted rows: the same.
literals       in a select list, in GROUP BY, in arguments: the same.

Checks of Q′. Whether a tie stands at the edge of its top k′ is seen over the sketch where k′ < k, since the row behind
the edge is among the first k. Whether Q′ returns a row cannot be seen over the sketch. A query that is only safe then
is not served, unless Q′ is Q, for which all was seen at capture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

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
    Ref,
    Scalar,
    Subquery,
    TopK,
    expressions,
    subqueries,
)
from forward_lineage.sketches.safety.context import Context, Place
from forward_lineage.sketches.safety.facts import Facts
from forward_lineage.sketches.safety.linking import Links
from forward_lineage.sketches.safety.plan import read_plan
from forward_lineage.sketches.safety.proving import Prover, prove_plan
from forward_lineage.sketches.safety.rules.groups import group_state, values_of
from forward_lineage.sketches.safety.rules.joins import paired
from forward_lineage.sketches.safety.rules.rows import known, projected
from forward_lineage.sketches.safety.side_by_side import (
    Both,
    alike,
    all_equal,
    decided_by,
    follows,
    inner_equal,
    pair_up,
    settled,
    shape,
    translated,
)
from forward_lineage.sketches.safety.state import EQUAL, Link, State
from forward_lineage.sketches.safety.template import Instance
from forward_lineage.sketches.safety.verdicts import Proof, RunTimeCheck, UnprovenError, unproven

_SERVES = "its lineage lies in that of the captured instance, and the attributes are safe for it"


def serves(
    captured: Instance,
    asked: Instance,
    attributes: Mapping[str, str],
    facts: Facts,
    *,
    rows: int | None = None,
    one_witness: bool = False,
) -> Proof:
    """Say whether sketches that were captured for one instance give the answer of another.

    Args:
        captured: the instance whose sketches there are, with all the checks that `prove` wanted seen.
        asked: the instance that is to be answered.
        attributes: table → the column of its sketch.
        facts: what is known of the tables now.
        rows: how many rows the captured instance returned, where it is known.
        one_witness: as for `prove`.

    Returns:
        the verdict; `checks` are to be seen when the sketches are used, over the sketches themselves.
    """
    if captured.template != asked.template:
        return Proof(False, "it is an instance of another template")
    if any(each.statement.tree.find(exp.Placeholder) for each in (captured, asked)):
        return Proof(False, "the value of a parameter is not known")
    try:
        plans = read_plan(asked.statement.tree, facts), read_plan(captured.statement.tree, facts)
        safe = prove_plan(plans[0], attributes, facts, one_witness=one_witness)
        if not safe:
            return Proof(False, f"not safe for this instance: {safe.why}")
        if captured.bindings == asked.bindings:
            return Proof(True, "it is the captured instance")
        if one_witness:
            unproven("sketches of one witness serve no other instance: another row may attain min or max there")
        return _served(*plans, safe.checks, facts, rows)
    except UnprovenError as error:
        return Proof(False, str(error))


def _served(asked: Plan, captured: Plan, checks: tuple[RunTimeCheck, ...], facts: Facts, rows: int | None) -> Proof:
    limit = captured.limit if isinstance(captured, TopK) else None
    all_returned = rows is not None and limit is not None and rows < limit
    comparer = Comparer(facts, all_returned=all_returned)
    both = settled(comparer(asked, captured, None, top=True), wraps=not facts.ansi)
    if both.pending:
        unproven("a condition of the captured instance does not follow from those of this one")
    for check in checks:
        if check.kind != "no tie":
            unproven("it is safe only where it returns a row, which cannot be seen beforehand")
        if all_returned or limit is None or check.row >= limit:
            unproven("whether rows tie at the edge of its LIMIT cannot be seen over the sketch")
    return Proof(True, _SERVES, checks)


class Comparer:
    """Goes through two plans of one template side by side."""

    def __init__(self, facts: Facts, *, all_returned: bool) -> None:
        self._context = Context({}, facts)
        self._prover = Prover(self._context)
        self._wraps = not facts.ansi
        self._all_returned = all_returned

    def __call__(self, asked: Plan, captured: Plan, outer: Both | None, *, top: bool = False) -> Both:  # noqa: PLR0911 - one arm for each kind
        """Return what is known of the rows of both."""
        if type(asked) is not type(captured) or shape(asked) != shape(captured):
            unproven("the instances are read as different plans", asked.node)
        match asked, captured:
            case Access(), Access():
                return self._leaf(asked, captured, outer)
            case Constants(), Constants():
                return self._leaf(asked, captured, outer)
            case Filter(), Filter():
                return self._filter(asked, captured, self(asked.input, captured.input, outer))
            case Project(), Project():
                return self._project(asked, captured, self(asked.input, captured.input, outer, top=False))
            case Aggregate(), Aggregate():
                return self._aggregate(asked, captured, self(asked.input, captured.input, outer))
            case Distinct(), Distinct():
                return self._distinct(asked, captured, self(asked.input, captured.input, outer))
            case Join(kind="inner"), Join(kind="inner"):
                return self._join(self(asked.left, captured.left, outer), self(asked.right, captured.right, outer))
            case TopK(), TopK():
                return self._top_k(asked, captured, self(asked.input, captured.input, outer), top=top)
        return self._unchanged(asked, captured, outer)

    # --- operators ------------------------------------------------------------------------------------------

    def _leaf(self, asked: Plan, captured: Plan, outer: Both | None) -> Both:
        place = Place(False, None if outer is None else outer.asked)
        state = self._prover(asked, place)
        other = state if outer is None else replace(state, outer=outer.captured)
        columns = {} if outer is None else outer.columns
        pairs = dict(zip(captured.columns, asked.columns, strict=True))
        return Both(state, other, {**columns, **pairs})

    def _unchanged(self, asked: Plan, captured: Plan, outer: Both | None) -> Both:
        """An operator that is the same in both, with all below it: its rows are the same."""
        if outer is not None or not self._alike(asked, captured):
            unproven("instances that differ below such an operator are not compared", asked.node)
        state = replace(self._prover(asked, Place(False)), guard=frozenset())
        state = replace(state, links=dict.fromkeys(state.links, EQUAL))
        return Both(state, state, dict(zip(captured.columns, asked.columns, strict=True)))

    def _alike(self, asked: Plan, captured: Plan) -> bool:
        """Whether two plans are the same but for their columns."""
        columns: dict[Column, Column] = {}
        return alike(asked, captured, columns)

    def _filter(self, asked: Filter, captured: Filter, both: Both) -> Both:
        pairs, links = self._subqueries(asked.conditions, captured.conditions, both)
        wanted = [translated(each, both.columns, pairs) for each in captured.conditions]
        given = list(asked.conditions)
        equal = [each for each in given if each in wanted and all_equal([each], both.asked, links)]
        open_ = [each for each in wanted if each not in equal]
        pending = [each for each in open_ if not follows(both, given, each, links, forwards=True, wraps=self._wraps)]
        if any(subqueries(each) for each in pending):
            unproven("a condition with a subquery does not follow from those of this instance", asked.node)
        narrowed = [
            each
            for each in given
            if each not in equal and not follows(both, wanted, each, links, forwards=False, wraps=self._wraps)
        ]
        proven = [each for each in wanted if each not in pending]
        after = replace(
            both,
            asked=known(both.asked, given),
            captured=known(both.captured, proven),
            pending=(*both.pending, *pending),
            narrowed=(*both.narrowed, *narrowed),
        )
        return settled(after, wraps=self._wraps) if both.pending else after

    def _project(self, asked: Project, captured: Project, both: Both) -> Both:
        expected = [scalar for _, scalar in asked.items]
        pairs, links = self._subqueries(expected, [scalar for _, scalar in captured.items], both)
        for (_, a), (_, b) in zip(asked.items, captured.items, strict=True):
            if translated(b, both.columns, pairs) != a:
                unproven("the instances compute different values", asked.node)
        state, other = projected(asked, both.asked, links), projected(asked, both.captured, links)
        return replace(both, asked=state, captured=other, columns=self._columns(asked, captured, both))

    def _aggregate(self, asked: Aggregate, captured: Aggregate, both: Both) -> Both:
        if any(subqueries(each) for each in expressions(asked)):
            unproven("subqueries within groups are not compared", asked.node)
        columns = self._columns(asked, captured, both)
        for a, b in zip(expressions(asked), expressions(captured), strict=True):
            if translated(b, both.columns, {}) != a:
                unproven("the instances group or add up different values", asked.node)
        if not all_equal([scalar for _, scalar in asked.keys], both.asked, {}):
            unproven("rows are grouped by a value that may be another one", asked.node)
        keys = both.asked.decided(
            {column for column, _ in asked.keys} | {each.column for _, each in asked.keys if isinstance(each, Ref)}
        )
        if not decided_by(keys, both.pending):
            both = settled(both, wraps=self._wraps)
        if not decided_by(keys, both.pending):
            unproven("a group may have rows in this instance that it has not in the captured one", asked.node)
        narrow = both.narrowed if not asked.keys else () if decided_by(keys, both.narrowed) else both.narrowed
        whole = not narrow and all_equal(expressions(asked), both.asked, {})
        asked_groups = self._groups(asked, replace(both.asked, guard=frozenset() if whole else None), keys, whole=whole)
        there = self._groups(asked, replace(both.captured, links=both.asked.links), keys, whole=True)
        return replace(both, asked=asked_groups, captured=there, columns=columns)

    def _groups(self, asked: Aggregate, state: State, keys: frozenset[Column], *, whole: bool) -> State:
        groups = group_state(asked, state, keys, whole=whole)
        return values_of(asked, state, groups, {}, self._context, whole=whole, keys=keys)

    def _distinct(self, asked: Distinct, captured: Distinct, both: Both) -> Both:
        del captured
        if not all_equal([Ref(each) for each in asked.columns], both.asked, {}):
            unproven("DISTINCT of a value that may be another one", asked.node)
        if not decided_by(both.asked.decided(asked.columns), both.pending):
            unproven("equal rows may be others in this instance than in the captured one", asked.node)
        return both

    def _join(self, left: Both, right: Both) -> Both:
        return Both(
            paired(left.asked, right.asked),
            paired(left.captured, right.captured),
            {**left.columns, **right.columns},
            left.pending + right.pending,
            left.narrowed + right.narrowed,
        )

    def _top_k(self, asked: TopK, captured: TopK, both: Both, *, top: bool) -> Both:
        if self._all_returned and top and not asked.offset and not captured.offset:
            return both
        keys = [translated(key.expr, both.columns, {}) for key in captured.keys]
        if keys != [key.expr for key in asked.keys] or asked.offset != captured.offset:
            unproven("the instances have another order", asked.node)
        more = captured.limit is None or (asked.limit is not None and asked.limit <= captured.limit)
        if not more or (not top and asked.limit != captured.limit):
            unproven("it asks for more rows than the captured instance", asked.node)
        both = settled(both, wraps=self._wraps)
        if not both.same:
            unproven("the first rows of this instance need not be among the first of the captured one", asked.node)
        return both

    def _subqueries(
        self, asked: Sequence[Scalar], captured: Sequence[Scalar], both: Both
    ) -> tuple[dict[Subquery, Subquery], Links]:
        pairs = pair_up(asked, captured)
        links: dict[Subquery, Link] = {}
        for there, here in pairs.items():
            inner = settled(self(here.plan, there.plan, both), wraps=self._wraps)
            operands = zip(here.operands, there.operands, strict=True)
            if inner.pending or any(translated(b, both.columns, pairs) != a for a, b in operands):
                unproven("a subquery may find rows that it does not find in the captured instance", here.node)
            if inner.same:
                links[here] = EQUAL
            elif here.kind == "scalar":
                link = inner.asked.links.get(here.plan.columns[0], Link("?", True))
                links[here] = Link(link.sense, True)
            else:
                links[here] = (
                    Link("truth") if here.kind == "exists" or inner_equal(inner, here.plan) else Link("?", True)
                )
        return pairs, links

    def _columns(self, asked: Plan, captured: Plan, both: Both) -> dict[Column, Column]:
        found = dict(both.columns)
        found |= zip(captured.columns, asked.columns, strict=True)
        if isinstance(asked, Aggregate) and isinstance(captured, Aggregate):
            found |= {b: a for (a, _), (b, _) in zip(asked.keys, captured.keys, strict=True) if b not in found}
            found |= {b: a for (a, _), (b, _) in zip(asked.calls, captured.calls, strict=True)}
        return found

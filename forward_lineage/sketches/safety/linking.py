"""How the value of an expression over the sketch is linked to that over all rows, from the links of its columns.

Only where some column is not equal is there anything to say. Then an operator that may fail (a division, a cast) is not
accepted. It would be asked about values that the query over all rows never has, such as the count of half a group.
"""

from __future__ import annotations

from collections.abc import Mapping

from forward_lineage.sketches.safety.algebra import Call, Ref, Scalar, Subquery
from forward_lineage.sketches.safety.bounds import interval, is_at_least, is_at_most
from forward_lineage.sketches.safety.facts import EXACT
from forward_lineage.sketches.safety.state import EQUAL, UNKNOWN, Link, State, either
from forward_lineage.sketches.safety.verdicts import unproven

Links = Mapping[Subquery, Link]

NEVER_FAILS = frozenset(
    """
    + - * neg = <> < <= > >= <=> and or not is_null case coalesce nullif greatest least abs
    like || upper lower
    """.split()  # noqa: SIM905 - a list of words is read like one
)
_FLIPPED = {"<": ">", ">": "<", "=": "="}


def link_of(scalar: Scalar, state: State, subqueries: Links) -> Link:
    """Return how an expression is linked.

    Raises:
        UnprovenError: it mentions no column of these rows, or might fail over the sketch alone.
    """
    match scalar:
        case Ref(column):
            found = state.link(column)
            if found is None:
                unproven(f"{column.name or 'a value'} is not the same for all rows that became one")
            if column not in state.links and not found.is_equal:
                unproven(f"a subquery mentions {column.name or 'a value'}, which may be another one over the sketch")
            return found
        case Subquery():
            # IN with operands that are linked was looked at where the subquery was.
            if scalar not in subqueries:
                unproven("the value of a subquery further in", scalar.node)
            return subqueries[scalar]
        case Call():
            return _of_call(scalar, [link_of(each, state, subqueries) for each in scalar.args], state)
    return EQUAL


def _of_call(call: Call, links: list[Link], state: State) -> Link:  # noqa: PLR0911 - one arm for each kind
    if all(each.is_equal for each in links):
        return EQUAL
    widens = call.op.startswith("cast ") and call.family == "decimal" and call.args[0].family == "int"
    divides = call.op == "/" and links[1].is_equal and call.family == "decimal"
    if call.op not in NEVER_FAILS and not widens and not divides:
        unproven(f"{call.op} might fail on values that only the sketch has", call.node)
    if call.family not in EXACT:
        return UNKNOWN
    links = [_ordered(link, arg, state) for link, arg in zip(links, call.args, strict=True)]
    vanish = any(each.vanish for each in links)
    match call.op:
        case "+":
            return _sum(links[0], links[1])
        case "-":
            return _sum(links[0], _flipped(links[1]))
        case "neg":
            return _flipped(links[0])
        case "*":
            return _product(call, links, state)
        case "/" if is_at_least(interval(call.args[1], state), 0):
            return links[0]
        case "case" | "coalesce" | "nullif" | "abs" | "/":
            return UNKNOWN
        case "greatest" | "least":
            return Link(either(links[0], links[1]).sense, vanish) if len(links) == 2 and not vanish else UNKNOWN
    return links[0] if widens else UNKNOWN


def _ordered(link: Link, scalar: Scalar, state: State) -> Link:
    """``0`` as an order, where the value is on one side of 0."""
    if link.sense != "0":
        return link
    between = interval(scalar, state)
    return Link("<", link.vanish) if is_at_least(between, 0) else Link(">" if is_at_most(between, 0) else "?", True)


def _flipped(link: Link) -> Link:
    return Link(_FLIPPED.get(link.sense, "?"), link.vanish) if link.sense in _FLIPPED else UNKNOWN


def _sum(a: Link, b: Link) -> Link:
    found = either(a, b)
    return found if found.sense in ("=", "<", ">") else UNKNOWN


def _product(call: Call, links: list[Link], state: State) -> Link:
    left, right = (interval(each, state) for each in call.args)
    if is_at_least(left, 0) and is_at_least(right, 0):
        return _sum(links[0], links[1])
    for link, other, factor in ((links[0], links[1], right), (links[1], links[0], left)):
        if other.is_equal and is_at_most(factor, 0):
            return _flipped(link)
        if other.is_equal and is_at_least(factor, 0):
            return link
    return UNKNOWN


def comes_no_earlier(link: Link, scalar: Scalar, state: State, *, descending: bool, nulls_first: bool) -> bool:
    """Say whether a row over the sketch never comes before its counterpart, by one key of an order."""
    link = _ordered(link, scalar, state)
    if link.vanish and nulls_first:
        return False
    return link.sense in ("=", "<" if descending else ">")

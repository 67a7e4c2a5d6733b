"""From the questions that will be asked of a result to what is captured of its lineage, and made of it.   [Smoke, §4]

a table that no question leads to                        its lineage is not captured     (pruning, §4.1)
a condition that all questions about a table have        lineage in other rows is not    (selection push-down, §4.2)
an expression that is compared with a parameter          base rows stand in its order    (data skipping, §4.2)
an aggregate by keys                                     is added up by the keys         (group-by push-down, §4.2)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from forward_lineage.frontend import parse, print_sql
from forward_lineage.frontend.consuming import BACKWARD, LineageCall, find_calls, with_names
from forward_lineage.frontend.pushed_conditions import conditions_around
from forward_lineage.workloads.form_builder import FormPlan
from forward_lineage.workloads.shape import PLACE, Shape, normalised, parameters_in, shape_of
from udafs.errors import BadArgumentError, LineageError

Attributes = Mapping[str, Sequence[str]] | Sequence[str] | None


@dataclass(frozen=True)
class Derived:
    """The consequences of a workload, and of the user's own arguments.

    Attributes:
        tables: names of the tables that questions lead to, as these write them; None: nobody says, so all.
        where: table → the condition that all questions about it have.
        plans: what is made.
        plain: questions for which nothing is made, and why.

    """

    tables: tuple[str, ...] | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    plans: tuple[FormPlan, ...] = ()
    plain: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Use:
    """A question needs the lineage of the result in a table; under which conditions on its rows."""

    table: str
    conditions: frozenset[str]


def derived(name: str, workload: Sequence[str], partition_by: Attributes, cube: Attributes, sql: str | None) -> Derived:
    """Derive what to capture and to make for a result.

    Args:
        name: of the result.
        workload: consuming queries, with parameters.
        partition_by: table → expressions over its columns, among whose values questions will choose.
        cube: table → expressions by which the result's aggregates are added up, too.
        sql: the query of the result, if it has one.

    Raises:
        BadArgumentError: a query of the workload does not ask about the result, or is malformed.

    """
    if isinstance(workload, str) or not all(isinstance(each, str) for each in workload):
        raise BadArgumentError("workload= takes a list of consuming queries", instead='Write workload=["SELECT …"].')
    uses = [use for query in workload for use in _uses(name, query)]
    plans, plain = _plans(name, workload)
    by_hand = _of_tables("partition_by", partition_by, sql)
    plans = [_partitioned(plan, by_hand.get(plan.table.lower(), ())) for plan in plans]
    for table, attributes in by_hand.items():
        if not any(plan.table.lower() == table and plan.kind == "partition" for plan in plans):
            plans.append(FormPlan(table, tuple(dict.fromkeys(attributes)), (), {}, kind="partition"))
    for table, attributes in _of_tables("cube", cube, sql).items():
        plans.append(_cube(name, table, attributes, sql))
    if not workload:
        return Derived(plans=tuple(plans))
    where = {table: condition for table in _tables(uses) if (condition := _common(table, uses))}
    return Derived(_tables(uses), where, tuple(plans), tuple(plain))


# ---------------------------------------------------------------- which lineage


def _uses(name: str, query: str) -> list[_Use]:
    calls = find_calls(query)
    names = [f"__dl{number:x}" for number in range(len(calls))]
    placed = with_names(query, calls, names)
    found: list[_Use] = []
    for place, call in zip(names, calls, strict=True):
        found += [_Use(table, frozenset()) for table in _inner(name, call.call.source)]
        result, table = _led(call.call)
        if result.lower() == name.lower():
            around = conditions_around(placed, place) if call.call.function == BACKWARD else frozenset()
            found.append(_Use(table, frozenset(each for each in around if not parameters_in(each))))
    if not found:
        raise BadArgumentError(
            f"a query of the workload does not ask about {name}: {query.strip()[:60]}",
            instead=f"Write BACKWARD({name} …, table) or FORWARD(table …, {name}) in its FROM.",
        )
    return found


def _inner(name: str, source: tuple[str, ...] | LineageCall) -> Iterator[str]:
    """The tables to which functions within another lead from the result."""
    if isinstance(source, LineageCall):
        yield from _inner(name, source.source)
        result, table = _led(source)
        if result.lower() == name.lower():
            yield table


def _led(call: LineageCall) -> tuple[str, str]:
    """The result whose lineage a function asks for, and the table."""
    source = call.source.target if isinstance(call.source, LineageCall) else call.source
    pair = (source, call.target) if call.function == BACKWARD else (call.target, source)
    return ".".join(pair[0]), ".".join(pair[1])


def _tables(uses: Sequence[_Use]) -> tuple[str, ...]:
    return tuple({use.table.lower(): use.table for use in uses}.values())


def _common(table: str, uses: Sequence[_Use]) -> str:
    """The conditions that all questions about a table have."""
    mine = [use.conditions for use in uses if use.table.lower() == table.lower()]
    return " AND ".join(f"({each})" for each in sorted(frozenset.intersection(*mine)))


# ---------------------------------------------------------------- what is made


def _plans(name: str, workload: Sequence[str]) -> tuple[list[FormPlan], list[tuple[str, str]]]:
    found: dict[tuple[object, ...], FormPlan] = {}
    plain = []
    for query in workload:
        try:
            plan = plan_of(shape_of(query))
        except LineageError as error:
            plain.append((query, error.what))
            continue
        key = plan.table, plan.attributes, plan.keys, plan.fixed
        found[key] = replace(plan, calls=_united(plan.calls, found[key].calls)) if key in found else plan
    return list(found.values()), plain


def plan_of(shape: Shape) -> FormPlan:
    """Return what is made for questions of a shape: their parameters become attributes."""
    with_parameters = [each for each in shape.compared if each.parameter]
    equal = sorted({each.expression for each in with_parameters if each.operator == "="})
    ranged = sorted({each.expression for each in with_parameters} - {*equal})
    fixed = {*shape.fixed, *(each.text for each in shape.compared if not each.parameter)}
    calls: dict[str, frozenset[str]] = {}
    for call in shape.calls:
        if call.argument is not None:
            calls[call.argument] = calls.get(call.argument, frozenset()) | {call.function}
    return FormPlan(".".join(shape.call.target), (*equal, *ranged), shape.keys, calls, tuple(sorted(fixed)))


def _united(one: Mapping[str, frozenset[str]], other: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    return {text: one.get(text, frozenset()) | other.get(text, frozenset()) for text in {**one, **other}}


def _partitioned(plan: FormPlan, attributes: Collection[str]) -> FormPlan:
    wanted = bool(plan.attributes) and {*plan.attributes} <= {*attributes}
    return replace(plan, kind="partition") if wanted else plan


def _of_tables(what: str, given: Attributes, sql: str | None) -> dict[str, tuple[str, ...]]:
    """Expressions by table, in lower case; a list is of the only table that the query of the result names."""
    if given is None:
        return {}
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
        raise BadArgumentError(f"{what}= takes expressions", instead=f'Write {what}={{"sales": ["region"]}}.')
    if not isinstance(given, Mapping):
        table = _only_table(sql)
        if table is None:
            raise BadArgumentError(
                f"{what}= does not say which table it is about", instead=f'Write {what}={{"sales": ["region"]}}.'
            )
        given = {table: given}
    return {table.lower(): tuple(map(normalised, texts)) for table, texts in given.items()}


def _base(sql: str) -> tuple[exp.Select | None, str]:
    """The query of a result as one SELECT over `PLACE`, and the name of its table; None if it is another one."""
    calls = find_calls(sql)
    if len(calls) == 1 and calls[0].call.function == BACKWARD:
        tree, table = parse(with_names(sql, calls, [PLACE])).tree, ".".join(calls[0].call.target)
    elif calls:
        return None, ""
    else:
        tree, table = parse(sql).tree, ""
    source = tree.args["from_"].this if tree.args.get("from_") else None
    if not isinstance(tree, exp.Select) or not isinstance(source, exp.Table) or tree.args.get("joins"):
        return None, ""
    return tree, table or ".".join(part.name for part in source.parts)


def only_name(sql: str) -> str | None:
    """Return the name of the only table or view that the query of a result reads, by its text; None: there are more."""
    tree, name = _base(sql)
    return name if tree is not None and len(list(tree.find_all(exp.Table))) == 1 else None


def _only_table(sql: str | None) -> str | None:
    return _base(sql)[1] or None if sql is not None else None


def _cube(name: str, table: str, attributes: Sequence[str], sql: str | None) -> FormPlan:
    """The aggregates of the result itself, by its keys and by attributes."""
    tree, of = _base(sql) if sql is not None else (None, "")
    if tree is None or of.lower() != table:
        raise BadArgumentError(
            f"cube= adds up the aggregates of {name} over {table}, and its query is not one SELECT over that table",
            instead="Write the questions themselves: workload=[…].",
        )
    tree = tree.copy()
    for clause in ("where", "having", "order", "limit"):
        tree.set(clause, None)
    source = tree.args["from_"].this
    source.replace(
        exp.Table(this=exp.to_identifier(PLACE), alias=exp.TableAlias(this=exp.to_identifier(source.alias_or_name)))
    )
    group = tree.args.get("group") or exp.Group(expressions=[])
    added = [parse(f"SELECT {text} FROM {PLACE}").tree.expressions[0] for text in attributes]
    group.set("expressions", [*group.expressions, *(each.copy() for each in added)])
    tree.set("group", group)
    tree.set("expressions", [*tree.expressions, *added])
    text = print_sql(tree).replace(PLACE, f"BACKWARD({name}, {table})", 1)
    try:
        return replace(plan_of(shape_of(text)), kind="cube")
    except LineageError as error:
        raise BadArgumentError(
            f"cube= cannot add up the aggregates of {name}: {error.what}",
            instead="Write the questions themselves: workload=[…].",
        ) from None

"""The fidelity guard: the tree that was rewritten must mean to Spark what the user's own text means.

sqlglot reads Spark SQL well, not perfectly, and says nothing where it does not. So the unrewritten tree is printed
back, and Spark plans both texts. If the optimised plans differ, the query is refused and the difference is shown. It
costs about as much as planning the query twice, and nothing for a text that has passed before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import zip_longest

from udafs.errors import NotTracedError, SparkError

PlanText = Callable[[str], str]  # SQL -> Spark's optimised plan as text

_EXPRESSION_ID = re.compile(r"#(\d+)L?")
_GENERATED = re.compile(r"__auto_generated_subquery_name\w*|_gen_alias_\d+|\bplan_id=\d+")
_PIVOTED = re.compile(r"__pivot_[^`\n]* AS `([^`]*)`#")
_TOKEN = re.compile(r"[\w.:#-]+|\S")  # a number, a name or a UUID is one token, whatever its sign and digits


def check_fidelity(plan_text: PlanText, user_sql: str, reprinted: str) -> None:
    """Compare what Spark makes of the user's text and of the tree printed back.

    Args:
        plan_text: gives Spark's plan of a statement as text, or raises what Spark says about it.
        user_sql: the user's own text.
        reprinted: the tree that was read from it, printed back without any rewriting.

    Raises:
        NotTracedError: the plans differ.
        WrongSqlError: Spark does not accept the user's text.

    """
    wanted = plan_text(user_sql)
    if reprinted.strip() == user_sql.strip():
        return
    try:
        found = plan_text(reprinted)
    except SparkError as error:
        raise _unfaithful(f"Spark does not read it back: {error.what}", reprinted) from None
    if canonical(wanted) != canonical(found):
        _compare_in_detail(plan_text, user_sql, wanted, found, reprinted)


def _compare_in_detail(plan_text: PlanText, user_sql: str, wanted: str, found: str, reprinted: str) -> None:
    # Seeds of rand() and the time of day differ from one planning to the next: what a second planning of the same
    # text changes cannot tell the two apart.
    again = plan_text(user_sql)
    difference = _first_difference(canonical(wanted), canonical(again), canonical(found))
    if difference is not None:
        raise _unfaithful(difference, reprinted)


def canonical(plan: str) -> str:
    """Number the expression ids of a plan in order of appearance; a comma join is an inner join."""
    numbers: dict[str, int] = {}
    plan = _EXPRESSION_ID.sub(lambda match: f"#{numbers.setdefault(match[1], len(numbers))}", plan)
    plan = _GENERATED.sub("", plan)
    for name in set(_PIVOTED.findall(plan)):  # Spark names an aggregate of PIVOT after the relation it stands in
        if "." in name:
            plan = plan.replace(f" AS `{name}`#", "#").replace(f"{name}#", "#")
    return plan.replace("Join Cross", "Join Inner")


def _first_difference(wanted: str, again: str, found: str) -> str | None:
    """Name the first place where the plans differ, other than where two plans of the user's text differ themselves."""
    for line, second, other in zip_longest(wanted.split("\n"), again.split("\n"), found.split("\n"), fillvalue=""):
        for token, repeated, printed in _tokens(line, second, other):
            if token != printed and token == repeated:
                return f"{_shortened(line)} became {_shortened(other)}"
    return None


def _tokens(*lines: str) -> Iterator[tuple[str, str, str]]:
    first, second, third = (_TOKEN.findall(line) for line in lines)
    yield from zip_longest(first, second, third, fillvalue="")


def _shortened(line: str, width: int = 160) -> str:
    line = line.lstrip(" :+-")
    return repr(line if len(line) <= width else line[: width - 1] + "…")


def _unfaithful(difference: str, reprinted: str) -> NotTracedError:
    return NotTracedError(
        f"the SQL was not understood exactly as Spark understands it: {difference}",
        instead=f"Write that part another way; it was read as: {_shortened(reprinted, 300)}.",
    )

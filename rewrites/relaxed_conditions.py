"""Conditions made true for whatever they keep out, their subqueries asked all the same. Trees are edited."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlglot import exp

from rewrites.conditions import conjuncts
from rewrites.refusals import refuse

_LOOSENED = "loosened"
"""In the `meta` of a condition that was made true."""


def loosen(select: exp.Select, clause: str, could_hold: Sequence[exp.Expr], kind: type[exp.Expr]) -> None:
    """Make conditions of WHERE, HAVING or QUALIFY true whatever they answer; those that ask subqueries still do."""
    loosened = [
        _true_in_any_case(each) if each in could_hold else each.copy() for each in conjuncts(condition(select, clause))
    ]
    kept = [each for each in loosened if each is not None]
    if clause == "having" and condition(select, clause) is not None and not select.args.get("group"):
        kept.append(exp.true())  # it is what makes one group of all rows
    select.set(clause, kind(this=exp.and_(*kept, copy=False)) if kept else None)


def loosen_on(join: exp.Join, could_hold: Collection[exp.Expr]) -> None:
    """Make conditions of ON true: every pair of an inner, outer or semi join stays; of an anti join every left row.

    Raises:
        NotTracedError: ON of an anti join asks a subquery.
    """
    conditions = list(conjuncts(join.args.get("on")))
    if not any(each in could_hold for each in conditions):
        return
    if join.kind != "ANTI":
        kept = [_true_in_any_case(each) if each in could_hold else each.copy() for each in conditions]
        join.set("on", exp.and_(*kept, exp.true(), copy=False))  # which passes over None
    elif any(each in could_hold and each.find(exp.Query) for each in conditions):
        what = "a subquery in ON of an anti join, in a subquery that decides, is not traced under control semantics"
        refuse(join, what, "Write the anti join as NOT EXISTS in WHERE.")
    else:
        join.set("on", exp.false())


def condition(select: exp.Select, clause: str) -> exp.Expr | None:
    """Return the condition of a clause, if there is one."""
    found = select.args.get(clause)
    return found.this if found is not None else None


def _true_in_any_case(asked: exp.Expr) -> exp.Expr | None:
    if asked.find(exp.Query) is None:
        return None
    answered = exp.Not(this=exp.Is(this=exp.Paren(this=asked.copy()), expression=exp.Null()))
    loosened = exp.Paren(this=exp.Or(this=answered, expression=exp.true()))
    loosened.meta[_LOOSENED] = True
    return loosened


def is_loosened(each: exp.Expr) -> bool:
    """Say whether a conjunct was made true in any case, while its subqueries are still asked."""
    return bool(each.meta.get(_LOOSENED))


def answer_of(loosened: exp.Expr) -> exp.Expr:
    """Return the condition that was loosened, where it stands."""
    answer: exp.Expr = loosened.this.this.this.this.this
    return answer

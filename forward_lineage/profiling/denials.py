"""Denials: no row, or no two rows, are so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from pyspark.sql import types as T  # noqa: N812
from sqlglot import exp

from forward_lineage.frontend import print_sql
from forward_lineage.frontend.constraints import Attribute, Denial, errors_of, names_apart, row_of
from forward_lineage.profiling.codes import Array, Known, both, grouped
from forward_lineage.profiling.conflicts import groups_with
from forward_lineage.profiling.constraint_check import ROWS, Check, Checked, Columns
from forward_lineage.profiling.joint import check_comparable, joined, of_rows, ranked
from forward_lineage.profiling.pairs import Comparison, Operator, Sides, Truth, with_partner
from forward_lineage.profiling.queries import GroupedRows, denied_sql
from forward_lineage.profiling.violation_graph import Found
from forward_lineage.row_ids.manifest import Manifest
from rewrites.refusals import refuse

_EQUAL: dict[type[exp.Expr], str] = {exp.EQ: "=", exp.NullSafeEQ: "<=>"}
_OTHERS: dict[type[exp.Expr], Operator] = {exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_TURNED: dict[str, str] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def denial_check(denial: Denial, manifest: Manifest) -> Check:
    """Return how a denial is checked.

    Raises:
        NotTracedError: it compares rows in another way than by `=`, `<=>`, `<>`, `<`, `<=`, `>`, `>=`, joined by AND.
        WrongSqlError: a row is called like a column.

    """
    names = {name.lower() for name, _ in manifest.columns}
    with errors_of(denial.text):
        if len(denial.rows) == 2:
            for name in denial.rows:
                if name.lower() in names:
                    what = f"{name} is a column, and would be a row"
                    refuse(denial.condition.tree, what, "Call the rows otherwise, such as t and u.")
            return PairDenialCheck(denial)
        row = next((name for name in denial.rows if name.lower() not in names), None)
        return RowDenialCheck(denial, row)


class RowDenialCheck(Check):
    """Rows for which the condition is true, by the columns in it."""

    def __init__(self, denial: Denial, row: str | None) -> None:
        self._condition = _of_row(denial.condition, denial.condition.tree, row)
        columns = self._condition.tree.find_all(exp.Column)
        self._columns = list({print_sql(each): _of_row(denial.condition, each, None) for each in columns}.values())
        self.attributes = (self._condition, *self._columns)
        self._row = row

    def run(self, columns: Columns, others: Columns | None, *, nulls_equal: bool) -> Checked:
        """Find the violations."""
        true = _true(columns, self._condition)
        left = [columns.codes(each) for each in self._columns]
        groups = grouped(left, nulls_equal=True)
        names = names_apart([each.name for each in self._columns])
        (rows,) = names_apart([ROWS], names)
        by = GroupedRows(columns.manifest.name, self._columns, names, rows, nulls_equal=True)
        found = Found(groups, groups_with(groups, true), left, columns.captured.ids, within=true)
        return Checked("denial", by.sql(condition=f"({print_sql(self._condition.tree)})"), found)


@dataclass(frozen=True)
class _Compared:
    """A comparison of an attribute of the first row with one of the second."""

    operator: str
    first: Attribute
    second: Attribute

    @property
    def tells_apart(self) -> bool:
        """Whether no row stands so to itself."""
        return self.operator in ("<>", "<", ">") and print_sql(self.first.tree) == print_sql(self.second.tree)


class PairDenialCheck(Check):
    """Rows that have a partner, by the attributes that are compared with it."""

    def __init__(self, denial: Denial) -> None:
        self._denial = denial
        self._compared: list[_Compared] = []
        self._alone: tuple[list[Attribute], list[Attribute]] = [], []
        for part in _parts(denial.condition.tree):
            self._take(part)
        if not any(each.tells_apart for each in self._compared):
            what = "a row may stand so to itself"
            refuse(denial.condition.tree, what, "Compare something of both by <>, < or >; or write key(…).")
        pairs = [side for each in self._compared for side in (each.first, each.second)]
        self.attributes = (*pairs, *self._alone[0], *self._alone[1])

    def _take(self, part: exp.Expr) -> None:
        """A part of the condition: about one of the rows, or a comparison of both."""
        denial, (first, second) = self._denial, self._denial.rows
        rows = _rows_in(part)
        if len(rows) == 1:
            self._alone[rows != {first.lower()}].append(_of_row(denial.condition, part, rows.pop()))
            return
        operator = {**_EQUAL, **_OTHERS}.get(type(part))
        one, other = (part.this, part.expression) if isinstance(part, exp.Binary) else (part, part)
        if operator is None or sorted([*_rows_in(one), *_rows_in(other)]) != sorted([first.lower(), second.lower()]):
            what = "two rows that are compared otherwise than by =, <=>, <>, <, <=, > or >="
            refuse(part, what, "Join by AND what compares something of one row with something of the other.")
        if _rows_in(one) != {first.lower()}:
            one, other, operator = other, one, _TURNED.get(operator, operator)
        mine, theirs = _of_row(denial.condition, one, first), _of_row(denial.condition, other, second)
        self._compared.append(_Compared(operator, mine, theirs))

    def run(self, columns: Columns, others: Columns | None, *, nulls_equal: bool) -> Checked:
        """Find the violations."""
        matching = _Matching.of(columns, self._compared, self._alone)
        found = matching.rows_with_partner(self._denial.text)
        shown = list({print_sql(each.first.tree): each.first for each in self._compared}.values())
        left = [columns.codes(each) for each in shown]
        groups = grouped(left, nulls_equal=True)
        names = names_apart([each.name for each in shown])
        (rows,) = names_apart([ROWS], names)
        sql = denied_sql(columns.manifest.name, self._denial, shown, (names, rows))
        return Checked(
            "denial",
            sql,
            Found(
                groups,
                groups_with(groups, found),
                left,
                columns.captured.ids,
                within=found,
                partners=matching.partners,
            ),
        )


@dataclass(frozen=True, eq=False)
class _Matching:
    """Both sides of a denial of two rows, over numbers.

    Attributes:
        mine: the rows that may stand on the first side, ascending.
        theirs: those that may stand on the second.
        sides: their groups, by all that must be equal.
        comparisons: the others.

    """

    mine: Array
    theirs: Array
    sides: Sides
    comparisons: Sequence[Comparison]
    count: int

    @classmethod
    def of(
        cls, columns: Columns, compared: Sequence[_Compared], alone: tuple[Sequence[Attribute], Sequence[Attribute]]
    ) -> _Matching:
        """Look the attributes up; a comparison with NULL is true of nothing, but for `<=>`."""
        known: list[Known] = [None, None]
        for side, conditions in enumerate(alone):
            for condition in conditions:
                known[side] = both(known[side], _true(columns, condition))
        ranks = []
        for each in compared:
            check_comparable((each.first, columns.kind(each.first)), (each.second, columns.kind(each.second)))
            codes = columns.codes(each.first), columns.codes(each.second)
            ranks.append([of_rows(rank, of.codes) for rank, of in zip(ranked(*codes), codes, strict=True)])
            if each.operator != "<=>":
                known = [both(side, of.known()) for side, of in zip(known, codes, strict=True)]
        count = columns.captured.rows
        mine, theirs = (np.arange(count) if side is None else np.flatnonzero(side) for side in known)
        equal = [pair for pair, each in zip(ranks, compared, strict=True) if each.operator in _EQUAL.values()]
        sizes = mine.size, theirs.size
        sides = Sides(*joined([one[mine] for one, _ in equal], [other[theirs] for _, other in equal], sizes))
        comparisons = [
            Comparison(each.operator, one[mine], other[theirs])  # type: ignore[arg-type]
            for (one, other), each in zip(ranks, compared, strict=True)
            if each.operator not in _EQUAL.values()
        ]
        return cls(mine, theirs, sides, comparisons, count)

    def rows_with_partner(self, text: str) -> Truth:
        """Return for each row of the table whether it has a partner."""
        found = np.zeros(self.count, np.bool_)
        found[self.mine[with_partner(self.sides, self.comparisons, text)]] = True
        return found

    def partners(self, row: int) -> Array:
        """Return the partners of a row that has some."""
        at = int(np.searchsorted(self.mine, row))
        alike = self.sides.theirs == self.sides.mine[at]
        for each in self.comparisons:
            alike &= each.holds(each.mine[at : at + 1], each.theirs)
        found: Array = self.theirs[alike]
        return found


def _true(columns: Columns, condition: Attribute) -> Truth:
    """For each row whether a condition is true, and neither false nor unknown."""
    kind = columns.kind(condition)
    if not isinstance(kind, T.BooleanType):
        with errors_of(condition.constraint):
            refuse(condition.tree, f"{condition.text} is {kind.simpleString()}, and no condition", "Compare it.")
    codes = columns.codes(condition)
    yes = [place for place, value in enumerate(codes.values.to_pylist()) if value]
    found: Truth = codes.codes == yes[0] if yes else np.zeros(codes.codes.size, np.bool_)
    return found


def _parts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The parts that AND joins."""
    if isinstance(condition, exp.Paren):
        yield from _parts(condition.this)
    elif isinstance(condition, exp.And):
        yield from _parts(condition.this)
        yield from _parts(condition.expression)
    else:
        yield condition


def _rows_in(tree: exp.Expr) -> set[str]:
    """By what the columns in an expression are qualified, in lower case."""
    return {row_of(column).lower() for column in tree.find_all(exp.Column)}


def _of_row(condition: Attribute, tree: exp.Expr, row: str | None) -> Attribute:
    """A part of a condition as an attribute of a row, whose columns are not qualified with it any more."""
    tree = tree.copy()
    for column in tree.find_all(exp.Column):
        if row is not None and row_of(column).lower() == row.lower():
            first = next(part for part in ("catalog", "db", "table") if column.args.get(part))
            column.set(first, None)
    text = print_sql(tree)
    return Attribute(tree.name if isinstance(tree, exp.Column) else text, text, tree, condition.constraint)

"""Groups that rows came to or went from, without the rows that stay: sums, counts, averages and extremes are told.

    SELECT city, count(*), sum(n) FROM sales JOIN shops USING (shop) GROUP BY city
    of rows that came in `sales`:   SELECT city, count(*), sum(n) FROM <new rows> AS sales JOIN shops … GROUP BY city

    SELECT city, avg(n) FROM sales GROUP BY city
    of rows that came:   SELECT city, avg(n), sum(n), count(n), … FROM <new rows> AS sales GROUP BY city
    of rows that went:   the same FROM <rows as they were>

An average is a sum and a count. A sum from which values are taken is NULL where no value is left, so it needs a count,
too. Those that are not selected are *hidden*: they stand behind the columns of the result. `hidden_sums` keeps them.

Only whole numbers and decimals are added. Of floating point numbers the sum depends on the order, which is another one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from forward_lineage.frontend import print_sql
from forward_lineage.frontend.joins import table_name
from forward_lineage.frontend.row_values import is_of_one_row
from forward_lineage.store.updating import joining_rows as joined
from forward_lineage.store.updating import touched_rows as touched
from forward_lineage.store.updating.joining_rows import NotProvableError, key_column
from forward_lineage.store.updating.names_put_in_place import with_names_in_place
from forward_lineage.store.updating.replacement_rules import Added, added_rows

KEY = "key"
ADDED = {"sum", "count"}
EXTREMES = {"min", "max"}
AVERAGE = "avg"


@dataclass(frozen=True)
class Parts:
    """Where the values stand that a column is computed of: places among columns and hidden ones; None: not needed.

    Attributes:
        sum: of an average.
        count: how many values are not NULL: of an average, and of a sum if rows went.
        bounds: the least and the greatest value, or less and more, of an average of whole numbers.

    """

    sum: int | None = None
    count: int | None = None
    bounds: tuple[int, int] | None = None


@dataclass(frozen=True)
class Growing:
    """A query with groups, whose columns can be told from those of before and those of rows that came or went.

    Attributes:
        places: where rows that came join, each with the groups of these alone, hidden columns behind.
        columns: of each column `KEY`, or what it is: ``sum``, ``count``, ``min``, ``max`` or ``avg``.
        parts: of each column, what it is computed of.
        hidden: what each hidden column is, as SQL.
        functions: of each hidden column, as in `columns`.
        totals: gives the hidden columns of all groups behind their keys, in the columns that `key_column` names.
        kinds: the types of the hidden columns, as Spark names them; the caller asks Spark for them.

    """

    places: tuple[Added, ...]
    columns: tuple[str, ...]
    parts: tuple[Parts, ...] = ()
    hidden: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    totals: str = ""
    kinds: tuple[str, ...] = field(default=(), compare=False)

    @property
    def keys(self) -> tuple[int, ...]:
        """The places of the columns that tell groups apart; none where all rows are one group."""
        return tuple(place for place, column in enumerate(self.columns) if column == KEY)


def hidden_column(number: int) -> str:
    """Return the name of a hidden column."""
    return f"__fl_h{number}"


def growing(tree: exp.Expr, changed: Collection[str], went: Collection[str] = (), kinds: Sequence[str] = ()) -> Growing:
    """Return how the groups of a query grow when rows come, and shrink when rows go.

    Args:
        tree: the query; it is not changed.
        changed: names of tables, in lower case.
        went: tables whose rows went or differ, and can still be read as they were.
        kinds: the types of its columns, as Spark names them, if they are known.

    Raises:
        NotProvableError: what its groups were does not tell what they are with other rows.

    """
    tree = with_names_in_place(tree, changed)
    if not isinstance(tree, exp.Select):
        raise NotProvableError("it has more than groups")
    joined.refuse_parts(tree, joined.KEEP_ALL - {"distinct", "windows"})
    group = tree.args.get("group")
    if group is not None:
        joined.refuse_parts(group, {"expressions"})
    by = [] if group is None else [_meant(each, tree) for each in group.expressions]
    items = [item.unalias() for item in tree.expressions]
    columns = tuple(_column(item, by) for item in items)
    if any(each not in items for each in by):
        raise NotProvableError("its columns do not tell all its groups apart")
    went = {table_name(table) for table in tree.find_all(exp.Table)} & set(went)
    if went:
        _check_shrinks(tree, columns)
    wide = _Wide(items)
    known = [*kinds, *[""] * len(items)]
    parts = tuple(wide.parts(*each, shrinks=bool(went)) for each in zip(items, columns, known, strict=False))
    functions = tuple(_call(each).name.lower() for each in wide.hidden)
    totals = _totals(tree, [item for item, column in zip(items, columns, strict=True) if column == KEY], wide.hidden)
    places = tuple(_places(_with_hidden(tree, wide.hidden), {name.lower() for name in changed}, went))
    return Growing(places, columns, parts, tuple(map(print_sql, wide.hidden)), functions, totals)


class _Wide:
    """The columns of a query, and hidden ones behind them: each aggregate once."""

    def __init__(self, items: Sequence[exp.Expr]) -> None:
        self._items, self.hidden = items, list[exp.Expr]()

    def parts(self, item: exp.Expr, column: str, kind: str, *, shrinks: bool) -> Parts:
        if column == AVERAGE:
            bounds = None if kind.startswith("decimal") else (self._place(item, "min"), self._place(item, "max"))
            return Parts(self._place(item, "sum"), self._place(item, "count"), bounds)
        return Parts(count=self._place(item, "count")) if column == "sum" and shrinks else Parts()

    def _place(self, item: exp.Expr, function: str) -> int:
        """Of another function of the same values."""
        other = item.copy()
        _call(other).set("this", function)
        wide = [*self._items, *self.hidden]
        if other in wide:
            return wide.index(other)
        self.hidden.append(other)
        return len(wide)


def _meant(by: exp.Expr, select: exp.Select) -> exp.Expr:
    """The columns that GROUP BY names by place. Another name may be a column's, and that of an item as well."""
    if isinstance(by, exp.Literal) and by.is_int and 0 < int(by.name) <= len(select.expressions):
        meant: exp.Expr = select.expressions[int(by.name) - 1].unalias()
        return meant
    return by


def _column(item: exp.Expr, by: list[exp.Expr]) -> str:
    if item in by and is_of_one_row(item) and not item.is_star:
        return KEY
    call, condition = _call(item), item.expression.this if isinstance(item, exp.Filter) else None
    name = call.name.lower() if isinstance(call, exp.Anonymous) else ""
    if name not in ADDED | EXTREMES | {AVERAGE} or len(call.expressions) != 1:
        raise NotProvableError("it has more than keys, and sums, counts, averages and extremes of their groups")
    if not all(map(is_of_one_row, filter(None, [call.expressions[0], condition]))):
        raise NotProvableError("it sums up more than values of a row")
    return name


def _call(item: exp.Expr) -> exp.Expr:
    """The aggregate, without its FILTER."""
    return item.this if isinstance(item, exp.Filter) else item


def _check_shrinks(tree: exp.Select, columns: Sequence[str]) -> None:
    """Lineage in one table tells which groups are left, and what each is made of."""
    if _has_extremes(columns):
        raise NotProvableError("an extreme of rows that went does not tell the one of those that stay")
    if _reads_several(tree):
        raise NotProvableError("rows went from groups of several tables, whose lineage does not tell which rows stay")


def _has_extremes(columns: Sequence[str]) -> bool:
    return not EXTREMES.isdisjoint(columns)


def _reads_several(tree: exp.Select) -> bool:
    return len(list(tree.find_all(exp.Table))) > 1


# ------------------------------------------------------------ as SQL


def _with_hidden(tree: exp.Select, hidden: Sequence[exp.Expr]) -> exp.Select:
    copied = tree.copy()
    named = (exp.alias_(each.copy(), hidden_column(number)) for number, each in enumerate(hidden))
    copied.set("expressions", [*copied.expressions, *named])
    return copied


def _totals(tree: exp.Select, keys: Sequence[exp.Expr], hidden: Sequence[exp.Expr]) -> str:
    if not hidden:
        return ""
    copied = tree.copy()
    named = [exp.alias_(each.copy(), key_column(number)) for number, each in enumerate(keys)]
    copied.set("expressions", named)
    copied.set("order", None)
    if keys:
        copied.set("group", exp.Group(expressions=[each.copy() for each in keys]))
    return print_sql(_with_hidden(copied, hidden))


def _places(select: exp.Select, changed: set[str], went: Collection[str]) -> list[Added]:
    found = list(added_rows(select, 0, changed))
    if not went:
        return found
    keys = [exp.alias_(exp.Literal.number(1), "one")]
    probes = touched.probes_for_keys(select, keys, changed, went)  # give a row if one that came or went is in a group
    return [replace(each, probe=probe) for each, probe in zip(found, probes, strict=True)]

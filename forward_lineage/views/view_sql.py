"""The form of a view: SELECT keys and aggregates FROM a table [WHERE …] GROUP BY keys [ORDER BY …].

Other queries are views, too, once they are saved: their rows are the bars, and their lineage says what is in them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from forward_lineage.frontend import parse, print_sql
from rewrites.refusals import position_of, refuse
from rewrites.spark_functions import AGGREGATES
from udafs.errors import NotTracedError

FUNCTIONS = {"count", "sum", "avg", "mean"}
SAVE_IT = "Save the query, and give the name of the saved result in place of it."
_RESULT = re.compile(r"\s*\w+\s*")
_HANDLED = {"kind", "expressions", "from_", "where", "group", "order"}
_CALLED = {"having": "HAVING", "limit": "LIMIT", "distinct": "DISTINCT", "joins": "a join", "laterals": "LATERAL"}


@dataclass(frozen=True)
class Call:
    """An aggregate of a view.

    Attributes:
        function: count, sum or avg.
        argument: what it is of; None of count(*).

    """

    function: str
    argument: exp.Expr | None


@dataclass(frozen=True)
class GroupBy:
    """A view's query, taken apart.

    Attributes:
        text: as the user wrote it.
        tree: what it says.
        table: the name that stands behind FROM, parts in backticks where they need them.
        alias: what columns of the table may be qualified with.
        items: for each column of the result the aggregate that it is; None: a key.
        condition: what stands behind WHERE.

    """

    text: str
    tree: exp.Select
    table: str
    alias: str
    items: tuple[Call | None, ...]
    condition: exp.Expr | None

    @property
    def arguments(self) -> dict[int, exp.Expr]:
        """The arguments of the aggregates, by the place of the column; count(*) has none."""
        calls = enumerate(self.items)
        return {place: call.argument for place, call in calls if call is not None and call.argument is not None}

    @property
    def keys(self) -> list[exp.Expr]:
        """The expressions that are not aggregates, in order."""
        return [each.unalias() for each, call in zip(self.tree.expressions, self.items, strict=True) if call is None]


def is_result(sql: str) -> bool:
    """Tell whether what is given for a view is the name of a saved result, and no query."""
    return _RESULT.fullmatch(sql) is not None


def read_view(sql: str) -> GroupBy:
    """Take the query of a view apart.

    Raises:
        WrongSqlError: it is malformed.
        NotTracedError: it has other parts than those named above; says where.

    """
    statement = parse(sql)
    tree = statement.tree
    if statement.lineage_on is not None or not isinstance(tree, exp.Select):
        raise NotTracedError("a view is one SELECT … GROUP BY", at=position_of(tree), instead=SAVE_IT)
    for name, part in tree.args.items():
        if part and name not in _HANDLED:
            called = _CALLED.get(name, name.strip("_").upper())
            at = part[0] if isinstance(part, list) else part if isinstance(part, exp.Expr) else tree
            refuse(at, f"{called} in a view", SAVE_IT)
    source = _table(tree)
    _check_group(tree)
    for query in tree.find_all(exp.Query):
        if query is not tree:
            refuse(query, "a subquery in a view", SAVE_IT)
    items = tuple(_call(each) for each in tree.expressions)
    table = source.copy()
    table.set("alias", None)
    where = tree.args.get("where")
    # White space in front may be where it stands in a file: Spark says places in the text that it is given.
    text = sql[: len(sql) - len(sql.lstrip())] + statement.text
    return GroupBy(text, tree, print_sql(table), source.alias_or_name, items, where.this if where else None)


def _table(tree: exp.Select) -> exp.Table:
    """The one table of the query."""
    source = tree.args["from_"].this if tree.args.get("from_") else None
    if isinstance(source, exp.Table):
        parts = {name for name, part in source.args.items() if part}
        if parts <= {"this", "db", "catalog", "alias"} and not source.alias_column_names:
            return source
    raise NotTracedError("a view over something else than a table", at=position_of(source or tree), instead=SAVE_IT)


def _check_group(tree: exp.Select) -> None:
    group = tree.args.get("group")
    if group is None:
        refuse(tree, "a view without GROUP BY", SAVE_IT)
    odd = [name for name, part in group.args.items() if part and name not in ("expressions", "all")]
    odd += [each.key for each in group.expressions if isinstance(each, exp.Rollup | exp.Cube | exp.GroupingSets)]
    if odd:
        refuse(group, f"GROUP BY with {odd[0].strip('_').upper()} in a view", SAVE_IT)


def _call(item: exp.Expr) -> Call | None:
    """An item of the select list: an aggregate that views know, or a key."""
    if item.find(exp.Star) and not isinstance(item.unalias(), exp.Anonymous):
        refuse(item, "* in a view", "Name the keys.")
    call = item.unalias()
    if not (isinstance(call, exp.Anonymous) and call.name.lower() in FUNCTIONS):
        inner = next((each for each in call.find_all(exp.Func) if each.name.lower() in FUNCTIONS | AGGREGATES), None)
        if inner is not None:
            known = inner.name.lower() in FUNCTIONS
            what = "an aggregate inside of another expression" if known else f"the aggregate {inner.name}"
            refuse(inner, f"{what} in a view", "A view may have count, sum and avg. " + SAVE_IT)
        return None
    function = "avg" if call.name.lower() == "mean" else call.name.lower()
    arguments = call.expressions
    if len(arguments) != 1 or isinstance(arguments[0], exp.Distinct):
        refuse(call, f"{call.name}(DISTINCT …) or of several values in a view", SAVE_IT)
    if isinstance(arguments[0], exp.Star | exp.Literal):
        if function != "count":
            refuse(call, f"{call.name} of no column in a view", "Write count(*).")
        return Call(function, None)
    return Call(function, arguments[0])

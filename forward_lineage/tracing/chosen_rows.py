"""`BACKWARD(…)` and `FORWARD(…)` in a statement: asked when the statement is made, then tables of the rows they name.

The ids travel in the plan of two temporary views, one with the user's columns, one with ids. They are a filter right
above the place where the table's rows are read. So the scan may read only the parts that hold them. In a text a million
ids would be megabytes. The views are named by their contents. So a statement that was seen before is not rewritten
again while the answer is the same.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import count
from typing import Protocol

from pyspark.sql import SparkSession

from forward_lineage.frontend import Statement
from forward_lineage.frontend.consuming import LONGEST_NAME, FoundCall, LineageCall, find_calls, with_names
from forward_lineage.frontend.lexing import lex, meaningful
from forward_lineage.frontend.pushed_conditions import conditions_around
from forward_lineage.spark.chosen_ids import having_ids, lacking_ids
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import quoted
from forward_lineage.spark.planning import Arguments
from forward_lineage.tracing.trace_scope import Narrowed
from rewrites.refusals import position_of
from rewrites.tables import BaseTable
from udafs.errors import NotTracedError
from udafs.lineage_set import LineageSet

MOST = 64
"""Sets of rows whose views are kept, at most: those that were asked for last."""

_ID, _SUSPECT = "__dl_id", "__dl_suspect"
_PREFIX = "__dl"
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Chosen:
    """The result of a function: rows of a table, each once.

    Attributes:
        table: the table, as its rows are best read in this session.
        version: of its registration.
        ids: of the rows.
        by_value: whether the ids are values of a column.
        on_trust: tables that the choice relies on and that were registered with ``trusted=True``.
        others: whether the rows of all other ids are meant.

    """

    table: BaseTable
    version: int
    ids: LineageSet
    by_value: bool = False
    on_trust: frozenset[str] = frozenset()
    others: bool = False


class Chooser(Protocol):
    """Answers the functions: from saved results."""

    def __call__(self, call: LineageCall, args: Arguments, around: Callable[[], frozenset[str]]) -> Chosen:
        """Return the rows that a function gives now; rows that the statement does not take may be left out.

        Args:
            call: what it says.
            args: values of the statement's parameters.
            around: gives the conditions that the statement demands of all the rows, see `frontend.demanded`.

        Raises:
            LineageError: as for `ForwardLineage.backward` and `forward`.

        """


@dataclass(frozen=True)
class Consuming:
    """A statement whose functions were answered.

    Attributes:
        sql: the statement, a table's name in the place of each function.
        args: values of the parameters that are left in it.
        tables: what these names mean.
        on_trust: as in `Chosen`.

    """

    sql: str
    args: Arguments
    tables: Mapping[str, BaseTable] = field(default_factory=dict)
    on_trust: frozenset[str] = frozenset()

    def unnamed(self, text: str) -> str:
        """Return a text of this statement with names that say which table is read, not which of its rows."""
        for name, table in self.tables.items():
            text = text.replace(name, f"{name[: len(_PREFIX)]}({table.name})")
        return text


class ChosenRows:
    """Gives the statements of a session tables in place of their functions.

    Args:
        spark: the session, with the kernel attached.
        choose: answers a function.

    """

    def __init__(self, spark: SparkSession, choose: Chooser) -> None:
        self._spark = spark
        self._choose = choose
        self._names: OrderedDict[str, str] = OrderedDict()  # by what the views hold
        self._numbers = count()

    def put_in(
        self, sql: str, args: Arguments, *, anywhere: bool, narrowed: Narrowed | None, all_looked_at: bool = False
    ) -> Consuming:
        """Answer the functions in the FROM clauses of a statement.

        Args:
            sql: one statement.
            args: values of its parameters.
            anywhere: whether the text is to run in other sessions, too: then there must be none.
            narrowed: what of the lineage is noted; see `Statements.trace`.
            all_looked_at: whether lineage has rows, too, that a condition keeps out: control lineage does.

        Raises:
            LineageError: a function is malformed, or cannot be answered.

        """
        calls = find_calls(sql)
        if not calls:
            return Consuming(sql, args)
        if anywhere:
            what = f"{calls[0].call.function}(…) in a text for other sessions: its answer is this session's"
            instead = "Run it with lineage.sql(…), or keep it with lineage.save(…)."
            raise NotTracedError(what, at=calls[0].call.at, instead=instead)
        around = (frozenset if all_looked_at else partial(_around, sql, calls, found) for found in calls)
        chosen = [self._choose(found.call, args, each) for found, each in zip(calls, around, strict=True)]
        tables = [self._table(each, narrowed) for each in chosen]
        names = [table.relation for table in tables]
        left = with_names(sql, calls, names)
        on_trust = frozenset().union(*(each.on_trust for each in chosen))
        return Consuming(left, _left_over(sql, left, args, calls), dict(zip(names, tables, strict=True)), on_trust)

    def table_of(self, chosen: Chosen) -> BaseTable:
        """Return rows of a table as a table, whose relation is the name of a view of them."""
        return self._table(chosen, None)

    def _table(self, chosen: Chosen, narrowed: Narrowed | None) -> BaseTable:
        table = chosen.table
        restricting = narrowed.restricting(table.name) if narrowed is not None else None
        suspected = restricting.row_id if restricting is not None else None
        name, with_ids = self._named(chosen, suspected)
        columns = ", ".join(map(quoted, table.columns))
        hidden = f"{table.row_id} AS {_ID}" + (f", {suspected} AS {_SUSPECT}" if suspected else "")
        with spark_errors():
            frame = self._spark.sql(f"SELECT {columns}, {hidden} FROM {table.identified or table.relation}")
            rows = (
                lacking_ids(frame, _ID, chosen.ids)
                if chosen.others
                else having_ids(frame, _ID, chosen.ids, by_value=chosen.by_value)
            )
            rows.createOrReplaceTempView(with_ids)
            self._spark.sql(f"SELECT {columns} FROM {with_ids}").createOrReplaceTempView(name)
        row_id = _SUSPECT if suspected else _ID
        return replace(table, relation=name, identified=with_ids, row_id=row_id)

    def _named(self, chosen: Chosen, suspected: str | None) -> tuple[str, str]:
        """Names of the two views; those of the rows that nobody has asked for since long are forgotten."""
        what = repr((chosen.table, chosen.version, suspected, chosen.others)).encode() + chosen.ids.to_bytes()
        digest = sha256(what).hexdigest()[:32]
        if digest not in self._names:
            self._names[digest] = _short_name(next(self._numbers))
        self._names.move_to_end(digest)
        while len(self._names) > MOST:
            old, name = self._names.popitem(last=False)
            self._spark.catalog.dropTempView(name)
            self._spark.catalog.dropTempView(_view_with_ids(old))
        return self._names[digest], _view_with_ids(digest)


def refuse_where_it_is_asked_again(statement: Statement, consuming: Consuming) -> None:
    """Refuse to make a view of what functions give: it is read later, when the answer may be another one.

    Raises:
        NotTracedError: the statement makes a view.

    """
    if consuming.tables and str(statement.tree.args.get("kind")).upper() == "VIEW":
        raise NotTracedError(
            "a view over BACKWARD(…) or FORWARD(…), which would be asked when it is made, not when it is read",
            at=position_of(statement.tree),
            instead="Save the query with lineage.save(…), or CREATE TABLE … AS.",
        )


def _around(sql: str, calls: list[FoundCall], call: FoundCall) -> frozenset[str]:
    names = [_short_name(number) for number in range(len(calls))]
    return conditions_around(with_names(sql, calls, names), names[calls.index(call)])


def _view_with_ids(digest: str) -> str:
    return f"__dl_chosen_{digest}"


def _short_name(number: int) -> str:
    digits = ""
    for _ in range(LONGEST_NAME - len(_PREFIX)):
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return _PREFIX + digits


def _left_over(sql: str, left: str, args: Arguments, calls: list[FoundCall]) -> Arguments:
    """Return the values of the parameters that are left when the functions have had theirs."""
    if not args:
        return args
    if isinstance(args, list):
        within = [(found.start, found.end) for found in calls]
        marks = [token.start for token in meaningful(lex(sql)) if token.text == "?"]
        taken = {i for i, start in enumerate(marks) if any(first <= start < end for first, end in within)}
        return [value for i, value in enumerate(args) if i not in taken] or None
    named = set(re.findall(r":(\w+)", left))  # more than there are at most, in strings, and that does no harm
    return {name: value for name, value in args.items() if name in named} or None

"""The SQL that a view asks Spark: for its bars, and for what every base row brings along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812
from sqlglot import exp

from forward_lineage.columns.comparing import FLOATS, WHOLE, compared, spark_call
from forward_lineage.columns.files import ID, Asked
from forward_lineage.columns.rows import over_rows, plain_column, rows_of
from forward_lineage.frontend import print_sql, refuse_other_readings
from forward_lineage.row_ids.sources import check_repeatable
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.fidelity import check_fidelity
from forward_lineage.spark.planning import Planner
from forward_lineage.spark.settings import setting_of
from forward_lineage.views.view import Aggregate
from forward_lineage.views.view_sql import SAVE_IT, GroupBy
from rewrites.refusals import refuse
from rewrites.tables import BaseTable

ROW_COUNT = "__dl_rows"


@dataclass(frozen=True, eq=False)
class Question:
    """A view's query, with what Spark says of it.

    Attributes:
        name: of the view.
        asked: the query.
        frame: its rows; not computed yet.
        kinds: the Spark types of what its aggregates are of, None of count(*) and keys; one for each column.
        lasting: whether it says the same another time: a function of the session's may do something else then.

    """

    name: str
    asked: GroupBy
    frame: DataFrame
    kinds: tuple[T.DataType | None, ...]
    lasting: bool

    @property
    def key_types(self) -> list[T.DataType]:
        """The types of the keys, in order."""
        fields = self.frame.schema.fields
        return [field.dataType for field, call in zip(fields, self.asked.items, strict=True) if call is None]

    def adds_up(self, place: int) -> bool:
        """Whether a column is computed from a sum."""
        call = self.asked.items[place]
        return call is not None and call.function != "count"

    def keys(self) -> list[exp.Expr]:
        """The keys in the form in which they are compared."""
        return [compared(key, kind, "a view") for key, kind in zip(self.asked.keys, self.key_types, strict=True)]

    def bars(self, spark: SparkSession) -> DataFrame:
        """Return the view's rows, and behind the user's columns what they are checked and built by.

        The columns behind are ``__dl_key<i>`` for each key; ``__dl_rows``; and for each aggregate of something, the
        column's number in place of c: ``__dl_valid<c>``, and of sums ``__dl_least<c>``, ``__dl_most<c>``.
        """
        tree = self.asked.tree.copy()
        more = [exp.alias_(key, f"__dl_key{place}") for place, key in enumerate(self.keys())]
        more.append(exp.alias_(spark_call("count", exp.Star()), ROW_COUNT))
        for place, argument in self.asked.arguments.items():
            wanted = [("count", "valid")]
            if self.adds_up(place):
                wanted += [("min", "least"), ("max", "most"), ("sum", "total")]
            more += [exp.alias_(spark_call(f, argument.copy()), f"__dl_{name}{place}") for f, name in wanted]
        tree.set("expressions", [*tree.expressions, *more])
        with spark_errors():
            return spark.sql(print_sql(tree))


def questions(spark: SparkSession, views: dict[str, GroupBy]) -> list[Question]:
    """Ask Spark about the queries of some views; nothing is computed.

    Raises:
        WrongSqlError: Spark does not understand one.
        NotTracedError: one depends on chance, the clock or the session, reads other tables in its functions, or has
            types that views do not know. Or Spark understands it in another way.

    """
    found = []
    planner = Planner(spark)
    for name, asked in views.items():
        refuse_other_readings(setting_of(spark), asked.text)
        check_fidelity(planner.plan, asked.text, print_sql(asked.tree))
        if planner.reading_functions:
            refuse(asked.tree, f"{planner.reading_functions}, which reads a table, in a view", SAVE_IT)
        lasting = not planner.functions
        with spark_errors(asked.text):
            frame = spark.sql(asked.text)
        check_repeatable(frame, f"view {name}")
        found.append(Question(name, asked, frame, _kinds(spark, asked), lasting))
    return found


def rows_sql(base: BaseTable, views: Sequence[Question]) -> str:
    """Return the SQL for what every base row brings along.

    The columns are ``__dl_row_id``; for view v its keys ``v<v>_key<i>``; with a WHERE ``v<v>_in``, whether the row is
    in the view; and ``v<v>_value<c>`` for each column c that is an aggregate of something.
    """
    items = [ID]
    for number, view in enumerate(views):
        left = None if view.asked.condition is None else _sql(view, view.asked.condition)
        if left is not None:
            items.append(f"CASE WHEN {left} THEN true ELSE false END AS v{number}_in")
        for place, key in enumerate(view.keys()):
            items.append(f"{_where(_sql(view, key), left)} AS v{number}_key{place}")
        for place, argument in view.asked.arguments.items():
            value = _sql(view, argument)
            if not view.adds_up(place):  # what is counted need not be a number
                value = f"CASE WHEN ({value}) IS NOT NULL THEN 1 END"
            items.append(f"{_where(value, left)} AS v{number}_value{place}")
    return f"SELECT {', '.join(items)} FROM {rows_of(base)}"


def columns_of(views: Sequence[Question]) -> dict[str, Asked] | None:
    """Return the columns of `rows_sql`, but for the ids, for reading from files; None if WHERE chooses rows."""
    wanted: dict[str, Asked] = {}
    for number, view in enumerate(views):
        if view.asked.condition is not None:
            return None
        keys = zip(view.asked.keys, view.key_types, strict=True)
        for place, (key, kind) in enumerate(keys):
            wanted[f"v{number}_key{place}"] = Asked(plain_column(key, view.asked.alias), kind)
        for place, argument in view.asked.arguments.items():
            kind = view.kinds[place] or T.NullType()
            wanted[f"v{number}_value{place}"] = Asked(plain_column(argument, view.asked.alias), kind, key=False)
    return wanted


def aggregate_of(function: str, measure: int, kind: T.DataType | None) -> Aggregate:
    """Return how a column is computed."""
    scale = kind.scale if isinstance(kind, T.DecimalType) else 0
    return Aggregate(function, measure, scale)  # type: ignore[arg-type]


def is_float(kind: T.DataType | None) -> bool:
    """Whether values are floats, whose sums depend on the order."""
    return isinstance(kind, FLOATS)


def _sql(view: Question, expression: exp.Expr) -> str:
    """An expression as text, its columns qualified with the alias that the rows of all views have."""
    return print_sql(over_rows(expression, view.asked.alias))


def _where(value: str, left: str | None) -> str:
    """A value of rows that the condition leaves: of others, computing it might fail."""
    return value if left is None else f"CASE WHEN {left} THEN {value} END"


def _kinds(spark: SparkSession, asked: GroupBy) -> tuple[T.DataType | None, ...]:
    tree = asked.tree.copy()
    for clause in ("group", "order"):
        tree.set(clause, None)
    arguments = asked.arguments
    if not arguments:
        return (None,) * len(asked.items)
    tree.set("expressions", [exp.alias_(argument.copy(), f"c{place}") for place, argument in arguments.items()])
    with spark_errors():
        fields = {field.name: field.dataType for field in spark.sql(print_sql(tree)).schema.fields}
    for place, argument in arguments.items():
        call, kind = asked.items[place], fields[f"c{place}"]
        assert call is not None, "only calls have arguments"
        if call.function != "count" and not isinstance(kind, (*WHOLE, *FLOATS, T.DecimalType)):
            what = f"{call.function} of {kind.simpleString()} in a view"
            refuse(argument, what, "Make it a number: CAST(… AS …).")
    return tuple(fields.get(f"c{place}") for place in range(len(asked.items)))

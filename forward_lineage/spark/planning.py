"""Ask Spark what it makes of a statement, without running it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from forward_lineage.spark.errors import rewritten_errors, spark_errors
from udafs.errors import InternalError
from udafs.requests import ask, ask_json

Arguments = dict[str, Any] | list[Any] | None  # values of `:name` parameters, or of `?`

Path = tuple[str, ...]  # names of views, each read by the one before, then that of what is meant; in lower case


class Planner:
    """Plans and schemas of SQL texts.

    Args:
        spark: a session with the kernel attached.

    Attributes:
        python_aggregates: names of the Python functions that aggregate groups in the statement that was planned last.
        reading_functions: names of the functions written in SQL that it calls and that read tables.
        readings: the views and tables that it reads, one path for each reading; those behind a view too.
        functions: the user's functions in it.
        chances: those of them that may give another value for the same row.

    """

    def __init__(self, spark: SparkSession) -> None:
        self.python_aggregates = ""
        self.reading_functions = ""
        self.readings: list[Path] = []
        self.functions: list[Path] = []
        self.chances: list[Path] = []
        self._spark = spark
        self._schemas: dict[str, str] = {}  # most callers ask for the columns right after the plan

    @property
    def users_function(self) -> str:
        """The first of the user's functions, behind the views that it stands in; empty if there is none."""
        return ".".join(self.functions[0]) if self.functions else ""

    def plan(self, sql: str, args: Arguments = None, *, traced: bool = False, through: bool = False) -> str:
        """Return the optimised plan as text, with the rows of inline tables and the places of files.

        Args:
            sql: one statement.
            args: values of its parameters; then it must be a query, not a command.
            traced: whether, in an INSERT by position, the rows lack a column of the target: that of their lineage.
            through: whether tables that carry lineage are read, which are to have their users' columns alone.

        Raises:
            WrongSqlError: Spark's own complaint about the text.
            FailedQueryError: Spark failed while it looked into what the text names.

        """
        with spark_errors(sql):
            if args:
                found = ask_json(self._spark, "plan", self._spark.sql(sql, args=args), through=through)
            else:
                found = ask_json(self._spark, "plan", sql=sql, traced=traced, through=through)
        return self._note(sql, found)

    def _note(self, sql: str, found: list[str]) -> str:
        plan, schema, *names = found
        self.python_aggregates, self.reading_functions, *paths = names
        self.readings, self.functions, self.chances = map(_paths, paths)
        self._schemas[sql] = schema
        return str(plan)

    def facts(self, sql: str) -> None:
        """Learn what `plan` learns beside the plan: what Spark says of a statement that is only analysed.

        Raises:
            WrongSqlError: as for `plan`.
            FailedQueryError: as for `plan`.

        """
        with spark_errors(sql):
            self._note(sql, ask_json(self._spark, "facts", sql=sql))

    @contextmanager
    def errors_of(self, sql: str) -> Iterator[None]:
        """Around what is made of a statement: where Spark refuses that, it may refuse the statement, too.

        Raises:
            WrongSqlError: Spark's complaint about the statement.
            InternalError: it has none.

        """
        try:
            with rewritten_errors():
                yield
        except InternalError:
            self.facts(sql)
            raise

    def reads_alike(self, sql: str, other: str) -> bool:
        """Say whether Spark's parser makes the same of two texts; if not, they may mean the same all the same."""
        return ask(self._spark, "reads alike", sql=sql, other=other) == "true"

    def check(self, sql: str, args: Arguments = None) -> None:
        """Have Spark analyse a statement, without running it.

        Args:
            sql: one statement.
            args: values of its parameters; then it must be a query, not a command.

        Raises:
            SparkError: what Spark says of it.

        """
        with spark_errors():
            if args:
                _ = self._spark.sql(sql, args=args).schema
            else:
                ask(self._spark, "schema", sql=sql)

    def schema(self, sql: str, args: Arguments = None, *, through: bool = False) -> StructType:
        """Return the columns that a query would have; none for a command.

        Args:
            sql: one statement.
            args: values of its parameters.
            through: as for `plan`.

        Raises:
            WrongSqlError: Spark's own complaint about the text.
            FailedQueryError: Spark failed while it looked into what the text names.

        """
        schema = self._schemas.get(sql)
        self._schemas.clear()  # the tables may change before the next question
        if schema is None and through:
            self.plan(sql, args, through=True)
            schema = self._schemas.pop(sql)
        if schema is None:
            with spark_errors(sql):
                if args:
                    return self._spark.sql(sql, args=args).schema
                schema = ask(self._spark, "schema", sql=sql)
        return StructType.fromJson(json.loads(schema))


def _paths(text: str) -> list[Path]:
    return [tuple(path.lower().split("\1")) for path in text.split("\0")] if text else []

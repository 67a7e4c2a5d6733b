"""From a DataFrame to the SQL that asks for the same rows; Spark itself compares the two."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.dataframes.functions import FrameFunctions, Traced
from forward_lineage.results import LINEAGE_COLUMN, carries_lineage
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import quoted_name
from forward_lineage.spark.tables import columns_of
from forward_lineage.stored_tables import Meaning
from rewrites.tables import StoredTable
from udafs.attach import is_remote
from udafs.errors import BadArgumentError, NotTracedError
from udafs.requests import ask_json

TraceSql = Callable[[str, str], tuple[DataFrame, Meaning | None]]
"""(SQL, semantics) → its rows with `DL` and what that means; without, and None, where they are made of no table."""


class Frames:
    """DataFrames of a session as SQL. docs/dataframes.md says what each operator becomes.

    Args:
        tables: the registered tables.
        bring_up_to_date: lets the tables know what other sessions saved meanwhile.
        trace: traces SQL.
        given: by name, the rows that functions of Python give, as tables that `trace` knows; edited.

    """

    def __init__(
        self,
        tables: RegisteredTables,
        bring_up_to_date: Callable[[], None],
        trace: TraceSql,
        given: MutableMapping[str, StoredTable],
    ) -> None:
        self._tables = tables
        self._bring_up_to_date = bring_up_to_date
        self._trace = trace
        self._functions = FrameFunctions(tables, self._traced, given)

    def sql(self, query: DataFrame | str, semantics: str = "data") -> str:
        """Return a query of the rows of a DataFrame; SQL is returned as it is.

        Args:
            query: a DataFrame over tables and views that the session knows. It is analysed, and nothing of it is run.
            semantics: of the lineage that is asked for: functions of Python have it in what SQL reads of them.

        Returns:
            SQL whose optimised plan is that of the DataFrame. The user's functions in it are registered in the session.

        Raises:
            BadArgumentError: neither, or a DataFrame of another session.
            NotTracedError: something in it has no SQL text, or is not read back unchanged; rows of no registered table.

        """
        if isinstance(query, str):
            return query
        self._check(query)
        self._bring_up_to_date()
        names = "\n".join(map(quoted_name, self._tables.all()))
        with spark_errors():
            given = self._functions.names(query, semantics, names)
            answer = ask_json(self._tables.spark, "sql of", query, registered=names, given="\n".join(given))
        if "what" in answer:
            raise NotTracedError(f"the DataFrame has {answer['what']}", instead=answer["instead"])
        return str(answer["sql"])

    def told(self, sql: str) -> list[str]:
        """Return what a DataFrame was written as, in lines: the SQL, then what is behind names that are ours."""
        return [f"written as: {sql}", *self._functions.told(sql)]

    def _traced(self, frame: DataFrame, semantics: str) -> Traced:
        sql = self.sql(frame, semantics)
        return Traced(sql, *self._trace(sql, semantics))

    def _check(self, frame: object) -> None:
        if not isinstance(frame, DataFrame):
            raise BadArgumentError(
                f"a query is SQL or a DataFrame of Spark, not {type(frame).__name__}",
                instead="Give a text, or a DataFrame made of lineage.spark; of pandas on Spark, "
                "frame.to_spark(index_col=…) of one that was made with index_col=.",
            )
        if not _is_of(self._tables.spark, frame):
            raise BadArgumentError(
                "the DataFrame belongs to another Spark session",
                instead="Make it of lineage.spark, the session in which the tables are registered. What foreachBatch "
                "gives has a session of its own: register it, lineage.register(name, source=frame).",
            )
        if frame.isStreaming:
            raise NotTracedError(
                "the DataFrame is a stream, whose rows are never all there",
                instead="Write the stream to a table of files, register that, and trace what is made of it.",
            )
        if carries_lineage(columns_of(frame)):
            raise NotTracedError(
                f"the DataFrame carries the lineage of its rows, in its column {LINEAGE_COLUMN}",
                instead=f"Trace what it was made of; or leave the lineage out: drop({LINEAGE_COLUMN!r}).",
            )


def _is_of(spark: SparkSession, frame: DataFrame) -> bool:
    """Python may have several objects for one session of Spark's."""
    mine, other = spark, frame.sparkSession
    if mine is other or is_remote(mine) or is_remote(other):
        return mine is other
    sessions: tuple[Any, Any] = mine._jsparkSession, other._jsparkSession
    return bool(sessions[0].equals(sessions[1]))

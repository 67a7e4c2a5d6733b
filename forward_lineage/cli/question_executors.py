"""Questions that are answered in this process where that gives Spark's answer, else by Spark, which is then started."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from forward_lineage.cli.answers import Rows
from forward_lineage.cli.checks import check_home
from forward_lineage.cli.opening import Opening
from forward_lineage.embedded.needs_spark import NeedsSpark
from udafs.errors import LineageError
from udafs.lineage_set import LineageSet

if TYPE_CHECKING:
    from forward_lineage.session import ForwardLineage

T = TypeVar("T")
Numbers = Iterable[int] | None


class Impact(Protocol):
    """The reach of suspected rows: tables that are taken on trust, and each result that is touched."""

    @property
    def trusted(self) -> tuple[str, ...]:
        """Return the names of these tables."""

    def objects(self) -> list[dict[str, Any]]:
        """Return the rows that `ForwardLineage.impact` has."""


class Asked(Protocol):
    """Answers questions; arguments and errors are those of `ForwardLineage`."""

    def backward(
        self,
        result: str,
        where: str | None = None,
        *,
        rows: Numbers = None,
        table: str | None = None,
        through: str = "all",
    ) -> Rows:
        """Return the base rows that rows of a result were made of."""

    def forward(self, table: str, where: str | None = None, *, ids: Numbers = None, result: str) -> Rows:
        """Return the rows of a result that were made from rows of a table."""

    def impact(self, table: str, where: str | None = None, *, ids: Numbers = None) -> Impact:
        """Return every result that rows of a table touch."""

    def stale(self) -> Rows:
        """Return the results whose inputs have changed."""

    def touched(self, table: str, where: str | None) -> dict[str, LineageSet]:
        """Return the rows that rows of a table touch, by the name of their result in lower case."""

    def suspected(self, table: str, where: str | None) -> LineageSet:
        """Return the ids of the rows of a table or result that a condition holds for, or of all."""

    def rows_of(self, name: str, ids: LineageSet) -> Rows:
        """Return rows of a table or a result."""

    def version(self, name: str) -> int | None:
        """Return the version of a table; None when it has changed and nobody registered that, or is not there."""


def ask(opening: Opening, command: str, question: Callable[[Asked], T], where: str | None = None) -> T:
    """Ask a question here, and once more of Spark if it is needed.

    Args:
        opening: what Spark's session is opened with.
        command: the name of it.
        question: asks, and computes what is to be shown, before it shows anything.
        where: the condition in it; Spark is not started for one that is malformed.

    Raises:
        LineageError: as for the question.

    """
    if opening.catalog is None:
        check_home(opening.home)
        try:
            return question(opening.questions)
        except NeedsSpark:
            pass
    if where is not None:
        from forward_lineage.frontend import check_condition  # noqa: PLC0415 - most questions do without

        check_condition(where)
    with opening.session(command) as lineage:
        return question(asked_of(lineage))


def asked_of(lineage: ForwardLineage) -> Asked:
    """Return what asks a session."""
    from forward_lineage.cli.frame_rows import FrameRows  # noqa: PLC0415 - Spark is there
    from forward_lineage.spark.progress import spark_progress  # noqa: PLC0415
    from forward_lineage.spark.versions import arrow_table  # noqa: PLC0415

    @dataclass(frozen=True)
    class _Impact:
        rows: FrameRows

        @property
        def trusted(self) -> tuple[str, ...]:
            return tuple(self.rows.trusted)

        def objects(self) -> list[dict[str, Any]]:
            with spark_progress(lineage.spark, "asking"):
                return [row.asDict() for row in self.rows.frame.collect()]

    class _OfSession:
        def backward(
            self,
            result: str,
            where: str | None = None,
            *,
            rows: Numbers = None,
            table: str | None = None,
            through: str = "all",
        ) -> Rows:
            with spark_progress(lineage.spark, "asking"):
                return FrameRows(lineage.backward(result, where, rows=rows, table=table, through=through))

        def forward(self, table: str, where: str | None = None, *, ids: Numbers = None, result: str) -> Rows:
            with spark_progress(lineage.spark, "asking"):
                return FrameRows(lineage.forward(table, where, ids=ids, result=result))

        def impact(self, table: str, where: str | None = None, *, ids: Numbers = None) -> Impact:
            with spark_progress(lineage.spark, "asking"):
                return _Impact(FrameRows(lineage.impact(table, where, ids=ids)))

        def stale(self) -> Rows:
            with spark_progress(lineage.spark, "asking"):
                return FrameRows(lineage.stale())

        def touched(self, table: str, where: str | None) -> dict[str, LineageSet]:
            with spark_progress(lineage.spark, "asking"):
                found = lineage.impact(table, where).where("rows_touched IS NOT NULL")  # of the others it warns
                results = [row["result"] for row in found.collect()]
                return {each.lower(): lineage.forward_ids(table, where, result=each) for each in results}

        def suspected(self, table: str, where: str | None) -> LineageSet:
            rows = lineage.rows(table)
            found = rows.where(where) if where else rows
            return LineageSet(arrow_table(found.select(found.columns[0])).column(0).to_numpy())

        def rows_of(self, name: str, ids: LineageSet) -> Rows:
            return FrameRows(lineage.rows(name, ids.ids().tolist()))

        def version(self, name: str) -> int | None:
            try:
                lineage.rows(name)
            except LineageError:
                return None
            return next(each.version for each in lineage.tables().values() if each.name.lower() == name.lower())

    return _OfSession()

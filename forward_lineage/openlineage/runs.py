"""The events of a session's runs: none, unless it was told where to send them."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from sqlglot import exp

from forward_lineage.openlineage.saving import Saving
from forward_lineage.openlineage.settings import Destination, OpenLineage, check_installed, settings_of
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.names import in_backticks
from forward_lineage.tracing.names import SessionNames
from forward_lineage.tracing.statements import TracedStatement

Given = OpenLineage | Destination | None


class Runs:
    """Tells of the runs of a session, if somebody wants to know.

    Args:
        given: where events go; None: what our variable says, or nowhere.
        tables: the session's tables.
        names: what names mean in it.
        home: where results are.

    Raises:
        SetupError: there is no client, or it refuses the destination.
        BadArgumentError: the destination is none.

    """

    def __init__(self, given: Given, tables: RegisteredTables, names: SessionNames, home: str) -> None:
        settings = settings_of(given)
        self._teller: Any = None
        if settings is not None:
            check_installed()
            from forward_lineage.openlineage.emitter import Teller  # noqa: PLC0415 - it needs an extra

            self._teller = Teller(settings, tables, names, home)

    def saving(self, df_or_sql: object, name: str) -> AbstractContextManager[Saving]:
        """Tell of a save while the block runs, which says what it reads and what it has saved.

        Args:
            df_or_sql: what is saved.
            name: under which name.

        """
        return nullcontext(Saving()) if self._teller is None else self._teller.saving(df_or_sql, name)

    def command(self, traced: TracedStatement) -> AbstractContextManager[None]:
        """Tell of a statement that writes a table while the block runs; of any other say nothing."""
        told = self._teller is not None and not traced.as_it_is
        target = target_of(traced.statement.tree) if told else None
        return nullcontext() if target is None else self._teller.writing(traced, *target)

    def flush(self, patience: float) -> bool:
        """Wait until all events are sent; False: there are some left after so many seconds."""
        return self._teller is None or bool(self._teller.sender.flush(patience))


def target_of(tree: exp.Expr) -> tuple[str, str] | None:
    """Return what a statement does to a table, and the table's name, quoted; None: it writes none."""
    creates = isinstance(tree, exp.Create) and str(tree.args.get("kind")).upper() == "TABLE"
    if not creates and not isinstance(tree, exp.Insert):
        return None
    written = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    if not isinstance(written, exp.Table):
        return None  # a folder
    name = ".".join(in_backticks(part.name) for part in written.parts)
    return ("create" if creates else "insert"), name

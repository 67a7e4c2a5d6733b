"""A result saved with its questions in mind: scope first, then rows and lineage, then what is made of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from forward_lineage.frontend import explanation
from forward_lineage.store.asking.pipeline import Pipeline
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.saving.saver import Reads, Saver, Wish
from forward_lineage.store.saving.scope import Scope
from forward_lineage.tracing.statements import Statements
from forward_lineage.workloads.answering import Answering
from forward_lineage.workloads.deriving import Attributes, Derived, derived, only_name
from forward_lineage.workloads.form_builder import FormPlan, Making
from udafs.errors import BadArgumentError


@dataclass(frozen=True)
class Foreseen:
    """The facts known beforehand about the questions on a result: arguments of `ForwardLineage.save`."""

    workload: Sequence[str] = ()
    partition_by: Attributes = None
    cube: Attributes = None

    def __bool__(self) -> bool:
        return bool(self.workload or self.partition_by or self.cube)


class WorkloadSaver:
    """Saves results of a session.

    Args:
        saver: saves rows and lineage.
        statements: knows what queries read.
        making: makes what is asked for beforehand.
        answering: answers from it.

    """

    def __init__(self, saver: Saver, statements: Statements, making: Making, answering: Answering) -> None:
        self._saver, self._statements, self._making, self._answering = saver, statements, making, answering
        self._tables, self._library, self._shelf = making.tables, making.library, answering.shelf

    def save(self, df_or_sql: DataFrame | str, wish: Wish, foreseen: Foreseen, reads: Reads) -> SavedResult:
        """Run a query once and save its rows and their lineage under a name. Later queries can read it by the name.

        And `Saver.save` for `reads`.
        """
        found = Derived()
        if foreseen:
            wish.check()
            found = self._derived(df_or_sql if isinstance(df_or_sql, str) else None, wish, foreseen)
            if isinstance(df_or_sql, str):
                wish = replace(wish, scope=self._scope(df_or_sql, wish, found))
        saved = self._saver.save(df_or_sql, wish, reads)
        if found.plans:
            self._make(saved, found.plans)
        self._answering.forget(saved.name)
        return saved

    def check_free(self, name: str) -> None:
        """Check that something that is no query may be saved as a result of a name.

        Raises:
            BadArgumentError: queries could not use it.
            NameTakenError: it is in use.

        """
        Wish(name).check()
        self._saver.check_free(name, "overwrite")
        self._answering.forget(name)

    def explain(self, sql: str, name: str, semantics: str, scope: Scope, foreseen: Foreseen) -> str:
        """Return what would be captured and made, in lines."""
        wish = Wish(name, semantics, scope=scope)
        found = self._derived(sql, wish, foreseen)
        traced = self._statements.trace(sql, semantics)
        scope = self._scope(sql, wish, found).of_tables(traced.rewritten.tables)
        lines = [explanation(traced.rewritten)]
        for table in traced.rewritten.tables:
            lines.append(_of_table(table, scope))
        lines.append("directions: one relation answers BACKWARD and FORWARD; nothing is written for one of them alone")
        lines += [described(plan) for plan in found.plans]
        lines += [f"nothing is made for: {' '.join(query.split())} ({why})" for query, why in found.plain]
        return "\n".join(lines)

    def prepared(self, name: str) -> list[str]:
        """Return in lines the data that were made for questions about a saved result, and the reasons for gaps."""
        kept = self._shelf.find(self._library.get(name))
        if kept is None:
            return []
        forms = [f"{described(each.plan)}: {each.form.starts[-1]:,} entries" for each in kept.forms]
        return [*forms, *(f"{what}: not made, {why}" for what, why in kept.refused)]

    # ------------------------------------------------------------ steps

    def _derived(self, sql: str | None, wish: Wish, foreseen: Foreseen) -> Derived:
        found = derived(wish.name, foreseen.workload, foreseen.partition_by, foreseen.cube, sql)
        if wish.scope.when == "later" and (foreseen.partition_by or foreseen.cube):
            raise BadArgumentError(
                "what is captured later cannot be partitioned or added up with the rows",
                instead='Leave capture="later" out, or partition_by= and cube=.',
            )
        for plan in found.plans:
            self._tables.registered(plan.table)  # says so if there is no such table
        return replace(found, plans=()) if wish.scope.when == "later" else found

    def _scope(self, sql: str, wish: Wish, found: Derived) -> Scope:
        """The lineage that is captured; the user's own arguments go first. Forms are made of captured lineage."""
        scope = wish.scope
        if found.tables is None or (not found.where and self._is_table(only_name(sql))):
            return scope
        read = self._statements.trace(sql, wish.semantics).rewritten.tables
        needed = [table for table in read if self._leads_to(table, found.tables)]
        if scope.tables is None and len(needed) < len(read):
            scope = replace(scope, tables=tuple(needed))
        known = {table.lower() for table in scope.where}
        more = {t: c for t, c in found.where.items() if t.lower() not in known and self._is_read(t, read)}
        return replace(scope, where={**scope.where, **more})

    def _is_table(self, name: str | None) -> bool:
        return name is not None and self._tables.get(name) is not None

    def _leads_to(self, table: str, targets: Collection[str]) -> bool:
        wanted = {target.lower() for target in targets}
        if table.lower() in wanted:
            return True
        saved = self._library.latest(table)
        return saved is not None and bool(wanted & Pipeline(self._library, [saved]).tables().keys())

    @staticmethod
    def _is_read(table: str, read: Collection[str]) -> bool:
        return table.lower() in {each.lower() for each in read}

    def _make(self, saved: SavedResult, plans: Sequence[FormPlan]) -> None:
        made, refused = self._making.made(saved, plans)
        versions = {each.plan.table: self._tables.registered(each.plan.table).version for each in made}
        why = tuple((described(plan), reason) for plan, reason in refused)
        self._shelf.keep(saved, made, versions, self._making.settings.now(), why)


def described(plan: FormPlan) -> str:
    """Return what is made, in words."""
    functions = [f"{f}({text})" for text, each in plan.calls.items() for f in sorted(each)]
    said = [f"lineage in {plan.table}"]
    said += [f"partitioned by {', '.join(plan.attributes)}"] if plan.attributes else []
    keys = ", ".join(plan.keys) or "nothing"
    said += [f"added up by {keys}: {', '.join(['count(*)', *functions])}"] if plan.kind != "partition" else []
    said += (
        [f"with {', '.join([*plan.keys, *functions])}"] if plan.kind == "partition" and (plan.keys or functions) else []
    )
    return "; ".join([*said, *(f"where {each}" for each in plan.fixed)])


def _of_table(table: str, scope: Scope) -> str:
    if not scope.is_captured(table):
        return f"{table}: not captured, no question leads to it"
    only = scope.where.get(table)
    when = {"now": "with the rows", "later": "at the first question", "auto": "whenever it costs less"}[scope.when]
    return f"{table}: captured {when}" + (f", in rows with {only}" if only else "")

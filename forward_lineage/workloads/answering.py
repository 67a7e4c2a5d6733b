"""`ForwardLineage.answer`: a consuming query's rows, from what was made for it beforehand, or else as `sql` gives them.

[Smoke, §4.2, Fig. 9, 10]  No Spark job runs for a question that a form answers. The data of a form were true when it
was made. Before each answer its tables and its result are compared with their old state.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from sqlglot import exp

from forward_lineage.frontend import parse, print_sql, refuse_other_readings
from forward_lineage.results import LINEAGE_COLUMN, meaning_of
from forward_lineage.row_ids.checks import check_files, check_unchanged, current_files
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.row_ids.sources import check_repeatable
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.fidelity import check_fidelity
from forward_lineage.spark.names import joined
from forward_lineage.spark.planning import Arguments, Planner
from forward_lineage.spark.settings import Settings, setting_of
from forward_lineage.spark.versions import arrow_schema, arrow_table
from forward_lineage.store.asking.result_rows import ResultRows
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.workloads.chosen_bars import ChosenBars
from forward_lineage.workloads.comparable_values import OtherKindError
from forward_lineage.workloads.form_files import FormShelf, KeptForms
from forward_lineage.workloads.matching import Match, match
from forward_lineage.workloads.shape import Shape, shape_of
from forward_lineage.workloads.table_placeholder import placed_table
from forward_lineage.workloads.totals import answer_of
from udafs.errors import LineageError

_MOST_PREPARED = 256
CAPTURED, RECOMPUTED = "captured", "recomputed"


@dataclass(frozen=True)
class Answer:
    """The rows of a query.

    Attributes:
        table: them, in the columns and types that Spark gives.
        by: their source. It is ``"cube"`` or ``"partition"``, made beforehand, or ``"captured"`` lineage. Or it is
            lineage that was ``"recomputed"`` now, or after an earlier question, because its save left it out.
        why: where nothing that was made beforehand answers it, why not.

    """

    table: pa.Table
    by: str
    why: str = ""


@dataclass(frozen=True, eq=False)
class _Prepared:
    saved: SavedResult
    kept: KeptForms
    match: Match


class Answering:
    """Answers questions of a session.

    Args:
        tables: its registered tables.
        library: the saved results.
        home: folder of both.
        sql: runs a query with lineage, given its semantics and the values of its parameters.
        bring_up_to_date: lets the tables know what other sessions saved meanwhile.

    """

    def __init__(
        self,
        tables: RegisteredTables,
        library: Library,
        home: Path,
        sql: Callable[[str, str, Arguments], DataFrame],
        bring_up_to_date: Callable[[], None],
    ) -> None:
        self._tables, self._library, self._sql = tables, library, sql
        self._spark, self._bring_up_to_date = tables.spark, bring_up_to_date
        self.shelf = FormShelf(home)
        self._settings = Settings(tables.spark)
        self._bars = ChosenBars(ResultRows(tables.spark))
        self._kept: dict[str, KeptForms | None] = {}
        self._prepared: OrderedDict[tuple[str, str], _Prepared | str] = OrderedDict()

    def answer(self, sql: str, args: Arguments) -> Answer:
        """Return the rows of a consuming query, without their lineage, in the fastest way there is."""
        why = self._ready(sql, args)
        if not isinstance(why, str):
            try:
                found = self._from_form(why, args)
            except OtherKindError:
                found = "a parameter or literal is of another type than what it is compared with"
            if isinstance(found, pa.Table):
                return Answer(found, why.match.made.form.kind)
            why = found
        before = self._library.lineage.recomputed
        frame = self._sql(sql, "data", args)
        rows = frame if meaning_of(frame) is None else frame.drop(LINEAGE_COLUMN)
        with spark_errors():
            table = arrow_table(rows)
        return Answer(table, RECOMPUTED if self._library.lineage.recomputed > before else CAPTURED, why)

    def _from_form(self, ready: _Prepared, args: Arguments) -> pa.Table | str:
        bounds = ready.match.bounds(args)
        form, shape = ready.match.made.form, ready.match.shape
        bars = self._bars.of(ready.saved, shape.call.condition, args)
        chosen = slice(0, 0) if bounds is None else form.entries(bars, bounds)
        return answer_of(form, shape, chosen, ready.match.schema)

    # ------------------------------------------------------------ what answers it

    def _ready(self, sql: str, args: Arguments) -> _Prepared | str:
        """The form that answers a question now; or why nothing does."""
        key = sql, _kinds_of(args)
        found = self._prepared.get(key)
        if found is None or isinstance(found, str) or self._changed(found):
            found = self._prepared[key] = self._prepare(sql, args)
            if not isinstance(found, str) and (changed := self._changed(found)):
                return changed
        self._prepared.move_to_end(key)
        if len(self._prepared) > _MOST_PREPARED:
            self._prepared.popitem(last=False)
        return found

    def _changed(self, ready: _Prepared) -> str:
        """Say what is not what it was when the form was made."""
        latest = self._library.latest(ready.saved.name)
        if latest is None or (latest.version, latest.data) != (ready.saved.version, ready.saved.data):
            return f"{ready.saved.name} was saved again"
        name = ready.match.made.plan.table
        manifest = self._tables.get(name)
        if manifest is None or manifest.version != ready.kept.versions[name]:
            return f"{name} has changed"
        if self._settings.now() != ready.kept.settings:
            return "settings of the session differ from those under which it was made"
        try:
            if manifest.provider.by_position and manifest.identity is None:
                check_files(manifest, current_files(self._spark, manifest))
            else:
                check_unchanged(self._spark, manifest)
        except LineageError as error:
            return error.what
        return ""

    def _prepare(self, sql: str, args: Arguments) -> _Prepared | str:
        try:
            shape = shape_of(sql)
        except LineageError as error:
            return str(error.what)
        self._bring_up_to_date()
        saved = self._library.latest(".".join(shape.call.name))
        kept = self._forms(saved) if saved is not None else None
        if saved is None or kept is None or not kept.forms:
            return f"nothing was made beforehand for questions about {joined(shape.call.name)}"
        try:
            return self._matched(shape, saved, kept, args)
        except LineageError as error:
            return str(error.what)

    def _matched(self, shape: Shape, saved: SavedResult, kept: KeptForms, args: Arguments) -> _Prepared | str:
        target = self._tables.registered(joined(shape.call.target))
        mine = [each for each in kept.forms if each.plan.table == target.name]
        mine.sort(key=lambda each: each.form.kind)  # a cube before a partition
        why = f"nothing was made beforehand for questions about rows of {target.name}"
        if not mine or target.version != kept.versions.get(target.name):
            return why
        refuse_other_readings(setting_of(self._spark), shape.text)
        used = _used(shape.placed, args)
        with placed_table(self._tables, target):
            planner = Planner(self._spark)
            tree = parse(shape.placed).tree
            check_fidelity(lambda text: planner.plan(text, used), shape.placed, print_sql(tree))
            with spark_errors(shape.placed):
                frame = self._spark.sql(shape.placed, args=used) if used else self._spark.sql(shape.placed)
        if planner.users_function:
            return f"it calls {planner.users_function}, a function of the session's"
        check_repeatable(frame, "the question")
        schema = arrow_schema(frame.schema, self._spark.conf.get("spark.sql.session.timeZone"))
        for each in mine:
            found = match(each, shape, schema.remove_metadata())
            if isinstance(found, Match):
                return _Prepared(saved, kept, found)
            why = found
        return why

    def _forms(self, saved: SavedResult) -> KeptForms | None:
        if saved.data not in self._kept:
            if len(self._kept) > _MOST_PREPARED:
                self._kept.clear()
            self._kept[saved.data] = self.shelf.find(saved)
        return self._kept[saved.data]

    def forget(self, name: str) -> None:
        """Forget what was prepared for questions about a result: it was saved again, or dropped."""
        self._kept.clear()
        self._prepared.clear()
        latest = self._library.latest(name)
        if latest is None or self.shelf.find(latest) is None:
            self.shelf.forget(name)


def _kinds_of(args: Arguments) -> str:
    listed = args.items() if isinstance(args, dict) else enumerate(args or ())
    return ",".join(f"{name}:{type(value).__name__}" for name, value in listed)


def _used(placed: str, args: Arguments) -> Arguments:
    """The parameters that are left in the text."""
    if not isinstance(args, dict):
        return args
    names = {each.name for each in parse(placed).tree.find_all(exp.Placeholder)}
    return {name: value for name, value in args.items() if name in names} or None

"""Why rows are not in a saved result. See `ForwardLineage.why_not`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from forward_lineage.explaining.blocks import conjuncts
from forward_lineage.explaining.following import MOST_IDS, Follower, Wanted
from forward_lineage.explaining.missing_page import missing_panel
from forward_lineage.explaining.missing_rows import MissingRows
from forward_lineage.explaining.past_tables import PastTables
from forward_lineage.frontend import check_condition, parse
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.names import split_name
from forward_lineage.store.asking.pipeline import Pipeline
from forward_lineage.store.asking.questions import Questions
from forward_lineage.store.asking.rows import Asked
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult
from udafs.errors import BadArgumentError, LineageError, NotTracedError, Position
from udafs.lineage_set import LineageSet


class MissingExplainer:
    """Explains what is missing.

    Args:
        tables: the session's registered tables.
        library: the saved results.
        questions: what may be asked of them.
        past: tables as they were.

    """

    def __init__(self, tables: RegisteredTables, library: Library, questions: Questions, past: PastTables) -> None:
        self._spark = tables.spark
        self._library, self._questions, self._past = library, questions, past

    def why_not(
        self, name: str, where: str | None, table: str | None, ids: Iterable[int] | None, version: int | None
    ) -> MissingRows:
        """See `ForwardLineage.why_not`."""
        if (where is None) == (table is None) or (table is None) != (ids is None):
            raise BadArgumentError(
                "why_not takes where=, or table= and ids=",
                instead='Write why_not("report", where="customer_id = 17"), or table="customers", ids=[17].',
            )
        saved = self._library.get(name, version)
        self._past.check_text(saved)
        if where is not None:
            asked, wanted = where, self._by_condition(saved, where)
            present = self._questions.result_rows.of(saved).where(where)
        else:
            assert table is not None and ids is not None, "refused before"
            wanted = self._by_ids(saved, table, ids)
            asked = f"{table} {', '.join(map(str, wanted.ids[:8]))}"
            present = self._made_of(saved, wanted)
        apart = self._already_in(saved, wanted, present) if present and len(wanted.ids) > 1 else LineageSet()
        if missing := LineageSet(wanted.ids) - apart:
            wanted = replace(wanted, ids=tuple(missing))
        else:
            apart = LineageSet()
        as_now: set[str] = set()
        follower = Follower(self._spark, self._past.names_then(saved, as_now))
        tree = follower.grounding.inlined(parse(saved.sql).tree)
        way = follower.follow(tree, saved.name, wanted)
        numbers = tuple(int(each) for each in present)
        if way.through and not numbers and way.steps[-1].kind == "LIMIT":
            why = "others have the same place in the order, and Spark chose among them"
            way.steps[-1], way.through = replace(way.steps[-1], survived=0, why=why), False
        texts = {saved.name: saved.sql, **follower.grounding.texts}
        return MissingRows(
            self._spark,
            saved.name,
            saved.version,
            asked,
            tuple(way.steps),
            numbers,
            tuple(apart),
            way.through,
            tuple(sorted(as_now)),
            lambda found: missing_panel(found, texts),
        )

    def _by_condition(self, saved: SavedResult, where: str) -> Wanted:
        check_condition(where)
        tree = parse(f"SELECT * FROM t WHERE (({where}))").tree
        condition = tree.args["where"].this
        if condition.find(exp.Query):
            raise BadArgumentError("the condition has a subquery", instead="Compare columns with values.")
        calls = (
            each for each in condition.walk() if isinstance(each, exp.Func) and not isinstance(each, exp.Connector)
        )
        if any(calls):
            rows = self._questions.result_rows.of(saved)
            chance = rows.depends_on(Asked(where, Position(1, 1), saved.name))
            if chance is not None:
                raise NotTracedError(
                    f"the condition depends on {chance}: it may mean other rows each time it is asked",
                    instead=f"Write one over the columns of {saved.name} alone.",
                )
        return Wanted(asked=tuple(conjuncts(condition)))

    def _by_ids(self, saved: SavedResult, table: str, ids: Iterable[int]) -> Wanted:
        numbers = tuple(sorted(set(ids)))
        if not 0 < len(numbers) <= MOST_IDS:
            raise BadArgumentError(f"ids= are {len(numbers):,}", instead=f"Give 1 to {MOST_IDS:,} ids.")
        edges = self._past.base_edges(saved)
        known = next((each for each in (table.lower(), ".".join(split_name(table))) if each in edges), None)
        if known is None:
            raise BadArgumentError(
                f"{saved.name} was not made of {table}",
                instead=f"It was made of {', '.join(edge.name for edge in edges.values())}.",
            )
        if edges[known].granules:
            raise BadArgumentError(f"{saved.name} was saved with LINEAGE ON", instead="Ask with where=.")
        return Wanted(known, numbers)

    def _made_of(self, saved: SavedResult, wanted: Wanted) -> LineageSet:
        edge = self._past.base_edges(saved)[wanted.table]
        try:
            touched = Pipeline(self._library, [saved]).forward(edge.name, lambda _, __: LineageSet(wanted.ids))
        except LineageError:
            return LineageSet()
        found = touched.get((saved.name.lower(), saved.version))
        return LineageSet() if found is None or found.rows is None else found.rows

    def _already_in(self, saved: SavedResult, wanted: Wanted, present: LineageSet) -> LineageSet:
        """Those of the ids that rows of the result were made of."""
        edge = self._past.base_edges(saved)[wanted.table]
        return Pipeline(self._library, [saved]).backward(saved, present, edge.name).ids & LineageSet(wanted.ids)

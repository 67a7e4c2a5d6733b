"""From what somebody asks for to views that can be brushed: found on disk, or made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from forward_lineage.columns import files
from forward_lineage.columns.array_cache import Shelf, Writer
from forward_lineage.columns.files import Batch, Ids
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.settings import settings_of_values
from forward_lineage.storage.derived import digest
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.views import engine_files, saved
from forward_lineage.views.build_arrays import Bars, Capture
from forward_lineage.views.cubes import Limits
from forward_lineage.views.engine import Engine, engine_of
from forward_lineage.views.linked import LinkedViews
from forward_lineage.views.measures import Measure
from forward_lineage.views.membership import Array, Dense, Membership
from forward_lineage.views.questions import Question, columns_of, questions, rows_sql
from forward_lineage.views.view import View
from forward_lineage.views.view_sql import is_result, read_view
from udafs.errors import BadArgumentError, ChangedError, NotTracedError

FORMAT = 1
MOST_ROWS = 2**32 - 1
Found = dict[str, tuple[View, Membership]]
_Way = Callable[[Sequence[Bars], Manifest], tuple[Capture, Ids | None]]


class Opening:
    """Opens views over the tables and saved results of a session.

    Args:
        tables: what is registered.
        library: what is saved.
        home: the folder of both.
        bring_up_to_date: lets names of saved results mean their newest versions, whoever saved these.

    """

    def __init__(
        self, tables: RegisteredTables, library: Library, home: Path, bring_up_to_date: Callable[[], None]
    ) -> None:
        self._tables, self._library, self._home = tables, library, home
        self._spark, self._bring_up_to_date = tables.spark, bring_up_to_date

    def views(
        self,
        views: Mapping[str, str],
        table: str | None = None,
        limits: Limits | None = None,
        *,
        tell: Callable[[str], None] | None = None,
    ) -> LinkedViews:
        """Link views over the same base rows, so that a brush in one updates all others in milliseconds.

        Args:
            views: for each a query or the name of a saved result, by the name of the view.
            table: what links saved results.
            limits: how much is made beforehand.
            tell: is told what is done.

        """
        limits = limits or Limits()
        asked = _checked(views)
        self._bring_up_to_date()
        results = {name: self._library.get(sql.strip()) for name, sql in asked.items() if is_result(sql)}
        queries = {name: read_view(sql) for name, sql in asked.items() if name not in results}
        over = questions(self._spark, queries)
        manifest = self._table_of(over, table)
        linked = self._linked(results, manifest, table)
        # White space in front is where a text stands in its file, for messages.
        shelf = Shelf(self._home, "views", digest([(name, sql.lstrip()) for name, sql in asked.items()], table))
        versions = self._versions(manifest, linked, limits)
        trusted = bool(manifest and manifest.trusted) or bool(linked and linked.trusted)
        anew = trusted or not all(each.lasting for each in over)  # nobody knows whether tables or functions changed
        reader = None if anew else shelf.find(versions)
        if reader is None:
            with shelf.making():
                reader = None if anew else shelf.find(versions)
                if reader is None:
                    with shelf.writing(versions) as writer:
                        making = _Making(self._tables, self._library, writer, limits, list(asked), tell=tell)
                        if manifest is not None:
                            making.of_table(over, manifest, linked)
                        elif linked is not None:
                            making.of_results(linked)
                    reader = shelf.find(versions)
        if reader is None:
            raise ChangedError("the views' files were removed meanwhile", instead="Open the views again.")
        return engine_files.read(reader, _name_and_version(manifest, linked), trusted)

    def _table_of(self, over: Sequence[Question], table: str | None) -> Manifest | None:
        """The one table that the queries are over."""
        manifests = {(found := self._tables.registered(each.asked.table)).name: found for each in over}
        if len(manifests) > 1:
            raise BadArgumentError(
                f"the views are over {' and '.join(sorted(manifests))}",
                instead="Save their queries and give the names of the results, with table= the table that links them.",
            )
        for name, manifest in manifests.items():
            if table is not None and self._tables.registered(table).name != name:
                raise BadArgumentError(
                    f"a view is over {name}, and {table} is to link the views",
                    instead="Save its query, and give the name of the result in place of it.",
                )
            check_unchanged(self._spark, manifest)
            return manifest
        return None

    def _linked(
        self, results: dict[str, SavedResult], manifest: Manifest | None, table: str | None
    ) -> saved.Linked | None:
        if not results:
            return None
        linked = saved.linked_by(results, manifest.name if manifest else table, self._library, self._tables)
        for owner, edge in linked.edges:
            if manifest is not None and edge.version != manifest.version:
                raise ChangedError(
                    f"{owner.name} was saved with version {edge.version} of {edge.name}, now it is version "
                    f"{manifest.version}",
                    instead=f"Save {owner.name} again.",
                )
        return linked

    def _versions(self, manifest: Manifest | None, linked: saved.Linked | None, limits: Limits) -> str:
        settings = settings_of_values(self._spark)
        table = manifest and (manifest.name, manifest.version, manifest.digest())
        return digest(FORMAT, table, linked and linked.versions, settings, limits)


class _Making:
    """Makes the arrays of some views.

    Args:
        tables: what is registered.
        library: what is saved.
        writer: where they go.
        limits: how much is made beforehand.
        names: of all views, in order.
        tell: is told what is done.

    """

    def __init__(
        self,
        tables: RegisteredTables,
        library: Library,
        writer: Writer,
        limits: Limits,
        names: Sequence[str],
        *,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._tell = tell or (lambda what: None)
        self._tables, self._library, self._writer = tables, library, writer
        self._limits, self._names = limits, names

    def of_table(self, over: Sequence[Question], manifest: Manifest, linked: saved.Linked | None) -> None:
        """Make views over a table, and of results that were made of it.

        Raises:
            ChangedError: the table changed meanwhile.
            NotTracedError: they cannot be made.

        """
        bars = []
        for number, question in enumerate(over, 1):
            self._tell(f"{number} of {len(over)} views, {question.name}")
            bars.append(Bars.of(question, self._tables.spark))
        self._tell(f"the rows of {manifest.name}")
        pairs = saved.pairs_of(linked, self._library) if linked is not None else []
        wanted = columns_of(over)
        columns = files.as_they_stand(manifest, wanted) if wanted is not None else None
        ways: list[_Way] = [self._computed] if columns is None else [partial(self._read, columns), self._computed]
        for way in ways:
            capture, ids = way(bars, manifest)
            found: Found = {
                view.name: (view, each) for view, each in zip(capture.views, self._dense(capture), strict=True)
            }
            if linked is not None:
                found |= self._results(linked, pairs, ids, capture.rows)
            engine = self._engine(found, capture.measures)
            differs = capture.differs([engine.totals.counted[self._names.index(view.name)] for view in capture.views])
            if differs is None:
                break
        else:
            raise NotTracedError(
                f"{differs}: a second reading of {manifest.name} differs from the first",
                instead=f'Make a copy with fixed rows: lineage.register(…, source="{manifest.name}").',
            )
        check_unchanged(self._tables.spark, manifest)
        self._write(found, engine, ids)

    def of_results(self, linked: saved.Linked) -> None:
        """Make views of saved results alone."""
        pairs = saved.pairs_of(linked, self._library)
        ids = saved.all_ids(pairs)
        found = self._results(linked, pairs, ids, _checked_rows(ids.size))
        self._write(found, self._engine(found, ()), ids)

    def _read(self, columns: files.Columns, bars: Sequence[Bars], manifest: Manifest) -> tuple[Capture, Ids | None]:
        """From the table's own files."""
        ids, rows = files.ids_by_position(manifest)
        return self._captured(bars, rows, files.of_files(manifest, columns)), ids

    def _computed(self, bars: Sequence[Bars], manifest: Manifest) -> tuple[Capture, Ids | None]:
        """By Spark."""
        sql = rows_sql(self._tables.base_table(manifest), [each.question for each in bars])
        with self._writer.scratch() as folder:
            written = files.written(self._tables.spark, sql, folder / "rows")
            ids = files.ids_in(written)
            rows = ids.size
            if np.any(np.diff(ids) == 0):
                raise ChangedError(f"the ids of {manifest.name} are not unique any more", instead="Register it again.")
            dense = not rows or int(ids[-1]) == rows - 1
            known = None if dense else ids
            return self._captured(bars, rows, files.of_written(written, known)), known

    def _captured(self, bars: Sequence[Bars], rows: int, batches: Iterable[Batch]) -> Capture:
        numbers = [self._names.index(each.question.name) for each in bars]
        capture = Capture(bars, numbers, _checked_rows(rows), self._writer.allocate)
        capture.fill(batches)
        return capture

    def _dense(self, capture: Capture) -> list[Dense]:
        def indexed(view: View, codes: Array) -> Dense:
            order = self._writer.allocate(f"{self._names.index(view.name)}.order", capture.rows, np.uint32)
            return Dense.of(codes, view.bars.num_rows, order)

        with ThreadPoolExecutor(2) as pool:  # numpy sorts without holding Python up
            return list(pool.map(indexed, capture.views, capture.codes))

    def _results(self, linked: saved.Linked, pairs: Sequence[tuple[Ids, Ids]], ids: Ids | None, rows: int) -> Found:
        memberships = saved.memberships_of(linked, pairs, ids, rows)
        views = saved.views_of(linked, self._tables)
        return {view.name: (view, each) for view, each in zip(views, memberships, strict=True)}

    def _engine(self, found: Found, measures: tuple[Measure, ...]) -> Engine:
        memberships = [found[name][1] for name in self._names]
        parts = [found[name][0].parts for name in self._names]
        cubes = engine_files.cubes_of(memberships, parts, measures, self._limits)
        return engine_of(memberships, parts, measures, cubes)

    def _write(self, found: Found, engine: Engine, ids: Ids | None) -> None:
        engine_files.write(self._writer, [found[name][0] for name in self._names], engine, ids)


def _name_and_version(manifest: Manifest | None, linked: saved.Linked | None) -> tuple[str, int]:
    if manifest is not None:
        return manifest.name, manifest.version
    assert linked is not None, "views are over a table, or of results"
    return linked.table, linked.version


def _checked(views: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(views, Mapping) or not views:
        raise BadArgumentError("views are given by name", instead='Write lineage.views({"by item": "SELECT …"}).')
    for name, sql in views.items():
        if not isinstance(name, str) or not isinstance(sql, str):
            raise BadArgumentError(
                f"view {name!r} is neither SQL nor the name of a saved result",
                instead="Give for each view a text, under a name that is one, too.",
            )
    return dict(views)


def _checked_rows(rows: int) -> int:
    if rows > MOST_ROWS:
        raise NotTracedError(f"views over {rows:,} rows, {MOST_ROWS:,} are the most", instead="Register a part of it.")
    return rows

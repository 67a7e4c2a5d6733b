"""The lineage of saved results as questions read it: all of it, wherever it was captured and whenever."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from forward_lineage.relations.paths import PathsRelation, Step
from forward_lineage.relations.stored import SegmentCache, StoredRelation
from forward_lineage.store.library.capture_state import Captured
from forward_lineage.store.library.deferred_lineage import Later
from forward_lineage.store.library.forward_indexes import ForwardIndexes, Part, relation_name
from forward_lineage.store.library.made_of import StageLineage, TracedTable
from forward_lineage.store.library.saved import Saved
from forward_lineage.store.library.saved_result import SavedResult
from udafs.errors import NotTracedError

CaptureRest = Callable[[SavedResult, bool], SavedResult]
"""Captures all lineage of a version, or else what its save left for later; returns the version with it."""
_MANY_RELATIONS = 64


class ReadLineage:
    """Lineage of the results of a home, each kept while it is there.

    Args:
        later: what was captured after results were saved.
        cache: of segments.
        indexes: for forward questions.
        capture_rest: captures what a question needs and nobody has captured; None: such questions are refused.

    Attributes:
        recomputed: how often lineage was read that its save had left out for good.

    """

    def __init__(
        self, later: Later, cache: SegmentCache, indexes: ForwardIndexes, capture_rest: CaptureRest | None = None
    ) -> None:
        self._later, self._cache, self._indexes, self._capture_rest = later, cache, indexes, capture_rest
        self._relations: dict[tuple[Path, str], StoredRelation | PathsRelation] = {}
        self._many_relations = _MANY_RELATIONS
        self.recomputed = 0

    def relation(self, saved: Saved, table: TracedTable) -> StoredRelation | PathsRelation:
        """Return the lineage of a result in a table that it was made of directly; segments are read when asked.

        Raises:
            LineageError: it is not all captured, and cannot be any more.

        """
        return self._known_relation(self._whole(saved, table), table)

    def relation_within(self, saved: Saved, table: TracedTable) -> StoredRelation | PathsRelation:
        """Return the lineage of a result in those rows of a table that meet `TracedTable.only`; as for `relation`."""
        if table.captured is Captured.NEVER:
            return self.relation(saved, table)
        left = table.captured is Captured.LATER
        return self._known_relation(self._captured(saved, table, whole=False) if left else saved, table)

    def _whole(self, saved: Saved, table: TracedTable) -> Saved:
        """The result with all of its lineage in the table."""
        if table.is_whole:
            return saved
        left = table.captured is Captured.LATER and table.only is None
        self.recomputed += not left
        if isinstance(saved, SavedResult) and (found := self._later.find(saved, whole=True)) is not None:
            return found
        return self._captured(saved, table, whole=not left)

    def _captured(self, saved: Saved, table: TracedTable, *, whole: bool) -> Saved:
        if isinstance(saved, SavedResult):
            found = self._later.find(saved, whole=whole)
            if found is None and self._capture_rest is not None:
                found = self._capture_rest(saved, whole)
            if found is not None:
                return found
        raise NotTracedError(
            f"the lineage of {saved.name} in {table.name} was not captured when it was saved",
            instead="Ask in a session of ForwardLineage, which captures it then.",
        )

    def _known_relation(self, saved: Saved, table: TracedTable) -> StoredRelation | PathsRelation:
        key = saved.folder, table.name.lower()
        found = self._relations.get(key)
        if found is None:
            self._forget_relations()
            found = self._relations[key] = self._relation(saved, saved.traced(table.name) or table)
        return found

    def _relation(self, saved: Saved, table: TracedTable) -> StoredRelation | PathsRelation:
        def stored(part: Part, stage: int | None = None) -> StoredRelation:
            indexed = partial(self._indexes.find, saved, relation_name(part, stage))
            return StoredRelation(saved.segment_files(part.segments), self._cache, indexed)

        behind: list[PathsRelation | None] = []  # what rows of each stage were made of in the table

        def paths(of: Iterable[StageLineage], stage: int | None = None) -> list[Step]:
            return [(stored(each, stage), behind[each.stage]) for each in of if behind[each.stage] is not None]

        for number, stage in enumerate(saved.stages):
            own: list[Step] = [
                (stored(each, number), None) for each in stage.tables if each.table.lower() == table.name.lower()
            ]
            led = [*own, *paths(stage.stages, number)]
            behind.append(PathsRelation(led) if led else None)
        direct = stored(table)
        led = paths(saved.refers)
        return PathsRelation([(direct, None), *led]) if led else direct

    def _forget_relations(self) -> None:
        """Give back the lineage of versions that are gone, whoever cleared them away; looked for now and then."""
        if len(self._relations) < self._many_relations:
            return
        for key in list(self._relations):
            if not key[0].exists():
                self._relations.pop(key).release()
        self._many_relations = max(_MANY_RELATIONS, 2 * len(self._relations))

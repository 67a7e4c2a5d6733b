"""Saving arrays with their lineage, and reading saved things as tracked arrays."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from forward_lineage.arrays.graph import Node, Shape
from forward_lineage.arrays.tracked import TrackedArray
from forward_lineage.arrays.tracking import track
from forward_lineage.relations.algebra import empty
from forward_lineage.relations.box_rows import BoxRow, Line
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.row_ids.manifest import Provider
from forward_lineage.row_ids.registration_store import Registrations
from forward_lineage.store.arrays.origins import Origin, note_origin
from forward_lineage.store.arrays.relating import Leads, Related, related
from forward_lineage.store.arrays.result_columns import matrix_of
from forward_lineage.store.library.cells import read_cells
from forward_lineage.store.library.library import Library, check_name
from forward_lineage.store.library.made_of import RowFile, SegmentEntry, Stage, StageLineage, TableLineage, TracedTable
from forward_lineage.store.library.row_files import row_file
from forward_lineage.store.library.saved import Saved
from forward_lineage.store.library.saved_array import TYPES, SavedArray
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.saving.tasks import write_segment
from udafs.errors import BadArgumentError, ChangedError, NameTakenError, NotSavedError, NotTracedError

_FILE = "cells/array.npy"


class SavedArrays:
    """Arrays of a home.

    Args:
        library: the saved things.
        registrations: the registered tables, whose names are taken.

    """

    def __init__(self, library: Library, registrations: Registrations) -> None:
        self._library, self._registrations = library, registrations
        self._home = str(library.folder.absolute())

    # ------------------------------------------------------------ reading

    def read(self, name: str, version: int | None = None) -> TrackedArray:
        """See `ForwardLineage.array`."""
        saved = self._library.saved(name, version)
        if not isinstance(saved, SavedArray):
            raise NotSavedError(
                f"{saved.name} is a saved {saved.called}, and no array",
                instead=f"lineage.to_array({saved.name!r}, columns=[…]) makes an array of its columns."
                if isinstance(saved, SavedResult)
                else f"lineage.{saved.called}({saved.name!r}) returns it.",
            )
        array = track(read_cells(saved), saved.name)
        note_origin(array.node, Origin(self._home, saved.name, saved.version))
        return array

    def of_result(self, name: str, columns: Sequence[str] | None = None, version: int | None = None) -> TrackedArray:
        """See `ForwardLineage.to_array`."""
        saved = self._library.get(name, version)
        array = track(matrix_of(saved, columns), saved.name)
        relation = rows_behind(saved, array.shape)
        note_origin(array.node, Origin(self._home, saved.name, saved.version, relation))
        return array

    # ------------------------------------------------------------ writing

    def save(
        self,
        array: TrackedArray | npt.NDArray[np.generic],
        name: str,
        *,
        semantics: str = "data",
        mode: str = "overwrite",
        keep_versions: bool = False,
    ) -> SavedArray:
        """See `ForwardLineage.save`."""
        check_may_save(self._library, self._registrations, SavedArray, name, semantics=semantics, mode=mode)
        node = array.node if isinstance(array, TrackedArray) else None
        values = plain_cells(array)
        lineage = lineage_of(node, self._home, semantics)

        def draft(newest: int) -> SavedArray:
            if newest and mode == "error":
                check_not_saved(self._library, SavedArray, name)
            return saved

        with self._library.writing(name) as folder:
            written = Written(folder, values.size)
            saved = SavedArray(
                **written.facts(name, semantics, lineage, kept=keep_versions),
                shape=values.shape,
                dtype=values.dtype.str,
                file=written.cells(values),
            )
            found = self._library.publish(draft)
        if node is not None:
            note_origin(node, Origin(self._home, found.name, found.version, was_read=False))
        return found


def check_may_save(
    library: Library, registrations: Registrations, kind: type[Saved], name: str, *, semantics: str, mode: str
) -> None:
    """Check what a user says when an array or model is saved.

    Raises:
        BadArgumentError: the name, the semantics or the mode cannot be.
        NameTakenError: the name is that of something else.

    """
    check_name(name)
    if semantics not in ("data", "control"):
        raise BadArgumentError(f"semantics={semantics!r} is not known", instead='Say "data" or "control".')
    if mode not in ("overwrite", "error"):
        raise BadArgumentError(f"mode={mode!r} is not known of {kind.called}s", instead="Use one of overwrite, error.")
    library.check_kind(name, kind)
    if registrations.latest(name) is not None:
        raise NameTakenError(f"{name} is a registered table", instead=f"Save the {kind.called} under another name.")
    if mode == "error":
        check_not_saved(library, kind, name)


def check_not_saved(library: Library, kind: type[Saved], name: str) -> None:
    """Check that nothing is saved under a name.

    Raises:
        NameTakenError: something is.

    """
    if library.find(name) is not None:
        raise NameTakenError(
            f"there is a saved {kind.called} {name} already", instead='Say mode="overwrite", or choose another name.'
        )


def rows_behind(saved: SavedResult, shape: Shape) -> BoxRelation:
    """Return the relation from the cells of a result's array to the numbers of its rows.

    An update leaves gaps in the numbers, never within a file; the rows of an array have none.

    Args:
        saved: the result.
        shape: of the array: (rows, columns).

    """
    if not prod(shape):
        return BoxRelation.nothing(shape, (saved.numbers_end,))
    found, place, every_column = [], 0, (0, shape[1] - 1)
    for first, rows in saved.spans():
        line = Line(0, offset=first - place)
        found.append(BoxRow([(place, place + rows - 1), every_column], [(line, line)]))
        place += rows
    return BoxRelation.from_rows(shape, (saved.numbers_end,), found)


class Written:
    """The files of an array in its data folder.

    Args:
        folder: the data folder.
        cells: how many cells the array has.

    """

    def __init__(self, folder: Path, cells: int) -> None:
        self._folder, self._cells = folder, cells

    def cells(self, values: npt.NDArray[np.generic]) -> RowFile:
        """Write the cells themselves."""
        path = self._folder / _FILE
        path.parent.mkdir()
        with path.open("xb") as file:
            np.save(file, values, allow_pickle=False)
        return row_file(self._folder, _FILE, 0, self._cells)

    def facts(self, name: str, semantics: str, lineage: Related, *, kept: bool) -> dict[str, Any]:
        """Write the lineage, and return what a manifest says of a saved thing of any kind."""
        return {
            "name": name,
            "version": 0,
            "semantics": semantics,
            "saved_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "rows": self._cells,
            "tables": self.tables(lineage),
            "data": self._folder.name,
            "keeps_numbers_of": 0,
            "kept": kept,
            "refers": self.refers(lineage),
            "stages": self.stages(lineage),
        }

    def tables(self, lineage: Related) -> tuple[TracedTable, ...]:
        """Write what the cells have by themselves, of each saved thing; of one behind a stage that is nothing."""
        return tuple(
            TracedTable(
                each.name,
                each.version,
                Provider.RESULT,
                self._segments(f"lineage/{number}", lineage.leads.get(each, empty()), self._cells),
            )
            for number, each in enumerate(lineage.origins())
        )

    def refers(self, lineage: Related) -> tuple[StageLineage, ...]:
        """Write where the cells lead in stages."""
        return self._to_stages("lineage", lineage.leads, self._cells)

    def stages(self, lineage: Related) -> tuple[Stage, ...]:
        """Write the stages."""
        found = []
        for number, (cells, leads) in enumerate(lineage.stages):
            place = f"stages/{number}"
            tables = [
                TableLineage(each.name, self._segments(f"{place}/lineage/{at}", leads[each], cells))
                for at, each in enumerate(lineage.origins())
                if each in leads
            ]
            found.append(Stage(cells, tuple(tables), self._to_stages(place, leads, cells)))
        return tuple(found)

    def _to_stages(self, place: str, leads: Leads, cells: int) -> tuple[StageLineage, ...]:
        numbers = sorted(each for each in leads if isinstance(each, int))
        return tuple(
            StageLineage(number, self._segments(f"{place}/stage-{number}", leads[number], cells)) for number in numbers
        )

    def _segments(self, place: str, relation: LineageRelation | None, cells: int) -> tuple[SegmentEntry, ...]:
        if not cells:
            return ()
        relation = BoxRelation.elementwise((cells,), (cells,)) if relation is None else relation
        path = f"{place}/{0:019}.lineage"
        return (write_segment(self._folder, path, relation, first_row=0, rows=cells, form="auto"),)


def lineage_of(node: Node | None, home: str, semantics: str) -> Related:
    """Return the lineage of a state of an array in the saved things of a home; of a plain array, None, there is none.

    Raises:
        NotTracedError: it was made of a tracked array that is not saved.
        ChangedError: it was made of two versions of one thing.

    """
    if node is None:
        return Related()
    found = related(node, home, control=semantics == "control")
    for one, other in pairwise(found.origins()):
        if one.name.lower() == other.name.lower():
            raise ChangedError(
                f"the array was made of {one.name} as version {one.version} and as version {other.version}",
                instead=f"Read {one.name} once more, and compute again.",
            )
    return found


def plain_cells(array: TrackedArray | npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Return the cells in the form of the file: in C order, of a type that every machine reads alike.

    Raises:
        NotTracedError: they are no numbers, or more than an array.

    """
    values = array.shown if isinstance(array, TrackedArray) else array
    if type(values) is not np.ndarray:
        raise NotTracedError(
            f"a {type(values).__name__} is more than its cells", instead="Give a plain array: np.asarray(array)."
        )
    kind = values.dtype.newbyteorder("<")
    if kind.str not in TYPES:
        raise NotTracedError(
            f"an array of {values.dtype} cannot be saved", instead="Convert it to a number type: array.astype(float)."
        )
    return np.array(values, kind, order="C")

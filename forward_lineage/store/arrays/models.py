"""Saving fitted models with the lineage of their parts, and reading them back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from forward_lineage.arrays.graph import SOURCE, Node
from forward_lineage.row_ids.registration_store import Registrations
from forward_lineage.store.arrays.origins import Origin, note_origin
from forward_lineage.store.arrays.saving import Written, check_may_save, check_not_saved, lineage_of
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.made_of import RowFile
from forward_lineage.store.library.row_files import check_row_files, row_file
from forward_lineage.store.library.saved_model import Member, SavedModel
from udafs.errors import NotSavedError

_ARRAYS, _STATE = "fitted/arrays.npy", "fitted/state.json"


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model beside its lineage; the attributes are those of `SavedModel`."""

    estimator: str
    parameters: dict[str, str]
    transforms: bool
    members: tuple[Member, ...]
    folds: int = 0


class SavedModels:
    """Models of a home.

    Args:
        library: the saved things.
        registrations: the registered tables, whose names are taken.

    """

    def __init__(self, library: Library, registrations: Registrations) -> None:
        self._library, self._registrations = library, registrations
        self._home = str(library.folder.absolute())

    def check(self, name: str, semantics: str, mode: str, sources: list[Node]) -> None:
        """Check, before a model is fitted, that it could be saved.

        Args:
            name: for it.
            semantics: of its lineage.
            mode: "overwrite" or "error".
            sources: what it is to be fitted on.

        Raises:
            LineageError: as for `save`.

        """
        check_may_save(self._library, self._registrations, SavedModel, name, semantics=semantics, mode=mode)
        for each in sources:
            lineage_of(each, self._home, semantics)

    def save(
        self,
        node: Node,
        name: str,
        facts: ModelFacts,
        files: tuple[bytes, bytes],
        *,
        semantics: str,
        mode: str,
        keep_versions: bool,
    ) -> SavedModel:
        """Save a model.

        Args:
            node: its parts.
            name: for it.
            facts: about it.
            files: its arrays, and the rest of its state.
            semantics: of its lineage.
            mode: "overwrite" or "error".
            keep_versions: as for results.

        Raises:
            NameTakenError: the name is that of something else.
            NotTracedError: it was fitted on a tracked array that is not saved.
            ChangedError: it was fitted on two versions of one thing.

        """
        check_may_save(self._library, self._registrations, SavedModel, name, semantics=semantics, mode=mode)
        lineage = lineage_of(node, self._home, semantics)
        (parts,) = node.shape

        def draft(newest: int) -> SavedModel:
            if newest and mode == "error":
                check_not_saved(self._library, SavedModel, name)
            return saved

        with self._library.writing(name) as folder:
            written = Written(folder, parts)
            saved = SavedModel(
                **written.facts(name, semantics, lineage, kept=keep_versions),
                arrays=_write(folder, _ARRAYS, files[0], 0, parts),
                state=_write(folder, _STATE, files[1], parts, 0),
                **vars(facts),
            )
            found = self._library.publish(draft)
        note_origin(node, Origin(self._home, found.name, found.version, was_read=False))
        return found

    def read(self, name: str, version: int | None) -> tuple[SavedModel, bytes, bytes, Node]:
        """Return a saved model, the files of its state, and its parts, of which predictions will be made.

        Raises:
            NotSavedError: there is no such model or version.
            DamagedError: a file is missing or damaged; the message names it.

        """
        saved = self._library.saved(name, version)
        if not isinstance(saved, SavedModel):
            raise NotSavedError(
                f"{saved.name} is a saved {saved.called}, and no model", instead="lineage.fit(…, name=…) makes one."
            )
        check_row_files(saved)
        arrays, state = ((saved.folder / each.path).read_bytes() for each in saved.content_files)
        node = Node((saved.rows,), operation=SOURCE, name=saved.name)
        note_origin(node, Origin(self._home, saved.name, saved.version))
        return saved, arrays, state, node


def _write(folder: Path, path: str, content: bytes, first_row: int, rows: int) -> RowFile:
    place = folder / path
    place.parent.mkdir(exist_ok=True)
    with place.open("xb") as file:
        file.write(content)
    return row_file(folder, path, first_row, rows)

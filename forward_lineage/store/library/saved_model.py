"""A kind of saved thing: a fitted model. Its rows are its parts: what lineage tells apart in it.

HOME/results/<name>/data-<random>/      fitted/arrays.npy, fitted/state.json, beside what `saved` says

The state is data: the names of classes, parameters, and arrays in numpy's own format, without pickles. What was made of
a model has it among its tables, as any saved thing; that such a step leads through a model is what its kind says.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from forward_lineage.showing.html import facts_html, table_html
from forward_lineage.storage.mirror import LOCAL, Files
from forward_lineage.store.library.made_of import RowFile
from forward_lineage.store.library.saved import Saved

MODELS = 9  # the format of manifests of models


@dataclass(frozen=True, repr=False, kw_only=True)
class SavedModel(Saved):
    """One version of a saved model.

    Attributes:
        estimator: the name of its class.
        parameters: of the estimator, as Python writes them.
        transforms: whether it is a transformer rather than a predictor.
        groups: the first part of each model in it; of a cross-validation there are several.
        arrays: where its arrays are.
        state: where the rest of its state is.

    """

    kind: ClassVar[str] = "model"
    called: ClassVar[str] = "model"
    contents: ClassVar[str] = "fitted"

    estimator: str
    parameters: dict[str, str]
    transforms: bool
    arrays: RowFile
    state: RowFile
    groups: tuple[int, ...] = (0,)

    def __repr__(self) -> str:
        return self._repr(self.estimator)

    def _repr_html_(self) -> str:
        facts = [("class", self.estimator), ("semantics", self.semantics), ("saved at", self.saved_at)]
        made_of = [[table.name, str(table.version)] for table in self.tables]
        parts = [table_html(("fitted on", "version"), made_of)] if made_of else []
        parts.append(table_html(("parameter", "value"), list(self.parameters.items())))
        return facts_html(f"{self.name}, version {self.version}", facts, parts)

    @property
    def content_files(self) -> tuple[RowFile, ...]:
        """The arrays and the state."""
        return self.arrays, self.state

    @property
    def text(self) -> str:
        """Class and parameters."""
        short = self.estimator.rpartition(".")[2]
        return f"{short}({', '.join(f'{name}={value}' for name, value in self.parameters.items())})"

    def to_data(self) -> dict[str, Any]:
        """Return the manifest as JSON-able data."""
        fields = self.written_fields()
        del fields["ids_end"]
        return {"format": MODELS, "kind": self.kind, **fields}

    @classmethod
    def from_data(cls, data: dict[str, Any], home: Path, files: Files = LOCAL) -> Self:
        """See `Saved.from_data`."""
        found = super().from_data(data, home, files)
        if not found.groups or found.groups[0] != 0 or sorted(set(found.groups)) != list(found.groups):
            raise ValueError("no such model")
        return found

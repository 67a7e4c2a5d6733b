"""A kind of saved thing: a fitted model. Its rows are its parts: what lineage tells apart in it.

HOME/results/<name>/data-<random>/      fitted/arrays.npy, fitted/state.json, beside what `saved` says

The state is data: the names of classes, parameters, and arrays in numpy's own format, without pickles. Predictions have
the model among their tables, like any saved thing that they were made of. Its kind says that the step is a model's.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forward_lineage.showing.html import facts_html, table_html
from forward_lineage.storage.mirror import LOCAL, Files
from forward_lineage.store.library.made_of import RowFile
from forward_lineage.store.library.saved import Saved

MODELS = 9  # the format of manifests of models


PART_COLUMNS = (("estimator", "string"), ("part", "bigint"))
"""The columns of parts as rows, with their types."""


@dataclass(frozen=True)
class Member:
    """An estimator in a model that has a rule of its own: the model itself, or a step of it, or one of a fold.

    Attributes:
        estimator: its class.
        parts: how many parts it has; the last two stand for all of X and all of y.

    """

    estimator: str
    parts: int


@dataclass(frozen=True, repr=False, kw_only=True)
class SavedModel(Saved):
    """One version of a saved model.

    Attributes:
        estimator: the name of its class.
        parameters: of the estimator, as Python writes them.
        transforms: whether it is a transformer rather than a predictor.
        folds: of a cross-validation how many models there are; else 0.
        members: whose parts its rows are, one behind the other.
        arrays: where its arrays are.
        state: where the rest of its state is.

    """

    kind: ClassVar[str] = "model"
    called: ClassVar[str] = "model"
    counted_in: ClassVar[str] = "part"
    contents: ClassVar[str] = "fitted"

    estimator: str
    parameters: dict[str, str]
    transforms: bool
    arrays: RowFile
    state: RowFile
    members: tuple[Member, ...]
    folds: int = 0

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
        said = f"{self.short}({', '.join(f'{name}={value}' for name, value in self.parameters.items())})"
        return f"{self.folds} folds of {said}" if self.folds else said

    @property
    def short(self) -> str:
        """The name of the class without its module."""
        return self.estimator.rpartition(".")[2]

    def part_rows(self, parts: npt.NDArray[np.int64]) -> pa.Table:
        """Return parts as rows; see `PART_COLUMNS`."""
        firsts = np.cumsum([0, *(each.parts for each in self.members)])
        member = np.searchsorted(firsts, parts, side="right") - 1
        names = pa.array([each.estimator for each in self.members], pa.string())
        return pa.table({"estimator": names.take(pa.array(member)), "part": pa.array(parts - firsts[member])})

    def to_data(self) -> dict[str, Any]:
        """Return the manifest as JSON-able data."""
        fields = self.written_fields()
        del fields["ids_end"]
        return {"format": MODELS, "kind": self.kind, **fields}

    @classmethod
    def from_data(cls, data: dict[str, Any], home: Path, files: Files = LOCAL) -> Self:
        """See `Saved.from_data`."""
        found = super().from_data(data, home, files)
        if found.folds < 0 or any(each.parts < 0 for each in found.members):
            raise ValueError("no such model")
        if sum(each.parts for each in found.members) != found.rows:
            raise ValueError("no such parts")
        return found

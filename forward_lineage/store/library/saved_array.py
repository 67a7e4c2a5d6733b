"""A kind of saved thing: an array of numpy. Its rows are its cells, numbered in C order.

HOME/results/<name>/data-<random>/      cells/array.npy, beside what `saved` says

The file is numpy's own format, without pickles. So any reader of `.npy` reads the values, and nothing in it is run.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, ClassVar, Self

from forward_lineage.showing.html import facts_html, table_html
from forward_lineage.storage.mirror import LOCAL, Files
from forward_lineage.store.library.made_of import RowFile
from forward_lineage.store.library.saved import KINDED, Saved

#: Types of cells, as numpy writes them: truth values, integers, floating and complex numbers.
TYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16")


@dataclass(frozen=True, repr=False, kw_only=True)
class SavedArray(Saved):
    """One version of a saved array.

    Attributes:
        shape: lengths of the axes.
        dtype: the type of a cell, one of `TYPES`.
        file: where the cells are.

    """

    kind: ClassVar[str] = "array"
    called: ClassVar[str] = "array"
    counted_in: ClassVar[str] = "cell"
    contents: ClassVar[str] = "cells"

    shape: tuple[int, ...]
    dtype: str
    file: RowFile

    def __repr__(self) -> str:
        return self._repr(f"shape {self.shape}", self.dtype)

    def _repr_html_(self) -> str:
        facts = [("shape", str(self.shape)), ("type", self.dtype)]
        facts += [("semantics", self.semantics), ("saved at", self.saved_at)]
        made_of = [[table.name, str(table.version)] for table in self.tables]
        parts = [table_html(("made of", "version"), made_of)] if made_of else []
        return facts_html(f"{self.name}, version {self.version}", facts, parts)

    @property
    def content_files(self) -> tuple[RowFile, ...]:
        """The one file of the cells."""
        return (self.file,)

    @property
    def text(self) -> str:
        """Shape and type."""
        return f"array of shape {self.shape}, cells {self.dtype}"

    def to_data(self) -> dict[str, Any]:
        """Return the manifest as JSON-able data."""
        fields = self.written_fields()
        del fields["ids_end"]  # cells are replaced with the whole array
        return {"format": KINDED, "kind": self.kind, **fields}

    @classmethod
    def from_data(cls, data: dict[str, Any], home: Path, files: Files = LOCAL) -> Self:
        """See `Saved.from_data`."""
        found = super().from_data(data, home, files)
        if min(found.shape, default=0) < 0 or prod(found.shape) != found.rows or found.dtype not in TYPES:
            raise ValueError("no such array")
        return found

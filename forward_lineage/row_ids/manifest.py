"""What a registration promises, written down: a manifest, one for each version of a table."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from forward_lineage.row_ids.data_files import DataFile
from forward_lineage.spark.names import string_literal
from rewrites.tables import BaseTable
from udafs.errors import LineageError

FORMAT = 1  # of the file; a reader refuses a later one
THIS_MANIFEST = "{manifest}"  # in a row id: stands for the path of the manifest itself, as a SQL string


class Provider(StrEnum):
    """What gives the rows of a table their ids. The values stand in manifests and never change."""

    KEY = "key"  # an integer column of the table
    COLUMN = "column"  # an expression that is a row id already
    POSITION = "position"  # of the row in registered Parquet files
    COPY = "copy"  # the position in a materialised copy
    DICTIONARY = "dictionary"  # a materialised dictionary of any unique key
    RESULT = "result"  # the number of a row of a saved result
    DROPPED = "dropped"  # nothing: the last version of a table that is not registered any more

    @property
    def by_position(self) -> bool:
        """Whether ids are positions in Parquet files that the manifest lists."""
        return self in (Provider.POSITION, Provider.COPY, Provider.RESULT)

    @property
    def numbered(self) -> bool:
        """Whether ids are given out once and never again; the others' are values of the table."""
        return self in (Provider.POSITION, Provider.COPY, Provider.DICTIONARY)


@dataclass(frozen=True)
class Manifest:
    """One version of a table's registration.

    Attributes:
        name: the name that queries use.
        version: counts from 1; every registration that changes anything, and every refresh, adds one.
        provider: what gives the ids.
        columns: the user's columns in order, each with its Spark type.
        relation: see `BaseTable`.
        row_id: see `BaseTable`.
        identified: see `BaseTable`.
        view: SQL of the temporary view that gives the name to queries, when registering made one.
        key: the key columns, or the expression that is the row id.
        order_by: the order of a materialised copy.
        source: where the rows came from: {"path": …}, {"table": …} or {"dataframe": …}, and the format with its
            options.
        identity: for a table of Spark's own catalog, its full name; two tables may answer to one name after `USE`.
        files: the files that a query reads or whose rows the ids were made from.
        next_id: the first id that was never given to a row.
        retired: ranges [first, end) of ids whose rows are gone; they are never given again.
        trusted: whether uniqueness was taken on trust.

    """

    name: str
    provider: Provider
    columns: tuple[tuple[str, str], ...]
    relation: str
    row_id: str
    identified: str | None = None
    version: int = 0
    view: str | None = None
    key: tuple[str, ...] = ()
    order_by: tuple[str, ...] = ()
    source: dict[str, Any] = field(default_factory=dict)
    identity: str | None = None
    files: tuple[DataFile, ...] = ()
    next_id: int = 0
    retired: tuple[tuple[int, int], ...] = ()
    trusted: bool = False

    def base_table(self, path: Path) -> BaseTable:
        """Return what the rules need to know.

        Args:
            path: where this manifest is kept.

        """
        itself = string_literal(str(path))
        return BaseTable(
            self.name,
            tuple(name for name, _ in self.columns),
            self.relation,
            self.row_id.replace(THIS_MANIFEST, itself),
            self.identified and self.identified.replace(THIS_MANIFEST, itself),
        )

    def says_the_same(self, other: Manifest) -> bool:
        """Tell whether the two differ in nothing but the version."""
        return vars(self) | {"version": 0} == vars(other) | {"version": 0}

    def to_json(self) -> str:
        """Write the manifest as JSON, one file of the table a line."""
        head = {key: value for key, value in vars(self).items() if key != "files"}
        text = json.dumps({"format": FORMAT, **head}, indent=1, ensure_ascii=False)
        files = ",\n".join("  " + json.dumps(file.to_json(), ensure_ascii=False) for file in self.files)
        return text.removesuffix("\n}") + ',\n "files": [' + (f"\n{files}\n " if files else "") + "]\n}\n"

    @classmethod
    def from_json(cls, text: str, where: object) -> Manifest:
        """Read a manifest.

        Args:
            text: what `to_json` wrote.
            where: the file it came from, for messages.

        Raises:
            LineageError: it is damaged, or a later release wrote it.

        """
        try:
            data = json.loads(text)
            version = data.pop("format")
            if version > FORMAT:
                raise LineageError(f"{where} has manifest format {version}, this release reads up to {FORMAT}")
            data["provider"] = Provider(data["provider"])
            data["files"] = tuple(DataFile(**file) for file in data["files"])
            data["columns"] = tuple((name, kind) for name, kind in data["columns"])
            data["retired"] = tuple((first, end) for first, end in data["retired"])
            data["key"], data["order_by"] = tuple(data["key"]), tuple(data["order_by"])
            return cls(**data)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise LineageError(
                f"{where} is damaged", instead="Delete that file: the version before it counts then, or register again."
            ) from None

"""The request to register a table, before anything is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from forward_lineage.row_ids.file_locations import Paths, as_list
from forward_lineage.row_ids.secrets import check_path
from forward_lineage.spark.names import data_source, split_name
from forward_lineage.spark.paths import checked_path
from udafs.errors import BadArgumentError

WITH_IDS = ("delta", "iceberg")
"""Table formats that give rows ids, as Spark's readers call them."""


@dataclass(frozen=True)
class Request:
    """The arguments of `ForwardLineage.register`, which describes them."""

    name: str
    key: str | Sequence[str] | None = None
    path: Paths | None = None
    order_by: str | Sequence[str] | None = None
    row_id: str | None = None
    source: DataFrame | str | None = None
    file_format: str = "parquet"
    options: Mapping[str, Any] = field(default_factory=dict)
    trusted: bool = False
    hashes: bool = False

    @property
    def names_a_log(self) -> bool:
        """Whether it names a table of a format whose rows have ids of their own, and wants those."""
        of_format = self.path is not None and self.file_format.lower() in WITH_IDS
        return of_format and self.order_by is None and not self.options

    @property
    def reads_other_files(self) -> bool:
        """Whether it names files that are not Parquet, whose rows have no position."""
        return self.path is not None and self.file_format.lower() != "parquet" and not self.names_a_log

    @property
    def asks_for_a_copy(self) -> bool:
        """Whether rows have to be materialised."""
        return self.order_by is not None or self.source is not None or self.reads_other_files

    @property
    def sort_keys(self) -> list[str]:
        """The order of a copy; empty: as the rows come."""
        if self.order_by is None:
            return []
        return [self.order_by] if isinstance(self.order_by, str) else list(self.order_by)

    def check(self) -> None:
        """Check that the arguments go together.

        Raises:
            BadArgumentError: they do not; the message names two that contradict each other.

        """
        self._refuse_frames()
        self._check_name()
        if self.path is not None:
            for path in as_list(self.path):
                checked_path(Path(path), "path=")
                check_path(str(path))
        if self.path is not None and self.source is not None:
            raise BadArgumentError("path= and source= both say where the rows come from", instead="Give one of them.")
        identifying = self._identifying()
        if len(identifying) > 1:
            raise BadArgumentError(
                f"{' and '.join(identifying)} both say what identifies a row", instead="Give one of them."
            )
        if self.names_a_log and identifying:
            raise BadArgumentError(
                f"{identifying[0]} does not go with a table whose format gives its rows ids",
                instead=f"Leave it out; or name the table as Spark knows it, without path=, and give {identifying[0]}.",
            )
        if (self.reads_other_files or self.source is not None) and identifying == ["row_id="]:
            raise BadArgumentError(
                "row_id= does not go with rows that have to be copied",
                instead="Give key=, a unique column or several; or leave it out: the rows of the copy get dense ids, "
                "in the order of order_by=.",
            )
        if self.hashes and (self.trusted or self.asks_for_a_copy or not (self.row_id or isinstance(self.key, str))):
            raise BadArgumentError(
                "hashes= is for tables that are watched and have one column as key, or row_id=",
                instead="Leave it out: a copy keeps its rows of before; or give key= one column, without trusted=.",
            )
        several = self.key is not None and not isinstance(self.key, str) and not self.reads_other_files
        if self.path is not None and (self.row_id is not None or several):
            files = data_source("parquet", as_list(self.path)[0])
            raise BadArgumentError(
                f"{identifying[0]} needs a table or view that Spark knows",
                instead=f"{'Give one column; or make' if several else 'Make'} a view in the session, and register it: "
                f"CREATE TEMPORARY VIEW {self.name} AS SELECT * FROM {files}.",
            )

    def _refuse_frames(self) -> None:
        """A DataFrame is what is copied, wherever else somebody gives one."""
        given: dict[str, object] = {"its name": self.name, "path=": self.path, "key=": self.key}
        for word, value in given.items():
            if isinstance(value, DataFrame):
                name = "the_name" if word == "its name" else self.name
                raise BadArgumentError(
                    f"{word} is a DataFrame", instead=f'Its rows are copied: lineage.register("{name}", source=frame).'
                )

    def _check_name(self) -> None:
        parts = split_name(self.name)
        makes_a_view = self.path is not None or self.source is not None or self.order_by is not None
        if makes_a_view and len(parts) > 1:
            raise BadArgumentError(
                f"{self.name} cannot be the name of a temporary view",
                instead="Register files and copies under a name of one part.",
            )

    def _identifying(self) -> list[str]:
        given = (("key=", self.key), ("order_by=", self.order_by), ("row_id=", self.row_id))
        return [word for word, value in given if value is not None]


def refuse_unnamed(name: str, given: Sequence[object]) -> None:
    """Refuse a source that is not given by name: a path, a view and a DataFrame are read differently.

    Args:
        name: of the table.
        given: arguments that stand behind it without a name.

    Raises:
        BadArgumentError: there are any.

    """
    if not given:
        return
    kind = type(given[0]).__name__
    word = "source=frame" if kind == "DataFrame" else "path=…" if isinstance(given[0], str | Path) else "source=…"
    raise BadArgumentError(
        f"register({name!r}, …) has a second argument without a name, of type {kind}",
        instead=f'Say what it is: lineage.register("{name}", {word}).',
    )

"""A session over a home, as `--home`, `--catalog` and `--master` say."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from forward_lineage.catalog import Catalog, parquet_tables
from forward_lineage.cli.options import Command, catalog_option, home_option, master_option
from forward_lineage.session import ForwardLineage
from forward_lineage.spark.local import local_session


@dataclass(frozen=True)
class Opening:
    """What a command's session is opened with.

    Attributes:
        home: folder of registrations and results, or an address; None for the usual one.
        catalog: a JSON catalog or a folder of Parquet files; None for the registered tables.
        master: Spark master.

    """

    home: Path | str | None
    catalog: Path | None
    master: str

    @contextmanager
    def session(self, command: str) -> Iterator[ForwardLineage]:
        """Start Spark over the home, with the tables of the catalog if one is given, and stop it at the end.

        A session that runs in this process already is used as it is and left running.
        """
        running = SparkSession.getActiveSession()
        spark = running or local_session(f"forward-lineage {command}", master=self.master)
        try:
            lineage = ForwardLineage(spark, self.home)
            if self.catalog is not None:
                _use_catalog(lineage, self.catalog)
            yield lineage
        finally:
            if running is None:
                spark.stop()

    @contextmanager
    def session_to_look(self, command: str) -> Iterator[ForwardLineage]:
        """Open one for a command that saves nothing: with a catalog, which says all, and no home, none stays."""
        with ExitStack() as stack:
            opening = self
            if self.catalog is not None and self.home is None:
                opening = replace(self, home=Path(stack.enter_context(tempfile.TemporaryDirectory())))
            yield stack.enter_context(opening.session(command))


def session_options(command: Command) -> Command:
    """Add `--home`, `--catalog` and `--master`; the command gets them as one argument, `opening`."""

    @home_option
    @catalog_option
    @master_option
    @wraps(command)
    def with_opening(*, home: Path | str | None, catalog_path: Path | None, master: str, **others: Any) -> Any:
        return command(opening=Opening(home, catalog_path, master), **others)

    return with_opening


def _use_catalog(lineage: ForwardLineage, path: Path) -> None:
    """Make the tables of a JSON catalog, or the Parquet files and folders in a folder, known to a session.

    Raises:
        LineageError: there is no such catalog, or one of its tables cannot be read.

    """
    if not path.is_dir():
        lineage.use(Catalog.from_json(path))
        return
    for name, place in parquet_tables(path).items():
        lineage.register(name, path=place)

"""A session over a home, as `--home`, `--catalog` and `--master` say."""

from __future__ import annotations

import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from forward_lineage.catalog import Catalog, parquet_tables
from forward_lineage.cli.files_to_register import check_files
from forward_lineage.cli.inputs import is_catalog_file
from forward_lineage.cli.options import Command, catalog_option, home_option, master_option
from forward_lineage.cli.stopping import note_begun
from forward_lineage.row_ids.catalog_file import read_catalog_file
from forward_lineage.row_ids.registration_store import home_folder

if TYPE_CHECKING:
    from forward_lineage.embedded.questions import Questions
    from forward_lineage.session import ForwardLineage


class Opening(ABC):
    """Gives a command the session that it needs.

    Attributes:
        home: folder of registrations and results, or an address; None for the usual one.
        catalog: tables that are known in the session alone, or are not registered yet; None: there are none.

    """

    home: Path | str | None
    catalog: Path | None

    @property
    def is_running(self) -> bool:
        """Whether Spark runs already in this process."""
        pyspark = sys.modules.get("pyspark")
        return pyspark is not None and pyspark.SparkContext._active_spark_context is not None

    @abstractmethod
    def session(self, command: str) -> AbstractContextManager[ForwardLineage]:
        """Give a session over the home, with the tables of the catalog.

        Raises:
            LineageError: the catalog cannot be read; said before Spark starts.

        """

    @cached_property
    def questions(self) -> Questions:
        """The one object that answers questions to the home without Spark; it keeps the lineage that it has read."""
        from forward_lineage.embedded.questions import Questions  # noqa: PLC0415 - not where Spark is asked anyway

        return Questions(home_folder(self.home))

    @abstractmethod
    def session_to_look(self, command: str) -> AbstractContextManager[ForwardLineage]:
        """Give one to a command that saves nothing: with a catalog, which says all, and no home, none stays."""


@dataclass(frozen=True)
class NewSession(Opening):
    """A session of the command's own.

    Attributes:
        home: folder of registrations and results, or an address; None for the usual one.
        catalog: a catalog file, a JSON catalog or a folder of Parquet files; None for the registered tables.
        master: Spark master.

    """

    home: Path | str | None
    catalog: Path | None
    master: str

    @contextmanager
    def session(self, command: str) -> Iterator[ForwardLineage]:
        """Start Spark, and stop it at the end; one that runs in this process is used as it is and left running."""
        use_catalog = None if self.catalog is None else _reader(self.catalog)
        from pyspark.sql import SparkSession  # noqa: PLC0415 - a command that needs no Spark does not wait for it

        from forward_lineage.session import ForwardLineage  # noqa: PLC0415
        from forward_lineage.spark.interrupts import interruptible  # noqa: PLC0415
        from forward_lineage.spark.local import local_session  # noqa: PLC0415

        running = SparkSession.getActiveSession()
        with _warehouse_left_as_it_was(), ExitStack() as ends:
            with _status("starting Spark …"):
                spark = running or local_session(f"forward-lineage {command}", master=self.master)
                if running is None:
                    ends.callback(spark.stop)
                ends.enter_context(interruptible(spark))
                lineage = ForwardLineage(spark, self.home)
            if use_catalog is not None:
                with _status("registering the tables of the catalog …"):
                    use_catalog(lineage)
            note_begun()
            yield lineage

    @contextmanager
    def session_to_look(self, command: str) -> Iterator[ForwardLineage]:
        """Give one to a command that saves nothing: with a catalog, which says all, and no home, none stays."""
        with ExitStack() as stack:
            opening = self
            if self.catalog is not None and self.home is None:
                opening = replace(self, home=Path(stack.enter_context(tempfile.TemporaryDirectory())))
            yield stack.enter_context(opening.session(command))


@contextmanager
def _status(what: str) -> Iterator[None]:
    """Say what is being done, where somebody can see it."""
    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(what):
        yield


@contextmanager
def _warehouse_left_as_it_was() -> Iterator[None]:
    """Remove the folder of tables that Spark makes where it is started, if it was not there and nothing is in it."""
    folder = Path("spark-warehouse").absolute()
    before = folder.exists()
    try:
        yield
    finally:
        if not before:
            with suppress(OSError):  # it holds tables, or is not there
                folder.rmdir()


def session_options(command: Command) -> Command:
    """Add `--home`, `--catalog` and `--master`; the command gets them as one argument, `opening`."""

    @home_option
    @catalog_option
    @master_option
    @wraps(command)
    def with_opening(*, home: Path | str | None, catalog_path: Path | None, master: str, **others: Any) -> Any:
        kept = click.get_current_context().find_object(Opening)  # type: ignore[type-abstract]  # the shell's, whose session all of them have
        return command(opening=kept or NewSession(home, catalog_path, master), **others)

    return with_opening


def _reader(path: Path) -> Callable[[ForwardLineage], None]:
    """Read a catalog; returns what makes its tables known to a session.

    Raises:
        LineageError: there is no such catalog, or it is none.

    """
    if path.is_dir():
        tables = parquet_tables(path)
        return lambda lineage: [lineage.register(name, path=place) for name, place in tables.items()].clear()
    if is_catalog_file(path):
        entries = read_catalog_file(path)
        for entry in entries:
            check_files(entry.request)
        return lambda lineage: [lineage.register(each.name, **each.arguments) for each in entries].clear()
    catalog = Catalog.from_json(path)
    return lambda lineage: lineage.use(catalog)

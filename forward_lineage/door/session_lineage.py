"""The results of a session's statements: as `ForwardLineage` over the application's home has them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.results import meaning_of
from forward_lineage.row_ids.catalog_file import Entry, read_catalog_file
from forward_lineage.row_ids.registration_store import Registrations, home_folder
from forward_lineage.session import ForwardLineage
from udafs.errors import ChangedError

HOME = "spark.forward_lineage.home"
CATALOG = "spark.forward_lineage.catalog"
SEMANTICS = "spark.forward_lineage.semantics"
IDS = "spark.forward_lineage.ids"


@dataclass(frozen=True)
class Settings:
    """The settings that the application was started with; no session changes them.

    Attributes:
        home: where registrations and results are; None for the usual place.
        catalog: the catalog file whose tables are registered; None: there is none.
        lock: of two sessions that begin one waits.

    """

    home: str | None = None
    catalog: Path | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    _registered: list[Entry] = field(default_factory=list)

    @classmethod
    def of(cls, conf: Any) -> Settings:
        """Read them from Spark's configuration."""
        catalog = conf.get(CATALOG, "")
        return cls(conf.get(HOME, "") or None, Path(catalog) if catalog else None)

    def register(self, lineage: ForwardLineage, *, again: bool = False) -> None:
        """Register the tables of the catalog file: those that no session here has registered yet, or all.

        Raises:
            LineageError: the file cannot be read, or a table of it not be registered.

        """
        known = {name.lower() for name in lineage.tables()}
        for entry in () if self.catalog is None else read_catalog_file(self.catalog):
            if again or entry not in self._registered or entry.name.lower() not in known:
                lineage.register(entry.name, **entry.arguments)
                self._registered.append(entry)


class SessionLineage:
    """The lineage of a session whose statements come from a SQL client.

    A `ForwardLineage` keeps the registrations that it began with; here it is made anew when there are others, since
    nobody is there to make one.

    Args:
        spark: the session.
        settings: of the application.

    """

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self._spark, self._settings = spark, settings
        self._registrations = Registrations(home_folder(settings.home))
        self._lineage: ForwardLineage | None = None
        self._seen: dict[str, int] = {}

    def prepared(self, sql: str) -> DataFrame | str:
        """Return what is run in the place of a statement; see `ForwardLineage.to_run`.

        A table of the catalog file that has changed is registered again, as the commands do it with `--catalog`.

        Raises:
            LineageError: as `ForwardLineage.sql`; the catalog file cannot be read, or a table of it not be registered.

        """
        try:
            return self._prepared(sql)
        except ChangedError:
            if self._settings.catalog is None:
                raise
        self._begin(again=True)
        return self._prepared(sql)

    def _prepared(self, sql: str) -> DataFrame | str:
        lineage = self._lineage
        if lineage is None or self._registrations.newest_versions() != self._seen:
            lineage = self._begin()
        found = lineage.to_run(sql, self._spark.conf.get(SEMANTICS, "data") or "data")
        wanted = str(self._spark.conf.get(IDS, "false")).lower() == "true"
        return _to_be_read(lineage, found) if wanted and isinstance(found, DataFrame) else found

    def _begin(self, *, again: bool = False) -> ForwardLineage:
        with self._settings.lock:
            lineage = ForwardLineage(self._spark, self._settings.home)
            self._settings.register(lineage, again=again)
            self._seen = self._registrations.newest_versions()
        self._lineage = lineage
        return lineage


def _to_be_read(lineage: ForwardLineage, frame: DataFrame) -> DataFrame:
    """Let the lineage of rows be ids, and under LINEAGE ON values, as arrays."""
    meaning = meaning_of(frame)
    if meaning is None:
        return frame  # made of no registered table
    return lineage.granules(frame) if meaning.get("granules") else lineage.ids(frame)

"""The tables and saved results of a home as files, for a command that reads them with a home of its own."""

from __future__ import annotations

from pathlib import Path

from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.registration_store import Registrations
from forward_lineage.spark.paths import is_far
from forward_lineage.storage.homes import Home
from forward_lineage.storage.mirror import LOCAL
from forward_lineage.store.library.library import Library


def files_in_home(home: Home) -> tuple[dict[str, Path], list[str]]:
    """Return the files of what is registered and saved, and the names of what is not in Parquet files of this machine.

    Args:
        home: where they are.

    Returns:
        name in lower case → the file or folder of its rows; names without one, sorted.

    """
    manifests = (each for each in Registrations(home).readable()[0] if each.provider is not Provider.RESULT)
    places = {each.name: _place(each) for each in manifests}
    for saved in Library(home).results():
        places[saved.name] = saved.rows_folder if saved.files is LOCAL and saved.rows_folder.is_dir() else None
    found = {name.lower(): place for name, place in places.items() if place is not None}
    return found, sorted(name for name, place in places.items() if place is None)


def _place(manifest: Manifest) -> Path | None:
    """Where the rows of a table are; None: only Spark reads them."""
    source = manifest.source
    copied = manifest.provider is Provider.COPY
    place = source.get("data") if copied else source.get("path")
    if place is None or is_far(place) or not manifest.near or manifest.provider.by_format:
        return None
    if not copied and source.get("format", "parquet") != "parquet":
        return None
    return Path(place) if Path(place).exists() else None

"""Registered tables in words: what is registered, how its rows are identified, where they are."""

from __future__ import annotations

from typing import Any

from forward_lineage.cli.plain_text import in_one_line
from forward_lineage.row_ids.file_locations import described
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.showing.plain_text import counted


def in_words(manifest: Manifest) -> str:
    """Say in a line what is registered."""
    rows = f", {counted(rows_of(manifest), 'row')}" if knows_rows(manifest) else ""
    columns = f"{len(manifest.columns)} column{'s' if len(manifest.columns) != 1 else ''}"
    trust = ", on trust" if manifest.trusted else ""
    return f"{manifest.name}, version {manifest.version}: {columns}{rows}, ids {identified_by(manifest)}{trust}"


def knows_rows(manifest: Manifest) -> bool:
    """Tell whether a registration says how many rows there are."""
    return manifest.provider.by_position


def rows_of(manifest: Manifest) -> int:
    """Return how many rows a registration by position has."""
    return sum(file.rows for file in manifest.files)


def identified_by(manifest: Manifest) -> str:
    """Say what gives the rows of a table their ids, to stand behind the word `ids`."""
    match manifest.provider:
        case Provider.KEY | Provider.COLUMN:
            return f"from {', '.join(manifest.key) or manifest.row_id}{_in_a_copy(manifest)}"
        case Provider.DICTIONARY:
            return f"from a dictionary of {', '.join(manifest.key)}{_in_a_copy(manifest)}"
        case Provider.COPY:
            order = f", ordered by {', '.join(manifest.order_by)}" if manifest.order_by else ""
            return f"by position in a copy{order}"
        case Provider.DELTA | Provider.ICEBERG:
            return f"from {manifest.provider.value.capitalize()}"
    many = len(manifest.files)
    return f"by position in {many} file{'s' if many != 1 else ''}"


def _in_a_copy(manifest: Manifest) -> str:
    return ", in a copy" if manifest.copied_from else ""


def place_of(manifest: Manifest) -> str:
    """Say where the rows of a table are."""
    source = manifest.copied_from or manifest.source
    if manifest.identity is not None:
        return manifest.identity
    if manifest.copied_from and ("path" in source or "paths" in source):
        return described({key: each for key, each in source.items() if key != "data"})
    if "dataframe" in source:
        return "a DataFrame"
    if manifest.copied_from and "table" in source:
        return str(source["table"])
    if source.keys() & {"path", "paths", "data"}:
        return described(source)
    return str(source.get("table") or source.get("relation") or manifest.name)


def options_of(manifest: Manifest) -> dict[str, str]:
    """Return the options that files are read with, secrets among them by reference."""
    return {str(name): str(value) for name, value in manifest.copied_from.get("options", {}).items()}


def as_object(manifest: Manifest) -> dict[str, Any]:
    """Return what is known of a table for JSON."""
    known: dict[str, Any] = {
        "table": manifest.name,
        "version": manifest.version,
        "ids": manifest.provider.value,
        "key": list(manifest.key),
        "columns": dict(manifest.columns),
        "from": place_of(manifest),
        "format": (manifest.copied_from or manifest.source).get("format"),
        "options": dict(options_of(manifest)),
        "trusted": manifest.trusted,
        "files": len(manifest.files),
    }
    return known | {"rows": rows_of(manifest)} if knows_rows(manifest) else known


def described_table(manifest: Manifest) -> str:
    """Return what is known of a table, a line for each thing."""
    source = manifest.copied_from or manifest.source
    options = options_of(manifest)
    lines = {
        "table": f"{manifest.name}, version {manifest.version}",
        "from": place_of(manifest) + (f" ({source['format']})" if "format" in source else ""),
        **({"options": ", ".join(f"{name}={value}" for name, value in options.items())} if options else {}),
        "ids": identified_by(manifest),
        "rows": f"{rows_of(manifest):,}" if knows_rows(manifest) else "not counted",
        "columns": ", ".join(f"{column} {kind}" for column, kind in manifest.columns),
    }
    return "\n".join(f"{title:8} {in_one_line(said)}" for title, said in lines.items())

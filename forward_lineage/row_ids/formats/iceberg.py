"""Iceberg tables: a snapshot of the table, and the ids of its rows, from metadata, manifest list and manifests.

Source: the Iceberg Table Spec (format/spec.md of apache/iceberg), version 3: "Row Lineage", "First Row ID Inheritance",
"Sequence Number Inheritance". The id of a row is the value in its file's column `_row_id`, else the file's
`first_row_id` + its position. That of a file is written in its manifest, or inherited from the manifest's.

The metadata is read here, since libraries do not hand out what is needed: pyiceberg 0.12 reads manifests as those of
version 2, without `first_row_id`. fastavro reads the Avro in it.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from forward_lineage.extras import import_extra
from forward_lineage.row_ids.formats import deletion_vectors
from forward_lineage.row_ids.formats.log_files import LogPath, beside, fetch, is_file, is_folder, names_in
from forward_lineage.row_ids.formats.snapshot import LiveFile, Snapshot, damaged, other_reader
from forward_lineage.spark.paths import is_address
from udafs.errors import ChangedError, LineageError, NotTracedError
from udafs.lineage_set import LineageSet

KIND = "Iceberg"
ROW_ID = "_row_id"
ROW_CHANGED = "_last_updated_sequence_number"
ROW_ID_FIELD, ROW_CHANGED_FIELD = 2147483540, 2147483539
_SUFFIX = ".metadata.json"
_NUMBERED = re.compile(r"v(\d+)(?:\.gz)?\.metadata\.json")
_VERSION = 3
_EXISTING, _ADDED, _DELETED = range(3)
_DATA, _DELETES = range(2)
_EQUALITY_DELETES = 2
_TYPES = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
    "string": "string",
    "binary": "binary",
}
#: Types whose values in metadata CAST reads as they stand there.
_WRITTEN_PLAINLY = {"boolean", "int", "long", "date", "string"}
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")


def is_table(folder: LogPath) -> bool:
    """Tell whether a folder holds an Iceberg table, or a path is a metadata file of one."""
    if folder.name.endswith(_SUFFIX):
        return is_file(folder)
    metadata = folder / "metadata"
    return is_folder(metadata) and any(name.endswith(_SUFFIX) for name in names_in(metadata))


def current_metadata(place: LogPath) -> LogPath:
    """Return the metadata file of the current version.

    Args:
        place: that file itself; or the folder of a table that no catalog keeps, in which versions count from 1.

    Raises:
        ChangedError: it is gone.
        NotTracedError: only a catalog knows which it is.

    """
    if place.name.endswith(_SUFFIX):
        if not place.is_file():
            raise ChangedError(f"there is no {place}", instead="Put it back, or register another version.")
        return place
    metadata = place / "metadata"
    names = names_in(metadata)
    found = {int(match[1]): name for name in names if (match := _NUMBERED.fullmatch(name))}
    if found:
        return metadata / found[max(found)]
    raise _no_version(place, any(name.endswith(_SUFFIX) for name in names))


def _no_version(place: LogPath, of_a_catalog: bool) -> LineageError:
    if of_a_catalog:
        return NotTracedError(
            f"which version of the {KIND} table in {place} is the current one only its catalog knows",
            instead="Give path= the metadata file that the catalog names (pyiceberg: table.metadata_location).",
        )
    return ChangedError(f"there is no {KIND} table in {place}", instead="Put it back, or register another one.")


def read(place: LogPath, snapshot_id: int | None = None) -> Snapshot:
    """Read a snapshot of a table.

    Args:
        place: see `current_metadata`.
        snapshot_id: which one; None: the current one.

    Raises:
        ChangedError: there is no such table or snapshot.
        DamagedError: a part of the metadata is missing, or is not what the spec says.
        NotTracedError: rows have no ids, or are not just those of the table's Parquet files.
        SetupError: fastavro is not installed.

    """
    path = current_metadata(place)
    data = path.read_bytes()
    table = _json(data, path)
    what = f"the {KIND} table in {table.get('location')}"
    _check_version(table, what)
    wanted = table.get("current-snapshot-id") if snapshot_id is None else snapshot_id
    if snapshot_id is not None:  # which is read with the columns of then, whether or not it is the current one
        table = {**table, "current-snapshot-id": None}
    snapshot = next((each for each in table.get("snapshots", ()) if each["snapshot-id"] == wanted), None)
    if snapshot is None:
        raise ChangedError(f"{what} has no snapshot {wanted}", instead="Write rows into it first, or name another one.")
    if snapshot.get("first-row-id") is None:
        raise NotTracedError(
            f"{what} was brought to version {_VERSION} after its last commit, so its rows have no ids yet",
            instead="Commit something to it, which gives them ids, and register it then.",
        )
    columns, field_ids = _columns(table, snapshot, what)
    return Snapshot(
        kind=KIND,
        table_id=str(table["table-uuid"]),
        location=str(table["location"]),
        version=str(snapshot["snapshot-id"]),
        log=str(path),
        digest=hashlib.sha256(data).hexdigest(),
        order=int(snapshot["sequence-number"]),
        columns=columns,
        files=tuple(sorted(_live(path, snapshot, what), key=lambda file: file.first_id)),
        next_id=int(table["next-row-id"]),
        row_id=ROW_ID,
        row_changed=ROW_CHANGED,
        defaults=_defaults(table, snapshot, what),
        field_ids={**field_ids, ROW_ID: ROW_ID_FIELD, ROW_CHANGED: ROW_CHANGED_FIELD},
    )


def metadata_of(place: LogPath) -> Mapping[str, Any]:
    """Return the metadata of the current version; see `current_metadata`."""
    path = current_metadata(place)
    return _json(path.read_bytes(), path)


def _json(data: bytes, path: LogPath) -> Mapping[str, Any]:
    try:
        found = json.loads(gzip.decompress(data) if path.name.endswith(".gz" + _SUFFIX) else data)
    except (ValueError, OSError):
        raise damaged(KIND, str(path), "is no JSON") from None
    if not isinstance(found, dict):
        raise damaged(KIND, str(path), "is no JSON object")
    return found


def _check_version(table: Mapping[str, Any], what: str) -> None:
    version = table.get("format-version")
    if version in (1, 2):
        raise NotTracedError(
            f"{what} has format version {version}, in which rows have no ids",
            instead=f"Say ALTER TABLE … SET TBLPROPERTIES ('format-version' = '{_VERSION}'); or give key=, with the "
            "name that Spark knows the table by.",
        )
    if version != _VERSION:
        raise other_reader(what, f"has format version {version}")


def _columns(
    table: Mapping[str, Any], snapshot: Mapping[str, Any], what: str
) -> tuple[tuple[tuple[str, str], ...], dict[str, int]]:
    """Return names and Spark types of the columns that a snapshot has now, and the ids of all fields in them."""
    schema = _schema(table, snapshot)
    ids: dict[str, int] = {}
    columns = tuple((field["name"], _field(field, field["name"], ids, what)) for field in schema["fields"])
    return columns, ids


def _schema(table: Mapping[str, Any], snapshot: Mapping[str, Any]) -> Mapping[str, Any]:
    wanted = table.get("current-schema-id")
    if snapshot["snapshot-id"] != table.get("current-snapshot-id"):
        wanted = snapshot.get("schema-id", wanted)
    schema = next((each for each in table["schemas"] if each.get("schema-id") == wanted), None)
    if schema is None:
        raise damaged(KIND, str(table.get("location")), f"has no schema {wanted}")
    return dict(schema)


def _defaults(table: Mapping[str, Any], snapshot: Mapping[str, Any], what: str) -> dict[str, str]:
    """Return what columns are in files that were written before them, as text that CAST reads."""
    found = {}
    for field in _schema(table, snapshot)["fields"]:
        value = field.get("initial-default")
        if value is None:
            continue
        if field["type"] not in _WRITTEN_PLAINLY and not _DECIMAL.fullmatch(str(field["type"])):
            raise other_reader(what, f"has a column {field['name']} with a value for rows that were written before it")
        found[field["name"]] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def _field(field: Mapping[str, Any], path: str, ids: dict[str, int], what: str) -> str:
    if field.get("initial-default") is not None and "." in path:
        raise other_reader(what, f"has a field {path} with a value for rows that were written before it")
    ids[path] = int(field["id"])
    return _type(field["type"], path, ids, what)


def _type(said: Any, path: str, ids: dict[str, int], what: str) -> str:
    if isinstance(said, str):
        if match := _DECIMAL.fullmatch(said):
            return f"decimal({match[1]},{match[2]})"
        if said not in _TYPES:
            raise other_reader(what, f"has a column {path} of type {said}")
        return _TYPES[said]
    match said["type"]:
        case "struct":
            inner = [(each["name"], _field(each, f"{path}.{each['name']}", ids, what)) for each in said["fields"]]
            return f"struct<{','.join(f'{name}:{kind}' for name, kind in inner)}>"
        case "list":
            ids[f"{path}[]"] = int(said["element-id"])
            return f"array<{_type(said['element'], f'{path}[]', ids, what)}>"
        case "map":
            ids[f"{path}{{}}"], ids[f"{path}[]"] = int(said["key-id"]), int(said["value-id"])
            key = _type(said["key"], f"{path}{{}}", ids, what)
            return f"map<{key},{_type(said['value'], f'{path}[]', ids, what)}>"
    raise other_reader(what, f"has a column {path} of type {said['type']}")


# ------------------------------------------------------------ manifests


def _live(place: LogPath, snapshot: Mapping[str, Any], what: str) -> Iterator[LiveFile]:
    """Yield the data files of a snapshot of the table at a place, each with the rows that are gone from it."""
    vectors: dict[str, tuple[int, LineageSet]] = {}
    files: list[LiveFile] = []
    listed = _avro(_found(snapshot["manifest-list"], place, what))
    paths = [_found(manifest["manifest_path"], place, what) for manifest in listed]
    fetch(paths)
    for manifest, path in zip(listed, paths, strict=True):
        if manifest.get("content", _DATA) == _DELETES:
            for file, sequence, deleted in _vectors(manifest, path, what):
                if file in vectors:
                    raise damaged(KIND, str(path), f"has two deletion vectors of {file}")
                vectors[file] = sequence, deleted
        elif manifest.get("first_row_id") is None:
            raise damaged(KIND, str(path), "has no first_row_id in the manifest list")
        else:
            files += _of_manifest(manifest, path, what)
    for each in files:
        sequence, deleted = vectors.get(each.path, (-1, LineageSet()))
        yield replace(each, deleted=deleted) if each.changed <= sequence else each


def _vectors(manifest: Mapping[str, Any], path: LogPath, what: str) -> Iterator[tuple[str, int, LineageSet]]:
    """Yield the deletion vectors of a manifest: of which file, its sequence number, the positions."""
    entries = [(entry, entry["data_file"]) for entry in _avro(path) if entry["status"] != _DELETED]
    for _, file in entries:
        if file.get("content") == _EQUALITY_DELETES:
            raise other_reader(
                what, "has equality deletes, of which a row that is written anew gets another id, and rows"
            )
        if str(file["file_format"]).lower() != "puffin" or file.get("referenced_data_file") is None:
            raise other_reader(
                what, "has rows that position deletes take out (rewrite_position_delete_files writes them anew)"
            )
    parts = [(_found(file["file_path"], path, what), *_blob(file)) for _, file in entries]
    fetch((), parts)
    for (entry, file), part in zip(entries, parts, strict=True):
        deleted = deletion_vectors.of_iceberg(*part, int(file["record_count"]))
        yield _data_place(file["referenced_data_file"], path), _sequence(entry, manifest, path), deleted


def _blob(file: Mapping[str, Any]) -> tuple[int, int]:
    return int(file["content_offset"]), int(file["content_size_in_bytes"])


def _of_manifest(manifest: Mapping[str, Any], path: LogPath, what: str) -> Iterator[LiveFile]:
    next_id = int(manifest["first_row_id"])
    for entry in _avro(path):
        if entry["status"] == _DELETED:  # its ids are written down
            continue
        file = entry["data_file"]
        first = file.get("first_row_id")
        if first is None:
            first, next_id = next_id, next_id + int(file["record_count"])
        if str(file["file_format"]).lower() != "parquet":
            raise other_reader(what, f"has {str(file['file_format']).upper()} files")
        if file.get("key_metadata") is not None:
            raise other_reader(what, "has encrypted files")
        sequence = _sequence(entry, manifest, path)
        yield LiveFile(_data_place(file["file_path"], path), int(first), sequence, int(file["record_count"]))


def _sequence(entry: Mapping[str, Any], manifest: Mapping[str, Any], path: LogPath) -> int:
    found = entry.get("sequence_number")
    if found is None:
        if entry["status"] != _ADDED:
            raise damaged(KIND, str(path), "has a file without a sequence number")
        found = manifest["sequence_number"]
    return int(found)


def place_of(path: str) -> str:
    """Return the path of a location: plain text, nothing encoded, mostly with a scheme."""
    if path.startswith("file:"):
        return "/" + path.removeprefix("file:").lstrip("/")
    return path


def _data_place(location: str, manifest: LogPath) -> str:
    """Return the same for a data file that a manifest names; a path without a scheme is where the session has those."""
    plain = not isinstance(manifest, Path) and not is_address(location)
    return str(beside(manifest, location)) if plain else place_of(location)


def _found(location: str, place: LogPath, what: str) -> LogPath:
    """Return where a location leads that the metadata at some place names."""
    found = beside(place, location)
    if found is None:
        raise other_reader(what, f"has its metadata on another file system ({location.partition(':')[0]}:)")
    return found


def _avro(path: LogPath) -> list[Mapping[str, Any]]:
    reader = import_extra("fastavro", "iceberg", "the metadata of an Iceberg table needs").reader
    try:
        return [row for row in reader(io.BytesIO(path.read_bytes())) if isinstance(row, dict)]
    except FileNotFoundError:
        raise damaged(KIND, str(path), "is missing") from None
    except (ValueError, EOFError, KeyError, IndexError) as error:
        raise damaged(KIND, str(path), f"is no Avro file ({error})") from None

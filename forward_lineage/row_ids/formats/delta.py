"""Delta tables: a version of the table, and the ids of its rows, from the transaction log.

Source: the Delta Transaction Log Protocol (PROTOCOL.md of delta-io/delta): "Action Reconciliation", "Checkpoints", "Row
Tracking". The stable id of a row is what its file has in the materialised column, else `baseRowId` + its position.

The log is read here, since libraries do not hand out what is needed: deltalake 1.6 gives no `baseRowId`.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from pyspark.sql.types import StructType

from forward_lineage.row_ids.formats import deletion_vectors
from forward_lineage.row_ids.formats.log_files import LogPath, beside, fetch, is_folder, names_in
from forward_lineage.row_ids.formats.snapshot import LiveFile, Snapshot, damaged, digest_of, other_reader
from forward_lineage.spark.paths import address_of, is_address, is_local, local_path
from udafs.errors import ChangedError, DamagedError, LineageError, NotTracedError
from udafs.lineage_set import LineageSet

KIND = "Delta"
LOG = "_delta_log"
_COMMIT = re.compile(r"(\d{20})\.json")
#: version, and of a checkpoint in several parts the part's number and how many there are, of others a UUID and its form
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.[0-9a-fA-F-]{36})?\.(parquet|json)")
_DOMAIN = "delta.rowTracking"
_ID, _CHANGED = (f"{_DOMAIN}.materializedRow{what}ColumnName" for what in ("Id", "CommitVersion"))
#: Features of readers that are taken into account here, or do not matter to who reads the rows of Parquet files.
_HARMLESS = {
    *("timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "deletionVectors", "columnMapping"),
    *("typeWidening", "typeWidening-preview"),
}
_PHYSICAL = "delta.columnMapping.physicalName"
_NEWEST_READER = 3
_ON = "ALTER TABLE … SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')"
_ACTIONS = ("protocol", "metaData", "add", "remove", "domainMetadata", "sidecar")

Action = Mapping[str, Any]


@dataclass
class State:
    """The state of a table that a log gives up to some version.

    Attributes:
        protocol, metadata: the last such actions.
        tracking: the log's statement of row tracking, ``rowIdHighWaterMark``.
        files: the live files' actions, by the path that stands there.

    """

    protocol: Action = field(default_factory=dict)
    metadata: Action = field(default_factory=dict)
    tracking: Action = field(default_factory=dict)
    files: dict[str, Action] = field(default_factory=dict)

    def apply(self, actions: Iterable[Action], where: str) -> None:
        """Apply the actions of a commit, which are in no order, or of a checkpoint."""
        added: dict[str, Action] = {}
        for action in actions:
            for kind, said in action.items():
                match kind:
                    case "protocol":
                        self.protocol = said
                    case "metaData":
                        self.metadata = said
                    case "domainMetadata" if said["domain"] == _DOMAIN:
                        self.tracking = {} if said.get("removed") else json.loads(said["configuration"])
                    case "remove":
                        live = self.files.get(said["path"])
                        if live is not None and _vector(live) == _vector(said):
                            del self.files[said["path"]]
                    case "add":
                        if said["path"] in added:
                            raise damaged(KIND, where, f"adds {said['path']} twice")
                        added[said["path"]] = said
        self.files |= added

    @property
    def configuration(self) -> Mapping[str, str]:
        """The table's properties."""
        return dict(self.metadata.get("configuration") or ())

    @property
    def tracks_rows(self) -> bool:
        """Whether ids can be relied on, and are kept when rows are moved or changed."""
        said = {key: str(value).lower() == "true" for key, value in self.configuration.items()}
        supported = "rowTracking" in (self.protocol.get("writerFeatures") or ())
        return (
            supported
            and said.get("delta.enableRowTracking", False)
            and not said.get("delta.rowTrackingSuspended", False)
        )


def is_table(folder: LogPath) -> bool:
    """Tell whether a folder holds a Delta table."""
    return is_folder(folder / LOG)


def current_version(folder: LogPath) -> int:
    """Return the number of the last commit, by a listing of the log.

    Raises:
        ChangedError: the table is gone.

    """
    return max(commits(folder))


def commit_file(folder: LogPath, version: int) -> LogPath:
    """Return where a commit is written down."""
    return folder / LOG / f"{version:020}.json"


def read(folder: LogPath, version: int | None = None) -> Snapshot:
    """Read a version of a table from its log.

    Args:
        folder: the table's.
        version: which one; None: the last.

    Raises:
        ChangedError: there is no such version.
        DamagedError: a part of the log is missing, or is not what the protocol says.
        NotTracedError: rows have no ids that last, or are not just those of the table's Parquet files.

    """
    wanted = current_version(folder) if version is None else version
    log = commit_file(folder, wanted)
    digest = digest_of(log)
    if digest is None:
        raise ChangedError(f"{log} is missing", instead="Name a version that the log has.")
    state = replayed(folder, wanted)
    what = f"the {KIND} table in {folder}"
    _check_ids(state, what)
    _check_readable(state, what)
    _fetch_vectors(state, folder)
    schema = json.loads(state.metadata["schemaString"])
    columns = StructType.fromJson(schema).fields
    mapped = _mapping(state) == "name"
    return Snapshot(
        kind=KIND,
        table_id=str(state.metadata["id"]),
        location=str(folder),
        version=str(wanted),
        log=str(log),
        digest=digest,
        order=wanted,
        columns=tuple((column.name, column.dataType.simpleString()) for column in columns),
        files=tuple(
            sorted((_live(add, state, folder) for add in state.files.values()), key=lambda file: file.first_id)
        ),
        next_id=int(state.tracking["rowIdHighWaterMark"]) + 1 if state.tracking else 0,
        row_id=state.configuration.get(_ID, ""),
        row_changed=state.configuration.get(_CHANGED, ""),
        physical={field["name"]: tuple(_paths(field)) for field in schema["fields"]} if mapped else {},
    )


def kept_ids(folder: LogPath, since: int, until: int) -> bool | None:
    """Tell whether row tracking was on in every version from one to another; None: the log does not reach back so far.

    Where it was off, ids may have been given anew.
    """
    known = commits(folder)
    if not all(version in known for version in range(since, until + 1)):
        return None
    try:
        state = replayed(folder, since)
    except DamagedError:  # what came before is cleared away
        return None
    fetch(commit_file(folder, version) for version in range(since, until + 1))
    for version in range(since, until + 1):
        state.apply(_of_commit(folder, version), known[version])
        if not state.tracks_rows:
            return False
    return True


def commits(folder: LogPath) -> dict[int, str]:
    """Return the numbers of the commits in a log, each with the name of its file.

    Raises:
        ChangedError: the table is gone.

    """
    found = {int(match[1]): name for name in names_in(folder / LOG) if (match := _COMMIT.fullmatch(name))}
    if not found:
        raise ChangedError(f"there is no {KIND} table in {folder}", instead="Put it back, or register another one.")
    return found


def replayed(folder: LogPath, version: int) -> State:
    """Return what the log says up to a version: by the newest checkpoint that is whole, and the commits after it.

    Raises:
        DamagedError: a part of the log is missing, or is not what the protocol says.

    """
    begun, parts = _checkpoint(folder, version)
    state, since = State(), range(begun + 1, version + 1)
    fetch([*(folder / LOG / part for part in parts), *(commit_file(folder, each) for each in since)])
    if parts:
        actions = [action for part in parts for action in _of_checkpoint(folder / LOG / part)]
        sidecars = [_sidecar(folder, action["sidecar"]["path"]) for action in actions if "sidecar" in action]
        fetch(sidecars)
        actions += [each for path in sidecars for each in _of_checkpoint(path)]
        state.apply(actions, parts[0])
    for each in since:
        state.apply(_of_commit(folder, each), f"{each:020}.json")
    if not state.metadata or not state.protocol:
        raise damaged(KIND, str(folder / LOG), "says nothing of the table's columns, or of its protocol")
    return state


def _checkpoint(folder: LogPath, version: int) -> tuple[int, list[str]]:
    """Return the version and the files of the newest checkpoint up to a version; -1 and none where there is none."""
    found: dict[tuple[int, int], list[str]] = {}
    for name in sorted(names_in(folder / LOG)):
        if (match := _CHECKPOINT.fullmatch(name)) and int(match[1]) <= version:
            of = int(match[3] or 1)
            parts = found.setdefault((int(match[1]), of), [])
            parts.append(name)
    whole = [(at, parts if of > 1 else parts[:1]) for (at, of), parts in found.items() if of == 1 or len(parts) == of]
    return max(whole, default=(-1, []))


def _sidecar(folder: LogPath, path: str) -> LogPath:
    if not is_address(path):
        return folder / LOG / "_sidecars" / unquote(path)
    found = beside(folder, place_of(path, folder))
    if found is None:
        raise damaged(KIND, path, "lies on another file system than the table")
    return found


def _of_commit(folder: LogPath, version: int) -> Iterator[Action]:
    path = commit_file(folder, version)
    try:
        yield from _of_lines(path.read_bytes(), path.name)
    except FileNotFoundError:
        raise damaged(KIND, path.name, "is missing") from None


def _of_lines(data: bytes, name: str) -> list[Action]:
    try:
        actions = [json.loads(line) for line in data.splitlines() if line.strip()]
    except ValueError:
        raise damaged(KIND, name, "is no JSON") from None
    if not all(isinstance(action, dict) for action in actions):
        raise damaged(KIND, name, "has something that is no action")
    return actions


def _of_checkpoint(path: LogPath) -> list[Action]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise damaged(KIND, path.name, "is missing") from None
    return _of_lines(data, path.name) if path.name.endswith(".json") else _of_rows(data, path.name)


def _of_rows(data: bytes, name: str) -> list[Action]:
    import pyarrow as arrow  # noqa: PLC0415 - half a second that a table of another kind does not need
    from pyarrow import parquet  # noqa: PLC0415

    try:
        opened = parquet.ParquetFile(io.BytesIO(data))
        rows = opened.read(columns=[kind for kind in _ACTIONS if kind in opened.schema_arrow.names]).to_pylist()
    except arrow.ArrowException:
        raise damaged(KIND, name, "is no Parquet file") from None
    return [{kind: said for kind, said in row.items() if said is not None} for row in rows]


def _vector(action: Action) -> str | None:
    """The unique id of the deletion vector of a logical file."""
    vector = action.get("deletionVector")
    if vector is None:
        return None
    offset = vector.get("offset")
    return f"{vector['storageType']}{vector['pathOrInlineDv']}" + ("" if offset is None else f"@{offset}")


def _check_ids(state: State, what: str) -> None:
    if not state.tracks_rows:
        raise NotTracedError(
            f"{what} does not track rows, so that rewriting a file gives its rows other ids",
            instead=f"Switch it on: {_ON}. Or give key=, with the name that Spark knows the table by.",
        )
    if without := next((path for path, add in state.files.items() if add.get("baseRowId") is None), None):
        raise damaged(KIND, without, "has no baseRowId, although the table tracks rows")


def _check_readable(state: State, what: str) -> None:
    features = set(state.protocol.get("readerFeatures") or ())
    if "catalogManaged" in features or "catalogOwned-preview" in features:
        raise other_reader(what, "is managed by a catalog, which has commits that its log has not")
    if int(state.protocol["minReaderVersion"]) > _NEWEST_READER or features - _HARMLESS:
        said = ", ".join(sorted(features - _HARMLESS)) or f"reader version {state.protocol['minReaderVersion']}"
        raise other_reader(what, f"needs {said}")
    mode = _mapping(state)
    if mode not in ("none", "name"):
        raise other_reader(what, f"has columns under other names in its files (column mapping by {mode})")


def _mapping(state: State) -> str:
    return state.configuration.get("delta.columnMapping.mode", "none").lower()


def _paths(field: Action) -> Iterator[str]:
    """Yield the names that files have for a column and what is in it, each after what it is in."""
    name = str(field["metadata"][_PHYSICAL])
    yield name
    yield from _inside(field["type"], name)


def _inside(kind: Any, path: str) -> Iterator[str]:
    match kind:
        case {"type": "struct"}:
            for field in kind["fields"]:
                yield from (f"{path}.{each}" for each in _paths(field))
        case {"type": "array"}:
            yield f"{path}[]"
            yield from _inside(kind["elementType"], f"{path}[]")
        case {"type": "map"}:
            yield f"{path}{{}}"
            yield from _inside(kind["keyType"], f"{path}{{}}")
            yield f"{path}[]"
            yield from _inside(kind["valueType"], f"{path}[]")


def _fetch_vectors(state: State, folder: LogPath) -> None:
    vectors = (add["deletionVector"] for add in state.files.values() if add.get("deletionVector") is not None)
    fetch((), [part for vector in vectors if (part := deletion_vectors.place_of(vector, folder)) is not None])


def _live(add: Action, state: State, folder: LogPath) -> LiveFile:
    try:
        said = dict(add.get("partitionValues") or ())
        names = _partition_names(state)
        vector = add.get("deletionVector")
        return LiveFile(
            path=place_of(add["path"], folder),
            first_id=int(add["baseRowId"]),
            changed=int(add["defaultRowCommitVersion"]),
            rows=json.loads(add.get("stats") or "{}").get("numRecords"),
            partition={column: said[name] or None for column, name in names.items()},
            deleted=LineageSet() if vector is None else deletion_vectors.of_delta(vector, folder),
        )
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, LineageError):
            raise
        raise damaged(KIND, str(add.get("path")), f"is not described as the protocol says ({error})") from None


def _partition_names(state: State) -> dict[str, str]:
    """Return the partition columns, each with the name that the log has for it."""
    columns = list(state.metadata.get("partitionColumns") or ())
    if _mapping(state) == "none":
        return dict(zip(columns, columns, strict=True))
    fields = {field["name"]: field for field in json.loads(state.metadata["schemaString"])["fields"]}
    return {column: str(fields[column]["metadata"][_PHYSICAL]) for column in columns}


def place_of(path: str, folder: LogPath) -> str:
    """An `add`'s path is a URI, relative to the table's folder or absolute."""
    if is_address(path):
        return str(local_path(path)) if is_local(path) else address_of(path)
    return str(folder / unquote(path)) if not path.startswith("/") else unquote(path)

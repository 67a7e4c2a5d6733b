"""Sketches under a home: captured once, then used by every session that asks a query which they serve.

HOME/sketches/<template>/<name>.json      one capture: its query, its tables, its sketches; sealed, immutable

They say nothing that the tables do not say. Damaged ones, and those of other tables or of another time, are passed over
and cleared away, not mourned. The facts to use one safely stand with it: the state of *every* table that the query
reads, and the settings on which values depend. Tables without a sketch are among them, since all of them decide which
rows matter.   [PBDS, §8; that data changes is its future work]
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from forward_lineage.columns.ranges import Partition, Sketch, runs_of
from forward_lineage.storage.fields import made, plain
from forward_lineage.storage.local_folder import LocalFolder
from forward_lineage.storage.sealed import seal, unseal
from udafs.errors import DamagedError, LineageError, SetupError

ROOM = "sketches"


@dataclass(frozen=True)
class _SketchFields:
    """A sketch as it is written.

    Attributes:
        table: the registered table.
        column: whose ranges.
        bounds: the bounds of the ranges, an Arrow stream of one column, base64.
        fragments: those that matter, as runs (first, last).

    """

    table: str
    column: str
    bounds: str
    fragments: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, sketch: Sketch) -> _SketchFields:
        partition = sketch.partition
        return cls(partition.table, partition.column, _text_of(partition.bounds), tuple(runs_of(sketch.fragments)))

    def sketch(self) -> Sketch:
        fragments = tuple(each for first, last in self.fragments for each in range(first, last + 1))
        return Sketch(Partition(self.table, self.column, _bounds_of(self.bounds)), fragments)


@dataclass(frozen=True)
class Capture:
    """The capture of one run of a query.

    Attributes:
        template: what queries of its kind have in common, a short name.
        sql: the query.
        args: values of its parameters; None: it has none.
        settings: of the session, on which values depend.
        states: for each table that the query reads what it was: its name, the digest of its registration.
        sketches: one for each table that is read in part.
        milliseconds: that capturing took.
        size: bytes of all tables that the query reads.
        kept_size: bytes of what is left of them, as far as pages are skipped.
        rows: that the query returned, if it has LIMIT and they are as many as it says, or fewer; None: not known.
        has_grown: whether rows were appended since, and their fragments added (`growing`).
        one_witness: whether of some groups only rows that attain their `min` and `max` are sure to be in it.
        name: of the file.

    """

    template: str
    sql: str
    args: dict[str, Any] | list[Any] | None
    settings: tuple[str, ...]
    states: tuple[tuple[str, str], ...]
    sketches: tuple[Sketch, ...]
    milliseconds: int
    size: int
    kept_size: int
    rows: int | None = None
    has_grown: bool = False
    one_witness: bool = False
    name: str = ""

    @property
    def gain(self) -> float:
        """The part of the bytes that need not be read, from 0 to 1."""
        return 1 - self.kept_size / self.size if self.size else 0.0


_OF_PATH = ("template", "name")  # what the place of a file says of it


class KeptSketches:
    """The sketches under a home, as a session knows them.

    Args:
        home: the folder of registrations and results; written when the first sketch is kept.

    """

    def __init__(self, home: Path) -> None:
        self._place = LocalFolder(home / ROOM)
        self._read: dict[str, Capture] = {}  # by key; none ever changes

    def of(self, template: str) -> list[Capture]:
        """Return what was captured of queries of a kind, by whatever session; in the order of their names."""
        return [found for name in sorted(self._place.objects(template)) if (found := self._get(template, name))]

    def all(self) -> Iterator[Capture]:
        """Yield everything that was captured."""
        for template in sorted(self._place.folders("")):
            yield from self.of(template)

    def size(self, captured: Capture) -> int:
        """Return the bytes that a capture takes on disk; 0 when it is gone."""
        with suppress(OSError):
            return self._place.path(_key(captured)).stat().st_size
        return 0

    def put(self, captured: Capture) -> Capture:
        """Keep what was captured; returns it with its name.

        Raises:
            SetupError: the home cannot be written.

        """
        named = replace(captured, name=uuid.uuid4().hex[:16])
        values = ((each.name, getattr(named, each.name), each.default) for each in fields(named))
        written = {name: value for name, value, default in values if name not in _OF_PATH and value != default}
        sketches = [asdict(_SketchFields.of(each)) for each in named.sketches]
        self._place.put_new(_key(named), seal(written | {"sketches": sketches}))
        self._read[_key(named)] = named
        return named

    def drop(self, captured: Capture) -> None:
        """Forget what was captured.

        Raises:
            SetupError: the home cannot be written.

        """
        self._read.pop(_key(captured), None)
        self._place.delete(_key(captured))

    def _get(self, template: str, file: str) -> Capture | None:
        key = f"{template}/{file}"
        if not file.endswith(".json"):
            return None
        if key not in self._read:
            try:
                self._read[key] = _captured(unseal(self._place.get(key), key), template, file.removesuffix(".json"))
            except SetupError:  # of a later release, or not ours to read
                return None
            except (LineageError, ValueError, TypeError, KeyError):
                with suppress(LineageError):
                    self._place.delete(key)
                return None
        return self._read[key]


def _captured(data: Mapping[str, Any], template: str, name: str) -> Capture:
    given = {
        "template": template,
        "name": name,
        "args": plain(data["args"]),
        "sketches": tuple(made(_SketchFields, each).sketch() for each in data["sketches"]),
    }
    other = {key: value for key, value in data.items() if key not in ("format", "args", "sketches")}
    return made(Capture, other, **given)


def _key(captured: Capture) -> str:
    return f"{captured.template}/{captured.name}.json"


def _text_of(bounds: pa.Array) -> str:
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([bounds], ["bound"])
    options = pa.ipc.IpcWriteOptions(compression="zstd")  # ascending numbers: a fifth of their bytes
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode()


def _bounds_of(text: str) -> pa.Array:
    try:
        with pa.ipc.open_stream(pa.py_buffer(base64.b64decode(text, validate=True))) as reader:
            return reader.read_all().column(0).combine_chunks()
    except (pa.ArrowException, ValueError, IndexError) as error:
        raise DamagedError(f"the bounds of a sketch are damaged: {error}") from None

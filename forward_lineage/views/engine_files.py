"""An engine as arrays on disk, and back.

Files: ``<v>.codes``, ``<v>.order``, ``<v>.starts`` (or those of a sparse membership) for each view v; ``<v>.bars``;
``measure<m>.values``, ``measure<m>.valid``; ``cube<c>.<part>`` and ``cube<c>.bars``; ``ids``, unless ids are 0, 1, 2,
….
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from forward_lineage.columns.array_cache import ArrayReader, Writer
from forward_lineage.storage.fields import made
from forward_lineage.views import cubes
from forward_lineage.views.cubes import Cube, Limits
from forward_lineage.views.engine import Engine, engine_of
from forward_lineage.views.linked import LinkedViews
from forward_lineage.views.measures import Measure, MeasurePart
from forward_lineage.views.membership import Dense, Membership, Sparse
from forward_lineage.views.view import Aggregate, View
from udafs.errors import DamagedError


class Form(StrEnum):
    """How a membership is kept. The values stand in manifests and never change."""

    DENSE = "dense"
    SPARSE = "sparse"


@dataclass(frozen=True)
class ViewEntry:
    """A view: its name, the form of its membership, and for each column how it is computed (see `Aggregate`)."""

    name: str
    form: Form
    bars: int
    aggregates: tuple[tuple[str, int, int] | None, ...]


@dataclass(frozen=True)
class CubeEntry:
    """A cube: its views, its parts (see `Part`), and the view of which it has some bars only."""

    views: tuple[int, ...]
    parts: tuple[tuple[str, int], ...]
    in_part: int | None


@dataclass(frozen=True)
class Entries:
    """The meaning of the arrays in a folder; for each measure whether all rows have a value."""

    rows: int
    views: tuple[ViewEntry, ...]
    measures: tuple[bool, ...]
    cubes: tuple[CubeEntry, ...]


def cubes_of(
    memberships: Sequence[Membership],
    parts: Sequence[tuple[MeasurePart, ...]],
    measures: tuple[Measure, ...],
    limits: Limits,
) -> list[Cube]:
    """Make the cubes of some views. A view whose rows are in several bars has none: its bars do not add up."""
    numbers = [number for number, each in enumerate(memberships) if isinstance(each, Dense)]
    dense = [each for each in memberships if isinstance(each, Dense)]
    found = []
    few = cubes.planned(dense, limits)
    for views in (*few, *cubes.further(dense, [parts[number] for number in numbers], few, limits)):
        wanted = dict.fromkeys(part for view in views for part in parts[numbers[view]])
        cube = cubes.made(dense, views, wanted, measures)
        found += [cube, *(cube.pairs() if views in few else ())]
    for view, target, places in cubes.partly(dense, limits):
        found.append(cubes.made(dense, (view, target), parts[numbers[target]], measures, {view: places}))
    return [
        Cube(tuple(numbers[v] for v in cube.views), cube.counted, {numbers[v]: at for v, at in cube.bars_of.items()})
        for cube in found
    ]


def write(writer: Writer, views: Sequence[View], engine: Engine, ids: npt.NDArray[np.int64] | None) -> None:
    """Write an engine and its views; what the writer allocated is written already."""
    for number, (view, membership) in enumerate(zip(views, engine.memberships, strict=True)):
        writer.put_table(f"{number}.bars", view.bars)
        for name, array in membership.arrays().items():
            if f"{number}.{name}" not in writer:
                writer.put(f"{number}.{name}", array)
    for number, measure in enumerate(engine.measures):
        for name, array in measure.arrays().items():
            if f"measure{number}.{name}" not in writer:
                writer.put(f"measure{number}.{name}", array)
    for number, cube in enumerate(engine.cubes):
        for part, cells in cube.counted.items():
            writer.put(f"cube{number}.{part.kind}{part.measure}", cells)
        for places in cube.bars_of.values():
            writer.put(f"cube{number}.bars", np.asarray(places))
    if ids is not None and "ids" not in writer:
        writer.put("ids", ids)
    writer.finish(asdict(_entries(views, engine)))


def read(reader: ArrayReader, table: tuple[str, int], trusted: bool) -> LinkedViews:
    """Open an engine that was written.

    Raises:
        DamagedError: the entry about the arrays cannot be.

    """
    try:
        said = made(Entries, reader.described)
        memberships = [_membership(reader, number, each, said.rows) for number, each in enumerate(said.views)]
        views = [_view(reader, number, each) for number, each in enumerate(said.views)]
        measures = [_measure(reader, number, all_valid) for number, all_valid in enumerate(said.measures)]
        ready = [_cube(reader, number, each) for number, each in enumerate(said.cubes)]
    except (ValueError, KeyError) as error:
        raise DamagedError(
            f"the views' manifest is damaged: {error}", instead="Delete the folder of the views."
        ) from None
    engine = engine_of(memberships, [view.parts for view in views], measures, ready)
    return LinkedViews(views, engine, table, reader.get("ids"), trusted=trusted)


def _membership(reader: ArrayReader, number: int, said: ViewEntry, rows: int) -> Membership:
    if said.form is Form.DENSE:
        codes, order, starts = (reader[f"{number}.{name}"] for name in ("codes", "order", "starts"))
        return Dense(said.bars, codes, order, starts)
    arrays = (reader[f"{number}.{name}"] for name in ("members", "starts", "bar", "row_starts"))
    return Sparse(said.bars, rows, *arrays)


def _view(reader: ArrayReader, number: int, said: ViewEntry) -> View:
    aggregates = tuple(None if each is None else Aggregate(*each) for each in said.aggregates)  # type: ignore[arg-type]
    return View(said.name, reader.table(f"{number}.bars"), aggregates)


def _measure(reader: ArrayReader, number: int, all_valid: bool) -> Measure:
    return Measure(reader[f"measure{number}.values"], None if all_valid else reader[f"measure{number}.valid"])


def _cube(reader: ArrayReader, number: int, said: CubeEntry) -> Cube:
    counted = {MeasurePart(*part): reader[f"cube{number}.{part[0]}{part[1]}"] for part in said.parts}  # type: ignore[arg-type]
    bars_of = {} if said.in_part is None else {said.in_part: reader[f"cube{number}.bars"]}
    return Cube(said.views, counted, bars_of)


def _entries(views: Sequence[View], engine: Engine) -> Entries:
    return Entries(
        engine.memberships[0].rows,
        tuple(
            ViewEntry(
                view.name,
                Form.DENSE if isinstance(membership, Dense) else Form.SPARSE,
                membership.bars,
                tuple(each and (each.function, each.measure, each.scale) for each in view.aggregates),
            )
            for view, membership in zip(views, engine.memberships, strict=True)
        ),
        tuple(measure.valid is None for measure in engine.measures),
        tuple(
            CubeEntry(
                cube.views, tuple((part.kind, part.measure) for part in cube.counted), next(iter(cube.bars_of), None)
            )
            for cube in engine.cubes
        ),
    )

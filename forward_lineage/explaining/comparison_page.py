"""A comparison as panels: from the number down to columns, groups of parts, base rows, and the results in between."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from forward_lineage.explaining.attributing import BaseRow, Part
from forward_lineage.explaining.comparison import (
    ColumnChange,
    Comparison,
    RowChange,
    TableMoves,
    base_row_text,
    explanation_text,
    signed,
)
from forward_lineage.explaining.page import Code, Images, Item, Panel
from forward_lineage.explaining.step_rows import BaseImages, StepChange, StepRows
from forward_lineage.explaining.told_answer import value_text, values_text
from forward_lineage.showing.plain_text import counted
from forward_lineage.store.library.saved_result import SavedResult
from udafs.errors import LineageError
from udafs.lineage_set import LineageSet

_ROWS, _PARTS, _IDS, _STEPS = 100, 50, 30, 12
_MOST_PANELS = 1_000  # of results in between
_IMAGES = ("before", "after")


class ComparisonWalk:
    """Makes the panels of a comparison.

    Args:
        rows: finds what rows were made of.
        then: the earlier version.
        now: the later version.

    """

    def __init__(self, rows: StepRows, then: SavedResult, now: SavedResult) -> None:
        self._rows, self._then, self._now = rows, then, now
        self._read: dict[str, BaseImages] = {}
        self._left = _MOST_PANELS

    def start(self, found: Comparison) -> Panel:
        """Return where the walk begins."""
        shown = found.rows[:_ROWS]
        self._read_images(shown)
        items = [self._row_item(found, row, row is shown[0]) for row in shown]
        more = len(found.rows) - len(shown)
        lines = [f"by {', '.join(found.key)}"] if found.key else []
        lines += [f"and {counted(more, 'more row')}"] if more else []
        lines += [f"Note: {note}" for note in found.notes]
        return Panel("rows that differ", found.title, "", lines, items, code=[Code("query", self._now.text)])

    # ------------------------------------------------------------ rows and columns

    def _row_item(self, found: Comparison, row: RowChange, first: bool) -> Item:
        label = values_text(row.key) or "the row"
        said = "; ".join(f"{each.column} {_from_to(each)}" for each in row.columns[:3])
        items = [self._column_item(found, each) for each in row.columns]
        if items:
            at = max(range(len(items)), key=lambda place: abs(items[place].bar))
            items[at] = replace(items[at], chosen=True)
        items += self._step_items(self._then, self._now, row.numbers)
        items += [self._moves_item(each) for each in row.tables if each]
        panel = Panel("row", label, row.change, items=items)
        return Item(label, said, row.change, chosen=first, panel=panel)

    def _column_item(self, found: Comparison, column: ColumnChange) -> Item:
        amount = "" if column.difference is None else signed(column.difference)
        lines = []
        if column.remainder:
            lines.append(f"{signed(column.remainder)} is a remainder: {column.reason or 'rounding'}")
        elif column.reason:
            lines.append(f"not attributed: {column.reason}")
        ranked = found.explanations.get(column.column, ())
        lines += [f"Of all rows: {explanation_text(each)}" for each in ranked[:3]]
        items = self._groups(found.by, column, [each.values for each in ranked])
        panel = Panel("column", column.column, f"{_from_to(column)}{f' ({amount})' if amount else ''}", lines, items)
        bar = 0.0 if not column.difference else _share(column.difference, abs(column.difference))
        return Item(column.column, _from_to(column), amount, bar if items else bar / 100, "Columns", panel=panel)

    def _groups(self, by: Sequence[str], column: ColumnChange, ranked: Sequence[Any]) -> list[Item]:
        if not by:
            return self._part_items(column.parts)
        groups: dict[tuple[Any, ...], list[tuple[Part, Fraction]]] = defaultdict(list)
        for part, amount in column.parts:
            groups[part.by].append((part, amount))
        sums = {values: sum((amount for _, amount in parts), Fraction(0)) for values, parts in groups.items()}
        most = max((abs(each) for each in sums.values()), default=Fraction(0))

        def rank(values: tuple[Any, ...]) -> tuple[int, Fraction]:
            named = dict(zip(by, values, strict=True))
            places = (at for at, each in enumerate(ranked) if all(named.get(key) == each[key] for key in each))
            return next(places, len(ranked)), -abs(sums[values])

        items = []
        for values in sorted(groups, key=rank)[:_PARTS]:
            named, amount = values_text(dict(zip(by, values, strict=True))), sums[values]
            below = self._part_items(groups[values])
            panel = Panel("group", named, signed(amount), [counted(len(groups[values]), "part")], below)
            bar = _share(amount, most)
            items.append(Item(named, counted(len(groups[values]), "part"), signed(amount), bar, "Ranked", panel=panel))
        return [replace(items[0], chosen=True), *items[1:]] if items else []

    # ------------------------------------------------------------ base rows

    def _part_items(self, parts: Sequence[tuple[Part, Fraction]]) -> list[Item]:
        ordered = sorted(parts, key=lambda found: -abs(found[1]))
        most = abs(ordered[0][1]) if ordered else Fraction(0)
        items = [self._part_item(part, amount, most) for part, amount in ordered[:_PARTS]]
        if len(ordered) > _PARTS:
            rest = sum((amount for _, amount in ordered[_PARTS:]), Fraction(0))
            items.append(Item(counted(len(ordered) - _PARTS, "more part"), "", signed(rest), head="Base rows"))
        return [replace(items[0], chosen=True), *items[1:]] if items else []

    def _part_item(self, part: Part, amount: Fraction, most: Fraction) -> Item:
        label = ", ".join(map(base_row_text, part.rows[:3])) or "no base row"
        label += f" and {len(part.rows) - 3:,} more" if len(part.rows) > 3 else ""
        before, after = part.joined
        lines = [f"{counted(before, 'joined row')} before, {after:,} after"]
        lines += ["They explain it together: none is the cause alone."] if len(part.rows) > 1 else []
        panel = Panel("base rows", label, signed(amount), lines, images=self._images(part.rows))
        return Item(label, "", signed(amount), _share(amount, most), "Base rows", panel=panel)

    def _moves_item(self, moves: TableMoves) -> Item:
        kinds = (("joined", moves.joined), ("left", moves.left), ("differs", moves.differs))
        said = ", ".join(f"{len(ids):,} {'other values' if kind == 'differs' else kind}" for kind, ids in kinds if ids)
        items = []
        for kind, ids in kinds:
            for each in ids.ids()[:_IDS].tolist():
                row = BaseRow(moves.table, int(each), kind)
                panel = Panel("base row", base_row_text(row), images=self._images([row]))
                items.append(Item(base_row_text(row), panel=panel))
            if len(ids) > _IDS:
                items.append(Item(f"{len(ids) - _IDS:,} more {kind}"))
        panel = Panel("lineage", moves.table, said, [moves.note] if moves.note else [], items)
        return Item(moves.table, said or moves.note, head="Made of base rows", panel=panel)

    def _images(self, rows: Iterable[BaseRow]) -> list[Images]:
        found = []
        for row in list(rows)[:_IDS]:
            read = self._image_of(row)
            if read.note:
                found.append(Images(f"{base_row_text(row)}: {read.note}", (), (), ()))
                continue
            both = read.before.get(row.row_id), read.after.get(row.row_id)
            found.append(_two(base_row_text(row), read.columns, *both))
        return found

    def _image_of(self, row: BaseRow) -> BaseImages:
        read = self._read.get(row.table.lower())
        if read is None or not (read.note or row.row_id in read.before or row.row_id in read.after):
            return self._rows.images(row.table, LineageSet([row.row_id]))
        return read

    def _read_images(self, shown: Sequence[RowChange]) -> None:
        wanted: dict[str, set[int]] = defaultdict(set)
        for row in shown:
            for column in row.columns:
                for part, _ in sorted(column.parts, key=lambda each: -abs(each[1]))[: _PARTS * 4]:
                    for base in part.rows[:_IDS]:
                        wanted[base.table].add(base.row_id)
            for moves in row.tables:
                for ids in (moves.joined, moves.left, moves.differs):
                    wanted[moves.table].update(ids.ids()[:_IDS].tolist())
        for table, listed in wanted.items():
            self._read[table.lower()] = self._rows.images(table, LineageSet(sorted(listed)))

    # ------------------------------------------------------------ results in between

    def _step_items(self, then: SavedResult, now: SavedResult, numbers: tuple[int | None, int | None]) -> list[Item]:
        try:
            found = list(self._rows.results(then, now, numbers))
        except LineageError as error:
            return [Item("rows of a result in between are not told", error.what, head="Made of results")]
        items = [self._step_item(each) for each in found[:_STEPS] if self._left > 0]
        if len(found) > len(items):
            items.append(Item(counted(len(found) - len(items), "more row"), head="Made of results"))
        return items

    def _step_item(self, step: StepChange) -> Item:
        self._left -= 1
        names = [name for name, _ in step.now.columns]
        row = step.row
        label = f"{step.now.name}: {', '.join(map(value_text, row.key)) or 'the row'}"
        before, after = (None if side is None else side[1] for side in (row.before, row.after))
        items = self._step_items(step.then, step.now, row.numbers)
        moved = [each for each in self._rows.moves(step.then, step.now, row.numbers) if each]
        items += [self._moves_item(each) for each in moved]
        title = f"{step.now.name}, version {step.then.version} → {step.now.version}"
        images = [_two(f"row {row.change}", names, before, after)]
        panel = Panel("step", title, row.change, items=items, images=images, code=[Code("query", step.now.text)])
        return Item(label, row.change, head="Made of results", panel=panel)


def _two(title: str, names: Sequence[str], before: Sequence[Any] | None, after: Sequence[Any] | None) -> Images:
    rows, differs = [], []
    for at, name in enumerate(names):
        values = [None if side is None else value_text(side[at]) for side in (before, after)]
        rows.append((name, *values))
        differs.append(values[0] != values[1])
    return Images(title, _IMAGES, rows, differs)


def _from_to(column: ColumnChange) -> str:
    return f"{value_text(column.before)} → {value_text(column.after)}"


def _share(amount: Fraction, most: Fraction) -> float:
    return float(amount / most) if most else 0.0

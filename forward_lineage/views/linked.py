"""`LinkedViews`: what `ForwardLineage.views` gives. Anybody may brush them at once, each with a hand of their own."""

from __future__ import annotations

import difflib
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forward_lineage.views.brushes import BrushedRows, Selection
from forward_lineage.views.engine import Choice, Engine, Known
from forward_lineage.views.measures import ROWS, Counted
from forward_lineage.views.membership import Array, Chosen, Dense
from forward_lineage.views.view import View
from udafs.errors import BadArgumentError
from udafs.lineage_set import LineageSet

_REMEMBERED = 8


@dataclass(frozen=True, eq=False)
class Answer:
    """The rows that brushes leave of every view.

    A view without a brush shows the base rows that are chosen in all views with one. A view with a brush shows those
    that are chosen in all *others*, so that its own bars stay there to be chosen.

    Attributes:
        ways: how each view was answered, e.g. ``cube`` or ``change by rows``.
        rows: how many base rows all brushes together leave.

    """

    ways: Mapping[str, str]
    rows: int
    _views: Mapping[str, View]
    _counted: Mapping[str, Counted]

    def __getitem__(self, view: str) -> npt.NDArray[np.int64]:
        """How many base rows each bar of a view has: int64, shape (bars,)."""
        counted = self._counted[known_view(self._views, view)]
        return counted[ROWS][:-1]

    def table(self, view: str) -> pa.Table:
        """Return the rows of a view, in their order, with the aggregates of the base rows that are left.

        The columns and their types are those of the view's query; as in Spark, the sum of nothing is NULL. Those of a
        saved result do not change: counts do not say what its query would make of fewer rows.
        """
        name = known_view(self._views, view)
        return self._views[name].table(self._counted[name])


class LinkedViews:
    """Views over the same base rows, ready to be brushed.

    Nothing here changes and no Spark job runs, so any number of threads may use it; what somebody has brushed is kept
    by their `Hand`.

    Args:
        views: as people see them.
        engine: what answers, its views in the same order.
        table: the table that the base rows are of, and its version.
        ids: the row id of each base row, ascending; None: they are 0, 1, 2, ….
        trusted: whether the table is taken on trust.

    Attributes:
        table_name: the registered table.
        version: the version of its registration that the views show. When the table changes, so must the views:
            `ForwardLineage.views` makes them again.
        trusted: whether the table was registered with ``trusted=True``: nobody would notice a change.

    """

    def __init__(
        self,
        views: Sequence[View],
        engine: Engine,
        table: tuple[str, int],
        ids: npt.NDArray[np.int64] | None = None,
        *,
        trusted: bool = False,
    ) -> None:
        self._views = {view.name: view for view in views}
        self._numbers = {view.name: number for number, view in enumerate(views)}
        self.engine, self._ids = engine, ids
        self.table_name, self.version = table
        self.trusted = trusted

    @property
    def names(self) -> tuple[str, ...]:
        """The views, in order."""
        return tuple(self._views)

    @property
    def rows(self) -> int:
        """How many base rows there are."""
        return self.engine.memberships[0].rows

    def bars(self, view: str) -> pa.Table:
        """Return the rows of a view without a brush; bars are counted in this order, from 0.

        Raises:
            BadArgumentError: there is no such view.

        """
        return self._views[known_view(self._views, view)].bars

    def keys(self, view: str) -> list[int]:
        """Return which columns of a view say what a bar is, by place: all but its aggregates; of a saved result all.

        Raises:
            BadArgumentError: there is no such view.

        """
        aggregates = self._views[known_view(self._views, view)].aggregates
        return [place for place, each in enumerate(aggregates) if each is None]

    def is_total(self, view: str, place: int) -> bool:
        """Tell whether a column of a view is a count or a sum, which may be added up over bars.

        Raises:
            BadArgumentError: there is no such view.

        """
        aggregate = self._views[known_view(self._views, view)].aggregates[place]
        return aggregate is not None and aggregate.function != "avg"

    def find(self, view: str, **values: Any) -> list[int]:
        """Return the numbers of the bars that have some values, e.g. ``find("carriers", carrier=["AA", "UA"])``.

        Args:
            view: which view.
            values: for columns of it a value or a list of values, None for NULL; a bar must have one of each.

        Raises:
            BadArgumentError: there is no such view or column.

        """
        table = self.bars(view)
        found = np.ones(table.num_rows, np.bool_)
        for column, wanted in values.items():
            if table.column_names.count(column) != 1:
                many = "several columns" if column in table.column_names else "no column"
                raise BadArgumentError(
                    f"view {view} has {many} {column}", instead=f"It has {', '.join(table.column_names)}."
                )
            listed = wanted if isinstance(wanted, list | tuple | set | frozenset | range) else [wanted]
            found &= np.fromiter((each in listed for each in table.column(column).to_pylist()), np.bool_, found.size)
        return [int(number) for number in np.flatnonzero(found)]

    def hand(self) -> Hand:
        """Return a new hand: no brush yet."""
        return Hand(self)

    def brush(self, view: str, bars: Iterable[int]) -> Answer:
        """Return what a brush in one view leaves of all of them; nothing is remembered.

        Args:
            view: which view.
            bars: the numbers of the chosen bars.

        Raises:
            BadArgumentError: there is no such view or bar.

        """
        return self.hand().brush(view, bars)

    # ------------------------------------------------------------ for hands

    def chosen(self, view: str, bars: Iterable[int]) -> tuple[int, Chosen]:
        """Return the number of a view, and its chosen bars.

        Raises:
            BadArgumentError: there is no such view or bar.

        """
        name = known_view(self._views, view)
        count = self._views[name].bars.num_rows
        numbers = np.asarray(list(bars) if not isinstance(bars, np.ndarray) else bars)
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise BadArgumentError(
                f"the bars of {name} are chosen by number",
                instead=f'Give numbers; linked.find("{name}", …) finds them.',
            )
        if numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) < count:
            wrong = int(numbers.min()) if int(numbers.min()) < 0 else int(numbers.max())
            raise BadArgumentError(f"view {name} has no bar {wrong}", instead=f"It has {count} bars, counted from 0.")
        found = np.zeros(count + 1, np.bool_)
        found[numbers.astype(np.intp)] = True
        return self._numbers[name], found

    def answer(self, choice: Choice, known: Sequence[Known]) -> tuple[Answer, list[Known]]:
        """Return what brushes leave of every view, and what may be remembered of it."""
        asked = [(choice, [number for number in self._numbers.values() if number not in choice])]
        asked += [({view: bars for view, bars in choice.items() if view != each}, [each]) for each in choice]
        counted: dict[str, Counted] = {}
        ways: dict[str, str] = {}
        found: list[Known] = []
        names = self.names
        for brushes, targets in asked:
            exact = [each for each in targets if self.engine.can_be_taken_apart(each)]
            for group in (exact, [each for each in targets if each not in exact]):
                if not group:
                    continue
                plan = self.engine.plan(brushes, group, known)
                answered = self.engine.run(plan, group)
                found.append(Known(brushes, answered))
                counted |= {names[each]: answered[each] for each in group}
                ways |= {names[each]: plan.way for each in group}
        return Answer(ways, self._rows_left(choice, counted), self._views, counted), found

    def _rows_left(self, choice: Choice, counted: Mapping[str, Counted]) -> int:
        """Add up the bars of a view whose rows are in one bar each; if there is none, count the rows."""
        for name, number in self._numbers.items():
            if isinstance(self.engine.memberships[number], Dense):
                rows = counted[name][ROWS]
                return int(rows[choice[number]].sum() if number in choice else rows.sum())
        return self.rows if not choice else sum(batch.size for batch in self._selected(choice).batches())

    def ids(self, choice: Choice, first: int = 0, count: int | None = None) -> LineageSet:
        """Return the ids of the base rows that are chosen in every view with a brush, or some of them in order."""
        last = None if count is None else first + count
        if not choice:
            rows = np.arange(self.rows)[first:last]
        else:
            selection = self._selected(choice)
            found: list[Array] = [np.empty(0, np.int64)]
            seen = 0
            for batch in selection.batches():
                found.append(batch)
                seen += batch.size
                if selection.scans and last is not None and seen >= last:  # a scan finds them in order
                    break
            rows = np.sort(np.concatenate(found))[first:last]
        return LineageSet(rows if self._ids is None else self._ids[rows])

    def _selected(self, choice: Choice) -> Selection:
        return Selection(self.engine.memberships, {view: BrushedRows(bars) for view, bars in choice.items()})


class Hand:
    """The brushes of one person. Its calls may come from any thread; they are answered one after another.

    Args:
        linked: the views.

    """

    def __init__(self, linked: LinkedViews) -> None:
        self._linked = linked
        self._choice: dict[str, tuple[int, Chosen]] = {}
        self._known: deque[Known] = deque(maxlen=_REMEMBERED)
        self._lock = Lock()

    @property
    def chosen(self) -> dict[str, list[int]]:
        """The views that have a brush, each with the numbers of its chosen bars."""
        return {name: [int(bar) for bar in np.flatnonzero(bars)] for name, (_, bars) in self._choice.items()}

    def brush(self, view: str, bars: Iterable[int] | None) -> Answer:
        """Choose bars of a view, in place of those that were chosen in it before; brushes of other views stay.

        Args:
            view: which view.
            bars: the numbers of the bars; None takes the brush away, which is not the same as choosing no bar.

        Returns:
            what all brushes together leave of every view.

        Raises:
            BadArgumentError: there is no such view or bar.

        """
        with self._lock:
            number, chosen = self._linked.chosen(view, bars if bars is not None else ())
            name = self._linked.names[number]
            if bars is None:
                self._choice.pop(name, None)
            else:
                self._choice[name] = number, chosen
            return self._answer()

    def clear(self) -> Answer:
        """Take all brushes away."""
        with self._lock:
            self._choice.clear()
            return self._answer()

    def answer(self) -> Answer:
        """Return what the brushes leave of every view."""
        with self._lock:
            return self._answer()

    def ids(self, first: int = 0, count: int | None = None) -> LineageSet:
        """Return the ids of the base rows that all brushes leave, for `ForwardLineage.rows`.

        Args:
            first: from which on, in their order, counted from 0.
            count: how many; None: all.

        """
        with self._lock:
            choice = dict(self._choice.values())
        return self._linked.ids(choice, first, count)

    def _answer(self) -> Answer:
        answer, found = self._linked.answer(dict(self._choice.values()), self._known)
        self._known.extend(found)
        return answer


def known_view(views: Mapping[str, object], name: str) -> str:
    """Return the given name of a view; raises BadArgumentError when there is none."""
    if name in views:
        return name
    close = difflib.get_close_matches(str(name), views, n=1)
    raise BadArgumentError(
        f"there is no view {name}", instead=f"There are {', '.join(views)}." if not close else f"Is {close[0]} meant?"
    )

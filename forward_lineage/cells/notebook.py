"""A notebook at work: what each cell that ran did to the names, and which cells are out of date since.

Cells are known once they have run, by a key: the front end's id of the cell or, where it gives none, the text. Before
and after a cell the values of its names are compared, so that changes in place, and calls that change what they are
given, are seen. No statement is traced: that would take longer than 1.02 of the cell.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from forward_lineage.cells.cell_flow import CellFlow, flow_of
from forward_lineage.cells.free_names import imported_names
from forward_lineage.cells.highlights import CellUse, Highlights, Told, highlights_of
from forward_lineage.cells.runtime_values import RuntimeValues
from forward_lineage.cells.symbols import Symbols
from forward_lineage.cells.value_prints import Budget, Print, print_of, tells

_HIDDEN = frozenset(("In", "Out", "exit", "quit", "get_ipython", "open"))
_MENTIONED, _OTHERS = 5_000, 200  # elements that are looked at of a value that a cell mentions, or does not
_OTHER_NAMES = 50  # containers that are looked at though the cell does not mention them
_CONTAINERS = (list, dict, set, tuple)
_INERT = (bool, int, float, complex, str, bytes, range)


@dataclass
class Cell:
    """A cell that ran.

    Attributes:
        key: what tells it from others.
        title: what people call it: its number, and how it begins.
        source: what it did, without IPython's syntax. It is parsed when it is looked at: hundreds of trees, each of
            hundreds of objects, would make Python's collector walk through the user's values more often.
        mentioned: the names in it.
        ran: the time at which it ran last.
        reads_data: whether it asked for rows from outside of the notebook.

    """

    key: str
    title: str
    source: str
    mentioned: frozenset[str]
    ran: int = 0
    reads_data: bool = False


@dataclass
class _Before:
    """The names before a cell runs."""

    cell: Cell
    ids: dict[str, int]
    code: frozenset[str]
    prints: dict[str, Print] = field(default_factory=dict)


def data_of(key: str) -> str:
    """Return the name of the symbol that stands for the rows that a cell reads; no variable is called so."""
    return f"@{key}"


class Notebook:
    """The cells and names of a notebook.

    Args:
        names: the notebook's variables, which change while cells run.
        is_source: tells values through which rows come in, such as a `ForwardLineage`.

    Examples:
        >>> names = {}
        >>> notebook = Notebook(names)
        >>> def run(key, text):
        ...     notebook.begin(key, text)
        ...     exec(text, names)
        ...     notebook.end()
        >>> for number, text in enumerate(("a = 4", "b = a", "c = a + b")):
        ...     run(f"c{number}", text)
        >>> run("c0", "a = 5")
        >>> found = notebook.highlights()
        >>> list(found.stale), list(found.fresh), found.rerun
        (['c2'], ['c1'], ('c1', 'c2'))

    """

    def __init__(self, names: MutableMapping[str, Any], is_source: Callable[[Any], bool] = lambda value: False) -> None:
        self.cells: dict[str, Cell] = {}
        self.symbols = Symbols()
        self._names, self._is_source = names, is_source
        self._time = 0
        self._running: _Before | None = None
        self._prints: dict[str, tuple[int, int, Print]] = {}  # of after the last cell: id of the value, budget, print
        self._flows: dict[str, CellFlow] = {}  # of sources, as long as no value changes that may hold code

    # ------------------------------------------------------------ a cell runs

    def begin(self, key: str, source: str) -> frozenset[str]:
        """Take note that a cell is about to run.

        Args:
            key: tells it from other cells.
            source: its text, without IPython's own syntax.

        Returns:
            the stale names that it is about to use.

        Raises:
            SyntaxError: the text is none of Python's.

        """
        self._running = None
        tree = ast.parse(source)
        stale = self.symbols.stale().keys()
        values = RuntimeValues(self._names)
        used = self._flow(source, values).live & stale if stale else frozenset[str]()
        cell, now = Cell(key, key, source, _mentioned(tree)), self._tracked()
        ids = {name: id(value) for name, value in now.items()}
        self._running = _Before(cell, ids, _with_code(now), self._prints_of(cell, now, values))
        return used

    def end(self, title: str = "", *, failed: bool = False, reads_data: bool = False) -> None:
        """Take note that the cell has ended.

        Args:
            title: what people call it; its key when not given.
            failed: whether it raised an error.
            reads_data: whether it asked for rows from outside of the notebook.

        """
        before, self._running = self._running, None
        if before is None:
            return
        self._time += 1
        cell = before.cell
        cell.title, cell.ran, cell.reads_data = title or cell.key, self._time, reads_data
        self.cells[cell.key] = cell
        self.symbols.forget([data_of(cell.key)])
        if reads_data:
            self.symbols.changed_outside(data_of(cell.key), self._time)
        self._note(before, RuntimeValues(self._names), failed=failed)

    def data_changed(self, key: str) -> None:
        """Take note that rows that a cell read are others now."""
        self._time += 1
        self.symbols.changed_outside(data_of(key), self._time)

    def data_is_same(self, key: str) -> None:
        """Take note that the rows that a cell read are what they were when it ran, or are so again."""
        known = self.symbols.known.get(data_of(key))
        if known is not None and key in self.cells:
            known.changed = self.cells[key].ran

    def outcomes(self, key: str) -> frozenset[str]:
        """Return the names that were made of rows that a cell read."""
        return frozenset(name for name, each in self.symbols.known.items() if data_of(key) in each.parents)

    # ------------------------------------------------------------ what is out of date

    def highlights(self, told: Told | None = None) -> Highlights:
        """Return the stale, fresh and refresher cells, and which to run again in which order.

        Args:
            told: what another analysis of the same cells says besides.

        """
        values = RuntimeValues(self._names)
        return highlights_of({key: self._use(cell, values) for key, cell in self.cells.items()}, self.symbols, told)

    def to_run_before(self, names: frozenset[str]) -> list[Cell]:
        """Return the cells that set stale names anew, and what makes them stale, in the order in which to run them."""
        wanted, values = self.symbols.behind(names), RuntimeValues(self._names)
        order = [self.cells[key] for key in self.highlights().rerun]
        return [cell for cell in order if self._use(cell, values).dead & wanted]

    def _flow(self, source: str, values: RuntimeValues) -> CellFlow:
        """Analyse a source, or know it: a warning asks for those of all cells, each a millisecond."""
        if source not in self._flows:
            self._flows[source] = flow_of(ast.parse(source), values)
        return self._flows[source]

    def _use(self, cell: Cell, values: RuntimeValues) -> CellUse:
        flow = self._flow(cell.source, values)
        live = flow.live | {data_of(cell.key)} if cell.reads_data else flow.live
        return CellUse(live, flow.dead, cell.ran)

    # ------------------------------------------------------------ what a cell did

    def _note(self, before: _Before, values: RuntimeValues, *, failed: bool) -> None:
        cell, now = before.cell, self._tracked()
        code = before.code | _with_code(now)
        if any(before.ids.get(name) != (id(now[name]) if name in now else None) for name in code):
            self._flows = {}
        if any(name.startswith("_") for name in cell.mentioned):  # names that are not tracked
            self._flows = {}
        flow = self._flow(cell.source, values)
        self._prints = {}
        after = self._prints_of(cell, now, values, after=True)
        self.symbols.forget([name for name in before.ids if name not in now])
        in_place: list[tuple[Any, frozenset[str]]] = []
        for name, value in now.items():
            same = before.ids.get(name) == id(value)
            was, made = before.prints.get(name), after.get(name)
            if not _was_set(name, flow, was, made, same=same, failed=failed):
                continue
            parents = self._parents(name, flow, cell)
            equal = was is not None and was == made and tells(was)
            if same and not _holds_no_code(value):
                self._flows = {}
            if same and name not in flow.dead:
                self.symbols.touched(name, self._time, parents, cell.key)
                in_place.append((value, parents))
            else:
                kept = self.symbols.known[name].parents if name in parents and name in self.symbols.known else ()
                self.symbols.computed(name, self._time, {*parents, *kept}, cell.key, changed=not equal)
        for name, value in now.items() if in_place else ():
            known = self.symbols.known.get(name)
            for changed, parents in in_place:
                if _are_one(value, changed) and (known is None or known.computed < self._time):
                    self.symbols.touched(name, self._time, parents, cell.key)  # another name of the same

    def _parents(self, name: str, flow: CellFlow, cell: Cell) -> frozenset[str]:
        """The sources of a name; all that the cell reads, where its text does not say."""
        found = flow.parents.get(name, flow.live)
        through = name not in flow.parents or any(self._is_source(self._names.get(each)) for each in found)
        known = frozenset(each for each in found if each in self._names and not _is_hidden(each))
        return known | {data_of(cell.key)} if cell.reads_data and through else known

    def _tracked(self) -> dict[str, Any]:
        """Return the notebook's own names. IPython adds three to the others with every cell, so this is to be quick."""
        return {name: value for name, value in [*self._names.items()] if name[:1] != "_" and name not in _HIDDEN}

    def _prints_of(
        self, cell: Cell, now: dict[str, Any], values: RuntimeValues, *, after: bool = False
    ) -> dict[str, Print]:
        """Print what a cell mentions, what its calls may read, and small containers, which may hold such things.

        Prints of after the last cell are good before this one: between cells nothing runs.
        """
        mentioned = cell.mentioned.union(*map(values.reads, cell.mentioned))
        found, others = dict[str, Print](), 0
        for name, value in now.items():
            others += name not in mentioned and isinstance(value, _CONTAINERS)
            if name not in mentioned and (others > _OTHER_NAMES or not isinstance(value, _CONTAINERS)):
                continue
            most = _MENTIONED if name in mentioned else _OTHERS
            at, known, made = self._prints.get(name, (0, 0, ()))
            fits = not after and at == id(value) and known == most
            found[name] = made if fits else print_of(value, Budget(most))
            if after:
                self._prints[name] = (id(value), most, found[name])
        return found


def _mentioned(tree: ast.Module) -> frozenset[str]:
    names = set[str]()
    for each in ast.walk(tree):
        if isinstance(each, ast.Name):
            names.add(each.id)
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(each.name)
        elif isinstance(each, ast.Import | ast.ImportFrom):
            names.update(imported_names(each))
    return frozenset(names)


def _is_hidden(name: str) -> bool:
    return name.startswith("_") or name in _HIDDEN


def _with_code(names: dict[str, Any]) -> frozenset[str]:
    return frozenset(name for name, value in names.items() if not _holds_no_code(value))


def _holds_no_code(value: Any) -> bool:
    """Return whether calls with a value run nothing of the notebook's own."""
    return isinstance(value, _INERT) or type(value).__module__.partition(".")[0] in ("numpy", "pandas", "pyarrow")


def _are_one(value: Any, other: Any) -> bool:
    """Return whether two values are one object, or arrays that may share memory, as an array and its views do."""
    if value is other:
        return True
    if not type(value).__module__ == type(other).__module__ == "numpy":
        return False
    numpy = sys.modules["numpy"]
    both = isinstance(value, numpy.ndarray) and isinstance(other, numpy.ndarray)
    return both and bool(numpy.may_share_memory(value, other))


def _was_set(name: str, flow: CellFlow, was: Print | None, now: Print | None, *, same: bool, failed: bool) -> bool:
    """Tell whether a cell has set a name, or changed its value in place."""
    if not same or (was is not None and now is not None and was != now):
        return True
    if failed or name not in flow.parents:
        return False
    if name in flow.dead:
        return True
    blind = now is None or not tells(now) or now[0] == "module"
    return blind and name in flow.parents[name]

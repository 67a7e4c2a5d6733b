"""Cells of a notebook by what their next run would do: stale, fresh, refresher.  [Macke 2021, §7.5]"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from forward_lineage.cells.symbols import Symbols


@dataclass(frozen=True)
class CellUse:
    """The names that a cell uses and sets, as `cell_flow` says.

    Attributes:
        live: names whose values from before it may be used.
        dead: names that it sets anew on every path.
        ran: the time at which it ran last.

    """

    live: frozenset[str]
    dead: frozenset[str]
    ran: int


@dataclass(frozen=True)
class Highlights:
    """The highlights of a notebook; each by the cell's key.

    Attributes:
        stale: cells with live names that are stale, with these names. Do not trust what they show.
        fresh: cells without such names, and with live names that have changed since they ran, with these.
        refreshers: cells without stale names that set a stale name of another cell anew.
        rerun: the cells to run again, in this order, so that no cell is stale or fresh.

    """

    stale: dict[str, frozenset[str]]
    fresh: dict[str, frozenset[str]]
    refreshers: frozenset[str]
    rerun: tuple[str, ...]


@dataclass(frozen=True)
class Told:
    """The highlights by another analysis of the same cells, which knows no names: keys of cells."""

    stale: frozenset[str] = frozenset()
    fresh: frozenset[str] = frozenset()
    refreshers: frozenset[str] = frozenset()


def highlights_of(cells: Mapping[str, CellUse], symbols: Symbols, told: Told | None = None) -> Highlights:
    """Sort cells into highlights. [definitions 7.7 to 7.10]

    Args:
        cells: by key.
        symbols: the names now.
        told: what another analysis says besides. Cells that it alone knows of have no names.

    Examples:
        After ``a = 4``, ``b = a``, ``c = a + b``, and then ``a = 5`` again in the first cell:

        >>> symbols = Symbols()
        >>> for time, name, parents in ((4, "a", ()), (2, "b", ("a",)), (3, "c", ("a", "b"))):
        ...     symbols.computed(name, time, parents, name)
        >>> uses = {"1": ((), "a", 4), "2": ("a", "b", 2), "3": ("ab", "c", 3)}
        >>> cells = {key: CellUse(frozenset(live), frozenset(dead), ran) for key, (live, dead, ran) in uses.items()}
        >>> found = highlights_of(cells, symbols)
        >>> list(found.stale), list(found.fresh), sorted(found.refreshers), found.rerun
        (['3'], ['2'], ['2'], ('2', '3'))

    """
    told, old = told or Told(), symbols.stale()
    stale = {key: names for key, cell in cells.items() if (names := cell.live & old.keys()) or key in told.stale}
    fresh = {
        key: names
        for key, cell in cells.items()
        if key not in stale and ((names := _changed_since(cell, symbols)) or key in told.fresh)
    }
    others = told.refreshers & cells.keys() - stale.keys()
    order = _order(cells, symbols, {*stale, *fresh}, told.stale | told.fresh)
    return Highlights(stale, fresh, refreshers(cells, stale) | others, order)


def refreshers(cells: Mapping[str, CellUse], stale: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the cells that set a stale name of another cell anew: DEAD(c_r) ∩ STALE(c_s). [Algorithm 7.4]

    One index from names to the cells that set them takes the place of analysing each pair of cells put together.
    """
    wanted = frozenset[str]().union(*stale.values())
    return frozenset(key for key, cell in cells.items() if key not in stale and cell.dead & wanted)


def _changed_since(cell: CellUse, symbols: Symbols) -> frozenset[str]:
    known = ((name, symbols.known.get(name)) for name in cell.live)
    return frozenset(name for name, symbol in known if symbol is not None and symbol.changed > cell.ran)


def _order(cells: Mapping[str, CellUse], symbols: Symbols, waiting: set[str], told: Collection[str]) -> tuple[str, ...]:
    """Run cells in thought: of those that wait and read nothing stale, the one that ran first; until none is left.

    A stale name that no cell sets is taken as it is after a first round, so that a circle ends, too.
    Cells that another analysis has told of run once, whatever the names say.
    """
    now = Symbols({name: replace(symbol) for name, symbol in symbols.known.items()})
    cells = dict(cells)
    order: list[str] = []
    setters = {name for cell in cells.values() for name in cell.dead}
    time = 1 + max((symbol.changed for symbol in now.known.values()), default=0)
    time = max(time, 1 + max((cell.ran for cell in cells.values()), default=0))
    old = now.stale().keys()
    while waiting and len(order) < len(cells):
        stale = old & setters
        ready = [key for key in waiting if not cells[key].live & stale]
        needed = frozenset[str]().union(*(cells[key].live & stale for key in waiting))
        helpers = [key for key, cell in cells.items() if key not in order and cell.dead & needed]
        choice = min(
            ready or [key for key in helpers if key not in waiting] or waiting, key=lambda key: (cells[key].ran, key)
        )
        order.append(choice)
        for name in cells[choice].dead & now.known.keys():
            now.computed(name, time, now.known[name].parents, choice)
        cells[choice] = replace(cells[choice], ran=time)
        time += 1
        old = now.stale().keys()
        waiting = {
            key
            for key, cell in cells.items()
            if key not in order and (key in told or cell.live & old or _changed_since(cell, now))
        }
    return tuple(order)

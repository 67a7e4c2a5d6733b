"""Names of a notebook with times and parents, and which of them are stale.  [Macke 2021, §7.3]

The thesis gives a symbol one time, the cell that set it last. Here it has two: when its value was last another one
(`changed`), and when it was last computed (`computed`). A symbol is stale if a parent *changed* after it was
*computed*, or a parent is stale. So a cell that is run again and gives the same value makes nothing stale. [7.4]
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field


@dataclass
class Symbol:
    """A name.

    Attributes:
        changed: the time at which its value was last another one.
        computed: the time at which it was last computed.
        parents: names that its value came from.
        cell: the cell that computed it.

    """

    changed: int
    computed: int
    parents: frozenset[str] = frozenset()
    cell: str = ""


@dataclass
class Symbols:
    """All names.

    Examples:
        >>> symbols = Symbols()
        >>> symbols.computed("a", 1, (), "c1")
        >>> symbols.computed("b", 2, ("a",), "c2")
        >>> symbols.computed("a", 3, (), "c1")
        >>> symbols.stale()
        {'b': frozenset({'a'})}

    """

    known: dict[str, Symbol] = field(default_factory=dict)

    def computed(self, name: str, at: int, parents: Iterable[str], cell: str, *, changed: bool = True) -> None:
        """Take note that a name was computed.

        Args:
            name: of the symbol.
            at: the time.
            parents: what its value came from; itself does not count.
            cell: that computed it.
            changed: whether its value is another one than before.

        """
        before = self.known.get(name)
        since = at if changed or before is None else before.changed
        self.known[name] = Symbol(since, at, frozenset(parents) - {name}, cell)

    def touched(self, name: str, at: int, parents: Iterable[str], cell: str) -> None:
        """Take note that the value of a name was changed in place: it has more parents, and those it had."""
        before = self.known.get(name)
        more = frozenset(parents) | (before.parents if before else frozenset())
        self.computed(name, at, more, cell)

    def changed_outside(self, name: str, at: int) -> None:
        """Take note that something that no cell sets has changed."""
        self.computed(name, at, (), "")

    def forget(self, names: Collection[str]) -> None:
        """Take note that names are not there any more; what came from them lost a parent, not its value."""
        for name in names:
            self.known.pop(name, None)

    def stale(self) -> dict[str, frozenset[str]]:
        """Return the stale names, each with the parents that make it so: changed since, or stale themselves."""
        found = {name: self._newer(symbol) for name, symbol in self.known.items()}
        stale = {name for name, newer in found.items() if newer}
        children: dict[str, set[str]] = {}
        for name, symbol in self.known.items():
            for parent in symbol.parents:
                children.setdefault(parent, set()).add(name)
        waiting = list(stale)
        while waiting:
            parent = waiting.pop()
            for child in children.get(parent, ()):
                found[child] |= {parent}
                if child not in stale:
                    stale.add(child)
                    waiting.append(child)
        return {name: frozenset(found[name]) for name in self.known if name in stale}

    def behind(self, names: Iterable[str]) -> frozenset[str]:
        """Return names and the stale names that make them stale, directly or not."""
        stale = self.stale()
        found, waiting = set(names), list(names)
        while waiting:
            new = (stale.get(waiting.pop(), frozenset()) & stale.keys()) - found
            found |= new
            waiting.extend(new)
        return frozenset(found)

    def _newer(self, symbol: Symbol) -> set[str]:
        parents = ((name, self.known.get(name)) for name in symbol.parents)
        return {name for name, parent in parents if parent is not None and parent.changed > symbol.computed}

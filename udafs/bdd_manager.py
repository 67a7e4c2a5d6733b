"""A manager of roBDDs with the operations of Boolean algebra: CUDD through `dd`, or `dd`'s pure-Python manager.

`dd` ships CUDD for CPython on x86-64 Linux only. Elsewhere, or where `FORWARD_LINEAGE_BDD=autoref` says so, its
pure-Python manager gives the same answers, more slowly. The functions of a manager are `dd`'s, with `&`, `|`, `~`.

Nothing here may call `find_or_add` of `dd.cudd`. CUDD keeps the `high` edge of a node free of the complement bit: a
caller moves the bit to the node itself. dd 0.6 does not, and hands a complemented `high` on as it is. CUDD then counts
a reference at an address that is one off: 256 instead of 1. The node equals no other, though its function may be there
already. When it dies CUDD follows that edge, bit included, and reads a variable's number that is none. Then the process
ends in a segmentation fault, or does not, as the bytes of the next node happen to be.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from udafs.errors import InternalError, SetupError
from udafs.robdd import NodeTable

Backend = Literal["cudd", "autoref"]
Function = Any  # dd.cudd.Function or dd.autoref.Function; dd has no common type

BACKEND_VARIABLE = "FORWARD_LINEAGE_BDD"
DEFAULT_MEMORY = 2 << 30
# What CUDD is told to expect, not its limit: it sets a part aside at once, at 2 GB for longer than a question takes.
_EXPECTED_MEMORY = 256 << 20


def available_backends() -> tuple[Backend, ...]:
    """The backends that can be used here, the fastest first."""
    try:
        import dd.cudd  # noqa: F401, PLC0415 — a compiled module that few platforms have
    except ImportError:
        return ("autoref",)
    return "cudd", "autoref"


def bit_variables(prefix: str, bits: int) -> tuple[str, ...]:
    """Names of the variables of an integer, by level: bit 0, the lowest level, first."""
    return tuple(f"{prefix}{bit}" for bit in range(bits))


class BddManager:
    """Boolean functions over a fixed order of variables; dynamic reordering is off.

    Attributes:
        backend: `cudd` or `autoref`.
        memory: bytes CUDD may take; never all that the machine has.
        variables: all variables, by level: the lowest first, as in a `NodeTable`.
    """

    def __init__(self, variables: Sequence[str], backend: Backend | None = None, memory: int = DEFAULT_MEMORY) -> None:
        """Make a manager.

        Args:
            variables: their names, the lowest level first.
            backend: the fastest that is available when not given.
            memory: bytes CUDD may take; the pure-Python manager takes what it needs.

        Raises:
            SetupError: the backend is not available here.

        """
        self.backend = _choose(backend)
        self.memory = min(memory, _memory_of_machine() - 1)
        self.variables = tuple(variables)
        self._bdd: Any = _cudd(self.memory) if self.backend == "cudd" else _autoref()
        for variable in reversed(self.variables):
            self._bdd.add_var(variable)

    # Made anew each time: dd complains about functions that are still alive when their manager goes.
    @property
    def false(self) -> Function:
        """The function that is nowhere true."""
        return self._bdd.false

    @property
    def true(self) -> Function:
        """The function that is everywhere true."""
        return self._bdd.true

    def load(self, table: NodeTable, variables: Sequence[str]) -> Function:
        """The function of a node table, built bottom-up.

        Args:
            table: any consistent table.
            variables: the variable of each of its levels, the lowest first, in the manager's order.

        Raises:
            SetupError: CUDD's memory is used up.

        """
        refs = [self.false, self.true]
        lo, hi = table.lo.tolist(), table.hi.tolist()
        starts = table.starts.tolist()
        # Not find_or_add, see above. `ite` on a variable above both children is a unique-table lookup too.
        ite = self._bdd.ite
        for level in range(table.nbits):
            variable = self._bdd.var(variables[level])
            part = slice(starts[level], starts[level + 1])
            with self.memory_watched():
                refs.extend([ite(variable, refs[h], refs[low]) for low, h in zip(lo[part], hi[part], strict=True)])
        return refs[table.root]

    def extract(self, function: Function, variables: Sequence[str]) -> NodeTable:
        """The node table of a function; its level k is `variables[k]`.

        Raises:
            ValueError: the function depends on a variable that is not among `variables`.

        """
        level_of = {variable: level for level, variable in enumerate(variables)}
        reference = {int(self.false): 0, int(self.true): 1}
        nodes = _reachable(function, level_of, set(reference))
        starts = np.zeros(len(variables) + 1, np.int64)
        lo: list[int] = []
        hi: list[int] = []
        for level, on_level in enumerate(nodes):
            triples = sorted((reference[low], reference[high], key) for low, high, key in on_level)
            for number, (*_, key) in enumerate(triples, start=2 + len(lo)):
                reference[key] = number
            lo.extend(low for low, _, _ in triples)
            hi.extend(high for _, high, _ in triples)
            starts[level + 1] = len(lo)
        return NodeTable(starts, np.array(lo, np.int64), np.array(hi, np.int64), reference[int(function)])

    def exist(self, variables: Iterable[str], function: Function) -> Function:
        """∃ variables: function."""
        wanted = self._declared(variables)
        with self.memory_watched(function):
            return self._bdd.exist(wanted, function)

    def and_exists(self, first: Function, second: Function, variables: Iterable[str]) -> Function:
        """∃ variables: first ∧ second, the relational product."""
        wanted = self._declared(variables)
        if self.backend == "autoref":
            return self._bdd.exist(wanted, first & second)
        import dd.cudd  # noqa: PLC0415

        with self.memory_watched(first, second):
            return dd.cudd.and_exists(first, second, wanted)

    def rename(self, function: Function, names: dict[str, str]) -> Function:
        """The function with other variables."""
        self._declared([*names, *names.values()])
        with self.memory_watched(function):
            return self._bdd.let(names, function)

    def cube(self, values: dict[str, bool]) -> Function:
        """The conjunction that fixes variables to values."""
        self._declared(values)
        with self.memory_watched():
            return self._bdd.cube(values)

    def _declared(self, variables: Iterable[str]) -> set[str]:
        wanted = set(variables)
        if unknown := wanted.difference(self.variables):
            raise InternalError(f"the BDD manager has no variable {min(unknown)}")
        return wanted

    @contextmanager
    def memory_watched(self, *functions: Function) -> Iterator[None]:
        """Turn the way in which dd says that CUDD has no memory left into an error that people understand.

        dd has no type for it: it raises ValueError or RuntimeError, as it does for functions of another manager and for
        unknown variables. So those are looked for first. Needed around `&` and `|`, too.

        Args:
            functions: what dd is about to be given.

        Raises:
            SetupError: CUDD's memory is used up.

        """
        if any(function.bdd != self._bdd for function in functions):
            raise InternalError("a function of one BDD manager was given to another")
        try:
            yield
        except (ValueError, RuntimeError) as error:
            if self.backend == "autoref":
                raise
            raise SetupError(
                f"the BDD manager has used up its {self.memory >> 20} MB",
                instead="Ask about fewer rows at once, or give the manager more memory.",
            ) from error

    def __len__(self) -> int:
        """Nodes alive in the manager."""
        return len(self._bdd)


def _choose(backend: Backend | None) -> Backend:
    available = available_backends()
    wanted = backend or os.environ.get(BACKEND_VARIABLE) or available[0]
    for each in available:
        if each == wanted:
            return each
    raise SetupError(
        f"the BDD backend {wanted!r} is not available here", instead=f"Use one of: {', '.join(available)}."
    )


def _cudd(memory: int) -> Any:
    import dd.cudd  # noqa: PLC0415

    bdd = dd.cudd.BDD(memory_estimate=min(memory, _EXPECTED_MEMORY))
    bdd.configure(reordering=False, max_memory=memory)
    return bdd


def _autoref() -> Any:
    import dd.autoref  # noqa: PLC0415

    bdd = dd.autoref.BDD()
    bdd.configure(reordering=False)
    return bdd


def _memory_of_machine() -> int:
    """Bytes; asked for so many, dd's manager is not made."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return sys.maxsize
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _reachable(function: Function, level_of: dict[str, int], seen: set[int]) -> list[list[tuple[int, int, int]]]:
    """For each level the nodes below `function` as (lo, hi, itself), by the manager's own numbers."""
    nodes: list[list[tuple[int, int, int]]] = [[] for _ in level_of]
    stack = [function]
    while stack:
        node = stack.pop()
        key = int(node)
        if key in seen:
            continue
        seen.add(key)
        if node.var not in level_of:
            raise ValueError(f"the function depends on {node.var}")
        low, high = _children(node)
        nodes[level_of[node.var]].append((int(low), int(high), key))
        stack += low, high
    return nodes


def _children(node: Function) -> tuple[Function, Function]:
    # dd's children are those of the node, not of its complement.
    return (~node.low, ~node.high) if node.negated else (node.low, node.high)

"""A manager of roBDDs with the operations of Boolean algebra: CUDD through `dd`, or `dd`'s pure-Python manager.

`dd` ships CUDD for CPython on x86-64 Linux only. Elsewhere, or where `FORWARD_LINEAGE_BDD=autoref` says so, its
pure-Python manager gives the same answers, more slowly. The functions of a manager are `dd`'s, with `&`, `|`, `~`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from udafs.errors import LineageError
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
        memory: bytes CUDD may take.
        variables: all variables, by level: the lowest first, as in a `NodeTable`.
    """

    def __init__(self, variables: Sequence[str], backend: Backend | None = None, memory: int = DEFAULT_MEMORY) -> None:
        """Make a manager.

        Args:
            variables: their names, the lowest level first.
            backend: the fastest that is available when not given.
            memory: bytes CUDD may take; the pure-Python manager takes what it needs.

        Raises:
            LineageError: the backend is not available here.

        """
        self.backend = _choose(backend)
        self.memory = memory
        self.variables = tuple(variables)
        if self.backend == "cudd":
            import dd.cudd  # noqa: PLC0415

            self._bdd: Any = dd.cudd.BDD(memory_estimate=min(memory, _EXPECTED_MEMORY))
            self._bdd.configure(reordering=False, max_memory=memory)
        else:
            import dd.autoref  # noqa: PLC0415

            self._bdd = dd.autoref.BDD()
            self._bdd.configure(reordering=False)
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
            LineageError: CUDD's memory is used up.

        """
        ite = self._bdd.ite
        refs = [self.false, self.true]
        lo, hi = table.lo.tolist(), table.hi.tolist()
        starts = table.starts.tolist()
        # Not find_or_add: dd hands complemented `high` edges on to CUDD, which must never see one. `ite` on a variable
        # above both children is a unique-table lookup too.
        with self._memory_watched():
            for level in range(table.nbits):
                variable = self._bdd.var(variables[level])
                part = slice(starts[level], starts[level + 1])
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
        with self._memory_watched():
            return self._bdd.exist(set(variables), function)

    def and_exists(self, first: Function, second: Function, variables: Iterable[str]) -> Function:
        """∃ variables: first ∧ second, the relational product."""
        if self.backend == "autoref":
            return self._bdd.exist(set(variables), first & second)
        import dd.cudd  # noqa: PLC0415

        with self._memory_watched():
            return dd.cudd.and_exists(first, second, set(variables))

    def rename(self, function: Function, names: dict[str, str]) -> Function:
        """The function with other variables."""
        return self._bdd.let(names, function)

    def cube(self, values: dict[str, bool]) -> Function:
        """The conjunction that fixes variables to values."""
        return self._bdd.cube(values)

    @contextmanager
    def _memory_watched(self) -> Iterator[None]:
        """Turn the way in which dd says that CUDD has no memory left into an error that people understand."""
        try:
            yield
        except ValueError as error:
            if "NULL" not in str(error):
                raise
            raise LineageError(
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
    raise LineageError(
        f"the BDD backend {wanted!r} is not available here", instead=f"Use one of: {', '.join(available)}"
    )


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
        level = level_of.get(node.var)
        if level is None:
            raise ValueError(f"the function depends on {node.var}")
        low, high = node.low, node.high
        if node.negated:  # dd's children are those of the node, not of its complement
            low, high = ~low, ~high
        nodes[level].append((int(low), int(high), key))
        stack += low, high
    return nodes

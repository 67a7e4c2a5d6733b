"""One call of an operation: what went in, what came out, and what a rule says of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from forward_lineage.arrays.graph import Edge, Node, Shape
from forward_lineage.arrays.handles import Handle
from forward_lineage.arrays.shapes import Rule
from udafs.errors import NotTracedError

Values = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Input:
    """An array that goes in.

    Attributes:
        values: what it holds.
        node: its lineage as it goes in; None: it is a constant.
        array: what the user gave, where that is tracked.

    """

    values: Values
    node: Node | None = None
    array: Handle | None = None

    @property
    def shape(self) -> Shape:
        """Of the array."""
        return self.values.shape

    @property
    def ndim(self) -> int:
        """How many axes."""
        return self.values.ndim


@dataclass(eq=False)
class Output:
    """An array that comes out, and what its cells are made of."""

    values: Values
    edges: list[Edge] = field(default_factory=list)
    sources: list[Input] = field(default_factory=list)
    lengths: dict[int, tuple[Node, ...]] = field(default_factory=dict)

    @property
    def shape(self) -> Shape:
        """Of the array."""
        return self.values.shape

    @property
    def ndim(self) -> int:
        """How many axes."""
        return self.values.ndim

    def data(self, source: Input | None, rule: Rule) -> None:
        """Its cells hold what cells of an input held, changed or not."""
        self._add(source, rule, control=False)

    def control(self, source: Input | None, rule: Rule) -> None:
        """Cells of an input decided what it holds."""
        self._add(source, rule, control=True)

    def decided_by(self, source: Input | None, axis: int = 0) -> None:
        """All cells of an input decided how long an axis is."""
        if source is not None and source.node is not None and self.ndim:
            self.lengths[axis] = (*self.lengths.get(axis, ()), source.node)

    def node(self, operation: str) -> Node:
        """Return what it is made of."""
        made = Node(self.shape, self.edges, operation=operation)
        for axis, deciding in self.lengths.items():
            made.lengths[axis] = (*made.lengths.get(axis, ()), *deciding)
        return made

    def unused(self, source: Input | None) -> None:
        """Nothing of an input shows: only its shape or type was taken."""
        if source is not None:
            self.sources.append(source)

    def _add(self, source: Input | None, rule: Rule, *, control: bool) -> None:
        if source is None or source.node is None:
            return
        self.edges.append(Edge(source.node, rule(self.shape, source.shape), control))
        self.sources.append(source)


@dataclass(eq=False)
class Call:
    """A call of an operation by its arguments' names.

    Attributes:
        name: as messages call the operation.
        given: arguments as the user gave them, defaults filled in; a ufunc's by position.
        plain: the same with plain arrays in place of tracked ones.
        outputs: what came out, in order; a rule says what each is made of.
        frozen: tracked array → how it went in, by the identity of the array.

    """

    name: str
    given: dict[Any, Any]
    plain: dict[Any, Any]
    outputs: list[Output]
    frozen: dict[int, Input]

    @property
    def out(self) -> Output:
        """The only output."""
        (only,) = self.outputs
        return only

    @property
    def kind(self) -> type[Handle]:
        """The type of tracked arrays."""
        return next(type(each.array) for each in self.frozen.values() if each.array is not None)

    @property
    def keeps_axes(self) -> bool:
        """Whether axes that are reduced stay, of length 1: numpy takes whatever is true for keepdims."""
        keeps = self.plain.get("keepdims", False)
        return keeps is not np._NoValue and bool(keeps)

    def __getitem__(self, argument: str) -> Any:
        """Return an argument with plain arrays in it."""
        return self.plain[argument]

    def input(self, argument: str | int) -> Input:
        """Return an argument that is an array, or becomes one."""
        return self.as_input(self.given[argument])

    def maybe(self, argument: str) -> Input | None:
        """Return the same of an argument that may be left out or None."""
        given = self.given.get(argument)
        return None if given is None or given is np._NoValue else self.as_input(given)

    def inputs(self, argument: str) -> list[Input]:
        """Return an argument that is a sequence of arrays; an array is the sequence of its first axis."""
        given = self.given[argument]
        if id(given) in self.frozen:
            raise refused_sequence(self.name)
        return [self.as_input(each) for each in given]

    def as_input(self, given: Any) -> Input:
        """Return anything as an array that goes in."""
        if id(given) in self.frozen:
            return self.frozen[id(given)]
        if isinstance(given, (list, tuple)) and any(id(each) in self.frozen for each in _leaves(given)):
            raise refused_sequence(self.name)
        return Input(np.asarray(given))

    def everything(self) -> Iterator[Input]:
        """All tracked arrays that go in."""
        return iter(self.frozen.values())


def _leaves(given: Any) -> Iterator[Any]:
    if isinstance(given, (list, tuple)):
        for each in given:
            yield from _leaves(each)
    else:
        yield given


def refused_sequence(name: str) -> Exception:
    """Return the error for tracked arrays in a list where one array is meant, or the other way round."""
    return NotTracedError(
        f"{name} was given a list with tracked arrays in it where it takes one array, or one where it takes a list",
        instead="Join them with np.stack or np.concatenate, or take them apart with np.unstack.",
    )


CaptureRule = Callable[[Call], None]


def normal_axes(axes: Any, ndim: int) -> tuple[int, ...]:
    """Axes as they are meant: None is all of them, negative ones count from behind."""
    if axes is None or not ndim:  # numpy lets a number be reduced along axis 0 as well
        return tuple(range(ndim))
    return tuple(int(axis) % ndim for axis in ((axes,) if isinstance(axes, (int, np.integer)) else axes))


def one_axis(axis: Any, ndim: int) -> int:
    """Return an axis as it is meant."""
    return int(axis) % max(ndim, 1)

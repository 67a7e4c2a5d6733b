"""A fitted estimator in the graph of tracked arrays: its parts are a node, and an output leads to row and parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from forward_lineage.arrays.graph import Edge, Node
from forward_lineage.models.rules import Rule, Training
from forward_lineage.models.table import COLUMN_TRANSFORMER, PIPELINE, name_of, rule_of
from forward_lineage.models.used import SEEN, Use, Values, boxes, everything
from forward_lineage.relations.box_rows import BoxRow, Line
from forward_lineage.relations.boxes import BoxRelation
from udafs.errors import NotTracedError


@dataclass(frozen=True, eq=False)
class Traced:
    """An array and its lineage.

    Attributes:
        values: plain.
        node: its lineage; None: it is made of nothing.

    """

    values: Values
    node: Node | None


class Fitted(ABC):
    """A fitted estimator whose lineage is known.

    Attributes:
        estimator: scikit-learn's.
        parts: how many parts it has, with those of `SEEN`.

    """

    estimator: Any
    parts: int

    @property
    @abstractmethod
    def members(self) -> list[tuple[str, int]]:
        """Its estimators with a rule of their own, in the order of its parts: class, and how many parts."""

    @abstractmethod
    def trained(self, x: Traced, y: Traced | None) -> Node:
        """Return its parts, made of the arrays that it was fitted on."""

    @abstractmethod
    def apply(self, method: str, x: Traced, parts: Node) -> Traced:
        """Return what a method makes of an array."""


class Single(Fitted):
    """An estimator with a rule of its own."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.rule: Rule = rule_of(estimator)
        self.parts = self.rule.parts(estimator) + SEEN

    @property
    def members(self) -> list[tuple[str, int]]:
        """See `Fitted`."""
        return [(type(self.estimator).__name__, self.parts)]

    def trained(self, x: Traced, y: Traced | None) -> Node:
        """See `Fitted`."""
        training = Training(self.estimator, x.values, None if y is None else y.values, self.parts)
        found = self.rule.trained(training)
        edges = []
        for source, relation, last in ((x, found.of_x, self.parts - SEEN), (y, found.of_y, self.parts - 1)):
            if source is None or source.node is None:
                continue
            if relation is not None:
                edges.append(Edge(source.node, (relation,)))
            edges.append(Edge(source.node, (everything(self.parts, last, last, source.values.shape),)))
        return Node((self.parts,), edges, operation=f"{name_of(type(self.estimator))}.fit")

    def apply(self, method: str, x: Traced, parts: Node) -> Traced:
        """See `Fitted`."""
        values = output_of(self.estimator, method, x.values)
        used = self.rule.used(Use(self.estimator, method, x.values, values.shape, self.parts))
        edges = [] if x.node is None else [Edge(x.node, used.row)]
        if used.parts is not None:
            edges.append(Edge(parts, used.parts))
        seen = ((self.parts - SEEN, used.decided_by_x), (self.parts - 1, used.decided_by_y))
        for place in [place for place, decided in seen if decided]:
            edges.append(Edge(parts, boxes(values.shape, (self.parts,), [(place, place)]), control=True))
        return Traced(values, Node(values.shape, edges, operation=f"{name_of(type(self.estimator))}.{method}"))


class Together(Fitted):
    """Several estimators whose parts stand one behind the other."""

    def __init__(self, each: list[Fitted]) -> None:
        self.each = each
        self.firsts = [0, *accumulate(one.parts for one in each)]
        self.parts = self.firsts[-1]

    @property
    def members(self) -> list[tuple[str, int]]:
        """See `Fitted`."""
        return [member for one in self.each for member in one.members]

    def joined(self, nodes: list[Node], operation: str) -> Node:
        """Return the parts of all as one node."""
        edges = []
        for first, node in zip(self.firsts, nodes, strict=False):
            count = node.shape[0]
            row = BoxRow([(first, first + count - 1)], [(Line(0, 1, -first), Line(0, 1, -first))])
            edges.append(Edge(node, (BoxRelation.from_rows((self.parts,), (count,), [row]),)))
        return Node((self.parts,), edges, operation=operation)

    def apart(self, parts: Node, number: int) -> Node:
        """Return the parts of one of them."""
        count, first = self.each[number].parts, self.firsts[number]
        steps = boxes((count,), (self.parts,), [(Line(0, 1, first), Line(0, 1, first))])
        return Node((count,), [Edge(parts, steps)], operation="part")


class Steps(Together):
    """A `Pipeline`: each step is applied to what the one before made."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        steps = [step for _, step in estimator.steps if step is not None and step != "passthrough"]
        super().__init__([fitted_of(step) for step in steps])

    def trained(self, x: Traced, y: Traced | None) -> Node:
        """See `Fitted`."""
        nodes = []
        for number, each in enumerate(self.each):
            nodes.append(each.trained(x, y))
            if number + 1 < len(self.each):
                x = each.apply("transform", x, nodes[-1])
        return self.joined(nodes, f"{PIPELINE}.fit")

    def apply(self, method: str, x: Traced, parts: Node) -> Traced:
        """See `Fitted`."""
        for number, each in enumerate(self.each):
            last = number + 1 == len(self.each)
            x = each.apply(method if last else "transform", x, self.apart(parts, number))
        return x


class Columns(Together):
    """A `ColumnTransformer`: each of its transformers is applied to columns of its own."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        kept = [(name, each) for name, each, _ in estimator.transformers_ if each != "drop"]
        kept = [(name, each) for name, each in kept if _width(estimator.output_indices_[name])]
        if any(isinstance(each, str) for _, each in kept):
            raise NotTracedError(
                "a ColumnTransformer of a release of scikit-learn that is not known", instead="Update scikit-learn."
            )
        super().__init__([fitted_of(each) for _, each in kept])
        self._names = [name for name, _ in kept]

    def _columns(self, number: int) -> list[int]:
        return [int(each) for each in self.estimator._transformer_to_input_indices[self._names[number]]]

    def trained(self, x: Traced, y: Traced | None) -> Node:
        """See `Fitted`."""
        nodes = [each.trained(_taken(x, self._columns(number)), y) for number, each in enumerate(self.each)]
        return self.joined(nodes, f"{COLUMN_TRANSFORMER}.fit")

    def apply(self, method: str, x: Traced, parts: Node) -> Traced:
        """See `Fitted`."""
        values, edges = output_of(self.estimator, method, x.values), []
        for number, each in enumerate(self.each):
            made = each.apply(method, _taken(x, self._columns(number)), self.apart(parts, number))
            first, width = self.estimator.output_indices_[self._names[number]].start, made.values.shape[1]
            assert made.node is not None, "what was applied has a node"
            box, column = [(0, len(values) - 1), (first, first + width - 1)], Line(1, 1, -first)
            rows = [BoxRow(box, [(Line(0), Line(0)), (column, column)])] if prod(made.values.shape) else []
            edges.append(Edge(made.node, (BoxRelation.from_rows(values.shape, made.values.shape, rows),)))
        return Traced(values, Node(values.shape, edges, operation=f"{COLUMN_TRANSFORMER}.{method}"))


def _width(span: slice) -> int:
    return int(span.stop - span.start)


def _taken(x: Traced, columns: list[int]) -> Traced:
    values = x.values[:, columns]
    if x.node is None:
        return Traced(values, None)
    steps = Use(None, "", x.values, values.shape, 0).own_columns([(each,) for each in columns])
    return Traced(values, Node(values.shape, [Edge(x.node, steps)], operation="columns"))


def fitted_of(estimator: Any) -> Fitted:
    """Return a fitted estimator with what is known of its lineage.

    Raises:
        NotTracedError: nothing is known of its class.

    """
    name = name_of(type(estimator))
    if name == PIPELINE:
        return Steps(estimator)
    return Columns(estimator) if name == COLUMN_TRANSFORMER else Single(estimator)


def output_of(estimator: Any, method: str, values: Values) -> Values:
    """Return what a method makes of a plain array.

    Raises:
        NotTracedError: it has no such method, or makes a sparse matrix.

    """
    function = getattr(estimator, method, None)
    if function is None:
        raise NotTracedError(
            f"{type(estimator).__name__} has no method {method}", instead="Use one that scikit-learn gives it."
        )
    if not len(values):
        raise NotTracedError("scikit-learn takes no array without rows", instead="Leave the call out.")
    found = function(values)
    if not isinstance(found, np.ndarray):
        raise NotTracedError(
            f"{type(estimator).__name__}.{method} makes a {type(found).__name__}, and no plain array",
            instead="Give sparse_output=False, or sparse_threshold=0 of a ColumnTransformer.",
        )
    return found

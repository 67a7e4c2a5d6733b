"""The lineage of a tracked array in saved things, as relations that can be stored.   [DSLog, §V]

The graph behind the array is walked from the saved things up. Steps of boxes are composed, as long as the composition
is a few boxes again. Where it is not, e.g. where cells were chosen by an index, nothing is composed: the array on the
way becomes a *stage*, whose lineage is kept once, and questions go through it. So no pair is ever listed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod

from forward_lineage.arrays.graph import Node
from forward_lineage.relations.box_composition import composed
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.gather import GatherRelation
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.store.arrays.origins import Origin, origin_of
from udafs.errors import NotTracedError

MOST_BOXES = 64
"""Boxes of a composition or a union; of more, the parts are kept apart. A segment of more would count their pairs."""

Target = Origin | int
"""Where lineage leads to: a saved thing, or a stage by its number."""
Leads = dict[Target, LineageRelation | None]
"""From the cells of an array to each target; None: each cell to the row of the same number."""


@dataclass
class Related:
    """Lineage of an array.

    Attributes:
        leads: from its cells.
        stages: arrays on the way: how many cells each has, and where they lead; a stage leads to those before it.

    """

    leads: Leads = field(default_factory=dict)
    stages: list[tuple[int, Leads]] = field(default_factory=list)

    def origins(self) -> list[Origin]:
        """Return the saved things that the array was made of, by name."""
        every = [self.leads, *(leads for _, leads in self.stages)]
        found = {target for leads in every for target in leads if isinstance(target, Origin)}
        return sorted(found, key=lambda each: (each.name.lower(), each.version))


def related(start: Node, home: str, *, control: bool) -> Related:
    """Return the lineage of a state of an array in the saved things of a home.

    Args:
        start: the state.
        home: the folder of the saved things.
        control: follow what only decided, too.

    Raises:
        NotTracedError: it was made of a tracked array that is not saved there.

    """
    if start.is_source and _end(start, start, home) is None:
        return Related()
    walk = _Walk(start, home, control)
    for node in walk.behind():
        walk.leads[node] = walk.lead(node)
    return Related(walk.leads[start], walk.stages)


def _end(node: Node, start: Node, home: str) -> Origin | None:
    """The saved thing where a walk ends; an array that was saved before and is saved again is none to itself."""
    found = origin_of(node, home)
    return found if found is not None and (found.was_read or node is not start) else None


class _Walk:
    """From saved things up to an array."""

    def __init__(self, start: Node, home: str, control: bool) -> None:
        self._start, self._home, self._control = start, home, control
        self.leads: dict[Node, Leads] = {}
        self.stages: list[tuple[int, Leads]] = []
        self._numbers: dict[tuple[int, Target], int] = {}

    def behind(self) -> list[Node]:
        """Return the states that the array was made of and itself, earlier ones first; a saved one is an end."""
        found, open_ends = {self._start}, [self._start]
        while open_ends:
            node = open_ends.pop()
            if _end(node, self._start, self._home) is not None:
                continue
            for edge in node.edges:
                if (self._control or not edge.control) and edge.source not in found:
                    found.add(edge.source)
                    open_ends.append(edge.source)
        return sorted(found, key=lambda each: each.number)

    def lead(self, node: Node) -> Leads:
        origin = _end(node, self._start, self._home)
        if origin is not None:
            return {origin: origin.relation}
        if node.is_source:
            raise NotTracedError(
                f"the tracked array {node.name} that it was made of is not saved in this home",
                instead=f"Save that first: lineage.save({node.name}, {node.name!r}), then compute again.",
            )
        found: Leads = {}
        for edge in node.edges:
            if edge.control and not self._control:
                continue
            for target, relation in self.leads[edge.source].items():
                self._add(found, node, *self._through(edge.steps, edge.source, target, relation))
        return found

    def _through(
        self, steps: Iterable[LineageRelation], source: Node, target: Target, relation: LineageRelation | None
    ) -> tuple[Target, LineageRelation | None]:
        """Lead on by the steps of an edge, whose first is the farthest from the source."""
        for step in reversed(tuple(steps)):
            if relation is None:
                relation = step
                continue
            made = _composed(step, relation)
            if made is None:
                target, made = self._stage(_cells_between(step, relation, source), target, relation), step
            relation = made
        return target, relation

    def _add(self, found: Leads, node: Node, target: Target, relation: LineageRelation | None) -> None:
        """Add a way to those of a node: beside one to the same target, or, where both are not few boxes, by a stage."""
        if target not in found:
            found[target] = relation
            return
        before = found[target]
        if before is relation:
            return
        both = _united(_boxes(before, node), _boxes(relation, node))
        if both is not None:
            found[target] = both
        else:
            self._add(found, node, self._stage(prod(node.shape), target, relation), None)

    def _stage(self, cells: int, target: Target, relation: LineageRelation | None) -> int:
        """Make an array on the way a stage, once."""
        key = id(relation), target  # the relation lives as long as the stage
        if key not in self._numbers:
            self._numbers[key] = len(self.stages)
            self.stages.append((cells, {target: relation}))
        return self._numbers[key]


def _cells_between(step: LineageRelation, relation: LineageRelation, source: Node) -> int:
    """How many cells the array has that a step leads to and a relation leads on from."""
    if isinstance(step, BoxRelation | GatherRelation):
        return prod(step.in_shape)
    return prod(relation.out_shape if isinstance(relation, BoxRelation | GatherRelation) else source.shape)


def _composed(step: LineageRelation, relation: LineageRelation) -> LineageRelation | None:
    if not isinstance(step, BoxRelation) or not isinstance(relation, BoxRelation):
        return None
    found = composed(step, relation)
    return found if isinstance(found, BoxRelation) and len(found.first) <= MOST_BOXES else None


def _united(one: BoxRelation | None, other: BoxRelation | None) -> BoxRelation | None:
    if one is None or other is None or one.shapes != other.shapes:
        return None
    return BoxRelation.united([one, other]) if len(one.first) + len(other.first) <= MOST_BOXES else None


def _boxes(relation: LineageRelation | None, node: Node) -> BoxRelation | None:
    if relation is None:
        return BoxRelation.elementwise(node.shape, node.shape)
    return relation if isinstance(relation, BoxRelation) else None

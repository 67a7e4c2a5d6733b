"""Lineage of earlier calls, where a signature says that it is this call's, too.   [DSLog, §VI]

base_sig: the same operation over the same arrays. dim_sig: over arrays of the same shapes, after it was the same for
different values. gen_sig: over other shapes, with sizes as symbols.

The paper's prediction takes a mapping for granted after one more call that agrees, and is wrong for `cross`. Here a
size becomes a symbol only if it varied, and all calls that are alike in the other sizes have to agree. What they say of
this call has to be one thing, the shape of the output included. Cells are captured and compared before any reuse.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from forward_lineage.arrays.captures import Capture, cells_of, relation_of
from forward_lineage.arrays.graph import Shape
from forward_lineage.arrays.symbols import Observation, predicted
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.provrc import encode
from forward_lineage.relations.relation import LineageRelation
from udafs.errors import BadArgumentError
from udafs.lineage_set import LineageSet

#: So many cells are captured before lineage is reused: the corners, and others spread by chance.
CHECKED = 24
#: So many calls of one operation are remembered.
MOST_CALLS = 64


@dataclass(frozen=True, eq=False)
class Request:
    """A call whose lineage is wanted.

    Attributes:
        name: the operation.
        inputs: the values that went in.
        out: the shape of the output.
        arguments: the other arguments, as text.

    """

    name: str
    inputs: Sequence[npt.NDArray[Any]]
    out: Shape
    arguments: str

    @property
    def operation(self) -> tuple[str, str]:
        """What has to be the same for any reuse."""
        return self.name, self.arguments

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Of the inputs."""
        return tuple(each.shape for each in self.inputs)

    def digest(self) -> bytes:
        """Of the values that went in."""
        found = hashlib.blake2b(digest_size=16)
        for each in self.inputs:
            found.update(repr((each.shape, each.dtype.str)).encode())
            found.update(np.ascontiguousarray(each).tobytes() if each.dtype != object else repr(each.tolist()).encode())
        return found.digest()


@dataclass(eq=False)
class _Call:
    """A call that was captured."""

    digest: bytes
    shapes: tuple[Shape, ...]
    out: Shape
    relations: list[BoxRelation]


@dataclass(eq=False)
class Memory:
    """Calls whose lineage was captured, and what may be taken from them.

    Example:
        >>> memory = Memory()
        >>> for size in (4, 6, 9, 30):
        ...     x = track(np.arange(float(size)), "x")
        ...     y = register_operation("twice", [x], 2 * x.values, capture=lambda at: [at], reuse=memory)
        >>> print(explain(y).splitlines()[0])
        twice (30,) of x (30,) as data (reused by gen_sig)

    Attributes:
        reused: how often a signature answered, by its name.
        wrong: how often cells that were captured to check a reuse were other ones; the lineage was captured then.

    """

    reused: dict[str, int] = field(default_factory=lambda: {"base_sig": 0, "dim_sig": 0, "gen_sig": 0})
    wrong: int = 0
    _calls: dict[tuple[str, str], list[_Call]] = field(default_factory=dict)

    def lineage(self, request: Request, captures: Sequence[Capture]) -> tuple[list[LineageRelation], str]:
        """Return a relation for each capture, reused or captured, and what `explain` says of it.

        Args:
            request: the call.
            captures: for each input and then, for control, for each input again.

        Raises:
            BadArgumentError: a capture is neither a function nor None.

        """
        if not all(each is None or callable(each) for each in captures):
            raise BadArgumentError(
                "reuse with a capture that is no function",
                instead="Give a function of an output index, so that cells can be checked; or leave reuse out.",
            )
        calls = self._calls.setdefault(request.operation, [])
        digest = request.digest()
        for signature, found in self._candidates(request, digest, calls, [each is None for each in captures]):
            if signature == "base_sig" or self._holds(request, captures, found):
                self.reused[signature] += 1
                return list(found), f"reused by {signature}"
            self.wrong += 1
        made = [
            relation_of(each, request.out, into.shape)
            for each, into in zip(captures, [*request.inputs] * 2, strict=True)
        ]
        canonical = [
            _canonical(each, request.out, into.shape) for each, into in zip(made, [*request.inputs] * 2, strict=True)
        ]
        calls.append(_Call(digest, request.shapes, request.out, canonical))
        del calls[:-MOST_CALLS]
        return list(canonical), "captured"

    def _candidates(
        self, request: Request, digest: bytes, calls: list[_Call], missing: list[bool]
    ) -> list[tuple[str, list[BoxRelation]]]:
        """What signatures say, the surest first."""
        found = []
        alike = [each for each in calls if each.shapes == request.shapes]
        same = [each for each in alike if each.digest == digest and each.out == request.out]
        if same:
            return [("base_sig", same[-1].relations)]
        if len({each.digest for each in alike}) > 1:
            first = alike[0]
            if all(each.out == request.out and _equal(each.relations, first.relations) for each in alike):
                found.append(("dim_sig", first.relations))
        elif not alike:
            seen = [Observation(each.shapes, each.out, each.relations) for each in calls if _settled(each, calls)]
            general = predicted(seen, request.shapes, request.out)
            if general is not None:
                found.append(("gen_sig", general))
        return [each for each in found if len(each[1]) == len(missing)]

    def _holds(self, request: Request, captures: Sequence[Capture], found: Sequence[BoxRelation]) -> bool:
        """Whether captured cells are those that would be reused."""
        count = prod(request.out)
        rng = np.random.default_rng(count)
        chosen = {0, count - 1, *rng.integers(0, count, CHECKED - 2).tolist()} if count else set()
        for capture, relation, into in zip(captures, found, [*request.inputs] * 2, strict=True):
            if capture is None:
                if relation:
                    return False
                continue
            assert callable(capture)
            for number in chosen:
                said = LineageSet(cells_of(capture, number, request.out, into.shape))
                if relation.backward(LineageSet([number])) != said:
                    return False
        return True


def _settled(call: _Call, calls: Sequence[_Call]) -> bool:
    """Whether no other call over arrays of these shapes had another lineage: else values decide, not shapes."""
    return all(
        other.out == call.out and _equal(other.relations, call.relations)
        for other in calls
        if other.shapes == call.shapes
    )


def _canonical(relation: LineageRelation, out: Shape, into: Shape) -> BoxRelation:
    """The same boxes for the same pairs."""
    return encode(out, into, *relation.pairs())


def _equal(mine: Sequence[BoxRelation], others: Sequence[BoxRelation]) -> bool:
    return len(mine) == len(others) and all(
        a.in_shape == b.in_shape and np.array_equal(a.table(), b.table()) for a, b in zip(mine, others, strict=True)
    )

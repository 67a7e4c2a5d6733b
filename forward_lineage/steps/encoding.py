"""Values, functions and classes as one digest of all that a function's results depend on.

Types are part of it: ``1``, ``1.0``, ``True`` and ``"1"`` are four values. So is sharing: a list that two names mean is
not two equal lists. An object that is not known through and through is a *reason*: why no digest can stand for it.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from forward_lineage.steps.code_reading import read_code


@dataclass
class Encoder:
    """The pieces that a digest is fed, one after the other, each with its length.

    Attributes:
        pure: packages that the step's author vouches for.
        parameters: names and values with which the step is called.
        reasons: why there is no digest, in the order in which they were found.
        versions: of the packages that were reached, by module.
        where: the names on the way to what is encoded now.
        root: the function whose identity this is.

    """

    pure: frozenset[str] = frozenset()
    parameters: dict[str, Any] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    where: list[str] = field(default_factory=list)
    root: object = None

    def __post_init__(self) -> None:
        self._hash = hashlib.sha256()
        self._seen: dict[int, tuple[int, object]] = {}

    def digest(self) -> str:
        """Return the digest of all that was put in."""
        return self._hash.hexdigest()

    def put(self, *pieces: str | bytes) -> None:
        """Feed pieces."""
        for piece in pieces:
            data = piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else piece
            self._hash.update(struct.pack(">cQ", b"s" if isinstance(piece, str) else b"b", len(data)))
            self._hash.update(data)

    def give_up(self, reason: str) -> None:
        """Take note of why there is no digest."""
        place = f" ({' → '.join(self.where)})" if self.where else ""
        if (said := f"{reason}{place}") not in self.reasons:
            self.reasons.append(said)

    def is_first(self, value: object) -> bool:
        """Feed a reference to an object that was met before; return whether it was not."""
        if (met := self._seen.get(id(value))) is not None:
            self.put("met", str(met[0]))
            return False
        self._seen[id(value)] = (len(self._seen), value)  # with the value, so that its id stays its own
        return True

    def gives_up_in(self, put: Callable[[], None]) -> bool:
        """Feed something that is no reason to give up; return whether it would have been one."""
        reasons, seen = self.reasons, dict(self._seen)
        self.reasons = []
        try:
            put()
            if self.reasons:
                self._seen = seen  # met in earnest, it is to say so again
            return bool(self.reasons)
        finally:
            self.reasons = reasons

    def within(self, name: str, put: Callable[[], None]) -> None:
        """Feed something below a name."""
        self.where.append(name)
        try:
            put()
        finally:
            self.where.pop()

    def apart(self, put: Callable[[Encoder], None]) -> str:
        """Return the digest of something by itself, for collections without an order."""
        other = Encoder(self.pure, self.parameters, self.reasons, self.versions, self.where)
        put(other)
        return other.digest()


def put_sequence(encoder: Encoder, kind: str, values: Iterable[object], put: Callable[[Encoder, object], None]) -> None:
    """Feed values in order."""
    values = list(values)
    encoder.put(kind, str(len(values)))
    for value in values:
        put(encoder, value)


def put_unordered(
    encoder: Encoder, kind: str, values: Iterable[object], put: Callable[[Encoder, object], None]
) -> None:
    """Feed values whose order says nothing."""
    encoder.put(kind, *sorted(encoder.apart(lambda other, value=value: put(other, value)) for value in values))  # type: ignore[misc]


def put_plain(encoder: Encoder, value: object) -> bool:
    """Feed a value of a type that no code can change; return whether it is one.

    Floating-point numbers go by their bits: ``0.0`` and ``-0.0`` are two, and a NaN is itself.
    """
    kind = type(value)
    if value is None or value is Ellipsis or value is NotImplemented or kind is bool:
        encoder.put("constant", repr(value))
    elif isinstance(value, int) and kind is int:
        encoder.put("int", hex(value))
    elif isinstance(value, float) and kind is float:
        encoder.put("float", struct.pack(">d", value))
    elif isinstance(value, complex) and kind is complex:
        encoder.put("complex", struct.pack(">dd", value.real, value.imag))
    elif isinstance(value, str) and kind is str:
        encoder.put("str", value)
    elif isinstance(value, bytes) and kind is bytes:
        encoder.put("bytes", value)
    else:
        return False
    return True


def put_code(encoder: Encoder, code: CodeType) -> None:
    """Feed a code object: its instructions, constants, and inner code objects."""
    facts = read_code(code)
    encoder.put("code", *facts.tokens)
    for constant in facts.constants:
        _put_constant(encoder, constant)
    for nested in facts.nested:
        put_code(encoder, nested)


def _put_constant(encoder: Encoder, value: object) -> None:
    if put_plain(encoder, value):
        return
    if isinstance(value, tuple):
        put_sequence(encoder, "tuple", value, _put_constant)
    elif isinstance(value, frozenset):
        put_unordered(encoder, "frozenset", value, _put_constant)
    elif isinstance(value, slice):
        put_sequence(encoder, "slice", (value.start, value.stop, value.step), _put_constant)
    else:
        encoder.give_up(f"a constant of type {type(value).__name__} in its code is not known")

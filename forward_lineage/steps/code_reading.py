"""Read code objects: the globals, attributes and imports that they read, and the globals that they assign.

Instructions are what runs. Source may be gone, edited since it was imported, or the same line for two lambdas. They say
the same for two texts of the same syntax tree: comments, layout, docstrings, and names of local variables do not count.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType
from typing import Literal

_GLOBAL = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD"}
_OTHER_ATTRIBUTE = {"LOAD_SUPER_ATTR", "LOAD_ZERO_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR"}
_ASSIGNED = {"STORE_GLOBAL", "DELETE_GLOBAL"}
_BINDING = ("STORE_FAST", "STORE_DEREF", "DELETE_FAST", "DELETE_DEREF")
_SKIPPED = {"EXTENDED_ARG", "CACHE", "NOP", "RESUME", "PRECALL"}
_BY_NAME = {"getattr", "hasattr"}
_CALL = {"CALL", "CALL_KW"}
_SIMPLE = {"LOAD_FAST", "LOAD_DEREF", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK"}


@dataclass(frozen=True)
class GlobalRead:
    """A global name that is read, with the attributes that are read of it at once: ``np.linalg.norm``.

    Attributes:
        name: of the global.
        attributes: after it, in order.
        line: where.
        first: of a call with one argument that is a constant or name: how it is named, and the constant or name.

    """

    name: str
    attributes: tuple[str, ...]
    line: int
    first: tuple[Literal["constant", "global", "local", "other"], object] = ("other", None)


@dataclass(frozen=True)
class Import:
    """An import inside a function.

    Attributes:
        module: as written.
        level: number of dots before it.
        names: those of ``from module import names``; none of ``import module``.
        line: where.

    """

    module: str
    level: int
    names: tuple[str, ...]
    line: int


@dataclass
class CodeFacts:
    """The facts about a code object by itself; `nested` ones are read apart.

    Attributes:
        tokens: its instructions, as text that is the same for the same syntax tree.
        constants: those that are loaded, code objects left out, in order of the tokens that name them.
        nested: code objects of inner functions, comprehensions and classes.
        reads: globals that are read.
        attributes: names and lines of attributes of anything else.
        imports: inside.
        assigned: globals that it assigns or deletes, with lines.
        computed: lines on which an attribute is named by a computed value.
        bound: local names that it assigns, or has as arguments.

    """

    tokens: list[str] = field(default_factory=list)
    constants: list[object] = field(default_factory=list)
    nested: list[CodeType] = field(default_factory=list)
    reads: list[GlobalRead] = field(default_factory=list)
    attributes: list[tuple[str, int]] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    assigned: list[tuple[str, int]] = field(default_factory=list)
    computed: list[int] = field(default_factory=list)
    bound: set[str] = field(default_factory=set)


@lru_cache(maxsize=4096)
def read_code(code: CodeType) -> CodeFacts:
    """Return what a code object does."""
    instructions = [each for each in dis.get_instructions(code) if each.opname not in _SKIPPED]
    facts = CodeFacts()
    facts.tokens += _signature(code)
    places = _places(instructions, code)
    for instruction in instructions:
        facts.tokens.append(_token(instruction, places, code, facts))
    _read_names(instructions, facts)
    return facts


def _signature(code: CodeType) -> list[str]:
    """Return what of a code object is not in its instructions: arguments, flags, which handler is around what."""
    arguments = code.co_argcount + code.co_kwonlyargcount
    starred = bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    names = code.co_varnames[: arguments + starred]
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return [f"{counts} {names}", code.co_exceptiontable.hex(), str((len(code.co_cellvars), code.co_freevars))]


def _places(instructions: list[dis.Instruction], code: CodeType) -> dict[int, int]:
    """Return for each offset the number of the first instruction from there on that counts."""
    offsets = [each.offset for each in instructions]
    places, number = {}, 0
    for offset in range(0, len(code.co_code) + 2, 2):
        while number < len(offsets) and offsets[number] < offset:
            number += 1
        places[offset] = number
    return places


def _token(instruction: dis.Instruction, places: dict[int, int], code: CodeType, facts: CodeFacts) -> str:
    name, opcode = instruction.opname, instruction.opcode
    if opcode in dis.hasconst:
        constant = code.co_consts[instruction.arg or 0]  # names of keywords are no `argval` in Python 3.11
        if isinstance(constant, CodeType):
            facts.nested.append(constant)
            return f"{name} code"
        facts.constants.append(constant)
        return f"{name} constant"
    if opcode in dis.hasname:
        return f"{name} {instruction.argval}"
    if opcode in dis.hasjrel or opcode in dis.hasjabs:
        return f"{name} to {places[instruction.argval]}"
    return f"{name} {instruction.arg}"


def _read_names(instructions: list[dis.Instruction], facts: CodeFacts) -> None:
    number, line = 0, 0
    while number < len(instructions):
        each = instructions[number]
        line = (each.positions.lineno if each.positions else None) or line
        number += 1
        if each.opname in _GLOBAL:
            number = _read_global(instructions, number, facts, line)
        elif each.opname in _ATTRIBUTE or each.opname in _OTHER_ATTRIBUTE:
            facts.attributes.append((str(each.argval), line))
        elif each.opname in _ASSIGNED:
            facts.assigned.append((str(each.argval), line))
        elif each.opname.startswith(_BINDING):
            facts.bound.update(each.argval if isinstance(each.argval, tuple) else (str(each.argval),))
        elif each.opname == "IMPORT_NAME":
            level, names = (instructions[number - 3].argval, instructions[number - 2].argval)
            facts.imports.append(Import(str(each.argval), int(level or 0), tuple(names or ()), line))


def _read_global(instructions: list[dis.Instruction], number: int, facts: CodeFacts, line: int) -> int:
    """Take note of a global that was just loaded; return where to go on, behind its attributes."""
    name = str(instructions[number - 1].argval)
    if name == "__name__" and number < len(instructions) and instructions[number].argval == "__module__":
        return number  # a class inside a function says where it was made
    attributes = []
    while number < len(instructions) and instructions[number].opname in _ATTRIBUTE:
        attributes.append(str(instructions[number].argval))
        number += 1
    facts.reads.append(GlobalRead(name, tuple(attributes), line, _first_argument(instructions, number)))
    if name in _BY_NAME and not attributes:
        _read_attribute_by_name(instructions, number, facts, line)
    return number


def _constant_at(instructions: list[dis.Instruction], number: int) -> tuple[bool, object]:
    if number < len(instructions):
        each = instructions[number]
        if each.opcode in dis.hasconst or each.opname == "LOAD_SMALL_INT":
            return True, each.argval
    return False, None


def _first_argument(
    instructions: list[dis.Instruction], number: int
) -> tuple[Literal["constant", "global", "local", "other"], object]:
    if not _is_called_at(instructions, number + 1):
        return "other", None  # such as ``SEED or None``
    found, constant = _constant_at(instructions, number)
    if found:
        return "constant", constant
    each = instructions[number]
    if each.opname in _GLOBAL:
        return "global", each.argval
    return ("local", each.argval) if each.opname in _SIMPLE else ("other", None)


def _is_called_at(instructions: list[dis.Instruction], number: int) -> bool:
    """Return whether a call with one argument comes here, behind the name of the argument if it has one."""
    following = instructions[number : number + 2]
    named = [each.opname for each in following]
    if named[:1] == ["KW_NAMES"] or named[1:] == ["CALL_KW"]:
        following = following[1:]
    return bool(following) and following[0].opname in _CALL and following[0].arg == 1


def _read_attribute_by_name(instructions: list[dis.Instruction], number: int, facts: CodeFacts, line: int) -> None:
    """Take note of ``getattr(x, "name")`` as of ``x.name``; any other way to name it is computed."""
    function = instructions[number - 1]
    is_called = function.opname == "LOAD_GLOBAL" and bool((function.arg or 0) & 1)  # not handed on
    if is_called and number < len(instructions) and instructions[number].opname in _SIMPLE | _GLOBAL:
        number += 1
        while number < len(instructions) and instructions[number].opname in _ATTRIBUTE:
            number += 1
        found, name = _constant_at(instructions, number)
        if found and isinstance(name, str):
            facts.attributes.append((name, line))
            return
    facts.computed.append(line)


def all_codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all nested ones."""
    yield code
    for each in read_code(code).nested:
        yield from all_codes(each)

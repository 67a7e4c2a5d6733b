"""Scala sources as far as a test needs them: what a file defines, and which words its code says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from udafs.build import SOURCES, scala_files
from udafs.versions import NEWEST

# What is not code. A comment or a string may contain the beginning of the other, so whatever begins first counts.
_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<interpolated>\w+)(?P<quotes>\"{3}|\")
      | (?P<text>\"{3}.*?\"{3,}|"(?:\\.|[^"\\\n])*"|'(?:\\.[^']*|[^'\\])')""",
    re.VERBOSE | re.DOTALL,
)
_IMPORT_FROM_OTHERS = re.compile(r"^import (?:org|java|scala|com)\..*$", re.MULTILINE)
_DEFINITION = re.compile(
    r"^(?:(?:private|protected|final|sealed|abstract|case|implicit)(?:\[\w+\])? +)*(?:class|object|trait) +(\w+)",
    re.MULTILINE,
)
# A word behind a point is a member of something that is named in front of it.
_WORD = re.compile(r"(?<![\w.])[A-Za-z]\w*")


def code(text: str) -> str:
    """The text without comments and strings; what an interpolated string computes stays."""
    return "".join(_code(text))


def _code(text: str) -> Iterator[str]:
    at = 0
    while match := _TOKEN.search(text, at):
        yield text[at : match.start()]
        at = match.end()
        if match["interpolated"]:
            end = _end_of_string(text, at, match["quotes"])
            yield from (f" {computed} " for computed in _computed(text[at:end]))
            at = end + len(match["quotes"])
        else:
            yield " "
    yield text[at:]


def _end_of_string(text: str, start: int, quotes: str) -> int:
    """Where the string that begins at `start` ends; in its ${…} other strings may stand."""
    at, depth = start, 0
    while depth or not text.startswith(quotes, at):
        if text.startswith("${", at):
            depth += 1
            at += 1
        elif depth:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
        elif text[at] == "\\" and quotes == '"':
            at += 1
        at += 1
    return at


def _computed(string: str) -> Iterator[str]:
    """The expressions of an interpolated string."""
    at = 0
    while match := re.compile(r"\$(?:(\w+)|\{)").search(string, at):
        at = match.end()
        if match[1]:
            yield match[1]
            continue
        depth = 1
        while depth:
            depth += {"{": 1, "}": -1}.get(string[at], 0)
            at += 1
        yield code(string[match.end() : at - 1])


@dataclass(frozen=True)
class ScalaFile:
    """One source.

    Attributes:
        place: its path below `udafs/scala`.
        definitions: the classes, objects and traits at its top level.
        words: the names in its code, what it imports from elsewhere left out.

    """

    place: str
    definitions: frozenset[str]
    words: frozenset[str]

    @property
    def room(self) -> str:
        """The folder it stands in."""
        return self.place.rpartition("/")[0]

    @classmethod
    def of(cls, place: str, text: str) -> ScalaFile:
        """Read one file."""
        plain = code(text)
        words = frozenset(_WORD.findall(_IMPORT_FROM_OTHERS.sub("", plain)))
        return cls(place, frozenset(_DEFINITION.findall(plain)), words)


def kernel_files(version: tuple[int, int] = NEWEST) -> list[ScalaFile]:
    """All files of the kernel for a version of Spark."""
    return [
        ScalaFile.of(file.relative_to(SOURCES).as_posix(), file.read_text(encoding="utf-8"))
        for file in scala_files(SOURCES, version)
    ]


def references(files: list[ScalaFile]) -> dict[str, dict[str, set[str]]]:
    """For each place the places it uses, and by which names."""
    home = {name: file.place for file in files for name in file.definitions}
    found: dict[str, dict[str, set[str]]] = {file.place: {} for file in files}
    for file in files:
        for name in file.words & home.keys() - file.definitions:
            found[file.place].setdefault(home[name], set()).add(name)
    return found

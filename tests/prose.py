"""Sentences that readers stumble over: ``python -m tests.prose [file …]``, as `make check` does.

Three signs are counted in pages and docstrings, for each 1,000 words:

- long: a sentence of more than 25 words;
- clause: a statement whose subject is a clause, as in "What is not traced is refused";
- pointing: words that send the reader elsewhere, such as "so is" or "as said".

With files, each such sentence of theirs is listed. Without, all is counted and compared with `LIMITS`; what is above
fails, and the places to read again are listed, the longest first.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
LONG = 25
LISTED = 20
SIGNS = ("long", "clause", "pointing")

#: What is read → the files, and how often each of SIGNS may be found in 1,000 words. Limits go down, never up.
LIMITS: dict[str, tuple[tuple[str, ...], tuple[float, float, float]]] = {
    "pages": (("*.md", "docs/**/*.md", "udafs/*.md", "*/README.md", "walmart_demo/dbt/README.md"), (3.0, 0.5, 0.5)),
    "public docstrings": (("forward_lineage/session/*.py",), (1.5, 0.5, 0.5)),
    "all docstrings": (("forward_lineage/**/*.py", "udafs/**/*.py", "rewrites/**/*.py"), (1.5, 0.5, 0.5)),
}

_CLAUSE = re.compile(r"^(what|who|whoever|whatever|which|where there|that which|whose)\b(?!.*\?$)", re.IGNORECASE)
_POINTING = re.compile(
    r"\b(as said|so is|so are|so does|so do|the same goes|and so on|is said|as it was|as they are|of which)\b",
    re.IGNORECASE,
)
_ITEM = re.compile(r"([-*]|\d+\.)\s+")
_OPENS = re.compile(r"([-*]|\d+\.)\s|\w+: |(Args|Returns|Raises|Attributes):$")
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z\"'(*`])")
_NO_PROSE = ("```", "|", "#", "<!--", ">>>", "-->")


@dataclass(frozen=True)
class Stumble:
    """A sentence to read again."""

    place: str
    signs: tuple[str, ...]
    words: int
    text: str

    def __str__(self) -> str:
        return f"{self.place} {'+'.join(self.signs)} ({self.words} words): {self.text[:160]}"


@dataclass
class Count:
    """What was found in some files."""

    words: int = 0
    stumbles: list[Stumble] = field(default_factory=list)

    def per_thousand(self) -> tuple[float, ...]:
        """How often each of SIGNS was found in 1,000 words."""
        found = Counter(sign for each in self.stumbles for sign in each.signs)
        return tuple(1000 * found[sign] / max(self.words, 1) for sign in SIGNS)


def count(files: Sequence[Path]) -> Count:
    """Read files.

    Args:
        files: pages in Markdown, and Python files, of which the docstrings are read.

    """
    found = Count()
    for file in files:
        for line, paragraph in passages(file.read_text(encoding="utf-8"), file.suffix == ".py"):
            for sentence in sentences(paragraph):
                words = len(sentence.split())
                found.words += words
                if signs := signs_of(sentence, words):
                    found.stumbles.append(Stumble(f"{_title(file)}:{line}", signs, words, sentence))
    return found


def signs_of(sentence: str, words: int) -> tuple[str, ...]:
    """Return which of SIGNS a sentence has."""
    bare = sentence.strip("*_ ")
    seen = (words > LONG, bool(_CLAUSE.match(bare)), bool(_POINTING.search(sentence)))
    return tuple(sign for sign, is_there in zip(SIGNS, seen, strict=True) if is_there)


def sentences(paragraph: str) -> list[str]:
    """Take a paragraph apart; a link counts as its text, code as one word."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
    plain = re.sub(r"`[^`]*`", "code", plain)
    return [each for each in _SENTENCE.split(plain) if each.strip()]


def passages(text: str, is_python: bool) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of prose in a page, or in the docstrings of a Python file, with their lines."""
    if not is_python:
        yield from _paragraphs(text.splitlines(), 1)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring:
                yield from _paragraphs(docstring.splitlines(), node.body[0].lineno)


def _paragraphs(lines: Sequence[str], start: int) -> Iterator[tuple[int, str]]:
    block: list[str] = []
    first, fenced, hidden = start, False, False
    for number, line in enumerate(lines, start):
        bare = line.strip()
        fenced ^= bare.startswith("```")
        hidden |= bare.startswith("<!--")
        is_prose = bool(bare) and not (fenced or hidden or bare.startswith(_NO_PROSE))
        hidden &= "-->" not in bare
        if block and not (is_prose and not _OPENS.match(bare)):
            yield first, " ".join(block)
            block = []
        if is_prose:
            first = first if block else number
            block.append(_ITEM.sub("", bare, count=1) if _ITEM.match(bare) else bare)
    if block:
        yield first, " ".join(block)


def _title(file: Path) -> str:
    return file.relative_to(REPOSITORY).as_posix() if file.is_relative_to(REPOSITORY) else str(file)


def above_limits() -> list[str]:
    """Return a line for each limit that is broken, and the places to read again."""
    said: list[str] = []
    for what, (patterns, limits) in LIMITS.items():
        found = count(sorted({file for pattern in patterns for file in REPOSITORY.glob(pattern)}))
        for sign, rate, limit in zip(SIGNS, found.per_thousand(), limits, strict=True):
            if rate > limit:
                said.append(f"{what}: {sign} {rate:.2f} of 1,000 words, at most {limit} are allowed")
                said += _worst([each for each in found.stumbles if sign in each.signs])
    return said


def _worst(stumbles: list[Stumble]) -> list[str]:
    return [f"  {each}" for each in sorted(stumbles, key=lambda each: -each.words)[:LISTED]]


def main() -> None:
    """Do what the command line says."""
    files = [Path(name).resolve() for name in sys.argv[1:]]
    if files:
        found = count(files)
        print("\n".join(map(str, found.stumbles)))
        rates = zip(SIGNS, found.per_thousand(), strict=True)
        print(f"{found.words} words; of 1,000: " + ", ".join(f"{sign} {rate:.1f}" for sign, rate in rates))
    elif said := above_limits():
        sys.exit("\n".join(said))


if __name__ == "__main__":
    main()

"""Reading and writing fixture files."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parent / "fixtures"
SEMANTICS = ("data", "control")
_HEADING = re.compile(r"^--- (args|since|rewritten|rows|refused|bug)(?: (data|control))?( in order)?$")


@dataclass
class Case:
    """One query and what must come of it.

    Attributes:
        file: the fixture file it stands in.
        title: what it shows.
        sql: the user's SQL.
        args: values of its parameters: a list for `?`, a dict for `:name`, None for none.
        rewritten: semantics → the SQL that runs.
        rows: semantics → lines of the result; absent where the query is refused.
        refused: semantics → the whole message.
        in_order: whether the order of the rows counts.
        bug: why the case fails today; None: it must pass.
        since: the first version of Spark that it runs in, and what older ones lack; None: all versions.

    """

    file: Path
    title: str
    sql: str = ""
    args: list[Any] | dict[str, Any] | None = None
    rewritten: dict[str, str] = field(default_factory=dict)
    rows: dict[str, list[str]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    in_order: bool = False
    bug: str | None = None
    since: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        return f"{self.file.stem}: {self.title}"


def read_all() -> Iterator[Case]:
    """Yield the cases of every file."""
    for file in sorted(FIXTURES.glob("*.golden")):
        yield from read(file)


def read(file: Path) -> list[Case]:
    """Read one file.

    Raises:
        ValueError: an unknown heading, or a case that says neither rows nor a refusal for one of the semantics.

    """
    chunks = re.split(r"^=== ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    cases = [_case(file, chunk) for chunk in chunks[1:]]
    titles = [case.title for case in cases]
    if len(set(titles)) < len(titles):
        raise ValueError(f"{file.name}: the same title twice")
    return cases


def _case(file: Path, chunk: str) -> Case:
    title, _, body = chunk.partition("\n")
    case = Case(file, title.strip())
    parts = re.split(r"^(--- .*)$", body, flags=re.MULTILINE)
    case.sql = parts[0].strip("\n")
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        found = _HEADING.match(heading.strip())
        if found is None:
            raise ValueError(f"{case.name}: unknown heading {heading}")
        _take(case, found[1], SEMANTICS if found[2] is None else (found[2],), text)
        case.in_order = case.in_order or bool(found[3])
    if set(case.rows) | set(case.refused) != set(SEMANTICS):
        raise ValueError(f"{case.name}: rows or a refusal must be given for data and for control")
    return case


def _take(case: Case, section: str, semantics: tuple[str, ...], text: str) -> None:
    text = text.strip("\n")
    if section == "args":
        case.args = json.loads(text)
    elif section == "bug":
        case.bug = one_line(text)
    elif section == "since":
        version, _, why = one_line(text).partition(": ")
        case.since = version, why
    elif section == "rewritten":
        case.rewritten.update(dict.fromkeys(semantics, one_line(text)))
    elif section == "refused":
        case.refused.update(dict.fromkeys(semantics, one_line(text)))
    else:
        case.rows.update({each: [one_line(line) for line in text.splitlines() if line.strip()] for each in semantics})


def one_line(text: str) -> str:
    """Text with every run of blanks as one space: how it is broken into lines does not matter."""
    return " ".join(text.split())


def write(file: Path, head: str, cases: list[Case]) -> None:
    """Write a file; `head` is what stands before its first case."""
    text = head + "".join(f"=== {case.title}\n{_body(case)}\n" for case in cases)
    file.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def head_of(file: Path) -> str:
    """What stands before the first case of a file."""
    return re.split(r"^=== ", file.read_text(encoding="utf-8"), maxsplit=1, flags=re.MULTILINE)[0]


def _body(case: Case) -> str:
    sections = [f"{case.sql}\n"]
    if case.args is not None:
        sections.append(f"--- args\n{json.dumps(case.args, ensure_ascii=False)}\n")
    if case.since is not None:
        sections.append("--- since\n" + _wrapped(": ".join(case.since)))
    if case.bug is not None:
        sections.append("--- bug\n" + _wrapped(case.bug))
    order = " in order" if case.in_order else ""
    sections += [f"--- rewritten{which}\n{_wrapped(text)}" for which, text in _by_semantics(case.rewritten)]
    sections += [
        f"--- rows{which}{order}\n" + "".join(f"{line}\n" for line in lines)
        for which, lines in _by_semantics(case.rows)
    ]
    sections += [f"--- refused{which}\n{_wrapped(text)}" for which, text in _by_semantics(case.refused)]
    return "".join(sections)


def _by_semantics(texts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    if len(texts) == len(SEMANTICS) and texts["data"] == texts["control"]:
        return [("", texts["data"])]
    return [(f" {semantics}", text) for semantics, text in texts.items()]


def _wrapped(text: str) -> str:
    lines = textwrap.wrap(text, 118, break_long_words=False, break_on_hyphens=False)
    return "".join(f"{line}\n" for line in lines)

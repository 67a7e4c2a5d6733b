"""The request for a page of views, each with how it is to be drawn; from a file, or from Python.

A .sql file has a statement a view, each behind comments that name it and may say how it is drawn:

    -- name: carriers
    -- chart: bars
    SELECT carrier, count(*) AS flights FROM flights GROUP BY carrier;

``TABLE worst`` in place of a query is the saved result `worst`. A .toml file has the same as
``[views.carriers]`` with ``sql``, ``chart`` and ``value``, and ``table`` at the top.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from forward_lineage.frontend.lexing import Token, is_blank, lex, position_at
from forward_lineage.views.joined import Joined
from forward_lineage.views.joined import over_join as join_of
from forward_lineage.views.view_sql import GroupBy, is_result, read_view
from udafs.errors import BadArgumentError, LineageError, Position, WrongSqlError

_SAID = re.compile(r"--\s*(?P<option>[a-z]+)\s*:\s*(?P<value>.*?)\s*")
_RESULT = re.compile(r"\s*TABLE\s+(\w+)\s*", re.IGNORECASE)
_NAME_IT = "Write a line -- name: … in front of it."


class Kind(StrEnum):
    """How a view is drawn."""

    BARS = "bars"
    HISTOGRAM = "histogram"
    TIMELINE = "timeline"
    HEATMAP = "heatmap"
    TABLE = "table"


@dataclass(frozen=True)
class AskedView:
    """A view that somebody asks for.

    Attributes:
        sql: its query, or the name of a saved result; white space in front puts it where it stands in its file.
        chart: how it is to be drawn; None: as its keys suggest.
        value: the column whose values are drawn; None: the first aggregate, or the number of base rows.
        at: where it stands in its file.

    """

    sql: str
    chart: Kind | None = None
    value: str | None = None
    at: Position | None = field(default=None, compare=False)


@dataclass(frozen=True)
class AskedPage:
    """A page that somebody asks for.

    Attributes:
        views: by name, in their order.
        table: the table that links saved results; see `ForwardLineage.views`.
        title: what stands above it.
        file: where it was read from.

    """

    views: Mapping[str, AskedView]
    table: str | None = None
    title: str | None = None
    file: Path | None = None

    def in_file(self, error: LineageError, view: str | None = None) -> LineageError:
        """Return an error in a view, or in all of them, as one in the file."""
        if self.file is None:
            return error
        of_view = self.views[view].at if view is not None and view in self.views else None
        at = error.at or of_view or Position(1, 1)
        return error.said_at(at, f"{self.file}: {error.what}")


def read_page(path: Path) -> AskedPage:
    """Read a .sql or .toml file.

    Raises:
        LineageError: it cannot be read, or says what no page has; the message names file and line.

    """
    if path.suffix not in (".sql", ".toml"):
        raise BadArgumentError(f"{path} is neither .sql nor .toml", instead="docs/explore.md shows both.")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadArgumentError(f"{path} cannot be read: {reason}", instead="Give a file of views.") from None
    try:
        return replace(_from_toml(text) if path.suffix == ".toml" else _from_sql(text), file=path)
    except LineageError as error:
        raise error.said_at(error.at or Position(1, 1), f"{path}: {error.what}") from None


def queries_of(asked: AskedPage) -> dict[str, GroupBy]:
    """Take the queries of a page apart, those that are none of a saved result; no Spark is needed.

    Raises:
        LineageError: one is no view; the message names file and line.

    """
    found = {}
    for name, view in asked.views.items():
        if not is_result(view.sql):
            try:
                found[name] = read_view(view.sql)
            except LineageError as error:
                raise asked.in_file(error, name) from None
    return found


def over_join(asked: AskedPage) -> tuple[AskedPage, Joined | None]:
    """Return a page whose views are over a saved join in place of the join itself, and that join.

    Raises:
        LineageError: they are over several; the message names the file.

    """
    try:
        joined = join_of({name: view.sql for name, view in asked.views.items()})
    except LineageError as error:
        raise asked.in_file(error) from None
    if joined is None:
        return asked, None
    views = {name: replace(view, sql=joined.views.get(name, view.sql)) for name, view in asked.views.items()}
    return replace(asked, views=views), joined


def page_of(views: Mapping[str, Any], table: str | None = None, title: str | None = None) -> AskedPage:
    """Check a page that is given as data.

    Args:
        views: for each view its text, or a mapping with ``sql`` and perhaps ``chart`` and ``value``.
        table: see `AskedPage`.
        title: see `AskedPage`.

    Raises:
        BadArgumentError: it says what no page has.

    """
    if not isinstance(views, Mapping) or not views:
        raise BadArgumentError("a page has views, by name", instead='Write {"by item": "SELECT …"}.')
    return AskedPage({str(name): _view(str(name), said) for name, said in views.items()}, table, title)


def _view(name: str, said: Any, at: Position | None = None) -> AskedView:
    given = {"sql": said} if isinstance(said, str) else said
    known = [each.name for each in fields(AskedView) if each.name != "at"]
    if not isinstance(given, Mapping) or not all(isinstance(each, str) for each in given.values()):
        raise BadArgumentError(
            f"view {name} is neither a text nor options that are texts", at=at, instead=f"It may have {_listed(known)}."
        )
    for option in given:
        if option not in known:
            raise BadArgumentError(f"view {name} has an option {option}", at=at, instead=f"There are {_listed(known)}.")
    if "sql" not in given:
        raise BadArgumentError(f"view {name} has no sql", at=at, instead='Give its query: sql = "SELECT …".')
    chart = given.get("chart")
    if chart is not None and chart not in list(Kind):
        raise BadArgumentError(f"view {name} has a chart {chart}", at=at, instead=f"There are {_listed(Kind)}.")
    result = _RESULT.fullmatch(given["sql"])
    return AskedView(result[1] if result else given["sql"], Kind(chart) if chart else None, given.get("value"), at)


# ---------------------------------------------------------------- .sql


def _from_sql(text: str) -> AskedPage:
    views: dict[str, AskedView] = {}
    said: dict[str, str] = {}
    for comments, (first, last) in _statements(lex(text)):
        at = position_at(text, first.start)
        own: dict[str, str] = {}
        for comment in comments:
            option, value = _option(comment.text, views, position_at(text, comment.start))
            own |= {option: value} if option else {}
        said |= {option: own.pop(option) for option in ("table", "title") if option in own}
        name = own.pop("name", "")
        if not name:
            raise BadArgumentError("a view without a name", at=at, instead=_NAME_IT)
        if name in views:
            raise BadArgumentError(f"a second view {name}", at=at, instead="Give it another name.")
        sql = "\n" * (at.line - 1) + " " * (at.column - 1) + text[first.start : last.end]
        views[name] = _view(name, {"sql": sql, **own}, at)
    if not views:
        raise BadArgumentError("there is no view in it", instead="Write -- name: …, and below it SELECT … GROUP BY ….")
    return AskedPage(views, said.get("table"), said.get("title"))


def _option(comment: str, views: Mapping[str, AskedView], at: Position) -> tuple[str, str]:
    """The meaning of a comment for the view below it, or for the page; twice nothing if it is a comment like others."""
    found = _SAID.fullmatch(comment)
    of_page, of_view = ["title", "table"], ["name", "chart", "value"]
    if not found or not difflib.get_close_matches(found["option"], of_page + of_view, cutoff=0.7):
        return "", ""
    option = found["option"]
    if option not in of_page + of_view:
        raise BadArgumentError(
            f"a line -- {option}: …", at=at, instead=f"Views have {_listed(of_view)}; a page has {_listed(of_page)}."
        )
    if option in of_page and views:
        raise BadArgumentError(f"-- {option}: … below a view", at=at, instead="Write it above the first one.")
    return option, found["value"]


def _statements(tokens: Sequence[Token]) -> Iterator[tuple[list[Token], tuple[Token, Token]]]:
    """Yield for each statement the comments in front of it, and its first and last token."""
    comments: list[Token] = []
    words: list[Token] = []
    for token in tokens:
        if token.text == ";" and not is_blank(token):
            if words:
                yield comments, (words[0], words[-1])
            comments, words = [], []
        elif not is_blank(token):
            words.append(token)
        elif not words and token.text.strip():
            comments.append(token)
    if words:
        yield comments, (words[0], words[-1])


# ---------------------------------------------------------------- .toml


def _from_toml(text: str) -> AskedPage:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _malformed(str(error)) from None
    for option in data:
        if option not in ("views", "table", "title"):
            raise BadArgumentError(
                f"an option {option}", at=_line_of(text, option), instead="There are table, title and [views.…]."
            )
    for option in ("table", "title"):
        if not isinstance(data.get(option, ""), str):
            raise BadArgumentError(f"{option} is no text", at=_line_of(text, option), instead=f'{option} = "…"')
    views = data.get("views")
    if not isinstance(views, dict) or not views:
        raise BadArgumentError(
            "there is no view in it", instead='Write [views.carriers], and below it sql = "SELECT …".'
        )
    found = {name: _view(name, _placed(text, said), _line_of(text, name)) for name, said in views.items()}
    return AskedPage(found, data.get("table"), data.get("title"))


def _placed(text: str, said: Any) -> Any:
    """A view whose SQL stands where it stands in the file, if that can be seen."""
    sql = said.get("sql") if isinstance(said, dict) else None
    if not isinstance(sql, str) or text.count(sql) != 1 or not sql.strip():
        return said
    at = position_at(text, text.index(sql))
    return said | {"sql": "\n" * (at.line - 1) + " " * (at.column - 1) + sql}


def _malformed(said: str) -> WrongSqlError:
    what, _, place = said.partition(" (at ")
    found = re.fullmatch(r"line (\d+), column (\d+)\)", place)
    at = Position(int(found[1]), int(found[2])) if found else None
    return WrongSqlError(f"malformed TOML: {what[:1].lower() + what[1:]}", at=at, instead="Correct it.")


def _line_of(text: str, name: str) -> Position | None:
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(rf"\s*(\[views\.)?[\"']?{re.escape(name)}[\"']?\s*[\]=]", line):
            return Position(number, 1)
    return None


def _listed(names: Any) -> str:
    *others, last = map(str, names)
    return f"{', '.join(others)} and {last}" if others else last

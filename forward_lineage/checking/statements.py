"""The statements of SQL files, each with its place, and what may be done with each."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlparse import tokens as kinds

from forward_lineage.frontend import parse
from forward_lineage.frontend.lexing import Token, lex, meaningful, position_at, with_depth
from udafs.errors import BadArgumentError, LineageError, Position, WrongSqlError

_QUERIES = {"SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE", "("}
_WRITES = {("INSERT", "INTO"), ("INSERT", "OVERWRITE"), ("DELETE", "FROM"), ("MERGE", "INTO")}
#: What END closes besides a block.
_ENDS = {"IF", "WHILE", "FOR", "LOOP", "REPEAT"}
#: Words that name a file, a folder or code outside the scratch catalog.
_OUTSIDE = {"LOCATION": "LOCATION", "DIRECTORY": "INSERT … DIRECTORY", "JAR": "a JAR", "FILE": "a FILE"}
_PLACES = ("path", "url", "dbtable", "'path'", '"path"')
#: Behind these stands a name, whatever word it is.
_NAME_FOLLOWS = {"TABLE", "VIEW", "INTO", "OVERWRITE", "EXISTS", "."}
_FILE_PROVIDERS = {"PARQUET", "ORC", "CSV", "JSON", "TEXT", "AVRO", "XML", "HIVE"}
_OTHER_CATALOGS = re.compile(r"set\s+`?(spark\.sql\.catalog\.|spark\.hadoop\.|fs\.|hadoop\.)", re.IGNORECASE)
_NEVER = {
    "ADD": "it adds code or files from outside",
    "LOAD": "it moves files from outside",
    "EXECUTE": "its text is made while it runs",
    "BEGIN": "it is a transaction or a block",
    "CALL": "it calls a procedure",
}


@dataclass(frozen=True)
class Statement:
    """One statement of a file.

    Attributes:
        line: where it begins in the file, from 1.
        sql: its text, without the semicolon.

    """

    line: int
    sql: str


@dataclass(frozen=True)
class SqlFile:
    """A file and its statements.

    Attributes:
        name: its path below the folder, with slashes.
        statements: in their order.
        error: why it could not be read.

    """

    name: str
    statements: tuple[Statement, ...]
    error: str | None = None


def read_files(folder: Path) -> list[SqlFile]:
    """Read every `.sql` file below a folder, in the order of their names.

    A file that cannot be read has no statements, and says why.

    Raises:
        BadArgumentError: there is no such folder, no such file in it, or none of them can be read.

    """
    if not folder.is_dir():
        raise BadArgumentError(f"there is no folder {folder}", instead="Give a folder that holds .sql files.")
    try:
        found = sorted(each for each in folder.rglob("*") if each.suffix.lower() == ".sql" and each.is_file())
    except OSError as error:
        raise BadArgumentError(f"{folder} cannot be read: {error.strerror}", instead="Give one that can.") from None
    if not found:
        raise BadArgumentError(f"no .sql file in {folder}", instead="Give a folder that holds some.")
    files = [_read(each, each.relative_to(folder).as_posix()) for each in found]
    if all(each.error is not None for each in files):
        raise BadArgumentError(f"{files[0].name}: {files[0].error}", instead="Give .sql files that are UTF-8 text.")
    return files


def _read(path: Path, name: str) -> SqlFile:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        return SqlFile(name, (), "it cannot be read: it is not UTF-8 text")
    except OSError as error:
        return SqlFile(name, (), f"it cannot be read: {error.strerror}")
    return SqlFile(name, tuple(statements_of(text)))


def statements_of(text: str) -> Iterator[Statement]:
    """Yield the statements of a script with the lines they begin in.

    Text behind a string or comment that is never closed is one statement. A ``BEGIN … END`` block is one, too.
    """
    try:
        tokens = lex(text)
    except WrongSqlError as error:
        at = _offset(text, error.at)
        end = max((token.end for token in lex(text[:at]) if token.text == ";"), default=0)
        yield from statements_of(text[:end])
        begins = next(n for n in range(end, at + 1) if n == at or not text[n].isspace())
        yield Statement(position_at(text, begins).line, text[begins:].strip())
        return
    for words in _apart(meaningful(tokens)):
        yield Statement(position_at(text, words[0].start).line, text[words[0].start : words[-1].end])


def _apart(words: Iterable[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each statement: up to a semicolon, unless it stands in a block."""
    statement: list[Token] = []
    for token in words:
        if token.text == ";" and not _is_open(statement):
            if statement:
                yield statement
            statement = []
        else:
            statement.append(token)
    if statement:
        yield statement


def _is_open(words: list[Token]) -> bool:
    """Whether a statement is a block whose END has not come yet."""
    if not _is_block(words):
        return False
    depth, before = 0, ""
    for token in words:
        depth += token.word in ("BEGIN", "CASE") and before != "END"
        depth -= token.word == "END"
        depth += before == "END" and token.word in _ENDS  # which nothing was counted for
        before = token.word
    return depth > 0


def _is_block(words: list[Token]) -> bool:
    """Whether tokens begin a ``BEGIN … END`` block, perhaps with a label; BEGIN alone opens a transaction."""
    if len(words) > 2 and words[1].text == ":":
        words = words[2:]
    return len(words) > 1 and words[0].word == "BEGIN" and words[1].word not in ("TRANSACTION", "WORK")


def _offset(text: str, at: Position | None) -> int:
    assert at is not None
    return sum(len(line) + 1 for line in text.split("\n")[: at.line - 1]) + at.column - 1


def is_script(sql: str) -> bool:
    """Whether a statement is a ``BEGIN … END`` block."""
    return _is_block(_words(sql))


def is_query(sql: str) -> bool:
    """Whether a statement returns rows that could be traced; everything else is set-up."""
    words = _words(sql)
    if not words or (words[0].word or words[0].text) not in _QUERIES:
        return False
    outside = [token.word for token, depth in with_depth(words) if depth == 0]
    return not any(pair in _WRITES for pair in itertools.pairwise(outside))


def stays_out(sql: str) -> str | None:
    """Say why a set-up statement must not be run: it could reach what is not in the scratch catalog.

    Returns:
        None when it may run: whatever it makes, fills, changes or drops lies in the scratch catalog.

    """
    words = _words(sql)
    first = words[0].word if words else ""
    if first in _NEVER:
        return _NEVER[first]
    if first in ("SHOW", "DESCRIBE", "DESC", "EXPLAIN", "USE", "SET", "RESET"):
        return "it sets up access to another catalog" if _OTHER_CATALOGS.match(sql) else None
    has_query = first in ("CREATE", "REPLACE", "INSERT", "CACHE") and all(each.word != "FUNCTION" for each in words[:5])
    target = _before_query(words) if has_query else words
    return _named_place(target) or _other_provider(target)


def _before_query(words: list[Token]) -> list[Token]:
    """The text in front of a statement's query, which only reads."""
    query = ("SELECT", "VALUES", "FROM") if words[0].word == "INSERT" else ("AS",)
    before = ""
    for place, (token, depth) in enumerate(with_depth(words)):
        if depth == 0 and token.word in query and before not in _NAME_FOLLOWS:
            return words[:place]
        before = token.word or token.text
    return words


def _named_place(words: list[Token]) -> str | None:
    for token, after in itertools.zip_longest(words, words[1:]):
        if token.word in _OUTSIDE and (after is None or after.kind in kinds.String or token.word == "DIRECTORY"):
            return f"it names a place outside the scratch catalog ({_OUTSIDE[token.word]})"
        if token.kind in kinds.Name.Quoted and "/" in token.text:
            return f"it names a place outside the scratch catalog ({token.text})"
        if token.text.lower() in _PLACES and after is not None and (after.kind in kinds.String or after.text == "="):
            return f"it names a place outside the scratch catalog ({token.text})"
    return None


def _other_provider(words: list[Token]) -> str | None:
    for (token, depth), (after, _) in itertools.pairwise(with_depth(words)):
        if depth == 0 and token.word == "USING" and words[0].word in ("CREATE", "REPLACE"):
            provider = after.text.strip("`").upper()
            if provider not in _FILE_PROVIDERS and after.text != "(":
                return f"its tables may lie outside the scratch catalog (USING {after.text})"
    return None


def names_in(sql: str) -> set[str]:
    """Return every word of a statement that may be a name, in lower case; quoted ones without their quotes."""
    try:
        tokens = meaningful(lex(sql))
    except LineageError:
        return set()
    return {name for token in tokens if (name := name_of(token))}


def defined_name(sql: str) -> str | None:
    """Return what a CREATE or CACHE statement makes: the last part of its name, in lower case."""
    words = _words(sql)
    makes = {"CREATE": True, "REPLACE": True, "CACHE": any(token.word == "SELECT" for token in words)}
    if not words or not makes.get(words[0].word):
        return None
    start = next((n for n, token in enumerate(words) if token.word in ("VIEW", "TABLE", "FUNCTION")), None)
    if start is None:
        return None
    rest = [token for token in words[start + 1 :] if token.word not in ("IF", "NOT", "EXISTS")]
    name = None
    for part, dot in itertools.zip_longest(rest[::2], rest[1::2]):
        name = name_of(part)
        if dot is None or dot.text != ".":
            break
    return name


def name_of(token: Token) -> str | None:
    """Return the identifier that a token is, in lower case, or None."""
    return token.name.lower() if token.kind in (kinds.Name, kinds.Name.Quoted) else None


def shortened(sql: str, names: Iterable[Sequence[str]]) -> str:
    """Write names of several parts as their last part alone, wherever they stand in a statement.

    Args:
        sql: the statement.
        names: the parts of each name, in lower case; longer names first.

    """
    words, pieces, at, n = _words(sql), list[str](), 0, 0
    patterns = [[part for name in parts for part in (name, ".")][:-1] for parts in names]
    while n < len(words):
        texts = [name_of(token) or token.text for token in words[n : n + 5]]
        found = next((each for each in patterns if texts[: len(each)] == each), None)
        if found is not None:
            last = words[n + len(found) - 1]
            pieces += [sql[at : words[n].start], last.text]
            at = last.end
        n += 1 if found is None else len(found)
    return "".join(pieces) + sql[at:]


def without_lineage_on(sql: str) -> tuple[str, bool]:
    """Return what plain Spark is to run of a query, and whether LINEAGE ON was taken off its end."""
    try:
        read = parse(sql)
    except (LineageError, RecursionError):
        return sql, False
    return (sql, False) if read.lineage_on is None else (read.text, True)


def _words(sql: str) -> list[Token]:
    try:
        return meaningful(lex(sql))
    except LineageError:
        return []

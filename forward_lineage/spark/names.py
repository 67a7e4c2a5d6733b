"""Names as Spark SQL writes them: identifiers, names of several parts, fields of `DL`, paths as relations, strings.

Every name or text that goes into SQL goes through here: it may hold backticks, dots, spaces, quotes, capitals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from rewrites.tables import LINEAGE_COLUMN as LINEAGE_COLUMN  # noqa: PLC0414 - handed on
from udafs.errors import BadArgumentError

_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`\s]+)")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: What Spark puts the value of a variable for wherever it reads SQL, in names and strings, too; nothing escapes it.
_VARIABLE = re.compile(r"\$\{(?:(\w+?):)?(\S+?)\}")
_GLOB = re.compile(r"([*?\[\]{}\\])")

_ROOT = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:(?://[^/]*)?)?/")  # of a file system

_WORD = re.compile(r"\w+")

# What Spark reserves under `spark.sql.ansi.enforceReservedKeywords`; a test compares this list with Spark's own.
RESERVED = frozenset(
    _WORD.findall("""
    ALL AND ANY AS AUTHORIZATION BOTH CALL CASE CAST CHECK COLLATE COLLATION COLLATIONS COLUMN CONSTRAINT CREATE CROSS
    CURRENT_DATE CURRENT_PATH CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DISTINCT ELSE END ESCAPE EXCEPT
    EXECUTE FALSE FETCH FILTER FOR FOREIGN FROM FULL GRANT GROUP HAVING IN INNER INTERSECT INTO IS JOIN LATERAL LEADING
    LEFT LOCALTIME NATURAL NOT NULL OFFSET ON ONLY OR ORDER OUTER OVERLAPS PRIMARY RECURSIVE REFERENCES RIGHT SELECT
    SESSION_USER SOME SQL TABLE THEN TIME TO TRAILING UNION UNIQUE UNKNOWN USER USING WHEN WHERE WITH WITHIN
    """)
)
# Not reserved, but some parser or other takes them for the beginning of something.
AMBIGUOUS = frozenset(
    _WORD.findall("""
    ANTI ARRAY DATE EXISTS EXTRACT IF INTERVAL LIMIT LOCALTIMESTAMP MAP MINUS PIVOT QUALIFY RANGE ROW SEMI SORT STRUCT
    TABLESAMPLE TIMESTAMP TRUE UNPIVOT VALUES WINDOW
    """)
)


def quoted(identifier: str) -> str:
    """Write an identifier so that Spark reads it as one, in backticks where it needs them."""
    if _PLAIN.fullmatch(identifier) and identifier.upper() not in RESERVED | AMBIGUOUS:
        return identifier
    return in_backticks(identifier)


def in_backticks(identifier: str) -> str:
    """Write an identifier in backticks, needed or not: the one spelling of it that there is.

    Raises:
        BadArgumentError: no spelling of it means this name to Spark.

    """
    if not is_text(identifier):
        raise BadArgumentError(f"{identifier!r} cannot stand in SQL", instead="Give it another name.")
    if found := _VARIABLE.search(identifier):
        raise BadArgumentError(
            f"{identifier!r} cannot stand in SQL: Spark would put the value of a variable for {found[0]}",
            instead="Give it another name.",
        )
    return "`" + identifier.replace("`", "``") + "`"


def joined(parts: Iterable[str]) -> str:
    """Write a name of several parts for use in SQL, e.g. ``db.`my table```."""
    return ".".join(quoted(part) for part in parts)


def split_name(name: str, *, keep_case: bool = False) -> tuple[str, ...]:
    """Split a name at its dots, backticks aside; lower case unless told otherwise.

    Raises:
        BadArgumentError: it is not such a name.

    """
    parts: list[str] = []
    at = 0
    while match := _PART.match(name, at):
        parts.append(match[1].replace("``", "`") if match[1] else match[2])
        at = match.end()
        if at == len(name) or name[at] != ".":
            break
        at += 1
    if at != len(name) or name.endswith(".") or not parts or not is_text(name):
        raise BadArgumentError(
            f"{name!r} is not a table name",
            instead="Put dots between its parts, such as catalog.db.orders, and odd parts in backticks.",
        )
    return tuple(parts) if keep_case else tuple(part.lower() for part in parts)


def quoted_name(name: str) -> str:
    """Write a table name for use in SQL."""
    return joined(split_name(name, keep_case=True))


def field_of_dl(table: str) -> str:
    """Write the field of the column `DL` that has the lineage in a table; it bears the registered name."""
    return f"{LINEAGE_COLUMN}.{quoted(table)}"


def data_source(file_format: str, path: str | Path) -> str:
    """Write the files under a path as a relation, e.g. ``parquet.`/data/x```; no glob is read into the path."""
    return f"{file_format}.{in_backticks(glob_literal(path))}"


def data_sources(file_format: str, patterns: Sequence[str]) -> str:
    """Write what several patterns in Hadoop's syntax name as one relation, e.g. ``parquet.`/{data/x,more/*}```.

    Raises:
        BadArgumentError: there is none, or they lie on several file systems.

    """
    if len(patterns) == 1:
        return f"{file_format}.{in_backticks(patterns[0])}"
    roots = {_ROOT.match(pattern)[0] for pattern in patterns}  # type: ignore[index]
    if len(roots) != 1:
        raise BadArgumentError(
            f"{', '.join(sorted(roots)) or 'path='} cannot be one table",
            instead="Name at least one, and all on one file system; of others make a view, and register that by key=.",
        )
    (root,) = roots
    within = ",".join(_commas_escaped(pattern.removeprefix(root)) for pattern in patterns)
    return f"{file_format}.{in_backticks(f'{root}{{{within}}}')}"


def _commas_escaped(pattern: str) -> str:
    """Outside of braces a comma is one; in the braces around all patterns it would end one."""
    written, depth, at = "", 0, 0
    while at < len(pattern):
        sign = pattern[at : at + 2] if pattern[at] == "\\" else pattern[at]
        depth += (sign == "{") - (sign == "}")
        written += "\\," if sign == "," and depth == 0 else sign
        at += len(sign)
    return written


def string_literal(text: str) -> str:
    """Write a string so that Spark reads back exactly this text."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{")
    return f"'{escaped}'"


def glob_literal(path: str | Path) -> str:
    """Write a path so that Spark, which reads globs in paths, finds just that one."""
    return _GLOB.sub(r"\\\1", str(path))


def is_text(name: str) -> bool:
    """Tell whether a name can be written down: no NUL, and no half of a surrogate pair, a byte that is no UTF-8."""
    try:
        return b"\0" not in name.encode()
    except UnicodeEncodeError:
        return False

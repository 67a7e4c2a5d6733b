"""The text behind ``%lineage``, understood: a word, names, rows, and a condition behind WHERE."""

from __future__ import annotations

import re
from dataclasses import dataclass

from udafs.errors import BadArgumentError

USAGE = """%lineage                                            tables and saved results
%lineage show RESULT                                rows of a saved result, with what they were made of
%lineage backward RESULT [ROWS] [TABLE] [WHERE …]   base rows; ROWS are numbers: 3 or 3,7
%lineage forward TABLE [IDS] RESULT [WHERE …]       rows of a result that were made of rows of a table
%lineage impact TABLE [IDS] [WHERE …]               all results with rows that were made of them
%lineage graph [TABLE [WHERE …]]                    a picture of the pipeline, an impact painted in
%lineage stale                                      results of which something has changed since
%lineage status [refresh]                           cells that are out of date, and which to run again"""

_WHERE = re.compile(r"(?:^|\s)WHERE\s", re.IGNORECASE)
_NUMBERS = re.compile(r"\d+(?:,\d+)*")
_LIKE_NUMBERS = re.compile(r"[\d,]+")
#: Word → fewest and most names, and whether numbers and a condition may follow.
_FORMS = {
    "": (0, 0, False, False),
    "stale": (0, 0, False, False),
    "status": (0, 1, False, False),
    "show": (1, 1, False, False),
    "backward": (1, 2, True, True),
    "forward": (2, 2, True, True),
    "impact": (1, 1, True, True),
    "graph": (0, 1, False, True),
}


@dataclass(frozen=True)
class Asked:
    """A question.

    Attributes:
        word: which one; "" for what there is.
        names: of tables and results, in the order in which they were given.
        numbers: of rows, or ids; None: none given.
        where: the condition; None: none given.

    """

    word: str
    names: tuple[str, ...]
    numbers: tuple[int, ...] | None = None
    where: str | None = None


def understood(line: str) -> Asked:
    """Read what stands behind ``%lineage``.

    Raises:
        BadArgumentError: it is no question; the error lists those there are.

    """
    head, condition = _apart(line)
    words = head.split()
    word = words[0].lower() if words else ""
    if word not in _FORMS:
        raise BadArgumentError(f"%lineage knows no {words[0]}", instead=f"There are:\n{USAGE}")
    fewest, most, numbered, conditioned = _FORMS[word]
    numbers = [each for each in words[1:] if _NUMBERS.fullmatch(each)]
    names = tuple(each for each in words[1:] if not _NUMBERS.fullmatch(each))
    odd = any(map(_LIKE_NUMBERS.fullmatch, names))
    wrong = (
        odd
        or not fewest <= len(names) <= most
        or len(numbers) > numbered
        or (condition is not None and not conditioned)
    )
    if wrong or (condition is not None and not names):
        usage = next(each for each in USAGE.splitlines() if each.startswith(f"%lineage {word}".rstrip() + " "))
        raise BadArgumentError(f"%lineage {line.strip()} is not understood", instead=f"Write {usage.strip()}")
    given = tuple(int(each) for each in numbers[0].split(",")) if numbers else None
    return Asked(word, names, given, condition)


def _apart(line: str) -> tuple[str, str | None]:
    found = _WHERE.search(line)
    if found is None:
        return line, None
    return line[: found.start()], line[found.end() :].strip() or None

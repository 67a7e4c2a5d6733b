"""Names and values as text that nothing obeys.

A value may hold what a terminal or a browser obeys: controls, marks that turn the direction of text, characters without
width. None of it is ours to send: it is written out, as in a string.
"""

from __future__ import annotations

import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # controls, formats such as directions, halves of characters, line ends
#: Joins emoji and letters of several scripts; harmless.
_JOINERS = "\u200c\u200d"


def plain(text: str, kept: str = "") -> str:
    r"""Return text with everything that is not to be seen written out, e.g. ``\x1b``.

    Args:
        text: any.
        kept: characters that are not escaped; without line ends among them the text is in one line.

    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(each if each in kept or _is_harmless(each) else _written(each) for each in text)


def shortened(text: str, most: int) -> str:
    """Return `plain` text of at most so many characters, cut at its end."""
    found = plain(text[: most + 1])
    return found if len(found) <= most else found[: most - 1] + "…"


def counted(number: int, what: str) -> str:
    """Write a number of things: ``1 row``, ``1,204 rows``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _is_harmless(character: str) -> bool:
    return character in _JOINERS or unicodedata.category(character) not in _HIDDEN


def _written(character: str) -> str:
    return character.encode("unicode_escape").decode()

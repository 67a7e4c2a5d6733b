"""Settings of a session under which Spark reads SQL in another way than the front end does.

The fidelity guard would notice most of the differences, for both texts go through the same Spark. It would not notice
those that change which names a text binds, since the unrewritten text changes along.
"""

from __future__ import annotations

from collections.abc import Callable

from udafs.errors import NotTracedError

# setting → its default, the value that changes the reading, and how
_OTHER_READINGS = {
    "spark.sql.caseSensitive": ("false", "true", "names that differ in case only are different names"),
    "spark.sql.legacy.consecutiveStringLiterals.enabled": ("false", "true", "'it''s' is two strings"),
    "spark.sql.legacy.ctePrecedencePolicy": ("corrected", "legacy", "an outer CTE hides an inner one of its name"),
    "spark.sql.legacy.parser.havingWithoutGroupByAsWhere": ("false", "true", "HAVING without GROUP BY is WHERE"),
    "spark.sql.legacy.setopsPrecedence.enabled": ("false", "true", "INTERSECT binds no tighter than UNION"),
    "spark.sql.path.enabled": ("false", "true", "SET PATH says where names are looked for"),
    "spark.sql.parser.quotedRegexColumnNames": ("false", "true", "quoted names are regular expressions"),
}
_DOUBLE_QUOTES = ("spark.sql.ansi.enabled", "spark.sql.ansi.doubleQuotedIdentifiers")

OF_READING = (*_OTHER_READINGS, *_DOUBLE_QUOTES)
"""The settings that `refuse_other_readings` looks at."""


def refuse_other_readings(setting: Callable[[str, str], str], sql: str) -> None:
    """Refuse to read SQL for a session that reads it differently.

    Args:
        setting: gives the value of a setting, or the default that is passed along.
        sql: the statement.

    Raises:
        NotTracedError: such a setting is on.

    """
    for name, (default, value, reading) in _OTHER_READINGS.items():
        if setting(name, default.upper()).lower() == value:
            raise NotTracedError(f"under {name} = {value} {reading}", instead=f"Unset it: SET {name} = …, or RESET.")
    if '"' in sql and all(setting(name, "false").lower() == "true" for name in _DOUBLE_QUOTES):
        raise NotTracedError(
            f"under {_DOUBLE_QUOTES[1]} = true double quotes make names, not strings",
            instead="Write names in backticks, strings in single quotes.",
        )

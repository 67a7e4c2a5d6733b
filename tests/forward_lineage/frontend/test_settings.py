"""Settings that change how Spark reads SQL."""

from __future__ import annotations

import pytest

from forward_lineage.frontend.settings import refuse_other_readings
from udafs.errors import LineageError


def check(sql: str, **settings: str) -> None:
    known = {f"spark.sql.{name.replace('__', '.')}": value for name, value in settings.items()}
    refuse_other_readings(known.get, sql)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("caseSensitive", "true"),
        ("legacy__consecutiveStringLiterals__enabled", "true"),
        ("legacy__ctePrecedencePolicy", "LEGACY"),
        ("legacy__setopsPrecedence__enabled", "true"),
        ("legacy__parser__havingWithoutGroupByAsWhere", "true"),
        ("parser__quotedRegexColumnNames", "true"),
        ("path__enabled", "true"),
    ],
)
def test_settings_that_change_what_sql_means_are_refused(name: str, value: str) -> None:
    check("SELECT 1")
    with pytest.raises(
        LineageError,
        match=name.rsplit("__", maxsplit=1)[-1].replace(
            "enabled", r"(setopsPrecedence|consecutiveStringLiterals|path)\.enabled"
        ),
    ):
        check("SELECT 1", **{name: value})


def test_double_quotes_count_where_there_are_some() -> None:
    on = {"ansi__enabled": "true", "ansi__doubleQuotedIdentifiers": "true"}
    check("SELECT 'a'", **on)
    check('SELECT "a"', ansi__doubleQuotedIdentifiers="true", ansi__enabled="false")
    with pytest.raises(LineageError, match="double quotes make names"):
        check('SELECT "a"', **on)

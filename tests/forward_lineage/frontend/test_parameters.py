"""Positional parameters through a rewrite."""

from __future__ import annotations

import pytest

from forward_lineage import LineageError, rewrite_sql
from forward_lineage.frontend import parse, rewrite_statement
from tests.golden.tables import catalog

TWICE = "SELECT id FROM t WHERE k IN (SELECT k FROM u WHERE w > ?) AND v = ?"


def test_places_are_those_of_the_users_text() -> None:
    statement = rewrite_statement(parse("SELECT ? AS five, id FROM t WHERE v IN (SELECT ? FROM u) LIMIT ?"), catalog())
    assert statement.places == (0, 1, 2)
    assert statement.sql.count("?") == 3


def test_a_parameter_that_is_needed_twice() -> None:
    statement = rewrite_statement(parse(TWICE), catalog(), "control")
    assert statement.places == (0, 0, 1)


def test_mere_text_cannot_say_which_value_goes_where() -> None:
    known = catalog().catalog
    assert rewrite_sql(TWICE, known).count("?") == 2
    with pytest.raises(LineageError, match=r"positional parameter \(\?\) twice"):
        rewrite_sql(TWICE, known, "control")

"""Constraints as people write them: what is read, and what is refused where."""

from __future__ import annotations

import pytest

from forward_lineage.frontend.constraints import (
    Denial,
    Dependency,
    Inclusion,
    Key,
    names_apart,
    read_constraint,
    slug,
)
from rewrites.refusals import position_of
from udafs.errors import LineageError


def test_dependencies() -> None:
    found = read_constraint("zip,\n  substr(`odd name`, 1, 5) AS five -> city  -- of course\n, filter(a, x -> x > 1)")
    assert isinstance(found, Dependency)
    assert [each.name for each in found.left] == ["zip", "five"]
    assert [each.text for each in found.left] == ["zip", "substr(`odd name`, 1, 5)"]
    assert [each.name for each in found.right] == ["city", "filter(a, x -> x > 1)"]
    assert found.text == "zip, substr(`odd name`, 1, 5) AS five -> city , filter(a, x -> x > 1)"
    assert str(position_of(found.right[0].tree)) == "line 2, column 39"


def test_the_others() -> None:
    key = read_constraint("KEY (a, b)")
    assert isinstance(key, Key) and [each.name for each in key.attributes] == ["a", "b"]
    for text in ("a, b + 1 in db.`other table`(c, d)", "(a, b + 1) IN db.`other table` (c, d)"):
        inclusion = read_constraint(text)
        assert isinstance(inclusion, Inclusion) and inclusion.table == "db.`other table`"
        assert [each.name for each in inclusion.attributes] == ["a", "b + 1"]
        assert [each.name for each in inclusion.others] == ["c", "d"]
    denials = {
        "not (a < 0)": (),
        "not x.a < 0": ("x",),
        "NOT (T.a = u.a and t.b <> U.b)": ("T", "u"),
        "not (a.b <> T.c and t.b <> A.b)": ("a", "T"),
    }
    for text, rows in denials.items():
        denial = read_constraint(text)
        assert isinstance(denial, Denial) and denial.rows == rows
    assert isinstance(read_constraint("key(a) -> b"), Dependency)
    assert isinstance(read_constraint("not a -> b"), Dependency)
    assert isinstance(read_constraint("not (a in (1, 2))"), Denial)


REFUSED = {
    "": "there is no constraint here",
    "zip": "this is no dependency, key, inclusion or denial, in `zip` (line 1, column 1)",
    "a -> b -> c": "a second -> in a dependency, in `a -> b -> c` (line 1, column 8)",
    "a ->": "nothing on the right side, in `a ->` (line 1, column 3)",
    "-> a": "nothing on the left side",
    "key()": "a key of nothing",
    "a,, b -> c": "with an empty place in its list",
    "a -> 'b": "a string that begins here is not closed (line 1, column 6)",
    "a -> ${b}": "a variable (${…}) that Spark would put text in for (line 1, column 6)",
    "a -> b c": "malformed SQL near `c`",
    "a -> *": "this is no expression over columns",
    "a -> 1": "1, which is the same in every row, in `a -> 1`",
    "a -> :b": "this is no expression over columns",
    "a -> sum(b)": "a function of several rows in a constraint, sum, in `a -> sum(b)` (line 1, column 6)",
    "a -> explode(b)": "a function that makes several rows",
    "a -> rand() + b": "a function whose value is left to chance",
    "a -> lag(b) OVER (ORDER BY c)": "a window in a constraint",
    "not (a in (select b from c))": "a subquery in a constraint",
    "a in (1, 2)": "IN without a table and its columns, in `a in (1, 2)` (line 1, column 3)",
    "a, b in c(d)": "2 in 1 attributes, in `a, b in c(d)` (line 1, column 6)",
    "not": "NOT without a condition",
    "not (1 = 1)": "a condition without columns",
    "not (t.a = u.a and b = 1)": "in `not (t.a = u.a and b = 1)` (line 1, column 20). Say of which: t.b",
    "not (t.a = u.a and v.b = 1)": "a denial of three rows, in `not (t.a = u.a and v.b = 1)` (line 1, column 20)",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_says_where(text: str) -> None:
    with pytest.raises(LineageError) as caught:
        read_constraint(text)
    assert REFUSED[text] in str(caught.value)
    assert caught.value.instead


def test_names() -> None:
    assert slug("zip -> city, `Straße`") == "zip_city_stra_e"
    assert slug("->") == "constraint"
    assert len(slug("a" * 200)) == 60
    assert names_apart(["a", "A", "b"], ["B", "a_"]) == ["a", "A__", "b_"]

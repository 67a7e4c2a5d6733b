"""The user's functions that are left to chance are refused where Spark's own are, if the caller says which they are."""

from __future__ import annotations

import pytest

from rewrites.driver import rewrite
from rewrites.nondeterminism import is_by_chance, mark
from rewrites.options import Options
from rewrites.tables import View
from tests.rewrites.plain_tables import PlainTables, read
from udafs.errors import NotTracedError

TWICE = "SELECT k, (SELECT max(w) FROM u WHERE Noise(w) = 1) AS most FROM t"


class WithView(PlainTables):
    """Also `w`, a view whose text calls the function."""

    def find(self, parts):  # type: ignore[no-untyped-def]
        return View("w", ("k", "most"), TWICE) if tuple(parts) == ("w",) else super().find(parts)


def test_what_is_marked() -> None:
    tree = mark(read("SELECT noise(k), NOISE(v), other(k), rand() FROM t"), {"noise"})
    assert [is_by_chance(call) for call in tree.expressions] == [True, True, False, True]
    assert all(map(is_by_chance, mark(tree, ()).copy().expressions[:2])), "a copy has the marks"


@pytest.mark.parametrize(("sql", "place"), [(TWICE, (1, 39)), ("SELECT * FROM w", (1, 15))])
def test_a_subquery_that_is_evaluated_twice(sql: str, place: tuple[int, int]) -> None:
    rewrite(read(sql), WithView(), read)
    with pytest.raises(NotTracedError, match=r"Noise\(\) may give other values when the lineage") as refused:
        rewrite(read(sql), WithView(), read, Options(by_chance=frozenset({"noise"})))
    assert (refused.value.at.line, refused.value.at.column) == place  # type: ignore[union-attr]

"""A semi join's keys, where its rows count."""

from __future__ import annotations

import pytest

from rewrites.environment import Semantics
from tests.rewrites.plain_tables import printed
from udafs.errors import NotTracedError


def test_a_key_that_two_relations_of_one_side_have_is_refused() -> None:
    sql = "SELECT a.id FROM t AS a JOIN t AS b ON a.id = b.id LEFT SEMI JOIN u USING (k)"
    with pytest.raises(NotTracedError, match="k stands in several relations on one side of this SEMI JOIN"):
        printed(sql, Semantics.CONTROL)

"""Rows and lineage are the same where Apache DataFusion Comet runs parts of the plans."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest

from forward_lineage.checking.values import Value
from tests.lakes.comet.__main__ import _differences
from tests.lakes.comet.asking import BY, Asked
from tests.lakes.comet.session import COMET, VARIANTS
from tests.lakes.other_engine import run_module
from tests.tpch_queries.neutrality import Answer


@pytest.mark.timeout(1800)
def test_nothing_changes_under_comet() -> None:
    said = run_module("tests.lakes.comet", COMET)
    for variant, by in itertools.product(VARIANTS, BY):
        assert f"{variant}, ids by {by}: 38 answers, 0 differ" in said


def asked(rows: str, lineage: bytes, *used: str) -> Asked:
    values = tuple(map(Value, rows))
    return Asked(Answer(values, tuple((each, (("t", lineage),)) for each in values)), Counter(used))


WITHOUT = asked("ab", b"\x00\x01\x01")


@pytest.mark.parametrize(
    ("found", "differing"),
    [
        (asked("ab", b"\x00\x01\x01", "CometSort"), 0),
        (asked("ac", b"\x00\x01\x01", "CometSort"), 1),
        (asked("ab", b"\x00\x01\x02", "CometSort"), 1),
        ("SparkException: no", 1),
    ],
)
def test_what_differs_is_seen(found: Any, differing: int) -> None:
    assert len(list(_differences(WITHOUT, found))) == differing

"""Proofs that failed are not tried again and again."""

from __future__ import annotations

from forward_lineage.sketches.failed_proofs import Tried, signs


def test_literals_are_compared_as_what_they_are() -> None:
    captured = ("10", "-1.5", "DATE'2024-01-01'", "'b'", "9", "TRUE")
    asked = ("9", "-1.50", "DATE '2024-02-01'", "'a'", "10", "TRUE")
    assert signs(captured, asked) == (-1, 0, 1, -1, 1, 0)


def test_given_up_after_a_few_failures_unless_one_succeeded() -> None:
    tried = Tried()
    for _ in range(3):
        assert not tried.is_in_vain("a")
        tried.note("a", proven=False)
        tried.note("b", proven=False)
    tried.note("b", proven=True)
    tried.note("b", proven=False)
    assert tried.is_in_vain("a")
    assert not tried.is_in_vain("b")
    assert not tried.is_in_vain("never tried")


def test_only_so_many_are_remembered() -> None:
    tried = Tried()
    for kind in ("a", "a", "a", *map(str, range(1024))):
        tried.note(kind, proven=False)
    assert not tried.is_in_vain("a")

"""What errors say, and go on saying where they are sent."""

from __future__ import annotations

import pickle

import pytest

from udafs.errors import MOST_LISTED, ChangedError, LineageError, NameTakenError, Position, listed


@pytest.mark.parametrize(
    "error",
    [
        LineageError("this is wrong"),
        ChangedError("t has changed", at=Position(3, 7), instead="Refresh it."),
        NameTakenError("t is taken", instead="Take another."),
    ],
)
def test_the_same_in_another_process(error: LineageError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error)
    assert (again.what, again.at, again.instead) == (error.what, error.at, error.instead)


def test_a_list_says_what_it_leaves_out() -> None:
    names = [f"t{place}" for place in range(20)]
    assert listed([]) == "" and listed(names[:1]) == "t0"
    assert listed(names[: MOST_LISTED + 1]) == ", ".join(names[: MOST_LISTED + 1])
    assert listed(names) == "t0, t1, t2, t3, t4, t5, t6, t7 and 12 more"

"""What errors say, and go on saying where they are sent."""

from __future__ import annotations

import pickle

import pytest

from udafs.errors import ChangedError, LineageError, NameTakenError, Position


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

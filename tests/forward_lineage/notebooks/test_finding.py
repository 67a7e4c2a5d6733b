"""Which session a cell means."""

from __future__ import annotations

from pathlib import Path

import pytest

from forward_lineage import ForwardLineage, SetupError
from forward_lineage.notebooks.finding import session_of, session_of_home


def test_the_one_that_is_there(lineage: ForwardLineage) -> None:
    assert session_of({"mine": lineage, "x": 3}) is lineage
    assert session_of({"mine": lineage, "same": lineage, "_": lineage}) is lineage, "another name, another output"


def test_of_several_the_one_called_lineage(lineage: ForwardLineage, tmp_path: Path) -> None:
    other = ForwardLineage(lineage.spark, tmp_path / "other")
    assert session_of({"a": other, "lineage": lineage}) is lineage
    with pytest.raises(SetupError, match=r"several sessions of lineage are here: a, b\. Call the one you mean lineage"):
        session_of({"a": other, "b": lineage})


def test_one_is_made_where_there_is_none(
    lineage: ForwardLineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORWARD_LINEAGE_HOME", str(tmp_path / "made"))
    names = {"spark": lineage.spark}
    made = session_of(names)
    assert names["lineage"] is made
    assert made.home == tmp_path / "made"
    assert session_of(names) is made


def test_a_name_that_is_taken_is_not_written_over(lineage: ForwardLineage) -> None:
    names = {"spark": lineage.spark, "lineage": [1, 2]}
    with pytest.raises(SetupError, match="the variable lineage is a list, no ForwardLineage"):
        session_of(names)
    assert names["lineage"] == [1, 2]


def test_a_frame_is_shown_by_the_session_of_its_home(lineage: ForwardLineage, tmp_path: Path) -> None:
    other = ForwardLineage(lineage.spark, tmp_path / "other")
    names = {"a": lineage, "b": other}
    assert session_of_home(names, lineage.spark, str(other.home)) is other
    third = session_of_home(names, lineage.spark, str(tmp_path / "third"))
    assert third.home == tmp_path / "third"
    assert set(names) == {"a", "b"}

"""Scripts, cut into statements."""

from __future__ import annotations

import pytest

from forward_lineage import LineageError, split_script


@pytest.mark.parametrize(
    ("script", "pieces"),
    [
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1; SELECT 2;", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';' AS a; SELECT \";\" -- ; x\n; /* ; */ SELECT `;`", ["SELECT ';' AS a", 'SELECT ";"', "SELECT `;`"]),
        (";; -- nothing\n; SELECT 1;;", ["SELECT 1"]),
        ("-- before\nSELECT 1 /* within */ + 2 -- behind\n;", ["SELECT 1 /* within */ + 2"]),
        (
            "SELECT begin, end FROM t; SELECT CASE WHEN a THEN b END",
            ["SELECT begin, end FROM t", "SELECT CASE WHEN a THEN b END"],
        ),
        (
            "CREATE TABLE x AS SELECT 1; SELECT a FROM x LINEAGE ON a",
            ["CREATE TABLE x AS SELECT 1", "SELECT a FROM x LINEAGE ON a"],
        ),
        (
            "SELECT 'it\\'s; so'; SELECT r'\\'; SELECT 'a''; b'",
            ["SELECT 'it\\'s; so'", "SELECT r'\\'", "SELECT 'a''; b'"],
        ),
        ("/* a /* nested; */ comment; */ SELECT 1; go; SELECT 2", ["SELECT 1", "go", "SELECT 2"]),
        ("", []),
        (" -- only\n", []),
    ],
)
def test_split_script(script: str, pieces: list[str]) -> None:
    assert split_script(script) == pieces


@pytest.mark.parametrize("script", ["BEGIN SELECT 1; SELECT 2; END", "SELECT 1; begin atomic select 2; end"])
def test_blocks_are_refused(script: str) -> None:
    with pytest.raises(LineageError, match="BEGIN … END"):
        split_script(script)

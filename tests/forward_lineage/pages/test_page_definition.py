"""Files of views: what they may say, and where a message says that they say something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from forward_lineage import LineageError
from forward_lineage.pages.page_definition import AskedView, Kind, page_of, read_page

SQL = """\
-- Flights, as we look at them; a comment like others.
-- title: Flights
-- name: carriers
SELECT carrier, count(*) AS n -- name: not this one
FROM flights GROUP BY carrier;

/* name: nor this */
-- name: by day; and month
-- chart: table
-- value: n
  SELECT day, ';' AS semicolon, count(*) AS n FROM flights GROUP BY ALL;
-- name: worst
TABLE worst
"""


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_sql(tmp_path: Path) -> None:
    page = read_page(written(tmp_path, "views.sql", SQL))
    assert list(page.views) == ["carriers", "by day; and month", "worst"]
    assert (page.title, page.table) == ("Flights", None)
    day = page.views["by day; and month"]
    assert (day.chart, day.value) == (Kind.TABLE, "n")
    assert day.sql == "\n" * 10 + "  SELECT day, ';' AS semicolon, count(*) AS n FROM flights GROUP BY ALL"
    assert page.views["worst"] == AskedView("worst")


def test_toml(tmp_path: Path) -> None:
    text = """
table = "flights"
[views.carriers]
sql = "SELECT carrier, count(*) AS n FROM flights GROUP BY carrier"
[views."by day"]
chart = "timeline"
sql = \"\"\"
    SELECT day, count(*) AS n
    FROM flights GROUP BY day\"\"\"
"""
    page = read_page(written(tmp_path, "views.toml", text))
    assert page.table == "flights"
    assert page.views["by day"].chart is Kind.TIMELINE
    assert page.views["by day"].sql.split("\n")[7] == "    SELECT day, count(*) AS n"  # line 8 of the file
    assert page.views["carriers"].sql.index("SELECT") > 0


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("v.sql", "SELECT 1", "v.sql: a view without a name (line 1, column 1)"),
        ("v.sql", "-- name: a\nTABLE b;\n-- name: a\n\nTABLE c", "v.sql: a second view a (line 5, column 1)"),
        ("v.sql", "-- name: a\n-- chart: pie\nTABLE b", "v.sql: view a has a chart pie (line 3, column 1)"),
        ("v.sql", "-- name: a\n -- chrat: bars\nTABLE b", "v.sql: a line -- chrat: … (line 2, column 2)"),
        ("v.sql", "-- name: a\nTABLE b;\n-- title: T\n-- name: c\nTABLE b", "-- title: … below a view (line 3"),
        ("v.sql", "-- name: a\nSELECT 'b", "v.sql: malformed SQL: a string that begins here is not closed (line 2"),
        ("v.sql", "-- name: a", "v.sql: there is no view in it"),
        ("v.toml", "[views.a]\nsql = 1", "view a is neither a text nor options that are texts (line 1"),
        ("v.toml", "[views.a]\nsql = 'b'\nchart = 'pie'", "view a has a chart pie (line 1"),
        ("v.toml", "[views.a]\nchart = 'bars'", "view a has no sql (line 1"),
        ("v.toml", "[views.a]\nsql = 'b'\ncolour = 'red'", "view a has an option colour (line 1"),
        ("v.toml", "title = 'b'\n", "v.toml: there is no view in it"),
        ("v.toml", "\ntables = 'b'\n", "v.toml: an option tables (line 2"),
        ("v.toml", "title = \n", "v.toml: malformed TOML: invalid value (line 1, column 9)"),
        ("v.txt", "", "v.txt is neither .sql nor .toml"),
        ("none.sql", "", "none.sql cannot be read: No such file or directory"),
    ],
)
def test_refused(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    if name != "none.sql":
        written(tmp_path, name, text)
    with pytest.raises(LineageError) as caught:
        read_page(path)
    assert said in str(caught.value)
    assert caught.value.instead


@pytest.mark.parametrize("views", [{}, [], {"a": 1}, {"a": {"chart": "bars"}}, {"a": {"sql": "b", "chart": "pie"}}])
def test_refused_as_data(views: object) -> None:
    with pytest.raises(LineageError):
        page_of(views)  # type: ignore[arg-type]

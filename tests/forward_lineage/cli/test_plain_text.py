"""What a terminal would obey, and markup of the library that draws tables, is shown as it is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from forward_lineage.cli import main
from forward_lineage.cli.plain_text import in_one_line, json_line, plain
from forward_lineage.cli.tables import lineage_table


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("größe 😀 \t\n", "größe 😀 \t\n"),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("a\rb\x7f\x9b1m", r"a\rb\x7f\x9b1m"),
        ("\u202eevil\u2066", r"\u202eevil\u2066"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("👩\u200d🔬", "👩\u200d🔬"),
        ("half\ud800", r"half\ud800"),
        ("[red]x[/red] [/nothing]", "[red]x[/red] [/nothing]"),
    ],
)
def test_plain(text: str, shown: str) -> None:
    assert plain(text) == shown
    assert "\n" not in in_one_line(text) and plain(in_one_line(text)) == in_one_line(text)


@pytest.mark.parametrize("value", ["[/nothing]", "[red]x[/red]", "\x1b[31m", "[link=http://x]y[/link]"])
def test_a_table_shows_values_as_they_are(value: str) -> None:
    console = Console(width=200, force_terminal=False)
    with console.capture() as captured:
        console.print(lineage_table([value], [[value]], 8, title=value))
    assert captured.get().count(plain(value)) == 3 and "\x1b" not in captured.get()


def test_json_means_the_same() -> None:
    given = {"a\x9b": "\u202e[31m\x7f 😀 é \\u0041", "b": [1, "\x1b"]}
    line = json_line(json.dumps(given, ensure_ascii=False))
    assert json.loads(line) == given and "é" in line and "😀" in line
    assert all(each == plain(each) for each in line)


@pytest.mark.parametrize("name", ["\x1b[2Jx", "../tables/sales", "a\u202eb", "x" * 5000, "[/x]", "$(touch x)"])
@pytest.mark.parametrize("command", ["drop", "ls"])
def test_an_error_shows_the_name_as_it_is_written(tmp_path: Path, command: str, name: str) -> None:
    result = CliRunner().invoke(main, [command, name, "--home", str(tmp_path / "home")])
    assert result.exit_code == 1 and result.output.count("\n") == 1
    assert f"there is no saved result {plain(name)}" in result.output and "\x1b" not in result.output


def test_a_name_leads_nowhere_else(tmp_path: Path) -> None:
    """A result called ../tables/sales would be dropped by a marker among the registrations of sales."""
    registration = tmp_path / "tables" / "sales" / "1.json"
    registration.parent.mkdir(parents=True)
    registration.write_text("{}")
    result = CliRunner().invoke(main, ["drop", "../tables/sales", "--home", str(tmp_path)])
    assert result.exit_code == 1 and [path.name for path in registration.parent.iterdir()] == ["1.json"]


@pytest.mark.parametrize("rows", ["0-99999999999", "0-" + "9" * 5000, "1," * 3 + "0-9999999,0-1"])
def test_so_many_numbers_are_not_listed(rows: str) -> None:
    result = CliRunner().invoke(main, ["backward", "x", "--rows", rows])
    assert result.exit_code == 2
    assert "more than 10,000,000 numbers" in result.output or "neither a number" in result.output

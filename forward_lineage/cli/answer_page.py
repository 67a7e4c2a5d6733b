"""Answers that commands print, or write as a page."""

from __future__ import annotations

import tempfile
import webbrowser
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Protocol

import click

from forward_lineage.cli.options import Command
from forward_lineage.cli.plain_text import json_line, plain

_ENDING = ".html"


class Told(Protocol):
    """An answer in words, as JSON and as a page."""

    def as_json(self) -> str:
        """Return it as one line of JSON."""

    def save(self, file: Path | str) -> Path:
        """Write it as a page."""


@dataclass(frozen=True)
class Outcome:
    """Where an answer goes.

    Attributes:
        as_json: whether it is printed as JSON.
        output: where the page goes; None: nowhere, or to a folder of temporary files.
        open_it: whether a browser shows the page.

    """

    as_json: bool
    output: Path | None
    open_it: bool

    def check(self) -> None:
        """See to it, before Spark starts, that the options can be had together."""
        if self.as_json and (self.output or self.open_it):
            raise click.UsageError("--json prints the answer; -o and --open make a page of it: give one of the two")
        if self.output is not None and self.output.suffix.lower() != _ENDING:
            raise click.UsageError(f"{self.output} is not the name of a page: end it in {_ENDING}")

    def finish(self, found: Told, name: str) -> None:
        """Print the answer, or write the page and print where it is."""
        if self.as_json:
            click.echo(json_line(found.as_json()))
        elif self.output is None and not self.open_it:
            click.echo(plain(str(found)))
        else:
            file = self.output or Path(tempfile.mkdtemp(prefix="forward_lineage-")) / f"{name}{_ENDING}"
            click.echo(plain(str(found.save(file))))
            if self.open_it:
                webbrowser.open(file.absolute().as_uri())


def outcome_options(command: Command) -> Command:
    """Add `--json`, `-o` and `--open`; the command gets them as one argument, `outcome`."""

    @click.option("--json", "as_json", is_flag=True, help="The answer as one JSON object.")
    @click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="A page to walk: why.html.")
    @click.option("--open", "open_it", is_flag=True, help="Show the page in this machine's browser.")
    @wraps(command)
    def with_outcome(*, as_json: bool, output: Path | None, open_it: bool, **others: Any) -> Any:
        outcome = Outcome(as_json, output, open_it)
        outcome.check()
        return command(outcome=outcome, **others)

    return with_outcome

"""`forward-lineage stale`: saved results whose inputs have changed since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from forward_lineage.cli.answers import Answer, Rows, exit_code_option
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import json_option
from forward_lineage.cli.question_executors import ask

_NOW = "now"
_UNREGISTERED = "changed, not registered again"


@click.command()
@json_option
@exit_code_option
@session_options
def stale(*, as_json: bool, exit_code: bool, opening: Opening) -> None:
    """List the saved results whose inputs have changed since they were saved, and what has changed."""
    answer = Answer(as_json, exit_code=exit_code)
    answer.finish(
        ask(opening, "stale", lambda asked: answer.show(_InWords(asked.stale()), nothing="Nothing is stale."))
    )


@dataclass(frozen=True)
class _InWords:
    """Stale results for people: a version that nobody registered has no number."""

    rows: Rows

    @property
    def columns(self) -> Sequence[str]:
        return self.rows.columns

    @property
    def trusted(self) -> Sequence[str]:
        return self.rows.trusted

    @property
    def unit(self) -> str:
        return self.rows.unit

    @property
    def total(self) -> int | None:
        return self.rows.total

    def first(self, limit: int) -> tuple[Sequence[Sequence[Any]], bool]:
        rows, more = self.rows.first(limit)
        now = list(self.columns).index(_NOW)
        return [
            [_UNREGISTERED if at == now and value is None else value for at, value in enumerate(row)] for row in rows
        ], more

    def json_lines(self, limit: int | None) -> list[str]:
        return self.rows.json_lines(limit)

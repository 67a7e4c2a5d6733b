"""`forward-lineage stale`: saved results whose inputs have changed since."""

from __future__ import annotations

import click

from forward_lineage.cli.answers import Answer, exit_code_option
from forward_lineage.cli.asking import ask
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import json_option


@click.command()
@json_option
@exit_code_option
@session_options
def stale(*, as_json: bool, exit_code: bool, opening: Opening) -> None:
    """List the saved results whose inputs have changed since they were saved, and what has changed."""
    answer = Answer(as_json, exit_code=exit_code)
    answer.finish(ask(opening, "stale", lambda asked: answer.show(asked.stale(), nothing="Nothing is stale.")))

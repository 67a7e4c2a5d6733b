"""`forward-lineage shell`: a session that is kept."""

from __future__ import annotations

import sys
from contextlib import closing

import click

from forward_lineage.cli.interactive.entry_runner import Shell
from forward_lineage.cli.interactive.prompting import do_script, do_what_is_typed, is_typed
from forward_lineage.cli.interactive.shell_session import KeptSession
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.stopping import STOPPED
from forward_lineage.row_ids.registration_store import home_folder


@click.command()
@session_options
def shell(*, opening: Opening) -> None:
    r"""Ask one thing after another; Spark is started once, when it is needed.

    SQL up to a semicolon, over as many lines as it takes; or commands: \backward, \forward, \impact, \save, \ls,
    \describe, \explain and others, see \help. Tab completes names of tables, results and columns; Ctrl-C stops what
    runs. Piped input is run as a script, which ends with 1 if something in it failed.
    """
    with closing(KeptSession(opening)) as kept:
        if is_typed():
            do_what_is_typed(Shell(kept, typed=True), home_folder(opening.home))
            return
        script = Shell(kept)
        do_script(script, iter(sys.stdin.readline, ""))
        if script.stopped:
            raise click.exceptions.Exit(STOPPED)
        if script.failed:
            raise click.exceptions.Exit(1)

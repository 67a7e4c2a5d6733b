"""The command line: `forward-lineage …`. One file a command; errors are one line on stderr."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
from py4j.protocol import Py4JNetworkError

from forward_lineage.cli.backward import backward
from forward_lineage.cli.bench import bench
from forward_lineage.cli.capture import capture
from forward_lineage.cli.check import check
from forward_lineage.cli.demo import demo
from forward_lineage.cli.drop import drop
from forward_lineage.cli.explore import explore
from forward_lineage.cli.forward import forward
from forward_lineage.cli.graph import graph
from forward_lineage.cli.ids import ids
from forward_lineage.cli.impact import impact
from forward_lineage.cli.kernel import kernel
from forward_lineage.cli.ls import ls
from forward_lineage.cli.plain_text import in_one_line
from forward_lineage.cli.profile import profile
from forward_lineage.cli.rewrite import rewrite
from forward_lineage.cli.run import run
from forward_lineage.cli.save import save
from forward_lineage.cli.stale import stale
from forward_lineage.spark.local import default_log
from udafs.errors import LineageError


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Say what Python would show as a warning, with its place in our code, as a note."""

    def note(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        if issubclass(category, UserWarning):
            click.echo(f"Note: {in_one_line(str(message))}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = note
        yield


class _OneLineErrors(click.Group):
    """A `LineageError`, or the end of Spark's process, ends the command with one line on stderr and exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _warnings_as_notes():
                return super().invoke(ctx)
        except LineageError as error:
            raise click.ClickException(in_one_line(str(error))) from None
        except (Py4JNetworkError, ConnectionRefusedError):  # from what was running; from stopping Spark after it
            raise click.ClickException(
                f"Spark's Java process has ended: killed, or out of memory? Its log is {default_log()}."
            ) from None


@click.group(cls=_OneLineErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="forward_lineage", message="forward-lineage %(version)s")
def main() -> None:
    """Spark SQL whose every result row says which base rows it was made of."""


for _command in (
    demo,
    rewrite,
    run,
    save,
    capture,
    backward,
    forward,
    impact,
    stale,
    ls,
    drop,
    graph,
    ids,
    kernel,
    explore,
    check,
    profile,
    bench,
):
    main.add_command(_command)

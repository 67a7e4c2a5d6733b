"""Ctrl-C: what a command says of what it has done until then, and how it ends."""

from __future__ import annotations

import click

#: The exit code of what Ctrl-C has ended: what a shell says of SIGINT.
STOPPED = 130
#: What commands have not done when they are stopped before the session's call, which says so itself.
_NOT_YET = {
    "capture": "captured",
    "index": "indexed",
    "refresh": "refreshed",
    "register": "registered",
    "save": "saved",
}
_COMMAND, _DONE = "forward_lineage.command", "forward_lineage.done"
_BEGUN = "forward_lineage.begun"


def note_command(ctx: click.Context, name: str) -> None:
    """Keep which command begins."""
    ctx.meta[_COMMAND] = name


def note_begun() -> None:
    """Keep that the command has its session from now on: what is kept, only the session's calls know."""
    if (ctx := click.get_current_context(silent=True)) is not None:
        ctx.meta[_BEGUN] = True


def note_done(what: str) -> None:
    """Keep what the command that runs has done, e.g. ``"by_item, version 2, is saved"``: it is said of Ctrl-C."""
    click.get_current_context().meta[_DONE] = what


def said_of_stop(stopped: KeyboardInterrupt, ctx: click.Context) -> str:
    """Return what is said of Ctrl-C, in one line.

    Args:
        stopped: with a text, if a call of the session says what it has done.
        ctx: of the command.

    """
    if str(stopped):
        return f"{stopped}."
    if _DONE in ctx.meta:
        return f"stopped; {ctx.meta[_DONE]}."
    command = ctx.meta.get(_COMMAND)
    if command in _NOT_YET and _BEGUN not in ctx.meta:
        return f"stopped, nothing {_NOT_YET[command]}."
    return "stopped."

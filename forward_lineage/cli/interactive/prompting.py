"""The prompt: lines with history and completion, or those of a script."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from forward_lineage.cli.interactive.entries import Entry, entries, entries_of, is_complete
from forward_lineage.cli.interactive.entry_runner import Shell
from forward_lineage.storage.homes import Home
from udafs.errors import LineageError

_GREETING = "forward_lineage: SQL up to a semicolon, or a command such as \\impact; \\help lists them, \\q ends."
_PROMPT, _MORE = "lineage> ", "       > "


def history_file() -> Path:
    """Return where what was typed is kept: in $XDG_STATE_HOME, else ~/.local/state."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "forward_lineage" / "history"


def do_script(shell: Shell, lines: Iterator[str]) -> None:
    """Do the entries of a script; an error is printed, and the next entry is done."""
    script = entries(lines)
    while True:
        try:
            entry = next(script, None)
        except LineageError as error:  # a quote that the script does not close
            shell.say(error)
            return
        if entry is None or not shell.do(entry):
            return


def do_what_is_typed(shell: Shell, home: Home) -> None:
    """Prompt for entries and do them, until somebody ends it."""
    from prompt_toolkit import PromptSession  # noqa: PLC0415 - a script needs no prompt
    from prompt_toolkit.filters import Condition  # noqa: PLC0415
    from prompt_toolkit.history import FileHistory, History, InMemoryHistory  # noqa: PLC0415

    from forward_lineage.cli.interactive.completing import ShellCompleter  # noqa: PLC0415

    history: History = InMemoryHistory()
    if _can_be_written(history_file()):
        history = FileHistory(history_file())
    completer = ShellCompleter(home)
    prompt: PromptSession[str] = PromptSession(
        _PROMPT,
        history=history,
        completer=completer,
        complete_while_typing=False,
        multiline=Condition(lambda: not is_complete(prompt.default_buffer.text)),
        prompt_continuation=_MORE,
    )
    click.echo(_GREETING)
    while True:
        try:
            text = prompt.prompt()
        except KeyboardInterrupt:  # what was typed is thrown away
            continue
        except EOFError:
            return
        if not all(shell.do(entry) for entry in _entries(shell, text)):
            return
        completer.forget()


def _entries(shell: Shell, text: str) -> list[Entry]:
    try:
        return list(entries_of(text))
    except LineageError as error:
        shell.say(error)
        return []


def _can_be_written(file: Path) -> bool:
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.touch(mode=0o600)
    except OSError as error:
        click.echo(f"Note: what is typed is not kept: {file}: {error.strerror}", err=True)
        return False
    return True


def is_typed() -> bool:
    """Tell whether somebody sits in front of it."""
    return sys.stdin.isatty() and sys.stdout.isatty()

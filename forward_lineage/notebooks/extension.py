"""What ``%load_ext forward_lineage`` does: magics, and DataFrames with `DL` that show their lineage."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from forward_lineage.notebooks.finding import session_of, session_of_home
from forward_lineage.notebooks.magics import LineageMagics
from forward_lineage.notebooks.quiet_start import start_as_ever, start_quietly
from forward_lineage.notebooks.watching import Watching, watching_of
from forward_lineage.results import is_answer, meaning_of
from forward_lineage.session.stopping import Stopped
from udafs.errors import LineageError

_TEXT_ONLY = ["text/plain"]  # what IPython's terminal shows


def load(shell: Any) -> None:
    """Give a shell of IPython the magics and the display of results.

    Args:
        shell: an `InteractiveShell`.

    """
    start_quietly()
    shell.register_magics(LineageMagics)
    if watching_of(shell) is None:
        Watching(shell).start()
    for ours in (LineageError, Stopped):
        ours._render_traceback_ = _in_one_line  # type: ignore[union-attr]

    def shown(frame: DataFrame) -> dict[str, str] | None:
        return _bundle(frame, shell)

    shell.display_formatter.mimebundle_formatter.for_type(DataFrame, shown)


def unload(shell: Any) -> None:
    """Take the display of results away, and the magics."""
    start_as_ever()
    if (watching := watching_of(shell)) is not None:
        watching.stop()
    shell.display_formatter.mimebundle_formatter.pop(DataFrame, None)
    for ours in (LineageError, Stopped):
        del ours._render_traceback_  # type: ignore[union-attr]
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("lineage", None)


def _in_one_line(error: LineageError | Stopped) -> list[str]:
    """Shown in IPython in place of a traceback of ours: the traceback would be through our code, not the user's."""
    if isinstance(error, Stopped):
        return [str(error) or "stopped"]
    return [f"{type(error).__name__}: {error}"]


def _bundle(frame: DataFrame, shell: Any) -> dict[str, str] | None:
    """What a result of `lineage.sql`, or an answer, is in a cell; None for any other frame, which is shown as ever."""
    meaning = meaning_of(frame)
    opens = shell.display_formatter.active_types != _TEXT_ONLY
    try:
        if meaning is None:
            return session_of(shell.user_ns).shown(frame)._repr_mimebundle_() if is_answer(frame) else None
        session = session_of_home(shell.user_ns, frame.sparkSession, meaning["home"])
        return session.shown(frame, base_rows=5 if opens else 0)._repr_mimebundle_()
    except LineageError as error:
        return {"text/plain": f"{frame!r}\nIts rows cannot be shown: {error}"}

"""The magics ``%%lineage`` and ``%lineage``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import MagicArgumentParser
from pyspark.sql import DataFrame

from forward_lineage.frontend import split_script
from forward_lineage.notebooks.finding import Namespace, session_of
from forward_lineage.notebooks.magic_line import USAGE, Asked, understood
from forward_lineage.notebooks.pictures import pipeline_picture
from forward_lineage.notebooks.stale_cells import Status
from forward_lineage.notebooks.watching import watching_of
from forward_lineage.session import ForwardLineage
from forward_lineage.store.library.saved_result import SavedResult
from udafs.errors import BadArgumentError, LineageError, SetupError

_STATUS = "Write %lineage status, or %lineage status refresh"
_NONE_GIVEN = "Write the query below the line that begins with %%lineage."


def _parser() -> Any:
    parser: Any = cast(Any, MagicArgumentParser)("%%lineage", description="Run the SQL of a cell with lineage.")
    parser.allow_abbrev = False  # `--sav x` is a typo, and would write
    add = parser.add_argument
    add("--save", metavar="NAME", help="Keep rows and lineage under a name, by which later queries can read it.")
    add("--semantics", default="data", help="data (default) or control.")
    add("--into", metavar="VARIABLE", help="Put the result, a DataFrame or what was saved, into a variable.")
    add("--args", metavar="VARIABLE", help="A variable with the values of the query's parameters.")
    add("--rows", type=int, default=20, help="How many rows to show.")
    add("--base-rows", type=int, default=5, help="How many base rows of a table a row can be opened to.")
    return parser


_OPTIONS = _parser()


@magics_class
class LineageMagics(Magics):
    """``%%lineage`` runs the SQL of a cell with lineage; ``%lineage`` asks."""

    @line_cell_magic
    def lineage(self, line: str, cell: str | None = None) -> Any:
        """Run SQL with lineage, or ask: see docs/notebooks.md.

        ``%%lineage [--save NAME] [--semantics control] [--into VARIABLE] [--args VARIABLE] [--rows N] [--base-rows N]``
        above a query; ``%lineage`` with a word behind it.

        Raises:
            LineageError: in one line, without Python's traceback.

        """
        with _without_traceback():
            if cell is not None:
                return self._run(line, cell)
            asked = understood(line)
            if asked.word == "status":
                return self._status(asked)
            return _ANSWERS[asked.word](session_of(self._names), asked)

    @property
    def _names(self) -> Namespace:
        return cast(Any, self.shell).user_ns  # type: ignore[no-any-return]

    def _run(self, line: str, cell: str) -> Any:
        options = _OPTIONS.parse_argstring(line)
        statements = split_script(cell)
        if not statements:
            raise BadArgumentError("the cell has no SQL", instead=_NONE_GIVEN)
        if options.save is not None and len(statements) > 1:
            raise BadArgumentError(
                f"{len(statements)} statements cannot be saved as one result", instead="Save one query a cell."
            )
        session = session_of(self._names)
        args = self._variable(options.args)
        *before, last = statements
        for statement in before:
            self._one(session, statement, options, args)
        result = self._one(session, last, options, args)
        if options.into is not None:
            self._names[_identifier(options.into)] = result
        if isinstance(result, DataFrame) and not result.columns:
            return None  # a command's
        return session.shown(result, options.rows, options.base_rows)

    def _one(self, session: ForwardLineage, sql: str, options: Any, args: Any) -> DataFrame | SavedResult:
        if options.save is None:
            return session.sql(sql, options.semantics, args)
        if args is not None:
            raise BadArgumentError("a saved query has no parameters", instead="Write the values into the SQL.")
        return session.save(sql, options.save, semantics=options.semantics)

    def _status(self, asked: Asked) -> Status:
        if asked.names not in ((), ("refresh",)):
            raise BadArgumentError(f"%lineage status {asked.names[0]} is not understood", instead=_STATUS)
        watching = watching_of(self.shell)
        if watching is None:
            raise SetupError("nothing watches the cells of this notebook", instead="Run: %load_ext forward_lineage")
        return watching.status(refresh=bool(asked.names))

    def _variable(self, name: str | None) -> Any:
        if name is None:
            return None
        if name not in self._names:
            raise BadArgumentError(
                f"there is no variable {name}", instead="Put the parameters into it: {'name': value}."
            )
        return self._names[name]


def _identifier(name: str) -> str:
    if not name.isidentifier():
        raise BadArgumentError(f"{name!r} is no name of a variable", instead="Use letters, digits and _.")
    return name


@contextmanager
def _without_traceback() -> Iterator[None]:
    """Let an error of ours be one line in the cell: the traceback would be through the magic, not the user's code."""
    try:
        yield
    except (LineageError, KeyboardInterrupt) as error:  # Ctrl-C, with whether anything was saved
        said = str(error) or "stopped" if isinstance(error, KeyboardInterrupt) else f"{type(error).__name__}: {error}"
        error._render_traceback_ = lambda: [said]  # type: ignore[union-attr]
        raise


def _everything(session: ForwardLineage, asked: Asked) -> Any:
    return session


def _show(session: ForwardLineage, asked: Asked) -> Any:
    return session.shown(session.describe(asked.names[0]))


def _backward(session: ForwardLineage, asked: Asked) -> Any:
    table = asked.names[1] if len(asked.names) > 1 else None
    return session.shown(session.backward(asked.names[0], asked.where, rows=asked.numbers, table=table))


def _forward(session: ForwardLineage, asked: Asked) -> Any:
    table, result = asked.names
    return session.shown(session.forward(table, asked.where, ids=asked.numbers, result=result))


def _impact(session: ForwardLineage, asked: Asked) -> Any:
    return session.shown(session.impact(asked.names[0], asked.where, ids=asked.numbers))


def _graph(session: ForwardLineage, asked: Asked) -> Any:
    return pipeline_picture(session, asked.names[0] if asked.names else None, asked.where)


def _stale(session: ForwardLineage, asked: Asked) -> Any:
    return session.shown(session.stale())


_ANSWERS: dict[str, Callable[[ForwardLineage, Asked], Any]] = {
    "": _everything,
    "show": _show,
    "backward": _backward,
    "forward": _forward,
    "impact": _impact,
    "graph": _graph,
    "stale": _stale,
}
LineageMagics.lineage.__doc__ = f"{_OPTIONS.format_help()}\n{USAGE}"  # what %lineage? shows

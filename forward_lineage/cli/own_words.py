"""Remedies in the words of the command line: errors name calls and arguments of Python, which a shell does not have."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator

from udafs.errors import LineageError

#: Calls that a command stands for, where the two differ in name.
_COMMAND_OF = {"sql": "run"}
_COMMANDS = frozenset(
    {"affected", "backward", "capture", "describe", "drop", "explore", "forward", "impact", "refresh", "register"}
    | {"run", "save", "stale", "unregister", "update"}
)
_OPTIONS = (
    *(
        "capture",
        "format",
        "hashes",
        "home",
        "ids",
        "key",
        "keep_versions",
        "limit",
        "options",
        "order_by",
        "path",
        "result",
    ),
    *("row_id", "rows", "semantics", "source", "table", "tables", "trusted", "where"),
    *("cube", "mode", "nulls", "partition_by", "workload"),
)
_CALL = re.compile(r"lineage\.([a-z_]+)\(((?:[^()'\"]|\"[^\"]*\"|'[^']*')*)\)")
_ARGUMENT = re.compile(rf"(?<![\w.-])({'|'.join(_OPTIONS)})=(True|…|\"[^\"]*\"|'[^']*'|\[[^\]]*\])?(?=[\s.,:;)]|$)")
#: What a message says of this door beside Python's.
_OTHER_DOOR = re.compile(r"(?:;| or) in the shell .*?(?=;|\.?$)")
_QUOTES_THE_USER = "it was read as: "


def in_words_of_commands(error: LineageError, program: str = "forward-lineage ") -> str:
    r"""Return the message of an error, with commands and options in place of calls and arguments.

    >>> from udafs.errors import NotRegisteredError
    >>> error = NotRegisteredError("t is not registered", instead='Register it: lineage.register("t", key=…).')
    >>> in_words_of_commands(error)
    't is not registered. Register it: forward-lineage register t --key ….'

    Args:
        error: what went wrong.
        program: what stands in front of a command: ``"forward-lineage "``, or a backslash in our shell.

    """
    said = str(error)
    remedy = error.instead
    if not remedy or _QUOTES_THE_USER in remedy or not said.endswith(remedy):
        return said
    return _translated(said.removesuffix(remedy), program, about_arguments=True) + _translated(remedy, program)


def remedies_in_words_of_commands(text: str, program: str = "forward-lineage ") -> str:
    r"""Return a text of ours that names remedies, with commands in place of calls.

    >>> remedies_in_words_of_commands('t has changed. Call lineage.refresh("t").')
    't has changed. Call forward-lineage refresh t.'

    """
    return _translated(text, program)


def _translated(text: str, program: str, *, about_arguments: bool = False) -> str:
    """Translate calls and arguments; of what was found, only a clause about arguments: it may quote SQL."""
    if about_arguments:
        return _ARGUMENT.sub(_option, text) if _ARGUMENT.match(text) else text
    text = _OTHER_DOOR.sub("", text)
    text = _CALL.sub(lambda call: _command(call, program), text)
    return _ARGUMENT.sub(_option, text)


def _command(call: re.Match[str], program: str) -> str:
    name = _COMMAND_OF.get(call[1], call[1])
    if name not in _COMMANDS:
        return call[0]
    words = " ".join(_words(call[2]))
    return f"{program}{name} {words}".rstrip()


def _words(arguments: str) -> Iterator[str]:
    """The words of a command: positional ones first, as in the call."""
    try:
        parsed = ast.parse(f"f({arguments.replace('…', 'ELLIPSIS')})", mode="eval").body
    except SyntaxError:
        yield "…"
        return
    assert isinstance(parsed, ast.Call)
    yield from (_word(each) for each in parsed.args)
    for given in parsed.keywords:
        yield _option_of(given.arg or "", [] if _is_true(given.value) else _several(given.value))


def _several(value: ast.expr) -> list[str]:
    if isinstance(value, ast.Dict):
        return [f"{_setting(key)}={_setting(each)}" for key, each in zip(value.keys, value.values, strict=True)]
    return [_word(each) for each in value.elts] if isinstance(value, ast.List) else [_word(value)]


def _setting(value: ast.expr | None) -> str:
    """A name or value of an option of Spark's reader, which says `true` where Python says `True`."""
    known = isinstance(value, ast.Constant) and value.value
    return str(known).lower() if isinstance(known, bool) else shlex.quote(str(known))


def _word(value: ast.expr) -> str:
    if isinstance(value, ast.Constant):
        return shlex.quote(str(value.value).replace("ELLIPSIS", "…"))
    text = ast.unparse(value)
    return "…" if "ELLIPSIS" in text else text


def _is_true(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is True


def _option(found: re.Match[str]) -> str:
    name, value = found[1], found[2] or ""
    if value in ("", "True"):
        return _option_of(name, [])
    parsed = ast.parse(value.replace("…", "ELLIPSIS"), mode="eval").body
    return _option_of(name, _several(parsed))


def _option_of(name: str, values: list[str]) -> str:
    option = f"--{name.removesuffix('s') if name == 'options' else name.replace('_', '-')}"
    return " ".join(f"{option} {value}" for value in values) if values else option

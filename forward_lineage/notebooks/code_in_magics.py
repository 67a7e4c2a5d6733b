"""Python that IPython's magics are given to run, such as ``%%time``, as the statements that it is."""

from __future__ import annotations

import ast
import re
from contextlib import suppress

#: Magics that run code with the notebook's names.
_RUN = frozenset(("time", "timeit", "prun", "capture", "memit", "mprun", "lprun", "debug"))
_OPTIONS = re.compile(r"^(\s*-\w+(\s+\d+)?)*\s*")
_FIRST_WORD = re.compile(r"^\w+\s+")


def code_in_magics(text: str) -> str:
    r"""Return a cell with the code of such magics in place of their calls.

    Args:
        text: of the cell, after IPython's own syntax was replaced by calls.

    Examples:
        >>> print(code_in_magics("get_ipython().run_line_magic('time', 'x = n + 1')"))
        x = n + 1
        >>> print(code_in_magics("get_ipython().run_cell_magic('time', '', 'x = n\ny = x\n')"))
        x = n
        y = x

    """
    if "run_line_magic(" not in text and "run_cell_magic(" not in text:
        return text
    tree = ast.parse(text)
    for parent in ast.walk(tree):
        for _, body in ast.iter_fields(parent):
            if isinstance(body, list) and any(isinstance(each, ast.Expr) for each in body):
                body[:] = [each for statement in body for each in _run_by(statement)]
    return ast.unparse(tree)


def _run_by(statement: ast.AST) -> list[ast.AST]:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return [statement]
    given = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    if not given or given[0] not in _RUN or len(given) != len(call.args):
        return [statement]
    if call.func.attr == "run_line_magic" and len(given) == 2:
        code = _OPTIONS.sub("", given[1], count=1)
        tries: tuple[str, ...] = (code, _FIRST_WORD.sub("", code, count=1))  # which an option may say: ``-s time f()``
    elif call.func.attr == "run_cell_magic" and len(given) == 3:
        tries = (given[2],)
    else:
        return [statement]
    for code in tries:
        with suppress(SyntaxError):
            return list(ast.parse(code).body)
    return [statement]

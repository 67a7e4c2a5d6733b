"""Sessions of notebooks that were written down, with the names and cells that are stale at their end by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forward_lineage.cells.notebook import Notebook

F = "def f(y):\n    return x + y"


@dataclass(frozen=True)
class Scripted:
    """A session.

    Attributes:
        cells: key and text, in the order in which they run.
        stale: keys of cells that use stale names.
        fresh: keys of cells that something changed for.

    """

    cells: tuple[tuple[str, str], ...]
    stale: frozenset[str]
    fresh: frozenset[str]


def _of(texts: str, again: str, stale: str = "", fresh: str = "") -> Scripted:
    """Cells 1, 2, … divided by `|`, then others, each with its key before a colon."""
    first = [(str(number), text.strip()) for number, text in enumerate(texts.split("|"), 1)]
    then = [tuple(each.strip().split(":", 1)) for each in again.split("|")] if again else []
    return Scripted((*first, *then), frozenset(stale.split()), frozenset(fresh.split()))  # type: ignore[arg-type]


SESSIONS = {
    "nothing was edited": _of("a = 1|b = a|c = b", ""),
    "the thesis' example": _of("a = 4|b = a|c = a + b", "1:a = 5", "3", "2"),
    "two steps away": _of("a = 1|b = a|c = b|d = c", "1:a = 2", "3 4", "2"),
    "the same value again": _of("a = 1|b = a", "1:a = 1"),
    "computed again, and equal": _of("a = 1|b = a > 0|c = b", "1:a = 2|2:b = a > 0"),
    "a function": _of(f"x = 1|{F}|z = f(2)|w = z", "1:x = 5", "4", "3"),
    "a function with other code": _of(f"x = 1|{F}|z = f(2)", "2:def f(y):\n    return x * y", "", "3"),
    "a function with another layout": _of(f"x = 1|{F}|z = f(2)", "2:def f(y):\n\n    # sum\n    return x + y"),
    "functions that call functions": _of(f"x = 1|{F}|def g(y):\n    return f(y)|z = g(1)", "1:x = 2", "", "4"),
    "one of two functions in a list": _of(
        f"x = 1|{F}|fs = [f, lambda t: t + 1]|z = fs[1](2)|v = fs[0](2)", "1:x = 7", "", "5"
    ),
    "a list that grows": _of("l = [1]|n = len(l)", "3:l.append(2)", "", "2"),
    "a list that a function changes": _of("l = [1]\ndef grow(k):\n    k += [2]|n = len(l)", "3:grow(l)", "", "2"),
    "another name of a list": _of("l = [1]|k = l|n = len(k)", "4:l.append(2)", "", "2 3"),
    "a list in a dict": _of("l = [1]\nd = {'l': l}|n = len(d['l'])", "3:l.append(2)", "", "2"),
    "an array that is sorted": _of("import numpy as np\nr = np.array([2, 1])|t = r[0]", "3:r.sort()", "", "2"),
    "a cell of an array": _of("import numpy as np\nr = np.array([2, 1])|t = r.sum()", "3:r[0] = 9", "", "2"),
    "an import again": _of("import math|r = math.sqrt(4)", "1:import math"),
    "a loop": _of("xs = [1, 2]|t = 0\nfor x in xs:\n    t = t + x|u = t", "1:xs = [3]", "3", "2"),
    "a branch": _of("flag = True|if flag:\n    v = 1\nelse:\n    v = 2|w = v", "1:flag = False", "3", "2"),
    "a name that a cell uses twice": _of("a = 1\nb = 2|i = a\nx = i\ni = b|y = x", "4:b = 3", "", "2"),
    "the first of two meanings": _of("a = 1|b = 2|i = a\nx = i\ni = b|y = x", "1:a = 7", "4", "3"),
    "overwritten before it is used": _of("a = 1|b = a|b = 5\nc = b", "1:a = 2", "", "2"),
    "a comprehension's own name": _of("a = 1|s = [a for a in range(3)]", "1:a = 2"),
    "a comprehension": _of("k = 2|s = [k * i for i in range(3)]|t = sum(s)", "1:k = 3", "3", "2"),
    "a class": _of("r = 2\nclass P:\n    def go(self):\n        return r|p = P()|q = p.go()", "4:r = 3", "", "3"),
    "an attribute": _of("class P: pass\np = P()\np.a = 1|q = p.a", "3:p.a = 2", "", "2"),
    "a global that a function sets": _of("n = 0\ndef up():\n    global n\n    n += 1|m = n|k = m", "4:up()", "3", "2"),
    "counting up": _of("n = 1|m = n", "3:n += 1", "", "2"),
    "a view of an array": _of("import numpy as np\nr = np.zeros(9)\nv = r[2:4]|t = r.sum()", "3:v[:] = 1", "", "2"),
    "the array of a view": _of("import numpy as np\nr = np.zeros(9)\nv = r[2:4]|t = v.sum()", "3:r[:] = 1", "", "2"),
    "a long list that a function changes": _of(
        "l = [0] * 99_999\ndef put(k):\n    k[7] = 1|n = sum(l)", "3:put(l)", "", "2"
    ),
    "a long list that a function reads": _of("l = [0] * 99_999\ndef see(k):\n    return k[7]|n = sum(l)", "3:see(l)"),
    "an attribute of a module": _of("import types\nm = types.ModuleType('m')\nm.k = 1|x = m.k", "3:m.k = 2", "", "2"),
    "a text that is evaluated": _of("n = 1|x = eval('n + 1')|y = x", "1:n = 2", "3", "2"),
    "a name in a query": _of(
        "import pandas as pd\nd = pd.DataFrame(dict(a=[1, 2]))|n = 1|x = d.query('a > @n')", "2:n = 0", "", "3"
    ),
    "text that is run": _of("a = 1|b = a", "3:exec('a = 2')", "", "2"),
    "unpacking": _of("p = (1, 2)|a, b = p|c = a", "1:p = (3, 2)", "3", "2"),
    "elements that are exchanged": _of("a = 1\nb = 2|c, d = a, b|e = d", "4:a = 9", "", "2"),
    "a walrus": _of("a = [1]|if (n := len(a)) > 0:\n    pass|m = n", "1:a = [1, 2]", "3", "2"),
    "an exception": _of("a = '1'|try:\n    v = int(a)\nexcept ValueError:\n    v = 0|w = v", "1:a = '3'", "3", "2"),
    "a partial": _of(f"import functools\nx = 1|{F}|g = functools.partial(f, 1)|z = g()", "5:x = 2", "", "4"),
    "a column of a frame": _of("import pandas as pd\nd = pd.DataFrame(dict(a=[1]))|s = d.a.sum()", "3:d['b'] = 2"),
}
"""What is stale or fresh at the end."""
#: Cells that are named though nothing has changed for them: `partial` is handed a function and does not call it; a
#: frame is one name, whatever column is read.
TOO_MANY = {"a partial": {"3"}, "a column of a frame": {"2"}}


def played(session: Scripted) -> Notebook:
    """Run a session."""
    names: dict[str, Any] = {"__name__": "__main__"}
    notebook = Notebook(names)
    for key, text in session.cells:
        notebook.begin(key, text)
        exec(compile(text, "cell", "exec"), names)
        notebook.end()
    return notebook


def found(session: Scripted) -> tuple[set[str], set[str], tuple[str, ...]]:
    """Return the stale cells, the fresh ones, and those to run again."""
    highlights = played(session).highlights()
    return set(highlights.stale), set(highlights.fresh), highlights.rerun

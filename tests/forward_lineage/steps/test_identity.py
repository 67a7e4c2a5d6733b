"""What changes the identity of a step, what does not, and what may never have one."""

from __future__ import annotations

import locale
import subprocess
import sys
import types
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from forward_lineage.steps.identity import Identity, identity_of

NUMBERS = count()
WHOLE = Path(__file__).parents[3]


@pytest.fixture
def modules() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("user_"):
            del sys.modules[name]


def module(source: str, name: str | None = None) -> types.ModuleType:
    """Return a module of a user with this source; no file is behind it."""
    made = types.ModuleType(name or f"user_{next(NUMBERS)}")
    sys.modules[made.__name__] = made
    exec(compile(source, f"<{made.__name__}>", "exec"), vars(made))
    return made


def identity(source: str, **told: object) -> Identity:
    """Return the identity of the function `step` of a source."""
    return identity_of(module(source).step, **told)  # type: ignore[arg-type]


SAME = {
    "comments and layout": (
        "def step(x):\n    return x+1",
        "def step(x):\n    # one more\n\n    return (x +\n      1)",
    ),
    "a docstring": ('def step(x):\n    "old"\n    return x', 'def step(x):\n    "new"\n    return x'),
    "a local's name": ("def step():\n    a = 1\n    return a", "def step():\n    b = 1\n    return b"),
    "an unread global": ("G = 1\ndef step():\n    return 2", "G = 9\ndef step():\n    return 2"),
    "another function": ("def g(): return 1\ndef step(): return 2", "def g(): return 7\ndef step(): return 2"),
    "the order of a set": ("G = {'a', 'b', 'c'}\ndef step(): return G", "G = {'c', 'b', 'a'}\ndef step(): return G"),
}

# What the two have in common, and in what they differ: it must count.
OTHER = {
    "a constant": ("def step(): return {}", "1", "2"),
    "the type of a constant": ("def step(): return {}", "1", "True"),
    "the type of a constant, a float": ("def step(): return {}", "1", "1.0"),
    "the sign of zero": ("def step(): return {}", "0.0", "-0.0"),
    "a text and a number": ("G = {}\ndef step(): return G", "1", "'1'"),
    "bytes and a text": ("G = {}\ndef step(): return G", "b'a'", "'a'"),
    "a tuple and a list": ("G = {}\ndef step(): return G", "(1, 2)", "[1, 2]"),
    "where texts end": ("G = {}\ndef step(): return G", "['ab', 'c']", "['a', 'bc']"),
    "what is within what": ("G = {}\ndef step(): return G", "[[1], 2]", "[[1, 2]]"),
    "the order of a dict": ("G = {}\ndef step(): return G", "{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}"),
    "an operator": ("def step(a, b): return a {} b", "+", "-"),
    "a comparison": ("def step(a, b): return a {} b", "<", "<="),
    "a called function": ("def g(): return {}\ndef step(): return g()", "1", "2"),
    "one called by that": ("def h(): return {}\ndef g(): return h()\ndef step(): return g()", "1", "2"),
    "a global that that reads": ("H = {}\ndef g(): return H\ndef step(): return g()", "1", "2"),
    "a default": ("def step(x={}): return x", "1", "2"),
    "a keyword's default": ("def step(*, x={}): return x", "1", "2"),
    "a parameter's name": ("def step({}, b): return b", "a", "c"),
    "names of keywords": ("def g(**k): return k\ndef step(): return g({}=1)", "a", "b"),
    "a decorator": (
        "def d(f):\n    def w(*a): return f(*a) + {}\n    return w\n@d\ndef step(x): return x",
        "1",
        "2",
    ),
    "what is decorated": (
        "import functools\ndef d(f):\n    @functools.wraps(f)\n    def w(*a): return f(*a)\n    return w\n"
        "@d\ndef step(x): return x + {}",
        "1",
        "2",
    ),
    "a closure": ("def make(n):\n    def s(): return n\n    return s\nstep = make({})", "1", "2"),
    "a method": ("class C:\n    def m(self): return {}\ndef step(): return C().m()", "1", "2"),
    "an inherited method": (
        "class B:\n    def m(self): return {}\nclass C(B): pass\ndef step(): return C().m()",
        "1",
        "2",
    ),
    "a class attribute": ("class C:\n    n = {}\ndef step(): return C.n", "1", "2"),
    "a property": ("class C:\n    @property\n    def n(self): return {}\ndef step(): return C().n", "1", "2"),
    "a static method": ("class C:\n    @staticmethod\n    def n(): return {}\ndef step(): return C.n()", "1", "2"),
    "a metaclass": (
        "class M(type):\n    def m(c): return {}\nclass C(metaclass=M): pass\ndef step(): return C.m()",
        "1",
        "2",
    ),
    "a field of a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    n: int = {}\ndef step(): return C()",
        "1",
        "2",
    ),
    "a member of an enum": ("import enum\nclass E(enum.Enum):\n    A = {}\ndef step(): return E.A.value", "1", "2"),
    "what an enum says of its members": (
        "import enum\nclass E(enum.Enum):\n    A = 1\n    def __init__(s, n): s.w = n * {}\ndef step(): return E.A.w",
        "2",
        "3",
    ),
    "the text of an enum's member": (
        "import enum\nclass E(enum.Enum):\n    A = 1\n    def __str__(s): return '{}'\ndef step(): return str(E.A)",
        "a",
        "b",
    ),
    "a member's attribute that was set later": (
        "import enum\nclass E(enum.Enum):\n    A = 1\nE.A.note = {}\ndef step(): return E.A.note",
        "1",
        "2",
    ),
    "a class attribute of an enum": (
        "import enum\nclass E(enum.Enum):\n    A = 1\nE.table = {'A': {}}\ndef step(): return E.table",
        "1",
        "2",
    ),
    "what a flag does with unknown bits": (
        "import enum\nclass E(enum.Flag, boundary=enum.{}):\n    A = 1\ndef step(): return E(6).value",
        "KEEP",
        "CONFORM",
    ),
    "a method of Python's under another name": (
        "class C(int):\n    __repr__ = int.{}\n    low = str.lower\ndef step(): return repr(C(1))",
        "__repr__",
        "__str__",
    ),
    "the level of a logger": (
        "import logging\nL = logging.getLogger('user_steps')\nL.setLevel({})\ndef step(): return L.isEnabledFor(15)",
        "10",
        "20",
    ),
    "the state of an object": (
        "class C:\n    def __init__(self, n): self.n = n\nc = C({})\ndef step(): return c.n",
        "1",
        "2",
    ),
    "the state in a slot": (
        "class C:\n    __slots__ = ('n',)\nc = C()\nc.n = {}\ndef step(): return c.n",
        "1",
        "2",
    ),
    "the content of a user's list": ("class L(list): pass\nl = L([{}])\ndef step(): return l", "1", "2"),
    "the content of a user's dict": ("class D(dict): pass\nd = D(a={})\ndef step(): return d", "1", "2"),
    "a named tuple": (
        "from collections import namedtuple\nN = namedtuple('N', 'a')\nn = N({})\ndef step(): return n.a",
        "1",
        "2",
    ),
    "the names of a named tuple": (
        "from collections import namedtuple\nN = namedtuple('N', '{}')\ndef step(): return N(1)._asdict()",
        "a",
        "b",
    ),
    "a bound method": (
        "class C:\n    def __init__(s, n): s.n = n\n    def m(s): return s.n\nm = C({}).m\ndef step(): return m()",
        "1",
        "2",
    ),
    "a method of a list": ("m = [{}].count\ndef step(): return m(1)", "1", "2"),
    "a lambda": ("step = lambda x: x + {}", "1", "2"),
    "the other lambda of a line": ("fs = (lambda: 1, lambda: 2); step = fs[{}]", "0", "1"),
    "a comprehension": ("def step(xs): return [x * {} for x in xs if x]", "1", "2"),
    "a condition in one": ("def step(xs): return [x for x in xs if x {} 1]", ">", "<"),
    "a global read in one": ("G = {}\ndef step(xs): return [x * G for x in xs]", "1", "2"),
    "a global read in a class body": ("G = {}\ndef step():\n    class C:\n        n = G\n    return C.n", "1", "2"),
    "a generator": ("def g():\n    yield {}\ndef step(): return list(g())", "1", "2"),
    "a partial": (
        "import functools\ndef g(a): return a\np = functools.partial(g, {})\ndef step(): return p()",
        "1",
        "2",
    ),
    "the function of a partial": (
        "import functools\ndef g(a): return a + {}\np = functools.partial(g, 1)\ndef step(): return p()",
        "1",
        "2",
    ),
    "a recursive function": ("def g(n): return {} if n < 1 else g(n - 1)\ndef step(): return g(3)", "1", "2"),
    "two that call each other": (
        "def f(n): return n and g(n - 1)\ndef g(n): return {} + f(n)\ndef step(): return f(3)",
        "1",
        "2",
    ),
    "an attribute of a function": ("def g(): return g.n\ng.n = {}\ndef step(): return g()", "1", "2"),
    "getattr by a plain name": ("class C:\n    a = 1\n    b = 2\ndef step(): return getattr(C, '{}')", "a", "b"),
    "what try catches": (
        "def step(x):\n    try:\n        return int(x)\n    except {}:\n        return 0",
        "ValueError",
        "TypeError",
    ),
    "what try is around": (
        "def g(x): return x\ndef step(x):\n    {}",
        "y = g(x)\n    try:\n        z = g(y)\n    except ValueError:\n        return 0\n    return z",
        "try:\n        y = g(x)\n        z = g(y)\n    except ValueError:\n        return 0\n    return z",
    ),
    "an array": ("import numpy as np\nA = np.array([{}])\ndef step(): return A.sum()", "1", "2"),
    "the type of an array": ("import numpy as np\nA = np.zeros(2, '{}')\ndef step(): return A", "i4", "i8"),
    "the shape of an array": ("import numpy as np\nA = np.zeros({})\ndef step(): return A", "(2, 3)", "(3, 2)"),
    "how an array lies": ("import numpy as np\nA = np.ones((2, 3), order='{}')\ndef step(): return A.sum()", "C", "F"),
    "which numpy function": ("import numpy as np\ndef step(x): return np.{}(x)", "sin", "cos"),
    "which ufunc under a name": ("from numpy import {} as f\ndef step(x): return f(x)", "sin", "cos"),
    "a monkeypatched function": ("def g(): return 1\ndef h(): return 2\n{}\ndef step(): return g()", "", "g = h"),
    "a monkeypatched method": (
        "class C:\n    def m(self): return 1\nC.m = lambda self: {}\ndef step(): return C().m()",
        "2",
        "3",
    ),
    "a name that shadows a builtin": ("{}\ndef step(x): return len(x)", "", "def len(x): return 0"),
    "a name that is there or not": ("{}\ndef step(): return G", "", "G = 1"),
    "what an abstract class has registered": (
        "import abc\nclass A(abc.ABC): pass\nclass B: pass\n{}\ndef step(x): return isinstance(x, A)",
        "",
        "A.register(B)",
    ),
    "a step that is called": (
        "from forward_lineage import step as s\n@s\ndef g(): return {}\ndef step(): return g()",
        "1",
        "2",
    ),
    "a context manager": (
        "from contextlib import contextmanager\n@contextmanager\ndef g():\n    yield {}\n"
        "def step():\n    with g() as x:\n        return x",
        "1",
        "2",
    ),
    "classes and functions that annotate each other": (
        "class N:\n    def m(self): return make(self)\ndef make(n: N) -> N: return {}\ndef step(): return N().m()",
        "1",
        "2",
    ),
    "what an unknown type annotates": (
        "import click\ndef g(x: click.Context): return {}\ndef step(): return g(1)",
        "1",
        "2",
    ),
    "a frozen dataclass": (
        "from dataclasses import dataclass\n@dataclass(frozen=True, slots=True)\nclass C:\n    n: int = {}\n"
        "c = C()\ndef step(): return c.n",
        "1",
        "2",
    ),
    "a schema of Arrow's": (
        "import pyarrow as pa\nS = pa.schema([('a', pa.{}())])\ndef step(): return S",
        "int8",
        "int16",
    ),
    "a type of Arrow's": ("import pyarrow as pa\nS = pa.{}()\ndef step(): return S", "int8", "int16"),
    "a type of Spark's": (
        "from pyspark.sql.types import *\nS = StructType([StructField('a', {}())])\ndef step(): return S",
        "LongType",
        "ShortType",
    ),
    "a function of Arrow's": ("import pyarrow.compute as pc\ndef step(t): return pc.{}(t)", "sum", "min"),
    "a function of Spark's": (
        "from pyspark.sql import functions as F\ndef step(d): return d.agg(F.{}('a'))",
        "sum",
        "min",
    ),
    "what match looks for": ("def step(x):\n    match x:\n        case {}(n): return n", "int", "str"),
    "what is formatted": ("def step(x): return f'{{x:>{}}}'", "1", "2"),
    "one list or two": ("a = [1]\nb = {}\ndef step(): return a, b", "a", "[1]"),
    "a type hint that is read": ("T = {}\ndef step(x): return isinstance(x, T)", "int | None", "str | None"),
}


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("case", SAME)
def test_it_is_the_same(case: str) -> None:
    one, other = (identity(source) for source in SAME[case])
    assert one.digest is not None, one.reasons
    assert one == other


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("case", OTHER)
def test_it_is_another(case: str) -> None:
    source, one, other = OTHER[case]
    first, second, again = (identity(source.replace("{}", each)) for each in (one, other, one))
    assert first.digest is not None, first.reasons
    assert second.digest is not None, second.reasons
    assert first.digest != second.digest
    assert first.digest == again.digest


UNKNOWN = {
    "exec": "def step(): exec('x = 1')",
    "eval": "def step(): return eval('1')",
    "eval by another name": "e = eval\ndef step(): return e('1')",
    "eval of builtins": "import builtins\ndef step(): return builtins.eval('1')",
    "eval of builtins, imported inside": "def step():\n    import builtins\n    return builtins.eval('1')",
    "builtins by their hidden name": "def step(): return __builtins__",
    "getattr by a computed name": "def step(x, n): return getattr(x, n)",
    "getattr under another name": "g = getattr\ndef step(x, n): return g(x, n)",
    "getattr handed to a function": "def g(f, x, n): return f(x, n + 'y')\ndef step(x): return g(getattr, x, 'n')",
    "getattr handed to map": "def step(x, n): return list(map(getattr, x, n))",
    "attrgetter": "import operator\ndef step(x, n): return operator.attrgetter(n)(x)",
    "globals": "def step(): return globals()['G']",
    "the globals of a function": "def g(): pass\ndef step(): return g.__globals__",
    "a docstring that is read": "def step(): return step.__doc__",
    "a file": "def step(): return open('x').read()",
    "a path": "from pathlib import Path\ndef step(): return Path('x').read_text()",
    "a path that is a global": "from pathlib import Path\nP = Path('x')\ndef step(): return P.read_text()",
    "what the file of a path is": "from pathlib import Path\nP = Path('x')\ndef step(): return P.is_symlink()",
    "the environment": "import os\ndef step(): return os.environ['X']",
    "the environment by name": "from os import environ\ndef step(): return environ['X']",
    "the environment, imported inside": "def step():\n    from os import getenv\n    return getenv('X')",
    "the time": "import time\ndef step(): return time.time()",
    "the time by name": "from time import time\ndef step(): return time()",
    "today": "import datetime\ndef step(): return datetime.date.today()",
    "today of a local": "from datetime import date\ndef step():\n    d = date\n    return d.today()",
    "chance": "import random\ndef step(): return random.random()",
    "chance by name": "from random import random\ndef step(): return random()",
    "chance of numpy": "import numpy as np\ndef step(): return np.random.rand()",
    "chance of numpy by module": "from numpy import random as r\ndef step(): return r.rand()",
    "chance of numpy, imported inside": "def step():\n    import numpy as n\n    return n.random.random()",
    "a generator without a seed": "import numpy as np\ndef step(): return np.random.default_rng().random()",
    "a generator whose seed is None": "import numpy as np\ndef step(): return np.random.default_rng(None).random()",
    "a module that a known one brings along": "def step():\n    import logging\n    return logging.os.getcwd()",
    "the same as a global": "import logging\ndef step(): return logging.os.getcwd()",
    "a generator whose seed was assigned": "import numpy as np\ndef step(seed=1):\n    seed = None\n"
    "    return np.random.default_rng(seed).random()",
    "a generator in a function whose seed is its own": "import numpy as np\n"
    "def g(seed): return np.random.default_rng(seed)\ndef step(seed=1): return g(None).random()",
    "a set that holds a function that reads it": "def f(): return S\nS = {f}\ndef step(): return f()",
    "an unknown thing that an annotation named before": "import click\nclass C:\n    x = click.Context\n"
    "def step(a: C): return C.x",
    "a generator whose seed may be None": "import numpy as np\nSEED = 0\n"
    "def step(): return np.random.default_rng(SEED or None).random()",
    "a generator whose parameter of a seed may be None": "import numpy as np\n"
    "def step(seed=0): return np.random.default_rng(seed if seed > 1 else None).random()",
    "a generator with seeds from a list": "import numpy as np\nS = []\n"
    "def step(): return np.random.default_rng(*S).random()",
    "chance of Arrow": "import pyarrow.compute as pc\ndef step(): return pc.random(3)",
    "chance of Arrow by name": "from pyarrow.compute import random\ndef step(): return random(3)",
    "a function of Arrow by its name": "import pyarrow.compute as pc\ndef step(n): return pc.call_function(n, [])",
    "the processors": "import pyarrow as pa\ndef step(): return pa.cpu_count()",
    "a function that Spark knows by name": "from pyspark.sql import functions as F\ndef step(): return F.call_udf('f')",
    "a step that says chance": "from forward_lineage import step as s\n@s(chance=True)\ndef g(): return 1\n"
    "def step(): return g()",
    "a generator that is a global": "import numpy as np\nG = np.random.default_rng(1)\ndef step(): return G.random()",
    "a package handed on": "import numpy as np\ndef g(m): return m.random.rand()\ndef step(): return g(np)",
    "numpy's files": "import numpy as np\ndef step(): return np.load('x.npy')",
    "numpy's files by name": "from numpy import load\ndef step(): return load('x.npy')",
    "an unknown package": "import click\ndef step(): return click.style('a')",
    "a global that it assigns": "G = 1\ndef step():\n    global G\n    G = 2",
    "a global that a function of its assigns": "def g():\n    global G\n    G = 2\ndef step(): return g()",
    "an iterator": "G = iter([1, 2])\ndef step(): return next(G)",
    "a generator object": "G = (x for x in [1])\ndef step(): return list(G)",
    "a cache": "import functools\n@functools.lru_cache\ndef g(): return 1\ndef step(): return g()",
    "a lock": "import threading\nL = threading.Lock()\ndef step(): return L.locked()",
    "a module that computes names": "def __getattr__(n): return 1\ndef step(): return G",
    "the address of an object": "def step(x): return id(x)",
    "a hash that is another each day": "def step(x): return hash(x)",
    "a frame": "import sys\ndef step(): return sys._getframe()",
    "a process": "import subprocess\ndef step(): return subprocess.run(['date'])",
    "an import by a computed name": "import importlib\ndef step(n): return importlib.import_module(n)",
    "a hidden import": "def step(n): return __import__(n)",
    "input": "def step(): return input()",
    "chance in a method": "import random\nclass C:\n    def m(s): return random.random()\ndef step(): return C().m()",
    "chance in a default's function": "import random\ndef step(f=random.random): return f()",
    "chance in a closure": "import random\ndef make(f):\n    return lambda: f()\nstep = make(random.random)",
    "chance in a partial": "import random, functools\np = functools.partial(random.random)\ndef step(): return p()",
    "chance in a list": "import random\nfs = [random.random]\ndef step(): return fs[0]()",
    "chance in a comprehension": "import random\ndef step(): return [random.random() for _ in range(3)]",
    "chance in a class attribute": "import random\nclass C:\n    f = random.random\ndef step(): return C.f()",
    "chance in a base": "import random\nclass B:\n    def __init__(self): self.x = random.random()\n"
    "class C(B): pass\ndef step(): return C().x",
}


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("case", UNKNOWN)
def test_it_has_none_and_says_why(case: str) -> None:
    found = identity(UNKNOWN[case], parameters={"seed": 1} if "seed" in case else {})
    assert found.digest is None
    assert found.reasons


def test_a_package_patched_by_a_wrapper_that_bears_its_name_is_the_wrapper(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "import functools\nimport numpy as np\n@functools.wraps(np.sort)\ndef mine(x): return x + {}\n"
    step = module("import numpy as np\ndef step(x): return np.sort(x)").step
    digests = {identity_of(step).digest}
    for number in "12":
        monkeypatch.setattr(np, "sort", module(source.replace("{}", number)).mine)
        digests.add(identity_of(step).digest)
    assert None not in digests
    assert len(digests) == 3


def test_a_mutable_global_counts_as_it_is_now() -> None:
    made = module("G = [1]\ndef step(): return G")
    before = identity_of(made.step)
    made.G.append(2)
    assert identity_of(made.step).digest != before.digest
    made.G.pop()
    assert identity_of(made.step) == before


def test_a_value_of_a_module_counts_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    step = module("import sys\ndef step(): return sys.argv").step
    before = identity_of(step)
    monkeypatch.setattr(sys, "argv", ["other"])
    assert before.digest is not None
    assert identity_of(step).digest != before.digest


def test_a_mutable_default_counts_as_it_is_now() -> None:
    made = module("def step(x=[]):\n    x.append(1)\n    return len(x)")
    before = identity_of(made.step)
    made.step()
    assert identity_of(made.step).digest != before.digest


def test_another_module_of_the_user_is_read_through() -> None:
    other = module("LIMIT = 1\ndef g(): return LIMIT", "user_settings")
    for source in (
        "import user_settings\ndef step(): return user_settings.g()",
        "def step():\n    import user_settings\n    return user_settings.g()",
        "def step():\n    from user_settings import g\n    return g()",
        "import user_settings as s\ndef use(m): return m.g()\ndef step(): return use(s)",
    ):
        other.LIMIT = 1
        made = module(source)
        before = identity_of(made.step)
        other.LIMIT = 2
        assert before.digest is not None, before.reasons
        assert identity_of(made.step).digest != before.digest, source


def test_parameters_go_by_value_and_type() -> None:
    step = module("def step(n): return n").step
    values = (1, "1", True, 1.0, None, (1,), [1], {"a": 1}, {"a": "1"}, b"1", np.int64(1), np.int32(1), np.array(1))
    digests = [identity_of(step, {"n": value}).digest for value in values]
    assert None not in digests
    assert len(set(digests)) == len(values)


def test_inputs_go_by_version_and_an_unknown_one_is_a_reason() -> None:
    step = module("def step(sales): return sales").step
    one, other = (identity_of(step, inputs={"sales": each}) for each in ("3", "4"))
    assert None not in (one.digest, other.digest)
    assert one.digest != other.digest
    unknown = identity_of(step, inputs={"sales": None})
    assert (unknown.digest, unknown.reasons) == (None, ("it reads sales, which runs again",))


@pytest.mark.parametrize("change", ["locale", "zone", "numpy"])
def test_settings_of_the_process_count_whatever_a_step_reaches(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step formats what it gets, so its own code names neither numpy nor the time zone."""
    step = module("def step(x): return f'{x:n} {x}'").step
    before = identity_of(step)
    assert before.digest == identity_of(step).digest is not None
    if change == "locale":
        old = locale.setlocale(locale.LC_NUMERIC)
        try:
            locale.setlocale(locale.LC_NUMERIC, "C.UTF-8")
            assert identity_of(step).digest != before.digest
        finally:
            locale.setlocale(locale.LC_NUMERIC, old)
    elif change == "zone":
        monkeypatch.setenv("TZ", "Asia/Tokyo")  # what strftime("%s") reads
        assert identity_of(step).digest != before.digest
    else:
        with np.printoptions(precision=2):
            assert identity_of(step).digest != before.digest


@pytest.mark.parametrize("source", ["np.random.default_rng(7)", "np.random.default_rng(seed=SEED)"])
def test_a_seed_makes_chance_known(source: str) -> None:
    text = f"import numpy as np\nSEED = 7\ndef step(): return {source}.random(3)"
    found = identity(text)
    assert found.digest is not None, found.reasons
    assert found.digest != identity(text.replace("7", "8")).digest


def test_a_seed_may_be_a_parameter_but_not_none() -> None:
    step = module("import numpy as np\ndef step(seed): return np.random.default_rng(seed).random()").step
    assert identity_of(step, {"seed": 1}).digest is not None
    assert identity_of(step, {"seed": None}).digest is None


def test_who_vouches_for_a_package_has_its_version_count() -> None:
    step = module("import click\ndef step(): return click.style('a')").step
    found = identity_of(step, pure=["click"])
    assert found.digest is not None, found.reasons
    assert "click" in found.versions["click"]


def test_another_version_of_a_package_is_another_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    from forward_lineage.steps import reached_code  # noqa: PLC0415

    step = module("import numpy as np\ndef step(x): return np.sin(x)").step
    before = identity_of(step)
    monkeypatch.setattr(reached_code, "version_of", lambda name: f"{name} 99")
    assert before.digest != identity_of(step).digest


def test_a_reason_says_where(modules: None) -> None:
    found = identity("import time\ndef g():\n    return time.time()\ndef step():\n    return g()")
    assert found.reasons == (
        "time.time is of a package whose functions may read more than their arguments (step → g → time.time)",
    )


def test_it_is_the_same_in_another_process() -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from tests.forward_lineage.steps.test_identity import OTHER, identity\n"
        "print(*(identity(source.replace('{}', one)).digest for source, one, _ in OTHER.values()))\n"
    )
    here = [identity(source.replace("{}", one)).digest for source, one, _ in OTHER.values()]
    there = subprocess.run(
        [sys.executable, "-c", program, str(WHOLE)], capture_output=True, text=True, check=True, cwd=WHOLE
    )
    assert there.stdout.split() == here

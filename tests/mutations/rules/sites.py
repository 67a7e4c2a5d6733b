"""Where a rule can be spoilt, and how: each change is one that a hand could make by mistake.

A mutant is named by its module, its kind and its place among the places of that kind; so it is the same as long as the
file is. Lines stay those of the source.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from tests.structure import REPOSITORY, module_of, sources

Change = Callable[[], None]
Found = Iterator[tuple[ast.AST, Change]]

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
}
# What one rule may take for the other: names of sqlglot's, of Python's, words of SQL, functions of the kernel.
_OTHERS = {
    **{"Union": "Except", "Except": "Intersect", "Intersect": "Union", "And": "Or", "Or": "And"},
    **{"EQ": "NullSafeEQ", "NullSafeEQ": "EQ", "and_": "or_", "or_": "and_", "any": "all", "all": "any"},
    **{"left": "right", "right": "left", "min": "max", "max": "min", "extend": "append"},
    **{"LEFT": "INNER", "INNER": "LEFT", "RIGHT": "LEFT", "FULL": "LEFT", "SEMI": "ANTI", "ANTI": "SEMI"},
    **{"dlunion": "max", "dl_union": "dl_intersection", "dl_of": "dl_quick", "where": "having", "having": "where"},
    **{"data": "control", "control": "data", "on": "using", "distinct": "all"},
}


@dataclass(frozen=True, order=True)
class Mutant:
    """One change of one module.

    Attributes:
        module: its dotted name.
        kind: what is done, a key of `KINDS`.
        place: which of the places where that can be done, in the order of the tree.
        line: where that is.
    """

    module: str
    kind: str
    place: int
    line: int

    @property
    def name(self) -> str:
        return f"{self.module}:{self.line} {self.kind} ({self.place})"


@cache
def all_mutants() -> tuple[Mutant, ...]:
    """Every change of every rule."""
    return tuple(mutant for file in sources("rewrites") for mutant in mutants_of(file))


def mutants_of(file: Path) -> Iterator[Mutant]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for kind, find in KINDS.items():
        for place, (node, _) in enumerate(find(tree)):
            yield Mutant(module_of(file), kind, place, node.lineno)  # type: ignore[attr-defined]


def chosen(count: int, seed: int) -> list[Mutant]:
    """Some mutants, of each kind about as many."""
    dice = Random(seed)
    of_kind: dict[str, list[Mutant]] = {kind: [] for kind in KINDS}
    for mutant in all_mutants():
        of_kind[mutant.kind].append(mutant)
    for waiting in of_kind.values():
        dice.shuffle(waiting)
    found: list[Mutant] = []
    while len(found) < count and any(of_kind.values()):
        found += [waiting.pop() for waiting in of_kind.values() if waiting]
    return found[:count]


def source_of(module: str) -> Path:
    path = REPOSITORY / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def function_of(mutant: Mutant) -> tuple[str, str] | None:
    """The file and the qualified name of the function that a mutant changes; None for what runs at import."""
    file = source_of(mutant.module)
    inner: list[str] = []

    def look(node: ast.AST, name: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                own = f"{name}{child.name}"
                if child.body[0].lineno <= mutant.line <= (child.end_lineno or 0):
                    inner.append(own)
                look(child, f"{own}.<locals>.")
            else:
                look(child, f"{name}{child.name}." if isinstance(child, ast.ClassDef) else name)

    look(ast.parse(file.read_text(encoding="utf-8")), "")
    return (file.relative_to(REPOSITORY).as_posix(), inner[-1]) if inner else None


def spoilt(mutant: Mutant) -> ast.Module:
    """The tree of a module with one change."""
    tree = ast.parse(source_of(mutant.module).read_text(encoding="utf-8"))
    _, change = list(KINDS[mutant.kind](tree))[mutant.place]
    change()
    return ast.fix_missing_locations(tree)


def described(mutant: Mutant) -> str:
    """The line of a mutant before and after."""
    before = source_of(mutant.module).read_text(encoding="utf-8")
    plain, changed = (ast.unparse(each).splitlines() for each in (ast.parse(before), spoilt(mutant)))
    return "\n".join(
        [
            *(f"- {each.strip()}" for each in _lines_only_in(plain, changed)),
            *(f"+ {each.strip()}" for each in _lines_only_in(changed, plain)),
        ]
    )


def _lines_only_in(ours: list[str], theirs: list[str]) -> list[str]:
    left = list(theirs)
    found = []
    for line in ours:
        if line in left:
            left.remove(line)
        else:
            found.append(line)
    return found


# --- what is walked -----------------------------------------------------------------------------------------


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that decide something: no annotations, messages, docstrings, nor what only type checkers see."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _says_nothing(child):
                yield child
                yield from _nodes(child)


def _says_nothing(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
        return True
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _set(node: ast.AST, name: str, value: object) -> Change:
    return lambda: setattr(node, name, value)


# --- kinds --------------------------------------------------------------------------------------------------


def _conditions_negated(tree: ast.AST) -> Found:
    for node in _nodes(tree):
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            yield node, _set(node, "test", ast.UnaryOp(ast.Not(), node.test))


def _filters_dropped(tree: ast.AST) -> Found:
    for node in _nodes(tree):
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            for generator in node.generators:
                if generator.ifs:
                    yield node, _set(generator, "ifs", generator.ifs[1:])


def _filters_negated(tree: ast.AST) -> Found:
    for node in _nodes(tree):
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            for generator in node.generators:
                if generator.ifs:
                    first, *others = generator.ifs
                    yield node, _set(generator, "ifs", [ast.UnaryOp(ast.Not(), first), *others])


def _and_for_or(tree: ast.AST) -> Found:
    for node in _nodes(tree):
        if isinstance(node, ast.BoolOp):
            yield node, _set(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())


def _operands_dropped(tree: ast.AST) -> Found:
    for node in _nodes(tree):
        if isinstance(node, ast.BoolOp):
            for place in range(len(node.values)):
                left = [*node.values[:place], *node.values[place + 1 :]]
                yield node, _set(node, "values", left if len(left) > 1 else left * 2)


def _comparisons_turned(tree: ast.AST) -> Found:
    for node in _nodes(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _TURNED:
            yield node, _set(node, "ops", [_TURNED[type(node.ops[0])]()])


def _off_by_one(tree: ast.AST) -> Found:
    for node in _nodes(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield node, _set(node, "value", node.value + 1)


def _flags_flipped(tree: ast.AST) -> Found:
    for node in _nodes(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield node, _set(node, "value", not node.value)


def _statements_dropped(tree: ast.AST) -> Found:
    for node in _nodes(tree):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if not isinstance(body, list):
                continue
            for place, statement in enumerate(body):
                if isinstance(statement, ast.AugAssign) or (
                    isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
                ):
                    yield statement, _replaced(body, place, ast.Pass())


def _replaced(body: list[ast.stmt], place: int, new: ast.stmt) -> Change:
    def change() -> None:
        body[place] = ast.copy_location(new, body[place])

    return change


def _returned_unchanged(tree: ast.AST) -> Found:
    """`return f(tree)` → `return tree`: what a function is given first, its own object aside."""
    for node in _nodes(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        names = [each.arg for each in node.args.args if each.arg not in ("self", "cls")]
        for each in ast.walk(node):
            if not names or not isinstance(each, ast.Return):
                continue
            if isinstance(each.value, ast.Call | ast.List | ast.Tuple | ast.ListComp | ast.BinOp):
                yield each, _set(each, "value", ast.Name(names[0], ast.Load()))


def _elements_dropped(tree: ast.AST) -> Found:
    for node in _nodes(tree):
        if isinstance(node, ast.List | ast.Tuple | ast.Set) and isinstance(
            getattr(node, "ctx", None) or ast.Load(), ast.Load
        ):
            for place in range(len(node.elts) if len(node.elts) > 1 else 0):
                yield node, _set(node, "elts", [*node.elts[:place], *node.elts[place + 1 :]])


def _arguments_swapped(tree: ast.AST) -> Found:
    for node in _nodes(tree):
        if isinstance(node, ast.Call) and len(node.args) > 1 and not any(isinstance(a, ast.Starred) for a in node.args):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name not in ("isinstance", "getattr", "zip"):
                yield node, _set(node, "args", [node.args[1], node.args[0], *node.args[2:]])


def _arguments_dropped(tree: ast.AST) -> Found:
    """A keyword argument left out: mostly one with a default."""
    for node in _nodes(tree):
        if isinstance(node, ast.Call):
            for place in range(len(node.keywords)):
                yield node, _set(node, "keywords", [*node.keywords[:place], *node.keywords[place + 1 :]])


def _one_for_another(tree: ast.AST) -> Found:
    for node in _nodes(tree):
        if isinstance(node, ast.Attribute) and node.attr in _OTHERS:
            yield node, _set(node, "attr", _OTHERS[node.attr])
        elif isinstance(node, ast.Name) and node.id in ("any", "all", "min", "max"):
            yield node, _set(node, "id", _OTHERS[node.id])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in _OTHERS:
            yield node, _set(node, "value", _OTHERS[node.value])


def _order_lost(tree: ast.AST) -> Found:
    """`reversed(x)` and `sorted(x)` → `list(x)`."""
    for node in _nodes(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("reversed", "sorted"):
            yield node, _unsorted(node)


def _unsorted(node: ast.Call) -> Change:
    def change() -> None:
        node.func, node.keywords = ast.copy_location(ast.Name("list", ast.Load()), node.func), []

    return change


KINDS: dict[str, Callable[[ast.AST], Found]] = {
    "condition negated": _conditions_negated,
    "filter dropped": _filters_dropped,
    "filter negated": _filters_negated,
    "and for or": _and_for_or,
    "operand dropped": _operands_dropped,
    "comparison turned": _comparisons_turned,
    "off by one": _off_by_one,
    "flag flipped": _flags_flipped,
    "statement dropped": _statements_dropped,
    "returned unchanged": _returned_unchanged,
    "element dropped": _elements_dropped,
    "arguments swapped": _arguments_swapped,
    "argument dropped": _arguments_dropped,
    "one for another": _one_for_another,
    "order lost": _order_lost,
}

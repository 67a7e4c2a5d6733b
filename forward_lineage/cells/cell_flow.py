"""The reads and writes of a cell: live names, dead names, and where each name that it sets comes from.

A forward analysis over the cell's statements. For each name it knows which definitions may have given its value at a
point: the value from before the cell, or definitions in it. Both analyses of the thesis follow from that:

- a name is **live** if a use of it may see its value from before the cell [definition 7.5];
- a name is **dead** if at the end of the cell that value can neither be there, nor have gone into what is there
  [definition 7.6]. The printed equation (7.6) calls x dead after ``t = x; x = t`` as well, though x comes from itself.

Parents follow table 7.1, and are exact about names that a cell sets twice: after ``i = a; x = i; i = b`` the parents
of x are {a}, where the table says {i}, so that x would become stale with b, and not with a. The condition of a branch
or loop is a parent of all that is set in it.  [Macke 2021, §7.3.2, §7.4]
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from forward_lineage.cells.free_names import (
    Comprehension,
    Scope,
    comprehension_names,
    evaluated_at_once,
    free_names,
    imported_names,
)

Origin = tuple[str, int]
"""A name, and the number of the definition that gave its value; 0 is the value from before the cell."""
Origins = frozenset[Origin]
State = dict[str, Origins]
Path = tuple[str | int, ...]
"""Attributes and constant keys behind a name: ``fs[1].go`` is (1, "go")."""

NOTHING: Origins = frozenset()
#: Methods that change what they are called on, of containers, arrays, frames and models.
MUTATORS = {
    *("append", "extend", "insert", "pop", "popitem", "remove", "clear", "sort", "reverse", "update", "add", "discard"),
    *("setdefault", "appendleft", "extendleft", "popleft", "rotate", "fill", "resize", "put", "partial_fit", "fit"),
    *("intersection_update", "difference_update", "symmetric_difference_update", "write"),
}


class Values(Protocol):
    """Knows what names mean when the analysis is made."""

    def reads(self, name: str, path: Path) -> frozenset[str]:
        """Return the names that are read when what stands behind a name is called."""
        ...

    def writes(self, name: str, path: Path) -> frozenset[str]:
        """Return the names that are set by that."""
        ...

    def changes(self, name: str, path: Path) -> bool:
        """Return whether that may change in place what it is given."""
        ...


@dataclass(frozen=True)
class CellFlow:
    """The effect of a cell on names.

    Attributes:
        live: names whose values from before it may be used.
        dead: names that it sets anew on every path.
        parents: of each name that it may set or change in place, the names that its value may come from.

    """

    live: frozenset[str]
    dead: frozenset[str]
    parents: dict[str, frozenset[str]]


def flow_of(tree: ast.Module, values: Values | None = None) -> CellFlow:
    r"""Analyse a cell.

    Args:
        tree: of the cell, after IPython's own syntax was replaced.
        values: what names mean now; None: nothing is known of calls.

    Examples:
        >>> flow = flow_of(ast.parse("if a:\n    s = 1\nelse:\n    s = b\nt = s"))
        >>> sorted(flow.live), sorted(flow.dead), sorted(flow.parents["t"])
        (['a', 'b'], ['s', 't'], ['s'])

    """
    reader = _Reader(values)
    state = reader.block(tree.body, {})
    ends = _join([each for each in (state, *reader.left) if each is not None])
    return reader.result(ends)


def _join(states: list[State]) -> State:
    names = {name for state in states for name in state}
    return {name: NOTHING.union(*(_at(state, name) for state in states)) for name in names}


def _at(state: State, name: str) -> Origins:
    return state.get(name, frozenset({(name, 0)}))


@dataclass
class _Loop:
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


class _Reader:
    """Walks through statements; sets only grow, so that loops come to an end."""

    def __init__(self, values: Values | None) -> None:
        self.values = values
        self.live: set[str] = set()
        self.sources: dict[Origin, Origins] = {}
        self.bodies: dict[Origin, frozenset[str]] = {}  # names that a function reads when it is called
        self.deleted: set[Origin] = set()
        self.left: list[State] = []  # states in which an error may end the cell are not among them
        self._numbers: dict[tuple[int, str], int] = {}
        self._control: list[Origins] = []
        self._loops: list[_Loop] = []
        self._hidden: list[frozenset[str]] = []

    # ------------------------------------------------------------ the result

    def result(self, ends: State) -> CellFlow:
        parents = {name: self._parents(name, origins, ends) for name, origins in ends.items()}
        dead = {name for name, origins in ends.items() if self._is_dead(name, origins)}
        return CellFlow(frozenset(self.live), frozenset(dead), parents)

    def _is_dead(self, name: str, origins: Origins) -> bool:
        return (name, 0) not in self._closure(origins) and not origins & self.deleted

    def _closure(self, origins: Origins) -> set[Origin]:
        found, waiting = set(origins), list(origins)
        while waiting:
            new = self.sources.get(waiting.pop(), NOTHING) - found
            found |= new
            waiting.extend(new)
        return found

    def _parents(self, name: str, origins: Origins, ends: State) -> frozenset[str]:
        """Names at the end stand for their own parents; others are followed to where they come from."""
        found, seen = set[str](), set(origins)
        waiting = [each for origin in origins for each in self.sources.get(origin, NOTHING)]
        while waiting:
            origin = waiting.pop()
            if origin in seen:
                continue
            seen.add(origin)
            lasts = origin in ends.get(origin[0], NOTHING)
            if origin[1] == 0 or (lasts and origin[0] != name):
                found.add(origin[0])
            if not lasts or origin[0] == name:
                waiting.extend(self.sources.get(origin, NOTHING))
        return frozenset(found)

    # ------------------------------------------------------------ names

    def _use(self, state: State, name: str) -> Origins:
        if any(name in hidden for hidden in self._hidden):
            return NOTHING
        found = _at(state, name)
        if (name, 0) in found:
            self.live.add(name)
        return found

    def _use_all(self, state: State, names: Collection[str]) -> Origins:
        return NOTHING.union(*(self._use(state, name) for name in names))

    def _define(self, state: State, name: str, at: ast.AST, sources: Origins, *, weak: bool = False) -> Origin:
        """Set a name; `weak` if its value is changed in place, or perhaps only."""
        origin = (name, self._numbers.setdefault((id(at), name), len(self._numbers) + 1))
        before = _at(state, name) if weak else NOTHING
        known = self.sources.get(origin, NOTHING)
        self.sources[origin] = known | sources | before | NOTHING.union(*self._control)
        state[name] = frozenset({origin})
        return origin

    def _called(self, state: State, name: str, path: Path, at: ast.AST) -> Origins:
        """Use what a value reads that may be called, and set what it sets."""
        origins = _at(state, name)
        read: set[str] = set()
        for origin in origins:
            if origin[1]:
                read |= self.bodies.get(origin, frozenset())
            elif self.values is not None:
                read |= self.values.reads(name, path)
                for other in self.values.writes(name, path):
                    self._define(state, other, at, self._use_all(state, read), weak=True)
        return self._use_all(state, read)

    # ------------------------------------------------------------ expressions

    def expression(self, node: ast.AST | None, state: State, *, called: bool = False) -> Origins:
        """Return where the value of an expression comes from.

        Args:
            node: the expression.
            state: what names are before it; assignments in it change that.
            called: whether it is called, or handed to a call, which may call it.

        """
        if node is None:
            return NOTHING
        special = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if special is not None and not isinstance(node, ast.stmt):
            return special(node, state, called)  # type: ignore[no-any-return]
        return NOTHING.union(*(self.expression(each, state, called=called) for each in ast.iter_child_nodes(node)))

    def _of_name(self, node: ast.Name, state: State, called: bool) -> Origins:
        if not isinstance(node.ctx, ast.Load):
            return NOTHING
        found = self._use(state, node.id)
        if called and found:
            found |= self._called(state, node.id, (), node)
        return found

    def _of_attribute(self, node: ast.Attribute, state: State, called: bool) -> Origins:
        root, path = _root(node)
        if root is None or not path:
            return self.expression(node.value, state, called=called)
        return self._behind(node, root, path, state, called)

    def _of_subscript(self, node: ast.Subscript, state: State, called: bool) -> Origins:
        root, path = _root(node)
        within = self.expression(node.slice, state, called=called)
        if root is None or not path:
            return within | self.expression(node.value, state, called=called)
        return within | self._behind(node, root, path, state, called)

    def _behind(self, node: ast.AST, root: str, path: Path, state: State, called: bool) -> Origins:
        found = self._use(state, root)
        if called and found:
            found |= self._called(state, root, path, node)
        return found

    def _of_call(self, node: ast.Call, state: State, called: bool) -> Origins:
        handed = [*node.args, *(each.value for each in node.keywords)]
        given = NOTHING.union(*(self.expression(each, state, called=True) for each in handed))
        function = self.expression(node.func, state, called=True) | self._in_text(node, state)
        root, path = _root(node.func)
        changed = []
        if isinstance(node.func, ast.Attribute) and (node.func.attr in MUTATORS or _is_in_place(node)):
            changed.append(root)
        if root is not None and self.values is not None and self.values.changes(root, path):
            changed += [_root(each)[0] for each in handed]
        for name in changed:
            if name is not None and self._use(state, name):
                self._define(state, name, node, given, weak=True)
        return given | function

    def _in_text(self, node: ast.Call, state: State) -> Origins:
        """Return what code in a plain text reads: ``eval("n + 1")``, ``frame.query("a > @n")``."""
        text = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
        if not isinstance(text, str):
            return NOTHING
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("query", "eval"):
            return self._use_all(state, re.findall(r"@([^\W\d]\w*)", text))
        if not isinstance(node.func, ast.Name) or node.func.id not in ("eval", "exec"):
            return NOTHING
        try:
            return self._use_all(state, {each.id for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Name)})
        except SyntaxError:
            return NOTHING

    def _of_namedexpr(self, node: ast.NamedExpr, state: State, called: bool) -> Origins:
        found = self.expression(node.value, state, called=called)
        self._define(state, node.target.id, node, found)
        return found

    def _of_lambda(self, node: ast.Lambda, state: State, called: bool) -> Origins:
        found = NOTHING.union(*(self.expression(each, state) for each in evaluated_at_once(node)))
        return found | self._use_all(state, free_names(node)) if called else found

    def _comprehension_of(self, node: Comprehension, state: State, called: bool) -> Origins:
        outside = comprehension_names(node)
        inner = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} - outside
        self._hidden.append(frozenset(inner))
        try:
            return NOTHING.union(
                *(self.expression(each, state, called=called) for each in ast.iter_child_nodes(node))
            ) | self._use_all(state, outside)
        finally:
            self._hidden.pop()

    _of_listcomp = _of_setcomp = _of_dictcomp = _of_generatorexp = _comprehension_of

    # ------------------------------------------------------------ statements

    def block(self, body: list[ast.stmt], state: State | None, seen: list[State] | None = None) -> State | None:
        """Return the state after statements; None if their end is not reached. `seen` gets those between them."""
        for each in body:
            if state is None:
                return None
            state = self.statement(each, state)
            if seen is not None and state is not None:
                seen.append(dict(state))
        return state

    def statement(self, node: ast.stmt, state: State) -> State | None:
        """Return the state after a statement; None if what stands behind it is not reached."""
        special = getattr(self, f"_do_{type(node).__name__.lower().removeprefix('async')}", None)
        if special is not None:
            return special(node, state)  # type: ignore[no-any-return]
        for each in ast.iter_child_nodes(node):
            self.expression(each, state)
        return state

    def _do_assign(self, node: ast.Assign, state: State) -> State:
        if len(node.targets) == 1 and _are_alike(node.targets[0], node.value):
            pairs = list(zip(node.targets[0].elts, node.value.elts, strict=True))  # type: ignore[attr-defined]
            each_of = [self.expression(value, state) for _, value in pairs]
            for (target, value), each in zip(pairs, each_of, strict=True):
                self._put(target, each, state, value)
            return state
        found = self.expression(node.value, state)
        for target in node.targets:
            self._put(target, found, state, node.value)
        return state

    def _do_annassign(self, node: ast.AnnAssign, state: State) -> State:
        if node.value is not None:
            self._put(node.target, self.expression(node.value, state), state, node.value)
        return state

    def _do_augassign(self, node: ast.AugAssign, state: State) -> State:
        found = self.expression(node.value, state)
        if isinstance(node.target, ast.Name):
            found |= self._use(state, node.target.id)
        self._put(node.target, found, state, node.value)
        return state

    def _put(self, target: ast.expr, found: Origins, state: State, value: ast.expr | None = None) -> None:
        if isinstance(target, ast.Name):
            carried = self._carried(value, state)
            origin = self._define(state, target.id, target, found)
            self.bodies[origin] = self.bodies.get(origin, frozenset()) | carried
        elif isinstance(target, ast.Tuple | ast.List):
            for each in target.elts:
                self._put(each, found, state)
        elif isinstance(target, ast.Starred):
            self._put(target.value, found, state)
        else:
            root = _root(target)[0]
            found |= self.expression(target, state)
            if root is not None and self._use(state, root):
                self._define(state, root, target, found, weak=True)

    def _carried(self, value: ast.expr | None, state: State) -> frozenset[str]:
        """Return what functions in a value read when somebody calls them later."""
        if value is None:
            return frozenset()
        nodes = list(ast.walk(value))
        read = [free_names(each) for each in nodes if isinstance(each, ast.Lambda)]
        for each in nodes:
            if isinstance(each, ast.Name):
                for origin in _at(state, each.id):
                    read.append(self._body(origin))
        return frozenset[str]().union(*read)

    def _body(self, origin: Origin) -> frozenset[str]:
        if origin[1] or self.values is None:
            return self.bodies.get(origin, frozenset())
        return self.values.reads(origin[0], ())

    def _do_functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, state: State) -> State:
        hidden = _class_names(node) if isinstance(node, ast.ClassDef) else frozenset[str]()
        self._hidden.append(hidden)
        made = node.decorator_list
        found = NOTHING.union(*(self.expression(each, state, called=each in made) for each in evaluated_at_once(node)))
        self._hidden.pop()
        origin = self._define(state, node.name, node, found)
        self.bodies[origin] = free_names(node) - {node.name}
        return state

    _do_classdef = _do_functiondef

    def _do_import(self, node: ast.Import | ast.ImportFrom, state: State) -> State:
        for name in imported_names(node):
            self._define(state, name, node, NOTHING)
        return state

    _do_importfrom = _do_import

    def _do_delete(self, node: ast.Delete, state: State) -> State:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.deleted.add(self._define(state, target.id, node, NOTHING))
            else:
                self._put(target, NOTHING, state)
        return state

    # ------------------------------------------------------------ control

    def _do_raise(self, node: ast.Raise, state: State) -> None:
        self.expression(node.exc, state)

    def _do_return(self, node: ast.Return, state: State) -> None:
        self.expression(node.value, state)
        self.left.append(state)

    def _do_break(self, node: ast.Break, state: State) -> None:
        if self._loops:
            self._loops[-1].breaks.append(state)

    def _do_continue(self, node: ast.Continue, state: State) -> None:
        if self._loops:
            self._loops[-1].continues.append(state)

    def _do_if(self, node: ast.If, state: State) -> State | None:
        self._control.append(self.expression(node.test, state))
        branches = [self.block(node.body, dict(state)), self.block(node.orelse, dict(state))]
        self._control.pop()
        return _joined(branches)

    def _do_while(self, node: ast.While, state: State) -> State | None:
        return self._loop(node, state, lambda at: self.expression(node.test, at))

    def _do_for(self, node: ast.For | ast.AsyncFor, state: State) -> State | None:
        found = self.expression(node.iter, state, called=True)

        def begin(at: State) -> Origins:
            self._put(node.target, found, at)
            return found

        return self._loop(node, state, begin)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, state: State, begin: _Begin) -> State | None:
        entry = dict(state)
        while True:
            loop = _Loop()
            self._loops.append(loop)
            inside = dict(entry)
            self._control.append(begin(inside))
            end = self.block(node.body, inside)
            self._control.pop()
            self._loops.pop()
            again = _joined([entry, end, *loop.continues])
            assert again is not None, "the entry is there"
            if again == entry:
                break
            entry = again
        after = self.block(node.orelse, dict(entry))
        return _joined([after, *loop.breaks])

    def _do_with(self, node: ast.With | ast.AsyncWith, state: State) -> State | None:
        for item in node.items:
            found = self.expression(item.context_expr, state)
            if item.optional_vars is not None:
                self._put(item.optional_vars, found, state)
        return self.block(node.body, state)

    def _do_try(self, node: ast.Try, state: State) -> State | None:
        between = [dict(state)]
        end = self.block(node.orelse, self.block(node.body, dict(state), between))
        ends = [end]
        for handler in node.handlers:
            caught = _join(between)
            self.expression(handler.type, caught)
            if handler.name:
                self.deleted.add(self._define(caught, handler.name, handler, NOTHING))
            ends.append(self.block(handler.body, caught))
        joined = _joined(ends)
        if not node.finalbody:
            return joined
        if joined is None:
            self.block(node.finalbody, _join(between))
            return None
        return self.block(node.finalbody, joined)

    _do_trystar = _do_try

    def _do_match(self, node: ast.Match, state: State) -> State | None:
        found = self.expression(node.subject, state)
        self._control.append(found)
        ends: list[State | None] = [dict(state)]
        for case in node.cases:
            at = dict(state)
            for name in _captured(case.pattern):
                self._define(at, name, case, found)
            self.expression(case.guard, at)
            ends.append(self.block(case.body, at))
        self._control.pop()
        return _joined(ends)


class _Begin(Protocol):
    def __call__(self, at: State, /) -> Origins: ...


def _joined(states: list[State | None]) -> State | None:
    there = [each for each in states if each is not None]
    return _join(there) if there else None


def _root(node: ast.expr) -> tuple[str | None, Path]:
    """Return the name that an expression begins with, and the way from it as far as that is constant."""
    way: list[str | int | None] = []
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        if isinstance(node, ast.Attribute):
            way.append(node.attr)
        elif isinstance(node, ast.Subscript):
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            way.append(key if isinstance(key, str | int) else None)
        node = node.value
    path: list[str | int] = []
    for each in reversed(way):
        if each is None:
            break
        path.append(each)
    return (node.id if isinstance(node, ast.Name) else None), tuple(path)


def _is_in_place(node: ast.Call) -> bool:
    return any(
        each.arg == "inplace" and isinstance(each.value, ast.Constant) and each.value.value is True
        for each in node.keywords
    )


def _are_alike(target: ast.expr, value: ast.expr) -> bool:
    both = isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List)
    if not both:
        return False
    every = [*target.elts, *value.elts]  # type: ignore[attr-defined]
    return len(target.elts) == len(value.elts) and not any(isinstance(each, ast.Starred) for each in every)  # type: ignore[attr-defined]


def _class_names(node: ast.ClassDef) -> frozenset[str]:
    """Names of a class body that are its own, whatever stands outside."""
    names = [each for part in node.body for each in ast.walk(part) if isinstance(each, ast.Name)]
    own = {each.id for each in names if isinstance(each.ctx, ast.Store)}
    return frozenset(own | {each.name for each in node.body if isinstance(each, Scope) and hasattr(each, "name")})


def _captured(pattern: ast.AST) -> Iterator[str]:
    for each in ast.walk(pattern):
        if isinstance(each, ast.MatchAs | ast.MatchStar) and each.name:
            yield each.name
        elif isinstance(each, ast.MatchMapping) and each.rest:
            yield each.rest

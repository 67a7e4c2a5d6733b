"""Names that code inside of a function or class reads from outside of it, when it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def free_names(scope: Scope) -> frozenset[str]:
    r"""Return the names that a function or lambda reads from outside when it is called; of a class, its methods.

    Examples:
        >>> tree = ast.parse("def f(y):\n    z = y + x\n    return [z + w for w in v]")
        >>> sorted(free_names(tree.body[0]))
        ['v', 'x']

    """
    if isinstance(scope, ast.ClassDef):
        inner = [free_names(each) for each in scope.body if isinstance(each, Scope)]
        return frozenset[str]().union(*inner)
    body = [scope.body] if isinstance(scope, ast.Lambda) else scope.body
    read, bound, outside = set[str](), _parameters(scope.args), set[str]()
    for node in _own_nodes(body):
        if isinstance(node, ast.Global | ast.Nonlocal):
            outside.update(node.names)
        elif isinstance(node, Scope):
            read |= free_names(node)
            bound |= _name_of(node)
        elif isinstance(node, Comprehension):
            read |= comprehension_names(node)
        elif isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound.update(imported_names(node))
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return frozenset((read - bound) | (read & outside))


def comprehension_names(node: Comprehension) -> frozenset[str]:
    """Return the names that a comprehension reads from outside of itself."""
    nodes = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    bound = {each.id for each in nodes if not isinstance(each.ctx, ast.Load)}
    lambdas = [each for each in ast.walk(node) if isinstance(each, ast.Lambda)]
    for each in lambdas:
        bound |= _parameters(each.args)
    return frozenset({each.id for each in nodes if isinstance(each.ctx, ast.Load)} - bound)


def imported_names(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the names that an import sets; none for ``*``, which only running it tells."""
    return [(each.asname or each.name.partition(".")[0]) for each in node.names if each.name != "*"]


def _own_nodes(body: list[ast.stmt] | list[ast.expr]) -> Iterator[ast.AST]:
    """Yield the nodes of a body; of functions, classes and comprehensions in it only what runs where they stand."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Scope):
            waiting.extend(evaluated_at_once(node))
        elif not isinstance(node, Comprehension):
            waiting.extend(ast.iter_child_nodes(node))


def evaluated_at_once(scope: Scope) -> Iterator[ast.AST]:
    """Yield the expressions of a definition that are evaluated where it stands: decorators, defaults, bases."""
    if isinstance(scope, ast.ClassDef):
        yield from (*scope.decorator_list, *scope.bases, *scope.keywords)
        for each in scope.body:
            yield from evaluated_at_once(each) if isinstance(each, Scope) else [each]
        return
    yield from (each for each in (*scope.args.defaults, *scope.args.kw_defaults) if each is not None)
    if not isinstance(scope, ast.Lambda):
        yield from scope.decorator_list


def _parameters(args: ast.arguments) -> set[str]:
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    return {each.arg for each in every if each is not None}


def _name_of(scope: Scope) -> set[str]:
    return set() if isinstance(scope, ast.Lambda) else {scope.name}

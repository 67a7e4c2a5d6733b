"""The sources as a graph: which file imports which, and how long files and functions are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGES = ("udafs", "rewrites", "forward_lineage")


def sources(*packages: str) -> list[Path]:
    """Return the Python files of packages, or of modules."""
    return sorted(file for package in packages for file in _files(REPOSITORY / package))


def _files(place: Path) -> list[Path]:
    module = place.with_suffix(".py")
    return [module] if module.is_file() else list(place.rglob("*.py"))


def module_of(source: Path) -> str:
    """Return the dotted name of a file; a package's is that of its folder."""
    parts = source.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache  # each room asks for the imports of all files
def imported(source: Path) -> frozenset[str]:
    """Return the dotted names that a file imports anywhere in it, those for type checking included.

    Of ``from a import b`` it is ``a.b``, which may be a module or a name in one; see `import_graph`.
    """
    names: set[str] = set()
    for node in ast.walk(_tree(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source}: relative imports hide directions"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


def import_graph(files: list[Path]) -> dict[str, set[str]]:
    """Return for each module of some files the others among them that it imports."""
    modules = {module_of(file): file for file in files}
    graph: dict[str, set[str]] = {}
    for module, file in modules.items():
        meant = {name if name in modules else name.rpartition(".")[0] for name in imported(file)}
        graph[module] = {name for name in meant if name in modules} - {module}
    return graph


def functions(source: Path) -> Iterator[tuple[str, int]]:
    """Yield the name of every function of a file and its number of lines, without its docstring."""
    for node in ast.walk(_tree(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            first = node.body[0]
            if ast.get_docstring(node, clean=False) is not None:
                lines -= (first.end_lineno or first.lineno) - first.lineno + 1
            yield f"{module_of(source)}.{node.name}", lines


def _tree(source: Path) -> ast.Module:
    return ast.parse(source.read_text(encoding="utf-8"))

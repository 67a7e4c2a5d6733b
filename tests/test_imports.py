"""Which package may import which: directions as data, and a walk over the code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

OURS = ("udafs", "rewrites", "forward_lineage", "tpch_queries", "walmart_demo", "tests")
# package → what of ours it may import besides itself; a dotted name stands for that module alone
MAY_IMPORT = {
    "udafs": (),
    "rewrites": ("udafs.errors",),
    "forward_lineage": ("udafs", "rewrites"),
    "tpch_queries": ("forward_lineage",),
    "walmart_demo": ("forward_lineage",),
}
# Layer 1 is pure: no Spark, no files, no processes.
NOT_IN_REWRITES = {"pyspark", "py4j", "pyarrow", "os", "io", "pathlib", "subprocess", "shutil", "tempfile", "socket"}
# Without Spark in sight: what `rewrite_sql` and a catalog need.
WITHOUT_SPARK = ("forward_lineage/catalog.py", "forward_lineage/spark/names.py", "forward_lineage/frontend")


def sources(package: str) -> list[Path]:
    return sorted((REPOSITORY / package).rglob("*.py"))


def imports(source: Path) -> Iterator[str]:
    """Yield the dotted name of every module that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source}: relative imports hide directions"
            yield node.module or ""


def within(module: str, allowed: str) -> bool:
    return module == allowed or module.startswith(allowed + ".")


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_directions(package: str) -> None:
    files = sources(package)
    assert files
    wrong = []
    for source in files:
        place = source.relative_to(REPOSITORY).as_posix()
        for module in imports(source):
            ours = module.split(".")[0] in OURS
            allowed = any(within(module, name) for name in (package, *MAY_IMPORT[package]))
            if ours and not allowed:
                wrong.append(f"{place} imports {module}")
    assert not wrong


def test_rules_are_pure() -> None:
    wrong = [
        f"{source.relative_to(REPOSITORY)} imports {module}"
        for source in sources("rewrites")
        for module in imports(source)
        if module.split(".")[0] in NOT_IN_REWRITES
    ]
    assert not wrong


def test_rewriting_needs_no_spark() -> None:
    wrong = [
        f"{place} imports {module}"
        for place in WITHOUT_SPARK
        for source in (sources(place) if (REPOSITORY / place).is_dir() else [REPOSITORY / place])
        for module in imports(source)
        if module.split(".")[0] in ("pyspark", "py4j")
    ]
    assert not wrong


def test_demos_use_public_names_only() -> None:
    import forward_lineage  # noqa: PLC0415

    public = set(forward_lineage.__all__)
    for package in ("tpch_queries", "walmart_demo"):
        for source in sources(package):
            for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module == "forward_lineage":
                    assert {alias.name for alias in node.names} <= public, source

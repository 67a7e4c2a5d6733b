"""Optional packages: nothing that works without them imports them, and what needs one names its extra."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import metadata
from pathlib import Path

import pytest

from forward_lineage import ForwardLineage, drawing, pages
from forward_lineage.models import table
from forward_lineage.openlineage import settings
from forward_lineage.row_ids.formats import iceberg
from forward_lineage.steps import execution_plan
from forward_lineage.storage import object_store
from tests.conftest import REPOSITORY
from udafs.errors import SetupError

# Extra → what it brings, as it is imported.
BRINGS = {
    "connect": ("grpc", "grpc_status", "google.rpc", "zstandard"),
    "drawing": ("networkx", "matplotlib", "pygraphviz"),
    "filters": ("sklearn",),
    "iceberg": ("fastavro",),
    "models": ("sklearn",),
    "notebook": ("IPython",),
    "openlineage": ("openlineage",),
    "pages": ("bokeh",),
    "s3": ("obstore",),
    "sketches": ("z3",),
    "steps": ("networkx",),
}
WITHOUT_MODULES = {"dbt", "dev", "tpch"}  # programs
# Modules that are imported when an extra is used; all others can be imported without any.
NEED = (
    *("cli.pictures", "cli.pipeline_page", "drawing.", "notebooks.", "pages.", "sketches.safety.solver"),
    *(f"openlineage.{name}" for name in ("datasets", "emitter", "events", "facet", "naming")),
)
IMPORT_ALL = """
import importlib, pkgutil, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if any(name == each or name.startswith(each + ".") for each in sys.argv[1:]):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
import forward_lineage
for module in pkgutil.walk_packages(forward_lineage.__path__, "forward_lineage.", onerror=lambda name: None):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ImportError:
            print(module.name.partition(".")[2])
"""


def test_all_extras_are_here() -> None:
    assert set(metadata("forward_lineage").get_all("Provides-Extra") or ()) == {*BRINGS, *WITHOUT_MODULES}


def test_modules_import_without_extras() -> None:
    blocked = [each for brought in BRINGS.values() for each in brought]
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *blocked],
        capture_output=True, text=True, check=True, cwd=REPOSITORY,
    )  # fmt: skip
    failed = done.stdout.split()
    assert "sketches.safety.solver" in failed
    assert [each for each in failed if not each.startswith(NEED)] == []


@pytest.mark.parametrize(
    ("module", "extra", "use"),
    [
        ("bokeh.server.server", "pages", pages.check_installed),
        ("fastavro", "iceberg", lambda: iceberg._avro(Path("list.avro"))),
        ("networkx", "drawing", drawing.check_installed),
        ("obstore.store", "s3", lambda: object_store._opened("s3://bucket/of/nobody", ())),
        ("openlineage.client", "openlineage", settings.check_installed),
        ("networkx", "steps", execution_plan._networkx),
        ("sklearn", "models", table.import_sklearn),
    ],
)
def test_the_error_names_the_extra(
    module: str, extra: str, use: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SetupError, match=rf"pip install ['\"]forward_lineage\[{extra}\]['\"]"):
        use()


def test_sketches_without_z3(lineage: ForwardLineage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only `tune` needs it; `run` runs the query as it is, after the refusal too."""
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(SetupError, match=r"^sketches need z3: .* Run: pip install 'forward_lineage\[sketches\]'$"):
        lineage.tune("eager", least=0)
    lineage.tune("off")
    assert lineage.run("SELECT 1 AS one").collect() == [(1,)]
    assert not lineage.decisions()

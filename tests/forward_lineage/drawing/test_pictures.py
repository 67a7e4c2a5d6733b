"""Pictures: what they say, that no text covers another, and the files."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.patches import Circle, Rectangle

from forward_lineage.cli import main
from forward_lineage.drawing import PACKAGES
from forward_lineage.drawing.canvas import Canvas
from forward_lineage.drawing.pipeline import Step, draw_pipeline
from forward_lineage.drawing.robdd import MOST_NODES, draw_robdd, shared_robdd
from udafs.errors import BadArgumentError, SetupError
from udafs.lineage_set import LineageSet

FIGURE_2 = LineageSet([0, 1, 2, 3, 4, 9, 10, 11, 12])
FIGURE_3 = LineageSet([0, 1, 2, 3, 4, 8, 9, 10])

STEPS = [
    Step("lineitem", base=True, rows=60_175, touched=1),
    Step("orders", base=True, rows=15_000, touched=0),
    Step("supplier", base=True, rows=100, touched=0),
    Step("order_values", ("lineitem", "orders"), note="data", rows=15_000, touched=1),
    Step("by_supplier", ("lineitem", "supplier"), note="control", rows=100, touched=0, stale=True),
    Step("by_month", ("order_values", "orders"), note="data", rows=80, touched=1),
    Step(
        "a_report_whose_name_never_ends_at_all",
        ("by_month", "by_supplier", "order_values"),
        note="data",
        rows=12,
        touched=3,
    ),
]


def texts(canvas: Canvas) -> list[str]:
    return [text.get_text() for text in canvas.axes.texts]


def circles(canvas: Canvas) -> int:
    return sum(isinstance(patch, Circle) for patch in canvas.axes.patches)


def assert_readable(canvas: Canvas) -> None:
    """No text covers another, and all of them are on the sheet."""
    canvas.figure.draw_without_rendering()
    sheet = canvas.figure.bbox
    boxes = [(text.get_text(), text.get_window_extent()) for text in canvas.axes.texts]
    for text, box in boxes:
        assert sheet.x0 <= box.x0 and box.x1 <= sheet.x1 and sheet.y0 <= box.y0 and box.y1 <= sheet.y1, text
    for (one, box), (other, other_box) in combinations(boxes, 2):
        assert not box.overlaps(other_box), (one, other)


def test_figure_2_of_the_paper() -> None:
    canvas = draw_robdd({7: FIGURE_2}, "Lineage")
    assert circles(canvas) == FIGURE_2.table().nodes
    assert set(texts(canvas)) >= {"Lineage", "row 7", "9 ids", "bit 3", "bit 2", "bit 1", "bit 0", "0", "1"}
    assert_readable(canvas)


def test_figure_3_shares_nodes() -> None:
    sets = {0: FIGURE_2, 5: FIGURE_3}
    table, roots = shared_robdd(sets)
    for row, root in roots.items():
        assert LineageSet.from_table(table.part(root, 4)) == sets[row]
    canvas = draw_robdd(sets, "Lineage")
    assert circles(canvas) < FIGURE_2.table().nodes + FIGURE_3.table().nodes
    assert_readable(canvas)


@pytest.mark.parametrize("ids", [[], [0], [5], [0, 1], range(16), range(1, 16), [2**40]])
def test_small_and_odd_sets(ids: list[int]) -> None:
    canvas = draw_robdd({0: LineageSet(ids)}, "Lineage")
    bits = int(max(ids, default=0)).bit_length()
    assert circles(canvas) == LineageSet(ids).table().with_bits(bits).nodes
    assert_readable(canvas)


def test_many_nodes_go_without_the_edges_to_0() -> None:
    scattered = LineageSet(np.random.default_rng(3).integers(0, 60_000, 6))
    canvas = draw_robdd({1: scattered}, "Lineage")
    assert any("edges to 0 are left out" in text for text in texts(canvas))
    assert "0" not in texts(canvas)
    assert_readable(canvas)


def test_too_many_nodes_are_refused() -> None:
    with pytest.raises(BadArgumentError, match=rf"a picture has at most {MOST_NODES}.*Draw a row with less lineage"):
        draw_robdd({1: LineageSet(np.random.default_rng(3).integers(0, 1 << 40, 40))}, "Lineage")


def test_an_impact() -> None:
    canvas = draw_pipeline(STEPS, "Impact")
    assert set(texts(canvas)) >= {
        "1 suspected",
        "3 touched",
        "not touched",
        "stale: an input has changed",
        "100 rows · control",
    }
    assert "a_report_whose_name_never_ends_…" in texts(canvas)
    bars = [patch for patch in canvas.axes.patches if isinstance(patch, Rectangle)]
    assert len(bars) == 2 * 4, "a frame and a share for each that is touched"
    assert_readable(canvas)


def test_a_pipeline_without_an_impact() -> None:
    canvas = draw_pipeline(
        [Step(step.name, step.parents, step.base, step.note, step.rows) for step in STEPS], "Saved $results$"
    )
    assert "Saved $results$" in texts(canvas), "no formula"
    assert not any("touched" in text or "suspected" in text for text in texts(canvas))
    assert_readable(canvas)


def test_nothing_saved_yet() -> None:
    assert_readable(draw_pipeline([], "Saved results"))


def test_equal_pictures_are_equal_files(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg", "three.PDF", "four.png"):
        draw_pipeline(STEPS, "Impact").save(tmp_path / name)
    assert ElementTree.parse(tmp_path / "one.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert (tmp_path / "three.PDF").read_bytes()[:4] == b"%PDF"
    assert (tmp_path / "four.png").read_bytes()[1:4] == b"PNG"


def test_files_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(BadArgumentError, match=r"jpg is not the name of a picture\. End it in \.svg, \.pdf or \.png"):
        draw_pipeline([], "").save(tmp_path / "a.jpg")
    with pytest.raises(SetupError, match=r"cannot be written: No such file or directory\. Name a file in a folder"):
        draw_pipeline([], "").save(tmp_path / "nowhere" / "a.svg")


@pytest.mark.parametrize("package", PACKAGES)
def test_without_the_extra(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, before Spark starts."""
    monkeypatch.setitem(sys.modules, package, None)
    done = CliRunner().invoke(main, ["graph", "-o", str(tmp_path / "a.svg")])
    assert done.exit_code == 1
    assert done.stderr.startswith(f"Error: drawing needs {package}: ") and done.stderr.count("\n") == 1
    assert done.stderr.endswith(" Run: pip install 'forward_lineage[drawing]'\n")


def test_the_command_line_starts_without_the_extra() -> None:
    script = "import sys, forward_lineage.cli; print(*(name for name in sys.argv[1:] if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script, *PACKAGES], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


ODD_NAMES = [
    "$\\foo$",
    "<script>x</script>",
    "--> ]]> &amp;",
    "a\x1b[2J\0",
    "\u202eabc",
    "语😀",
    "a\nb",
    "\ud800",
    "x" * 999,
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_makes_a_picture_and_nothing_else(tmp_path: Path, name: str) -> None:
    """The kind of picture that is text must stay a picture: no markup of a name gets into it."""
    canvas = draw_pipeline([Step(name, base=True, rows=3), Step("report", (name,), note=name, rows=2)], name)
    for kind in ("svg", "pdf", "png"):
        canvas.save(tmp_path / f"x.{kind}")
    found = {element.tag.rpartition("}")[2] for element in ElementTree.parse(tmp_path / "x.svg").iter()}
    assert not found & {"script", "a", "foreignObject", "image"} and b"\x1b" not in (tmp_path / "x.svg").read_bytes()

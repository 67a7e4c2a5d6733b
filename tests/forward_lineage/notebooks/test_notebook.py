"""A real notebook, run by a real kernel, with a Spark of its own."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.spark_programs import interpreted
from tests.structure import REPOSITORY

NOTEBOOK = Path(__file__).with_name("first_steps.ipynb")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The cells that were run, by the beginning of their text."""
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("FORWARD_LINEAGE_HOME", raising=False)
        patch.setenv("PYTHONPATH", str(REPOSITORY))
        patch.setenv("SPARK_SUBMIT_OPTS", interpreted(os.environ)["SPARK_SUBMIT_OPTS"])
        where = {"metadata": {"path": str(folder)}}
        NotebookClient(notebook, timeout=800, resources=where, allow_errors=True).execute()
    nbformat.write(notebook, folder / "run.ipynb")  # type: ignore[no-untyped-call]
    return {"".join(cell["source"]): cell for cell in notebook["cells"] if cell["cell_type"] == "code"}


def outputs(cells: dict[str, Any], beginning: str) -> list[Any]:
    (cell,) = (cell for source, cell in cells.items() if source.startswith(beginning))
    return [each for each in cell["outputs"] if each["output_type"] != "stream"]


def bundle(cells: dict[str, Any], beginning: str) -> dict[str, str]:
    (output,) = outputs(cells, beginning)
    return dict(output["data"])


def plain(html: str) -> list[str]:
    """The texts of a piece of HTML, without what styles it."""
    return [each.strip() for each in re.split(r"<style>.*?</style>|<[^>]*>", html, flags=re.S) if each.strip()]


def test_no_cell_fails_but_those_that_should(cells: dict[str, Any]) -> None:
    failed = [source for source, cell in cells.items() if any(o["output_type"] == "error" for o in cell["outputs"])]
    assert failed == [
        'lineage.sql("SELECT amout FROM sales")',
        "%%lineage\nSELECT nothing FROM sales",
        "%lineage backwards report",
        'spark.udf.register("half", lambda amount: amount // 0, "int")\n'
        'lineage.save("SELECT half(amount) AS half FROM sales", "halves")',
    ]


def test_spark_is_quiet(cells: dict[str, Any]) -> None:
    streams = [each["text"] for cell in cells.values() for each in cell["outputs"] if each["output_type"] == "stream"]
    noise = [
        line
        for text in streams
        for line in text.splitlines()
        if re.search(r"WARN|ERROR|Stage|log4j|log level|\tat ", line)
    ]
    assert [line for line in noise if "incubator" not in line] == []  # Java's own line comes before all else


def test_rows_show_their_lineage_and_open_to_base_rows(cells: dict[str, Any]) -> None:
    shown = bundle(cells, "%%lineage\nSELECT category, count(*) AS sold")
    assert "sales {1, 4, 5, 8, 9, …} 20 rows" in shown["text/plain"]
    texts = plain(shown["text/html"])
    assert texts[:4] == ["category", "sold", "amount", "DL"]
    at = texts.index("sales {2, 6, 10, 14, 18, …} 10 rows")
    assert texts[at + 1 : at + 9] == ["row_id", "t_id", "i_id", "amount", "2", "2", "3", "300"]
    assert "and 5 more rows" in texts


def test_what_is_in_the_data_is_text(cells: dict[str, Any]) -> None:
    every = json.dumps([cell["outputs"] for cell in cells.values()])
    assert "&lt;b onmouseover" in every
    html = [o["data"].get("text/html", "") for cell in cells.values() for o in cell["outputs"] if "data" in o]
    assert not [each for each in html if re.search(r"<b\b|<script|\son\w+\s*=", re.sub(r"&lt;.*?&gt;", "", each))]


def test_saved_results(cells: dict[str, Any]) -> None:
    saved = bundle(cells, "%%lineage --save by_item")
    assert "by_item, version 1: 4 rows, semantics data" in saved["text/plain"]
    assert "item {1} 1 row" in saved["text/plain"]
    report = bundle(cells, "%%lineage --save report")
    assert "semantics control" in report["text/plain"]
    assert "by_item {0, 1, 2, 3} 4 rows" in report["text/plain"]


def test_questions(cells: dict[str, Any]) -> None:
    assert "row_id" in bundle(cells, "%lineage backward report 0 item")["text/plain"]
    assert "1 row" not in bundle(cells, "%lineage impact")["text/plain"].splitlines()[-1]
    assert "sales → by_item → report" in bundle(cells, "%lineage impact")["text/plain"]
    assert "category" in bundle(cells, "%lineage forward")["text/plain"]


def test_a_picture(cells: dict[str, Any]) -> None:
    picture = bundle(cells, "%lineage graph")
    assert picture["text/plain"] == "Picture of the impact of sales where t_id = 3"
    assert picture["image/svg+xml"].startswith("<svg")


def test_a_frame_of_spark_shows_its_lineage(cells: dict[str, Any]) -> None:
    shown = bundle(cells, 'lineage.sql("SELECT i_id, amount')
    assert "sales {6} 1 row" in shown["text/plain"]
    assert "<details>" in shown["text/html"]


def test_values_of_lineage_on(cells: dict[str, Any]) -> None:
    assert (
        "item {binder, pencil} 2 values" in bundle(cells, "%%lineage\nSELECT category, count(*) AS items")["text/plain"]
    )


def test_short_names(cells: dict[str, Any]) -> None:
    said = bundle(cells, "by_item, lineage.tables()")["text/plain"]
    assert re.search(
        r"SavedResult\(by_item, version 1, 4 rows, made of (sales, item|item, sales), data, saved at", said
    )
    assert "Manifest(sales, version 1, ids by key (t_id), 3 columns)" in said
    assert "ForwardLineage(home=" in said
    assert len(said) < 350


def test_ids_of_an_arrow_table(cells: dict[str, Any]) -> None:
    said = bundle(cells, "import forward_lineage\n")["text/plain"]
    assert (
        said.replace("\n", "").replace(" ", "") == "[{'sales':[4,8]},{'sales':[1,5]},{'sales':[2,6]},{'sales':[3,7]}]"
    )


def test_answers_are_tables(cells: dict[str, Any]) -> None:
    shown = bundle(cells, "lineage.impact(")
    assert plain(shown["text/html"])[:6] == ["result", "rows_touched", "rows", "path", "by_item", "1"]
    assert "sales → by_item" in shown["text/plain"]


def test_a_typo_in_sql_is_one_line(cells: dict[str, Any]) -> None:
    (typo,) = outputs(cells, 'lineage.sql("SELECT amout')
    assert typo["ename"] == "WrongSqlError" and len(typo["traceback"]) == 1
    assert "Did you mean amount?" in typo["traceback"][0] or "`amount`" in typo["traceback"][0]


def test_a_function_of_python_that_fails_is_one_line(cells: dict[str, Any]) -> None:
    (failed,) = outputs(cells, "spark.udf.register")
    assert failed["ename"] == "FailedQueryError" and len(failed["traceback"]) == 1
    assert "Spark's Python worker failed: ZeroDivisionError" in failed["traceback"][0]


def test_errors_are_one_line_without_a_traceback(cells: dict[str, Any]) -> None:
    (unknown,) = outputs(cells, "%%lineage\nSELECT nothing")
    assert unknown["ename"] == "WrongSqlError"
    assert "nothing" in unknown["evalue"]
    assert not any("site-packages" in line or ".py" in line for line in unknown["traceback"])
    (usage,) = outputs(cells, "%lineage backwards")
    assert "%lineage backward RESULT [ROWS]" in usage["evalue"]

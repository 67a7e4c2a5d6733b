"""Which instance is served by the sketches of another."""

from __future__ import annotations

import pytest

from forward_lineage.frontend.statement import parse
from forward_lineage.sketches.safety.reuse import serves
from forward_lineage.sketches.safety.template import template
from forward_lineage.sketches.safety.verdicts import RunTimeCheck
from tests.forward_lineage.sketches.safety.test_rules import FACTS

GROUPS = "SELECT g, count(*) FROM t WHERE v > 3 GROUP BY g HAVING sum(v) > 10"
TOP = "SELECT g, sum(v) AS s FROM t WHERE v > 3 GROUP BY g ORDER BY s DESC LIMIT 5"

SERVED = [
    ("SELECT id FROM t WHERE v > 3", "SELECT id FROM t WHERE v > 5"),
    ("SELECT id FROM t WHERE v BETWEEN 2 AND 7", "SELECT id FROM t WHERE v BETWEEN 3 AND 4"),
    ("SELECT id FROM t WHERE s = 'b' OR s < 'd'", "SELECT id FROM t WHERE s = 'a' OR s < 'c'"),
    (GROUPS, GROUPS.replace("> 10", "> 12")),
    (GROUPS, GROUPS.replace("> 3", "> 4")),
    ("SELECT * FROM (SELECT v FROM t WHERE v > 3) WHERE v = 4", "SELECT * FROM (SELECT v FROM t WHERE v > 1) WHERE v = 4"),  # noqa: E501
    ("SELECT uid FROM u WHERE g IN (SELECT g FROM t WHERE v > 2)", "SELECT uid FROM u WHERE g IN (SELECT g FROM t WHERE v > 3)"),  # noqa: E501
    (TOP, TOP.replace("LIMIT 5", "LIMIT 4")),
    ("SELECT g FROM t WHERE g > 1 GROUP BY g HAVING avg(v) > 3", "SELECT g FROM t WHERE g > 2 GROUP BY g HAVING avg(v) > 3"),  # noqa: E501
]  # fmt: skip

NOT_SERVED = [
    ("SELECT id FROM t WHERE v > 3", "SELECT id FROM t WHERE v > 2"),
    ("SELECT id FROM t WHERE v > 3", "SELECT id FROM t WHERE n > 3"),
    (GROUPS, GROUPS.replace("> 10", "> 9")),
    (GROUPS, GROUPS.replace("> 3", "> 2")),
    (TOP, TOP.replace("LIMIT 5", "LIMIT 6")),
    (TOP, TOP.replace("> 3", "> 4")),
    ("SELECT g FROM t WHERE v > 1 GROUP BY g HAVING avg(v) > 3", "SELECT g FROM t WHERE v > 2 GROUP BY g HAVING avg(v) > 3"),  # noqa: E501
    ("SELECT g FROM t WHERE v > 1 GROUP BY g HAVING max(v) < 5", "SELECT g FROM t WHERE v > 2 GROUP BY g HAVING max(v) < 5"),  # noqa: E501
    (
        "SELECT sum(v) FILTER (WHERE v > 1), sum(v) FILTER (WHERE v > 1) FROM t",
        "SELECT sum(v) FILTER (WHERE v > 1), sum(v) FILTER (WHERE v > 2) FROM t",
    ),
    ("SELECT sum(CASE WHEN v > 1 THEN 1 END) FROM t", "SELECT sum(CASE WHEN v > 2 THEN 1 END) FROM t"),
]  # fmt: skip


@pytest.mark.parametrize(("captured", "asked"), SERVED)
def test_served(captured: str, asked: str) -> None:
    verdict = serves(template(parse(captured)), template(parse(asked)), {"t": "g"}, FACTS)
    assert verdict.safe, verdict.why


@pytest.mark.parametrize(("captured", "asked"), NOT_SERVED)
def test_not_served(captured: str, asked: str) -> None:
    assert not serves(template(parse(captured)), template(parse(asked)), {"t": "g"}, FACTS).safe


def test_a_tie_is_seen_over_the_sketch() -> None:
    verdict = serves(template(parse(TOP)), template(parse(TOP.replace("LIMIT 5", "LIMIT 4"))), {"t": "g"}, FACTS)
    assert verdict.checks == (RunTimeCheck("no tie", 4),)


def test_all_rows_were_returned() -> None:
    top = "SELECT g, sum(v) AS s FROM t WHERE v > 3 GROUP BY g ORDER BY s DESC, g LIMIT 5"
    instances = template(parse(top)), template(parse(top.replace("> 3", "> 4")))
    assert not serves(*instances, {"t": "g"}, FACTS).safe
    assert not serves(*instances, {"t": "g"}, FACTS, rows=5).safe
    assert serves(*instances, {"t": "g"}, FACTS, rows=4).safe


def test_literals_are_lifted() -> None:
    found = template(parse("SELECT g, 7 FROM t WHERE v > 3 AND s LIKE 'a%' GROUP BY 1 ORDER BY 1 LIMIT 2"))
    assert found.bindings == ("2", "3", "'a%'")
    assert "SELECT g, 7" in found.template
    assert found.template == template(parse("SELECT g, 7 FROM t WHERE v > 4 AND s LIKE 'b' GROUP BY 1 ORDER BY 1 LIMIT 9")).template  # fmt: skip  # noqa: E501


def test_parameters() -> None:
    statement = parse("SELECT id FROM t WHERE v > :low AND n < ?")
    known = [template(statement, {"low": str(low), "1": "3"}) for low in (3, 4)]
    assert [each.bindings for each in known] == [("3", "3"), ("4", "3")]
    assert serves(*known, {"t": "g"}, FACTS).safe
    assert not serves(template(statement), template(statement), {"t": "g"}, FACTS).safe


def test_another_template() -> None:
    verdict = serves(template(parse("SELECT id FROM t")), template(parse("SELECT g FROM t")), {"t": "g"}, FACTS)
    assert verdict.why == "it is an instance of another template"

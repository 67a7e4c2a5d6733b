"""Spark's own parser as the judge: two texts that it parses to the same plan mean the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from forward_lineage.frontend import split_script

FIXTURES = Path(__file__).with_name("fixtures")


def statements(*names: str) -> Iterator[str]:
    """Yield the statements of the fixture files with these names, of all of them without."""
    for path in sorted(FIXTURES.glob("*.sql")):
        if not names or path.stem in names:
            yield from split_script(path.read_text(encoding="utf-8"))


@cache
def parsed_plan(spark: SparkSession, sql: str) -> str:
    """Return the logical plan that Spark parses, with every detail, without what differs from one parse to the next.

    No table needs to exist: nothing is analysed.
    """
    plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(sql)
    try:
        text = plan.treeString()
    except Py4JJavaError:  # a type that is switched off cannot be shown
        text = ""
    numbers: dict[str, str] = {}

    def renumbered(match: re.Match[str]) -> str:
        return "#" + numbers.setdefault(match[1], str(len(numbers)))

    text = re.sub(r"#(\d+)L?\b", renumbered, text)
    detail = re.sub(r'"exprId":\{[^{}]*\}|"id":\d+|"pos":\d+', "", str(plan.toJSON()))
    return re.sub(r"\[B@[0-9a-f]+|posparameter\(\d+\)", "", f"{text}\n{detail}")

"""The front end: reads Spark SQL, hands trees to the rules, prints what they make of them."""

from forward_lineage.frontend.conditions import check_condition
from forward_lineage.frontend.dialect import print_sql
from forward_lineage.frontend.layout import layout
from forward_lineage.frontend.lineage_on import GranuleDictionary, described_granules
from forward_lineage.frontend.parameters import refuse_other_order
from forward_lineage.frontend.rewriting import (
    RewrittenStatement,
    explain_sql,
    explanation,
    rewrite_sql,
    rewrite_statement,
)
from forward_lineage.frontend.script import split_script
from forward_lineage.frontend.settings import refuse_other_readings
from forward_lineage.frontend.statement import Statement, parse, without_clause
from forward_lineage.frontend.with_lineage import asks_for_lineage, without_request

__all__ = [
    "GranuleDictionary",
    "RewrittenStatement",
    "Statement",
    "asks_for_lineage",
    "check_condition",
    "described_granules",
    "explain_sql",
    "explanation",
    "layout",
    "parse",
    "print_sql",
    "refuse_other_order",
    "refuse_other_readings",
    "rewrite_sql",
    "rewrite_statement",
    "split_script",
    "without_clause",
    "without_request",
]

"""The front end: reads Spark SQL, hands trees to the rules, prints what they make of them."""

from forward_lineage.frontend.layout import layout
from forward_lineage.frontend.rewriting import Granularity, RewrittenStatement, rewrite_sql, rewrite_statement

__all__ = ["Granularity", "RewrittenStatement", "layout", "rewrite_sql", "rewrite_statement"]

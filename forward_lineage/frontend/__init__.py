"""The front end: reads Spark SQL, hands trees to the rules, prints what they make of them."""

from forward_lineage.frontend.rewriting import RewrittenStatement, rewrite_sql, rewrite_statement

__all__ = ["RewrittenStatement", "rewrite_sql", "rewrite_statement"]

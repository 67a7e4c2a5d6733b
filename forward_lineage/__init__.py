"""Spark SQL whose every result row says which base rows it was made of."""

from forward_lineage.catalog import Catalog
from forward_lineage.frontend import rewrite_sql, split_script
from forward_lineage.session import ForwardLineage
from udafs.errors import LineageError

__all__ = ["Catalog", "ForwardLineage", "LineageError", "rewrite_sql", "split_script"]

"""Spark SQL whose every result row says which base rows it was made of."""

from forward_lineage.catalog import Catalog
from udafs.errors import LineageError

__all__ = ["Catalog", "LineageError"]

"""Spark SQL whose every result row says which base rows it was made of."""

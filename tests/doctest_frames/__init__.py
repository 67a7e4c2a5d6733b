"""PySpark's own doctests as strangers to `lineage.trace`."""

"""Lineage in a notebook: ``%load_ext forward_lineage``. docs/notebooks.md shows it."""

"""Rows, lineage and facts as people see them: text and HTML, bounded, whatever is in the data."""

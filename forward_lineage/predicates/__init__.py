"""Conditions over the columns of a table, decided without Spark where that gives Spark's answer; no Spark is imported.

    text ─► reading (a grammar of plain comparisons) ─► typing (columns and their types) ─► deciding (over Arrow arrays)

Each step takes the parts that it knows to mean the same to Spark in every mode, ANSI or not. It leaves all else:
`Doubtful` says why, and Spark is asked.
"""

"""Sketches: which ranges of a column hold all that a query needed, so that the next run reads those alone.

[Niu 2022] A sketch is found by running the query with lineage (`capture`), or from a saved result (`from_ids`). It is
used by reading of each table only the rows in its ranges (`use`).
"""

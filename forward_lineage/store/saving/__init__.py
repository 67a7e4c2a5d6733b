"""From a query or a DataFrame to a saved result: rows and lineage, written where they are computed."""

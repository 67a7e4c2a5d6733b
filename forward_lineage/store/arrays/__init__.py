"""Arrays as saved things: tracked arrays kept with their lineage, and saved rows as tracked arrays; no Spark."""

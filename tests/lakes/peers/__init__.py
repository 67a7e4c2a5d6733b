"""OpenLineage's Spark agent beside us: what each of the two says of TPC-H's queries."""

"""Layer 1: pure rules that add lineage columns to a SQL tree. No Spark, no I/O."""

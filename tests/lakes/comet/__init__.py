"""Apache DataFusion Comet, which runs parts of Spark's plans natively: rows and lineage must not change under it."""

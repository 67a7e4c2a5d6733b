"""The lineage store: the lineage relations of saved results, kept on disk and asked in milliseconds."""

"""Layer 0: lineage-set encodings, and the Spark kernel with `dlunion` that computes them."""

"""Generated pipelines of features, estimators and predictions, and their lineage against brute force; no Spark."""

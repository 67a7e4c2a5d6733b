"""Benchmarks: what lineage costs, always as a ratio to the same query without it."""

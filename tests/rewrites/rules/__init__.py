"""Rules one by one, as pure functions over trees: what Spark makes of the result is tested in tests/golden."""

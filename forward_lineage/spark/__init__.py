"""The parts that talk to Spark: sessions, plans, the guard, names of Spark's objects, Spark's errors in one line."""

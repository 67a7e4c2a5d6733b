"""Columns of a registered table as arrays: how they are read, when two values are one to Spark, how arrays are kept."""

"""Answers from a part of the rows, in intervals that are proven; docs/approximate.md describes them."""

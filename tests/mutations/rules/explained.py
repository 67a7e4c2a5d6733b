"""Mutants that nothing can notice, and why: another way to the same."""

EXPLAINED: dict[str, str] = {}

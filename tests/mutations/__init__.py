"""Bytes of homes and columns, spoilt a million times: each is refused with an error of ours, or is well-formed.

    python -m tests.mutations --count 1000000 --seed 0

spoils so many lineage values, segments, registrations and saved results' manifests each. Values and registrations are
judged by the kernel as well, in one JVM, and both languages must agree.
"""

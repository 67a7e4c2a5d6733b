"""Lineage relations: sets of pairs (row, id), their forms, their files and their algebra.

Nobody's session and nobody's store: pages, arrays, sketches and saved results all stand on it. docs/relations.md states
the algebra and the file format.
"""

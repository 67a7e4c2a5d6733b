"""How things are kept: whole objects in a place, manifests in numbered versions, the text they are sealed in, locks.

Knows nothing of lineage. A place is anything that satisfies `interface.Storage`: a local folder, or an object store
with conditional writes. Nothing here renames, and nothing but a lease is ever written over.
"""

"""How things are kept: whole objects in a place, manifests in numbered versions, the text they are sealed in, locks.

Knows nothing of lineage. A place is anything that satisfies `interface.Storage`: today a local folder; an object store
with conditional writes can be one, since nothing here renames and nothing is ever written over.
"""

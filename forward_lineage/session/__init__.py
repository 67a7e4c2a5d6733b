"""The public face: `ForwardLineage`, its calls by what they are about. The rooms below do the work."""

from forward_lineage.session.session import ForwardLineage

__all__ = ["ForwardLineage"]

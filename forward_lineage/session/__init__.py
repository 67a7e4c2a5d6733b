"""The public face: `ForwardLineage`, its calls by what they are about. Whatever they do is done in the rooms below."""

from forward_lineage.session.session import ForwardLineage

__all__ = ["ForwardLineage"]

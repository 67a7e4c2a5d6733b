"""The contents of `forward-lineage demo`: the paper's store example, and TPC-H with the generator of its data.

The command itself is `forward_lineage/cli/demo.py`; nothing here prints.
"""

from forward_lineage.demo.store_example import Q1, Q4, register_store_example

__all__ = ["Q1", "Q4", "register_store_example"]

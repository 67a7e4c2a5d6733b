"""TPC-H data as Parquet: see `forward_lineage.demo.tpch_data`, which makes them for the installed demo, too."""

from __future__ import annotations

from forward_lineage.demo.tpch_data import default_folder, generate

__all__ = ["default_folder", "generate"]

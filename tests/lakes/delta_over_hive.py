"""Delta tables in Hive's metastore: ``python -m tests.lakes.delta_over_hive thrift://… folder``.

The catalog behind `spark_catalog` is chosen when a process starts Spark. So this is a process of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

from forward_lineage import ForwardLineage
from tests.lakes.engines import lake_session
from tests.lakes.named_tables import Catalog, check_merge, check_table_that_others_change


def main(address: str, folder: Path) -> None:
    """Check tables of a metastore; a difference is an AssertionError."""
    folder.mkdir()
    hive = {"spark.sql.catalogImplementation": "hive", "spark.hadoop.hive.metastore.uris": address}
    spark = lake_session(folder, "delta", settings=hive)
    try:
        spark.sql("CREATE NAMESPACE spark_catalog.db")
        catalog = Catalog("spark_catalog", "delta", spark, spark.newSession())
        lineage = ForwardLineage(spark, home=folder / "home")
        check_table_that_others_change(catalog, lineage)
        check_merge(catalog, lineage)
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

"""Tables with lineage as SQL clients change them: ``python -m tests.lakes.sql_client delta folder``.

Spark's extensions are chosen when a process starts Spark. So this is a process of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

from forward_lineage import ForwardLineage
from tests.forward_lineage.door.thrift_server import kernel_settings
from tests.lakes.comparing import TRACKED
from tests.lakes.engines import CATALOG, EXTENSIONS, jars, lake_session

_NAMESPACE = {"delta": "spark_catalog.default", "iceberg": f"{CATALOG}.db"}
_CHANGES = (
    "UPDATE {kept} SET v = v + 1 WHERE k = 1 WITH LINEAGE",
    """
    MERGE INTO {kept} AS t USING {base} AS s ON t.k = s.k AND s.k = 2
    WHEN MATCHED THEN UPDATE SET v = t.v + s.v
    WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k + 10, s.v) WITH LINEAGE;
    """,
    "DELETE FROM {kept} WHERE k = 3 WITH LINEAGE -- the last word",
)


def main(kind: str, folder: Path) -> None:
    """Change a table, and print its rows with the ids of their base rows."""
    ours = kernel_settings(folder / "home")
    both = {
        "spark.jars": ",".join([ours["spark.jars"], *map(str, jars(kind))]),
        "spark.sql.extensions": f"{EXTENSIONS[kind]},{ours['spark.sql.extensions']}",
    }
    spark = lake_session(folder, kind, settings=ours | both)
    try:
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {_NAMESPACE[kind]}")
        base, kept = f"{_NAMESPACE[kind]}.base", f"{_NAMESPACE[kind]}.kept"
        spark.sql(f"CREATE TABLE {base} (k INT, v INT) USING {kind} TBLPROPERTIES ({TRACKED[kind]})")
        spark.sql(f"INSERT INTO {base} SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 10), (2, 20), (3, 30)")
        ForwardLineage(spark.newSession(), home=folder / "home").register(base)
        spark.sql(f"CREATE TABLE {kept} USING {kind} AS SELECT k, v FROM {base} WITH LINEAGE")
        for text in _CHANGES:
            spark.sql(text.format(base=base, kept=kept))
        rows = spark.sql(f"SELECT k, v, dl_ids(DL.`{base}`) FROM {kept}").collect()
        print(sorted(map(tuple, rows)))
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

"""TPC-H's 22 queries, written as tables under OpenLineage's agent and by us: ``python -m tests.lakes.peers``.

Each query is written twice in one application: by Spark alone, and by `lineage.sql`. The agent listens to both. Its
account of the first is compared with ours of the second: output, inputs, columns, and the fields that each column is
computed from. Its account of the second must be that of the first, so that both can be on at once. Every event of ours
is read by the classes of the agent's client. The exit status is 0 if all differences are explained (`comparison`).
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

import tpch_queries
from forward_lineage import ForwardLineage
from tests.forward_lineage.openlineage.rules import check
from tests.lakes.peers.agent import AGENT, ClientClasses, agent_session
from tests.lakes.peers.comparison import EXPLAINED, column_differences, dataset_differences
from tests.lakes.peers.statements import Event, Told, events_in, told_of
from tests.structure import REPOSITORY
from tpch_queries.data import generate
from udafs.build import spark_version
from udafs.errors import FailedQueryError

QUERIES = tpch_queries.names()[:22]
IN_CATALOG = "nation"
"""The table that Spark's catalog has; the others are files."""
OURS = {"forwardLineage_rowLineage"}


class Peers:
    """The agent and we, side by side.

    Args:
        root: a folder for all that is written.
        queries: their texts by name.

    """

    def __init__(self, root: Path, queries: Mapping[str, str]) -> None:
        self._root, self._queries = root, queries
        self._agents, self._ours = root / "agent.jsonl", root / "ours.jsonl"

    def run(self) -> None:
        """Write every query twice; then a save, and one that fails, for their events."""
        spark = agent_session(self._root, self._agents)
        try:
            plain, lineage = self._sessions(spark)
            for query, text in self._queries.items():
                plain.sql(f"CREATE TABLE plain_{query} USING parquet AS {text}")
                lineage.sql(f"CREATE TABLE traced_{query} USING parquet AS {text}")
                print(".", end="", flush=True)
            print()
            lineage.save("SELECT n_regionkey, count(*) AS n FROM nation GROUP BY n_regionkey", "saved")
            with suppress(FailedQueryError):
                lineage.save("SELECT CAST(n_name AS INT) AS e FROM nation", "failed")
            assert lineage.flush_events(60)
            self._judge(ClientClasses(spark))
        finally:
            spark.stop()  # the agent has said all when it returns

    def _sessions(self, spark: SparkSession) -> tuple[SparkSession, ForwardLineage]:
        data = generate(0.01, REPOSITORY / ".data" / "tpch" / "sf0.01")
        spark.read.parquet(str(data / f"{IN_CATALOG}.parquet")).write.saveAsTable(IN_CATALOG)
        plain, traced = spark.newSession(), spark.newSession()
        lineage = ForwardLineage(traced, home=self._root / "home", openlineage=self._ours)
        for table in tpch_queries.TABLES:
            if table == IN_CATALOG:
                lineage.register(table)
                continue
            plain.read.parquet(str(data / f"{table}.parquet")).createOrReplaceTempView(table)
            lineage.register(table, path=data / f"{table}.parquet")
        return plain, lineage

    def _judge(self, classes: ClientClasses) -> None:
        """Have our events read by the client's classes, and by our own rules."""
        events = events_in(self._ours)
        for event in events:
            check(json.loads(json.dumps(event)))
            unknown = classes.unknown(event)
            assert unknown <= OURS, f"the classes do not know {unknown - OURS}"
        print(f"{len(events)} events of ours are what the client's classes say, but for {', '.join(OURS)}")

    def differences(self) -> Iterator[tuple[str, str]]:
        """Yield what differs, by query and column, and how."""
        agents, ours = events_in(self._agents), events_in(self._ours)
        for query in self._queries:
            plain, beside = self._told(agents, f"plain_{query}"), self._told(agents, f"traced_{query}")
            mine = self._told(ours, f"traced_{query}")
            yield from ((f"{query}: beside us", each) for each in dataset_differences(beside, mine))
            yield from ((f"{query}: beside us, {column}", how) for column, how in column_differences(beside, plain))
            named_alike = replace(plain, name=beside.name, table=beside.table)
            yield from ((query, each) for each in dataset_differences(named_alike, mine))
            yield from ((f"{query}: {column}", how) for column, how in column_differences(plain, mine))

    def _told(self, events: Sequence[Event], table: str) -> Told:
        return told_of(events, str(self._root / "warehouse" / table))


def main(arguments: Sequence[str]) -> int:
    """Run, say what differs, return the exit status."""
    queries = arguments or QUERIES
    print(f"Spark {spark_version()}, {AGENT}")
    with tempfile.TemporaryDirectory() as scratch:
        peers = Peers(Path(scratch), {query: tpch_queries.query(query) for query in queries})
        peers.run()
        found = dict(peers.differences())
    for what, how in found.items():
        print(f"{what}: {how} ({EXPLAINED.get(what, 'NOT EXPLAINED')})")
    gone = [each for each in EXPLAINED if each not in found and each.partition(":")[0] in queries]
    wrong = [each for each in found if each not in EXPLAINED]
    differing = {each.partition(":")[0] for each in found}
    print(f"{len(queries)} queries, {len(queries) - len(differing)} without any difference")
    print(f"{len(found)} differences, {len(wrong)} not explained; {len(gone)} explained and gone")
    return int(bool(wrong or gone))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

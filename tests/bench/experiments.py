"""The paper's experiments as data: which queries, traced how, measured against what.   [Zhang 2007, §5]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from forward_lineage import LineageError
from tests.bench.harness import Variant
from tests.bench.sessions import Sessions
from tests.bench.tracing_back import TracingBack
from tests.bench.workloads import TPCH, WALMART, Workload

ENCODINGS = ("auto", "bdd", "set")
VARIANTS = ("original", *ENCODINGS, "collect_set", "reverse-one", "reverse-all")
"""In the order in which they take turns; the first is what the others are divided by."""

WEEKS = "LINEAGE ON (year(lineitem.l_shipdate), weekofyear(lineitem.l_shipdate), lineitem.l_shipmode)"


@dataclass(frozen=True)
class Experiment:
    """A figure of the paper.

    Attributes:
        key: what `--queries` calls it.
        title: what it is about.
        figure: where the paper has it.
        workload: tables and queries.
        queries: names of the queries.
        clause: what is written behind each query's text when it is traced.
        control: queries whose lineage is counted under control semantics, as the paper's tables count it.
        rivals: whether there is a `collect_set` by hand and a reverse query.

    """

    key: str
    title: str
    figure: str
    workload: Workload
    queries: tuple[str, ...]
    clause: str = ""
    control: frozenset[str] = field(default_factory=frozenset)
    rivals: bool = True

    def traced_text(self, query: str) -> str:
        """Return the text that is traced."""
        return f"{self.workload.query(query)}\n{self.clause}".rstrip()

    def variants(
        self, sessions: Sessions, query: str, wanted: Sequence[str], semantics: str, home: Path
    ) -> list[Variant]:
        """Return the wanted ways to answer a query, the original first.

        Args:
            sessions: over the workload's tables.
            query: its name.
            wanted: some of `VARIANTS`.
            semantics: of the lineage; the rivals know data lineage only.
            home: a folder for the results that are traced back.

        """
        plain, traced = self.workload.query(query), self.traced_text(query)
        back = {
            each.name: each for each in TracingBack(sessions.plain, sessions.numbered, plain, home / query).variants()
        }
        made = {"original": Variant("original", lambda: sessions.plain.sql(plain))}
        made |= {name: Variant(name, sessions.traced(traced, semantics, name)) for name in ENCODINGS}
        if self.rivals:
            made["collect_set"] = Variant("collect_set", lambda: sessions.numbered.sql(self.workload.rival(query)))
            made |= back
        return [made[name] for name in VARIANTS if name in made and (name in wanted or name == "original")]


ASPJ = Experiment(
    "aspj",
    "TPC-H Q1–Q22, aggregation",
    "Figure 4",
    TPCH,
    tuple(name for name in TPCH.names if name.startswith("q")),
    control=frozenset({"q3", "q5", "q6", "q7", "q9", "q10", "q11", "q15", "q16"}),
)
SPJ = Experiment("spj", "TPC-H tables, joins S1–S8", "Figure 5", TPCH, tuple(n for n in TPCH.names if n[0] == "s"))
GRANULARITY = Experiment(
    "granularity",
    "TPC-H, LINEAGE ON year and week of the ship date, ship mode",
    "Figure 6",
    TPCH,
    ("q5", "q6", "q7", "q9", "q15"),
    clause=WEEKS,
    control=frozenset({"q5", "q6", "q7", "q9", "q15"}),
    rivals=False,
)
STORES = Experiment("walmart", "Walmart, joins Q1–Q4, aggregation Q5–Q8", "Figure 8", WALMART, tuple(WALMART.names))

EXPERIMENTS = {each.key: each for each in (ASPJ, SPJ, GRANULARITY, STORES)}


def chosen(wanted: str) -> list[tuple[Experiment, str]]:
    """Read `--queries`: `all`, experiments, TPC-H queries, or `experiment:query`, joined by commas.

    Raises:
        LineageError: there is no such query.

    """
    everything = [(each, query) for each in EXPERIMENTS.values() for query in each.queries]
    parts = {part.strip().lower() for part in wanted.split(",")} - {""}
    names = {f"{each.key}:{query}": (each, query) for each, query in everything}
    known = {"all", *EXPERIMENTS, *names, *ASPJ.queries, *SPJ.queries}
    unknown = sorted(parts - known)
    if unknown or not parts:
        raise LineageError(
            f"there is no query {', '.join(unknown)!r}",
            instead=f"Ask for all, {', '.join(EXPERIMENTS)}, q1 … q22, s1 … s8, walmart:q1 …, granularity:q5 ….",
        )
    return [
        (each, query)
        for each, query in everything
        if parts & {"all", each.key, f"{each.key}:{query}"} or (each in (ASPJ, SPJ) and query in parts)
    ]

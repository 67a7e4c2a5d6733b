"""`forward-lineage bench`: the paper's experiments redone, and a report on them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import click

from forward_lineage.cli.options import Scales
from udafs.errors import SetupError

_ALL = "original,auto,bdd,set,collect_set,reverse-one,reverse-all"


@click.command()
@click.option("--scale", type=Scales(), default="1", show_default=True, help="Scale factors; 1 is the paper's data.")
@click.option("--runs", type=click.IntRange(min=1), default=3, show_default=True, help="Timed runs of each variant.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    help="More runs, up to three times as many, of a query that took less in all.",
)
@click.option(
    "--queries",
    default="all",
    show_default=True,
    help="Any of aspj, spj, granularity, walmart, q1 … q22, s1 … s8, walmart:q1 …, granularity:q5 ….",
)
@click.option("--variants", default=_ALL, show_default=True, help="Measured in turn; the original always is.")
@click.option("--semantics", type=click.Choice(["data", "control"]), default="data", show_default=True)
@click.option("--sizes/--no-sizes", default=True, show_default=True, help="Also count and store the lineage.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("bench_report"),
    show_default=True,
    help="Folder of the report, its plots and the JSON records; queries of an earlier run are kept.",
)
@click.option("--memory", default="4g", show_default=True, help="Heap of the Spark driver.")
@click.option("--smoke", is_flag=True, help="One small query of each experiment, once: does everything work?")
def bench(
    *,
    scale: list[float],
    runs: int,
    seconds: float,
    queries: str,
    variants: str,
    semantics: str,
    sizes: bool,
    output: Path,
    memory: str,
    smoke: bool,
) -> None:
    """Measure what lineage costs, and write a report.

    Each query runs without lineage, with it in every encoding, with row ids collected by hand, and with the reverse
    queries of Cui and Widom, in turn, in one Spark session. Needs a checkout of the project.
    """
    evidence = _evidence()
    if smoke:
        scale, runs, seconds, queries = [0.01], 1, 0.0, evidence.smoke_queries()
    written = evidence.run(
        scales=scale,
        turns=evidence.Turns(runs, seconds, warm_up=0 if smoke else 1),
        queries=queries,
        variants=[name.strip() for name in variants.split(",")],
        semantics=semantics,
        output=output,
        sizes=sizes,
        memory=memory,
    )
    click.echo(written)


def _evidence() -> ModuleType:
    """Load the bench, which is not part of an installed package: its rivals and data are for developers."""
    checkout = Path(__file__).resolve().parents[2]
    if not (checkout / "tests" / "bench" / "evidence.py").exists():
        raise SetupError("forward-lineage bench needs a checkout of the project", instead="Run make bench there.")
    if str(checkout) not in sys.path:
        sys.path.insert(0, str(checkout))
    return importlib.import_module("tests.bench.evidence")

"""What Spark makes of the texts of mutants that no text and no test has noticed: other rows, or other lineage?"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tests.mutations.rules.running import Verdict
from tests.oracle.generation import Case


def judge_texts(verdicts: Sequence[Verdict], cases: Sequence[Case]) -> Iterator[Verdict]:
    """Yield each verdict again, with what Spark noticed of its texts."""
    from tests.mutations.rules.probes import setup_of  # noqa: PLC0415 - Spark and the rules only for those who need them
    from tests.oracle.comparison import Task, prepare, verdict_of  # noqa: PLC0415
    from tests.oracle.session import oracle_session  # noqa: PLC0415
    from tests.oracle.spark_answers import all_answers, all_columns, create_tables  # noqa: PLC0415

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch, oracle_session(Path(scratch)) as spark:
        for verdict in verdicts:
            killed = ""
            for number, semantics, text in verdict.texts:
                setup = setup_of(number, cases[number])
                create_tables(spark, setup.case[1], setup.names, setup.case[0])
                task = prepare(setup, all_columns(spark, [setup.original])[0], semantics)  # type: ignore[arg-type]
                if not isinstance(task, Task):
                    continue  # refused, or not determined: nothing can be said
                said = verdict_of(spark, replace(task, text=text), all_answers(spark, [text])[0])
                if said.outcome == "disagree":
                    killed = f"oracle {number}, {semantics}"
                    break
            yield replace(verdict, killed=killed)

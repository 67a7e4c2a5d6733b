"""`python -m tests.mutations.rules --count 240 --seed 0`: spoil that many places, print what survives; resumable.

It ends with 1 if more than two in a hundred survive that `explained.toml` does not explain.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.mutations.rules.explained import change_of, explained
from tests.mutations.rules.running import Notes, learn, oracle_cases, run
from tests.mutations.rules.sites import Mutant, chosen
from tests.structure import REPOSITORY

MOST_SURVIVORS = 0.02


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations.rules", description=__doc__)
    parser.add_argument("--count", type=int, default=240, help="mutants (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (default: %(default)s)")
    parser.add_argument(
        "--state", type=Path, default=REPOSITORY / ".data" / "mutants", help="folder of what is finished"
    )
    parser.add_argument("--without-spark", action="store_true", help="leave texts unjudged that only Spark can judge")
    options = parser.parse_args()
    options.state.mkdir(parents=True, exist_ok=True)
    cases = oracle_cases()
    known = learn(cases, options.state)
    notes = Notes(options.state)
    mutants = chosen(options.count, options.seed)
    run(mutants, known, notes)
    survivors = [notes.verdicts[mutant.name] for mutant in mutants if not notes.verdicts[mutant.name].killed]
    if not options.without_spark and (unjudged := [each for each in survivors if each.texts]):
        from tests.mutations.rules.judging import judge_texts  # noqa: PLC0415 - Spark only where it is needed

        for verdict in judge_texts(unjudged, cases):
            notes.add(verdict)
    return closing(mutants, notes)


def closing(mutants: Sequence[Mutant], notes: Notes) -> int:
    """Print the survivors; return the exit code."""
    known = explained()
    alive = [mutant for mutant in mutants if not notes.verdicts[mutant.name].killed]
    unexplained = 0
    for mutant in alive:
        verdict, change = notes.verdicts[mutant.name], change_of(mutant)
        unexplained += change not in known
        why = known[change].why if change in known else f"{verdict.probes} texts go there, {len(verdict.texts)} change"
        print(f"survives: {mutant.name}: {why}\n{change[1]}\n")
    print(f"{len(mutants)} mutants, {len(alive)} survive, {unexplained} of them unexplained")
    return 1 if unexplained > MOST_SURVIVORS * len(mutants) else 0


if __name__ == "__main__":
    sys.exit(main())

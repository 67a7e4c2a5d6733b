"""`python -m tests.oracle`: Spark and the rules beside the interpreter, over as many queries as one has time for.

It ends: 0 if everything agrees, 1 if anything does not, 2 if it cannot go on, 130 after Ctrl-C. The same command goes
on where it was.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.oracle.blocks import QUERIES_A_BLOCK, SEEDS_A_BLOCK, Block, Outcome, blocks, faults, summary
from tests.oracle.campaign import Progress, State, StateError, fingerprint, judge_blocks
from tests.structure import REPOSITORY

REPORTED = 10


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    wanted = blocks(
        options.queries,
        options.laws,
        options.seed,
        options.door,
        options.continuations,
        options.settings,
        options.typed,
    )
    try:
        with State(options.state, f"{options.door}-seed-{options.seed}-{fingerprint()}") as state:
            run(wanted, state, options.processes)
            return closing(wanted, [state.finished[block.name] for block in wanted])
    except StateError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", flush=True)
        return 130


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--queries", type=int, default=5_000, help="rounded up to hundreds (default: %(default)s)")
    parser.add_argument("--laws", type=int, default=0, metavar="N", help="trials of each law (default: none)")
    parser.add_argument(
        "--continuations",
        type=int,
        default=0,
        metavar="N",
        help="things made of the frames of queries, four of each: columns dropped, joined, counted … (default: none)",
    )
    parser.add_argument(
        "--settings", type=int, default=0, metavar="N", help="queries under each setting that must not matter"
    )
    parser.add_argument(
        "--typed", type=int, default=0, metavar="N", help="queries over types and names that random queries lack"
    )
    parser.add_argument("--seed", type=int, default=10_000_000, help="the first seed (default: %(default)s)")
    parser.add_argument(
        "--door",
        choices=["text", "frame"],
        default="text",
        help="give queries as SQL, or as programs of the DataFrame API where it has words for them (default: text)",
    )
    parser.add_argument("--processes", type=int, default=1, help="each with a Spark of its own (default: 1)")
    parser.add_argument(
        "--state",
        type=Path,
        default=REPOSITORY / ".data" / "oracle",
        help="folder of what is finished (default: .data/oracle)",
    )
    return parser.parse_args(arguments)


def run(wanted: Sequence[Block], state: State, processes: int) -> None:
    """Judge what is not finished."""
    todo = [block for block in wanted if block.name not in state.finished]
    if not todo:
        return
    print(started(len(wanted) - len(todo), len(wanted), state), flush=True)
    progress = Progress(wanted, state)
    for asked_to_stop in (signal.SIGINT, signal.SIGTERM):  # also where a shell has it ignored in the background
        signal.signal(asked_to_stop, signal.default_int_handler)
    for outcome in judge_blocks(todo, processes):
        state.add(outcome)
        print("\n\n".join([*outcome.disagreements, progress.line()]), flush=True)


def started(done: int, wanted: int, state: State) -> str:
    if done:
        return f"going on: {done} of {wanted} blocks are finished in {state.path}"
    others = f"; the sources are others than those of {', '.join(state.others)}" if state.others else ""
    return f"starting: {wanted} blocks, noted in {state.path}{others}"


def closing(wanted: Sequence[Block], outcomes: Sequence[Outcome]) -> int:
    """Print what came out; return the exit code."""
    wrong = faults(outcomes)
    seeds = ", ".join(f"{block.seed}" for block in (wanted[:1] + wanted[-1:]))
    print(summary(outcomes))
    print(f"first and last block's seed: {seeds}; {SEEDS_A_BLOCK} seeds a block of {QUERIES_A_BLOCK} queries")
    print(f"{sum(len(outcome.disagreements) for outcome in outcomes)} disagreements")
    if wrong:
        print("\n\n".join(wrong[:REPORTED]), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

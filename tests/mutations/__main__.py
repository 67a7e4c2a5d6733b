"""`python -m tests.mutations --count 1000000 --seed 0`: so many of each kind; ends with 1 if there was a fault."""

from __future__ import annotations

import argparse
import resource
import sys
import time

from tests.mutations.campaign import Counts, spoil
from tests.mutations.kinds import KINDS


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    asked.add_argument("--count", type=int, default=1_000_000, help="of each kind")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument(
        "--kind", choices=[*KINDS], action="append", help="may be given several times; all if not at all"
    )
    given = asked.parse_args()
    faults = 0
    for kind in given.kind or KINDS:
        faults += len(_run(kind, given.count, given.seed).faults)
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"largest process: {most} MB; {faults} faults")
    return 1 if faults else 0


def _run(kind: str, count: int, seed: int) -> Counts:
    total, begun, shown = Counts(), time.monotonic(), 0.0
    for chunk in spoil(kind, count, seed):
        total.add(chunk)
        for fault in chunk.faults:
            print(fault, flush=True)
        if time.monotonic() - shown > 5:
            shown = time.monotonic()
            print(f"{kind}: {total.tried:,} of {count:,}", file=sys.stderr, flush=True)
        if len(total.faults) > 50:
            print(f"{kind}: too many faults, given up", flush=True)
            break
    print(
        f"{kind}: {total.tried:,} spoilt, {total.refused:,} refused, {total.tried - total.refused:,} read, "
        f"{len(total.faults)} faults; {time.monotonic() - begun:,.0f} s, the slowest {total.slowest * 1000:.0f} ms, "
        f"{total.added >> 20} MB added" + (f", {total.heap} MB of the kernel's heap" if total.heap else ""),
        flush=True,
    )
    return total


if __name__ == "__main__":
    sys.exit(main())

"""Blocks of cases that are judged together: each has seeds of its own, so that any can be judged again alone."""

from __future__ import annotations

import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain, groupby, product
from pathlib import Path

from pyspark.sql import SparkSession

from tests.oracle.comparison import Door, Mode, Verdict, judge, report
from tests.oracle.continuations import Continuation, continuation
from tests.oracle.continued import DIED, is_alive, judge_continued
from tests.oracle.generation import Case, many_cases, shrunk
from tests.oracle.kinds import OTHER_SETTINGS, Tables, many_typed, problems, session_apart
from tests.oracle.law_trials import try_law
from tests.oracle.laws import LAWS
from tests.oracle.spark_answers import FAST_FOR_TINY_DATA
from tests.spark_switches import SWITCHES, turned

QUERIES_A_BLOCK = 100
TRIALS_A_BLOCK = 20
LONGEST_OF_A_LAW = 10_000  # characters

SEEDS_A_BLOCK = 1_000
SEEDS_OF_LAWS = 500_000_000
SEEDS_A_LAW = 1_000_000

SEEDS_OF_CONTINUATIONS = 900_000_000
SEEDS_OF_SETTINGS = 700_000_000
SEEDS_OF_TYPES = 800_000_000

OF_A_LAW = "law: "
CONTINUED = "continued "
CONTINUATIONS_A_QUERY = 4

TYPED_SETTINGS = {**FAST_FOR_TINY_DATA, **OTHER_SETTINGS}

SHRINK_SECONDS = 60
MOST_SHRUNK = 3

# Shares of all cases. A refusal is honest but proves nothing: too many of them, and the comparison has become empty.
MOST_REFUSED = 0.05
MOST_NOT_COMPARABLE = 0.15
MOST_NOT_HELD = 0.20  # of the trials of a law: either of two texts may be refused


@dataclass(frozen=True)
class Block:
    """Cases to judge.

    Attributes:
        name: what it is called in a campaign, always for the same cases.
        seed: the first of its seeds.
        count: how many cases.
        modes: what is compared of each.
        granules: whether the queries end in LINEAGE ON.
        law: the law that is tried; None where Spark is compared with the interpreter.
        door: as what the queries are given.
        continued: whether something is done with each frame, see `continuations`; a case is a query with one of
            its continuations.
        stacked: whether the queries stand on groups and windows, see `stacked`.
        setting: under which setting of `tests.spark_switches`; None: those that are fast.
        typed: whether plain Spark judges queries over types that the interpreter lacks, see `kinds`.
    """

    name: str
    seed: int
    count: int
    modes: tuple[Mode, ...] = ("data", "control")
    granules: bool = False
    law: str | None = None
    door: Door = "text"
    continued: bool = False
    stacked: bool = False
    setting: str | None = None
    typed: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of a block.

    Attributes:
        block: its name.
        seed: its first seed.
        cases: how many were judged.
        found: cases by outcome, by what was compared: a mode, or a law.
        reasons: how often something was refused or could not be compared, by its kind.
        disagreements: a report each.
        seconds: how long it took.
        died: whether Spark's process ended on the way; then what was left of the block was not judged.
    """

    block: str
    seed: int
    cases: int
    found: Mapping[str, Mapping[str, int]]
    reasons: Mapping[str, int]
    disagreements: Sequence[str]
    seconds: float = 0.0
    died: bool = False


def blocks(
    queries: int,
    trials: int,
    seed: int,
    door: Door = "text",
    continuations: int = 0,
    under_settings: int = 0,
    typed: int = 0,
) -> list[Block]:
    """Blocks for that many queries, trials of each law, continued queries, queries under each setting, typed queries.

    All rounded up to whole blocks.
    """
    found = [_of_queries(number, seed, door) for number in range(-(-queries // QUERIES_A_BLOCK))]
    for place, law in enumerate(LAWS):
        first = seed + SEEDS_OF_LAWS + SEEDS_A_LAW * place
        found += [
            Block(f"{law} {number}", first + SEEDS_A_BLOCK * number, TRIALS_A_BLOCK, law=law)
            for number in range(-(-trials // TRIALS_A_BLOCK))
        ]
    found += [_of_continuations(number, seed, door) for number in range(-(-continuations // QUERIES_A_BLOCK))]
    found += [_of_types(number, seed) for number in range(-(-typed // QUERIES_A_BLOCK))]
    return found + [
        _under(setting, place, number, seed, door)
        for number in range(-(-under_settings // QUERIES_A_BLOCK))
        for place, setting in enumerate(SWITCHES)
    ]


def _under(setting: str, place: int, number: int, seed: int, door: Door) -> Block:
    """Other queries under each setting; every other block is stacked."""
    first = seed + SEEDS_OF_SETTINGS + SEEDS_A_LAW * place + SEEDS_A_BLOCK * number
    name = f"{setting} {number}" if door == "text" else f"frames, {setting} {number}"
    return Block(name, first, QUERIES_A_BLOCK, door=door, stacked=number % 2 == 0, setting=setting)


def _of_types(number: int, seed: int) -> Block:
    return Block(f"typed {number}", seed + SEEDS_OF_TYPES + SEEDS_A_BLOCK * number, QUERIES_A_BLOCK, typed=True)


def _of_continuations(number: int, seed: int, door: Door) -> Block:
    """Two of three blocks are stacked, with the conditions that Spark infers: predicates come into stages in turn."""
    first = seed + SEEDS_OF_CONTINUATIONS + SEEDS_A_BLOCK * number
    name = f"continuations {number}" if door == "text" else f"continued frames {number}"
    stacked = number % 3 != 2
    setting = "constraints" if stacked else None
    return Block(name, first, QUERIES_A_BLOCK, door=door, continued=True, stacked=stacked, setting=setting)


def _of_queries(number: int, seed: int, door: Door) -> Block:
    """Every tenth block has granules; every tenth compares what plain Spark returns, too. DataFrames have neither."""
    if door == "frame":
        return Block(f"frames {number}", seed + SEEDS_A_BLOCK * number, QUERIES_A_BLOCK, door=door)
    modes: tuple[Mode, ...] = ("values", "data", "control") if number % 10 == 4 else ("data", "control")
    first = seed + SEEDS_A_BLOCK * number
    return Block(f"queries {number}", first, QUERIES_A_BLOCK, modes, granules=number % 10 == 9)


def judged(spark: SparkSession, block: Block) -> Outcome:
    """Judge a block; what disagrees is shrunk as far as the time allows."""
    start = time.monotonic()
    kind = _of_law if block.law is not None else _continued if block.continued else _typed if block.typed else _of_cases
    with turned(spark, block.setting) if block.setting else nullcontext():
        outcome = kind(spark, block)
    return Outcome(**{**vars(outcome), "seconds": round(time.monotonic() - start, 2)})


def _of_cases(spark: SparkSession, block: Block) -> Outcome:
    generated = list(many_cases(block.count, block.seed, granules=block.granules, stacked=block.stacked))
    verdicts = judge(spark, [case for _, case in generated], block.modes, block.door)
    failing = [
        (number, case, mode)
        for mode, found in verdicts.items()
        for (number, case), verdict in zip(generated, found, strict=True)
        if verdict.outcome == "disagree"
    ]
    reports = [
        described(spark, number, case, mode, block, shrink=place < MOST_SHRUNK)
        for place, (number, case, mode) in enumerate(failing)
    ]
    where = f"under {block.setting}: " if block.setting else ""
    return _outcome(block, {f"{where}{mode}": found for mode, found in verdicts.items()}, reports)


def _of_law(spark: SparkSession, block: Block) -> Outcome:
    assert block.law is not None
    cases = (case for _, case in many_cases(1_000_000, block.seed))
    verdicts = try_law(spark, block.law, block.count, cases, LONGEST_OF_A_LAW)
    everything = [verdict for found in verdicts.values() for verdict in found]
    reports = [verdict.detail for verdict in everything if verdict.outcome == "disagree"]
    return _outcome(block, {f"{OF_A_LAW}{block.law}": everything}, reports)


def _continued(spark: SparkSession, block: Block) -> Outcome:
    queries = list(many_cases(-(-block.count // CONTINUATIONS_A_QUERY), block.seed, stacked=block.stacked))
    generated = [query for query in queries for _ in range(CONTINUATIONS_A_QUERY)][: block.count]
    chosen = {
        mode: [continuation(2 * (block.seed + place) + offset) for place in range(block.count)]
        for offset, mode in enumerate(block.modes)
    }
    starts = range(0, block.count, CONTINUATIONS_A_QUERY)
    by_query = {mode: [each[at : at + CONTINUATIONS_A_QUERY] for at in starts] for mode, each in chosen.items()}
    judged = judge_continued(spark, [case for _, case in queries], block.modes, by_query, block.door)
    verdicts = {mode: list(chain.from_iterable(found)) for mode, found in judged.items()}
    if not is_alive(spark):
        return _died(block, generated, verdicts)
    failing = [
        (seed, case, each, mode)
        for mode, found in verdicts.items()
        for (seed, case), each, verdict in zip(generated, chosen[mode], found, strict=True)
        if verdict.outcome == "disagree"
    ]
    reports = [
        _described_continued(spark, block, *which, shrink=place < MOST_SHRUNK) for place, which in enumerate(failing)
    ]
    return _outcome(block, {f"{CONTINUED}{mode}": found for mode, found in verdicts.items()}, reports)


def _typed(spark: SparkSession, block: Block) -> Outcome:
    """Queries over other types, in a session of its own, under both semantics."""
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory() as home, session_apart(spark, Path(home), TYPED_SETTINGS) as lineage:
        drawn = many_typed(block.count, block.seed)
        for _, same in groupby(drawn, lambda each: (each[1].kind, each[1].name)):
            some = list(same)
            tables = Tables(lineage, some[0][1])
            for (seed, typed, then), mode in product(some, block.modes):
                wrong = [f"seed {seed}, {mode}, {typed}: {each}" for each in problems(tables, typed, mode, then)]
                verdicts.append(Verdict("disagree", "\n".join(wrong)) if wrong else Verdict("agree"))
            tables.drop()
    return _outcome(block, {"typed": verdicts}, [each.detail for each in verdicts if each.outcome == "disagree"])


def _died(block: Block, generated: Sequence[tuple[int, Case]], verdicts: Mapping[Mode, Sequence[Verdict]]) -> Outcome:
    """What is known of a block during which Spark's process ended: the first two cases that it did not answer.

    Two are asked at a time.
    """
    lost = [
        f"seed {seed}, {report(case, mode, verdict)}"
        for mode, found in verdicts.items()
        for (seed, case), verdict in zip(generated, found, strict=True)
        if verdict.detail.startswith(DIED)
    ]
    judged = {
        f"{CONTINUED}{mode}": [verdict for verdict in found if not verdict.detail.startswith(DIED)]
        for mode, found in verdicts.items()
    }
    return replace(_outcome(block, judged, lost[:2] or [DIED]), died=True)


def _described_continued(
    spark: SparkSession, block: Block, seed: int, case: Case, continued: Continuation, mode: Mode, *, shrink: bool
) -> str:
    """The report of a failing continuation: first of its steps those that it needs, then of the query."""
    deadline = time.monotonic() + SHRINK_SECONDS

    def verdict(candidate: Case, each: Continuation) -> Verdict:
        return judge_continued(spark, [candidate], [mode], {mode: [[each]]}, block.door)[mode][0][0]

    def fails(candidate: Case, each: Continuation) -> bool:
        return time.monotonic() < deadline and verdict(candidate, each).outcome == "disagree"

    if shrink and is_alive(spark):
        while (less := next((each for each in continued.shorter() if fails(case, each)), None)) is not None:
            continued = less
        case = shrunk(seed, lambda candidate: fails(candidate, continued), case, stacked=block.stacked)
    return f"seed {seed}, {report(case, mode, verdict(case, continued))}"


def _outcome(block: Block, verdicts: Mapping[str, Sequence[Verdict]], reports: Sequence[str]) -> Outcome:
    reasons = Counter(
        _reason(what, verdict)
        for what, found in verdicts.items()
        for verdict in found
        if verdict.outcome in ("refused", "invalid")
    )
    counts = {what: dict(Counter(verdict.outcome for verdict in found)) for what, found in verdicts.items()}
    return Outcome(block.name, block.seed, block.count, counts, dict(reasons), list(reports))


def _reason(what: str, verdict: Verdict) -> str:
    """The kind of a refusal, without the names and positions in it."""
    return f"{what} {verdict.outcome}: " + re.sub(r"\(line.*?\)|`[^`]*`|\b\w*\d+\b", "…", verdict.detail)[:160]


def described(spark: SparkSession, seed: int, case: Case, mode: Mode, block: Block, *, shrink: bool) -> str:
    """The report of a failing case, shrunk as far as the time allows."""
    deadline = time.monotonic() + SHRINK_SECONDS

    def fails(candidate: Case) -> bool:
        return (
            time.monotonic() < deadline and judge(spark, [candidate], [mode], block.door)[mode][0].outcome == "disagree"
        )

    smallest = shrunk(seed, fails, case, granules=block.granules, stacked=block.stacked) if shrink else case
    verdict = judge(spark, [smallest], [mode], block.door)[mode][0]
    return f"seed {seed}, {report(smallest, mode, verdict)}"


# --- many of them -------------------------------------------------------------------------------------------


def totals(outcomes: Iterable[Outcome]) -> dict[str, Counter[str]]:
    """Cases by outcome, by what was compared."""
    found: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        for what, counts in outcome.found.items():
            found.setdefault(what, Counter()).update(counts)
    return found


def summary(outcomes: Sequence[Outcome]) -> str:
    """A line for everything that was compared, then why something was not."""
    reasons: Counter[str] = Counter()
    for outcome in outcomes:
        reasons.update(outcome.reasons)
    lines = [f"{what}: {sum(counts.values()):,} cases, {_listed(counts)}" for what, counts in totals(outcomes).items()]
    return "\n".join([*lines, *(f"{count:7,} {why}" for why, count in reasons.most_common(40))])


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {outcome}" for outcome, count in counts.most_common())


def faults(outcomes: Sequence[Outcome]) -> list[str]:
    """What is wrong: disagreements, or too few cases that could be judged."""
    wrong = [report for outcome in outcomes for report in outcome.disagreements]
    return wrong + [fault for what, counts in totals(outcomes).items() for fault in _too_few(what, counts)]


def _too_few(what: str, counts: Counter[str]) -> Iterator[str]:
    cases = sum(counts.values()) - counts["no words"]
    apart = counts["invalid"] + counts["open"] + counts["too long"]
    if what.startswith(OF_A_LAW):
        if counts["refused"] + apart > max(MOST_NOT_HELD * cases, 1):
            yield f"{what}: {counts['refused'] + apart} of {cases} were refused or could not be compared"
        return
    if counts["refused"] > max(MOST_REFUSED * cases, 1):
        yield f"{what}: {counts['refused']} of {cases} were refused"
    if apart > max(MOST_NOT_COMPARABLE * cases, 1):
        yield f"{what}: {apart} of {cases} could not be compared"

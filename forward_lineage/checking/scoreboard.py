"""The sum of a run: how many of each outcome, refusals by reason, every failure, the laws."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from forward_lineage.checking.corpus import Entry
from forward_lineage.checking.outcomes import Laws, Outcome, Rows, Verdict

#: Outcomes that a run must not have.
BAD = (Outcome.FAILED, Outcome.UNREADABLE)
#: Outcomes that are told by reason.
_GROUPED = (
    Outcome.REFUSED, Outcome.WRONG, Outcome.NOT_DETERMINISTIC, Outcome.PASSED_OVER, Outcome.TIMED_OUT,
    Outcome.OUT_OF_MEMORY, Outcome.TOO_LARGE, Outcome.DIED,
)  # fmt: skip


@dataclass
class Reason:
    """A reason that several statements share: how often, the first place, and what was said there."""

    count: int
    place: str
    why: str


@dataclass
class Scoreboard:
    """The sums of a run.

    Attributes:
        files: how many files.
        statements: how many statements.
        outcomes: outcome → semantics → how many.
        rows: how the rows of rewritten statements compare → semantics → how many.
        reasons: outcome → reason → who shares it; under both semantics a statement counts once.
        bad: (place, what is wrong) of every failure, difference and broken law.
        laws: the sums.
        without_base_rows: rewritten queries that read no table with base rows.
        seconds: how long the statements took.
        finished: whether every statement was tried.

    """

    files: set[str] = field(default_factory=set)
    statements: int = 0
    outcomes: dict[Outcome, Counter[str]] = field(default_factory=dict)
    rows: dict[Rows, Counter[str]] = field(default_factory=dict)
    reasons: dict[Outcome, dict[str, Reason]] = field(default_factory=dict)
    bad: list[tuple[str, str]] = field(default_factory=list)
    laws: Laws = field(default_factory=Laws)
    without_base_rows: int = 0
    seconds: float = 0.0
    finished: bool = True

    def add(self, entry: Entry) -> None:
        """Count a statement."""
        self.files.add(entry.file)
        self.statements += 1
        self.seconds += entry.seconds
        for semantics, verdict in entry.verdicts.items():
            self.outcomes.setdefault(verdict.outcome, Counter())[semantics] += 1
            if verdict.outcome is Outcome.REWRITTEN and verdict.rows is not None:
                self.rows.setdefault(verdict.rows, Counter())[semantics] += 1
        for verdict in dict.fromkeys(entry.verdicts.values()):
            self._reason(entry, verdict)
        self._base_rows(entry)
        self._laws(entry)

    @property
    def good(self) -> bool:
        """Whether nothing failed or differed, and every law that was tried held."""
        return not self.bad

    @property
    def minimality(self) -> float | None:
        """The geometric mean of |lineage| / |smallest witness found|; None where nothing was sampled."""
        ratios = self.laws.minimality
        return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {
            "files": len(self.files),
            "statements": self.statements,
            "finished": self.finished,
            "seconds": round(self.seconds, 1),
            "outcomes": {outcome: dict(counts) for outcome, counts in self.outcomes.items()},
            "rows": {rows: dict(counts) for rows, counts in self.rows.items()},
            "reasons": {
                outcome: {reason: vars(each) for reason, each in reasons.items()}
                for outcome, reasons in self.reasons.items()
            },
            "bad": [{"place": place, "what": what} for place, what in self.bad],
            "without_base_rows": self.without_base_rows,
            "witness": _law(self.laws, "witness"),
            "necessity": _law(self.laws, "necessity"),
            "frames": _law(self.laws, "frames"),
            "minimality": {"rows": len(self.laws.minimality), "mean": self.minimality},
        }

    def _reason(self, entry: Entry, verdict: Verdict) -> None:
        if verdict.outcome in BAD:
            self.bad.append((entry.place, f"{verdict.outcome}: {verdict.why}"))
        if verdict.rows is Rows.DIFFERENT:
            self.bad.append((entry.place, f"different: {verdict.why}"))
        if verdict.outcome in _GROUPED:
            reasons = self.reasons.setdefault(verdict.outcome, {})
            known = reasons.setdefault(verdict.reason, Reason(0, entry.place, verdict.why))
            known.count += 1

    def _base_rows(self, entry: Entry) -> None:
        rewritten = [each for each in entry.verdicts.values() if each.outcome is Outcome.REWRITTEN]
        self.without_base_rows += bool(rewritten) and not any(each.tables for each in rewritten)

    def _laws(self, entry: Entry) -> None:
        self.laws.witness.add(entry.laws.witness)
        self.laws.necessity.add(entry.laws.necessity)
        self.laws.frames.add(entry.laws.frames)
        self.laws.minimality += entry.laws.minimality
        self.bad += [(entry.place, f"witness failed: {each}") for each in entry.laws.witness.failed]
        self.bad += [(entry.place, f"necessity failed: {each}") for each in entry.laws.necessity.failed]
        self.bad += [(entry.place, f"frames failed: {each}") for each in entry.laws.frames.failed]


def _law(laws: Laws, name: str) -> dict[str, Any]:
    law = getattr(laws, name)
    return {"held": law.held, "failed": len(law.failed), "not_tried": law.not_tried}

"""Every statement of a corpus, one after another, whatever becomes of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from forward_lineage.checking.child import Child, ChildEndedError, Settings
from forward_lineage.checking.outcomes import Laws, Outcome, Verdict
from forward_lineage.checking.statements import SqlFile, Statement

#: After so many statements a child is replaced before the next file: what Spark remembers of sessions is not for ever.
_REPLACED_AFTER = 400


@dataclass
class Entry:
    """The outcome of a statement.

    Attributes:
        file: its file.
        line: where it begins.
        sql: its text; empty for a file that has no statements to show.
        verdicts: one for each semantics.
        laws: what came of the laws.
        seconds: how long it took.

    """

    file: str
    line: int
    sql: str
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    laws: Laws = field(default_factory=Laws)
    seconds: float = 0.0

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}"

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {
            "file": self.file,
            "line": self.line,
            "sql": self.sql,
            "seconds": round(self.seconds, 3),
            **{semantics: verdict.to_json() for semantics, verdict in self.verdicts.items()},
            "laws": self.laws.to_json(),
        }


class Run:
    """One run over a corpus.

    Args:
        files: the corpus.
        settings: what the child is started with.
        now: called with the place and text of each statement before it is run.

    """

    def __init__(
        self, files: Iterable[SqlFile], settings: Settings, now: Callable[[str], None] = lambda place: None
    ) -> None:
        self._files = files
        self._settings = settings
        self._now = now
        self._child: Child | None = None
        self._asked = 0
        self._set_up: list[str] = []  # of the current file, to be run again in a new child

    def entries(self) -> Iterator[Entry]:
        """Yield what becomes of each statement; the child ends with the iteration, however that ends.

        Raises:
            SetupError: no child can be started.

        """
        try:
            for file in self._files:
                yield from self._file(file)
        finally:
            self._end_child()

    def _file(self, file: SqlFile) -> Iterator[Entry]:
        if file.error is not None:
            yield Entry(file.name, 1, "", self._everywhere(Verdict(Outcome.UNREADABLE, file.error, file.error)))
        self._set_up = []
        if self._asked > _REPLACED_AFTER:
            self._end_child()
        if file.statements:
            self._ready()
        for statement in file.statements:
            self._now(f"{file.name}:{statement.line}")
            yield self._statement(file, statement)

    def _statement(self, file: SqlFile, statement: Statement) -> Entry:
        entry, begun = Entry(file.name, statement.line, statement.sql), time.monotonic()
        try:
            self._judge(entry)
        except ChildEndedError as ended:
            self._count_ended(entry, ended)
        entry.seconds = time.monotonic() - begun
        outcomes = {verdict.outcome for verdict in entry.verdicts.values()}
        if Outcome.OUT_OF_MEMORY in outcomes and self._child is not None:
            self._restart()
        if Outcome.SET_UP in outcomes:
            self._set_up.append(statement.sql)
        return entry

    def _judge(self, entry: Entry) -> None:
        assert self._child is not None
        self._asked += 1
        for answer in self._child.ask({"do": "judge", "sql": entry.sql, "place": entry.place}):
            if "verdict" in answer:
                entry.verdicts[answer["semantics"]] = Verdict.from_json(answer["verdict"])
            if answer.get("done"):
                entry.laws = Laws.from_json(answer["done"])

    def _count_ended(self, entry: Entry, ended: ChildEndedError) -> None:
        assert self._child is not None
        outcome, why = Outcome.TIMED_OUT, f"no answer for {self._settings.timeout:g} s"
        if not ended.hung:
            gone = self._child.ran_out_of_memory
            outcome = Outcome.OUT_OF_MEMORY if gone else Outcome.DIED
            why = "Spark's process ran out of memory" if gone else "Spark's process ended"
        why = f"{why} ({ended.step})"
        for semantics in self._settings.semantics:
            entry.verdicts.setdefault(semantics, Verdict(outcome, why, why))
        if entry.verdicts and all(each.outcome is not outcome for each in entry.verdicts.values()):
            entry.laws.witness.skip(why)
        self._restart()

    def _restart(self) -> None:
        """Start another child and bring it to where the file is; a statement that ends that one, too, is left out."""
        while True:
            self._end_child()
            self._ready()
            for place, sql in enumerate(self._set_up):
                if not self._again(sql):
                    del self._set_up[place]
                    break
            else:
                return

    def _again(self, sql: str) -> bool:
        assert self._child is not None
        try:
            for _ in self._child.ask({"do": "again", "sql": sql}):
                pass
        except ChildEndedError:
            return False
        return True

    def _ready(self) -> None:
        """Have a child with a fresh session."""
        if self._child is not None:
            try:
                for _ in self._child.ask({"do": "open"}):
                    pass
                return
            except ChildEndedError:
                self._end_child()
        self._child, self._asked = Child(self._settings), 0

    def _end_child(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None

    def _everywhere(self, verdict: Verdict) -> dict[str, Verdict]:
        return dict.fromkeys(self._settings.semantics, verdict)

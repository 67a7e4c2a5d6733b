"""stub for development."""

from __future__ import annotations
import hashlib
from dataclasses import dataclass
from typing import Any
from forward_lineage.frontend import Statement
from forward_lineage.sketches.safety.facts import Facts
from forward_lineage.sketches.safety.verdicts import Verdict


@dataclass(frozen=True)
class Instance:
    template: str
    statement: Statement
    args: Any


def instance_of(statement, args):
    return Instance(hashlib.sha256(statement.text.encode()).hexdigest()[:16], statement, args)


def serves(captured, asked, facts):
    return Verdict(captured.statement.text == asked.statement.text and captured.args == asked.args, "the same query")

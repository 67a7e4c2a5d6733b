"""Mutants that nothing can notice, and why: another way to the same. They are told by what they change, not by where.

`explained.toml` has a table for each: `module`, the line `before` and `after`, and `why`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.mutations.rules.sites import Mutant, described

FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Explained:
    """A change of a module, and why nothing notices it."""

    module: str
    before: str
    after: str
    why: str

    @property
    def change(self) -> tuple[str, str]:
        return self.module, f"- {self.before}\n+ {self.after}"


def explained() -> Mapping[tuple[str, str], Explained]:
    """By what is changed: the module, and the lines as `described` says them."""
    found = [Explained(**each) for each in tomllib.loads(FILE.read_text(encoding="utf-8"))["mutant"]]
    return {each.change: each for each in found}


def change_of(mutant: Mutant) -> tuple[str, str]:
    return mutant.module, described(mutant)

"""The names of the SQL functions are those that the kernel registers, and are spelled once."""

from __future__ import annotations

import io
import re
import tokenize

from rewrites import lineage_functions
from rewrites.lineage_functions import DL_PARQUET, NAMES
from tests.conftest import REPOSITORY

KERNEL = REPOSITORY / "udafs" / "scala"
TABLES = [KERNEL / "session" / f"{name}.scala" for name in ("Registry", "ComparedFunctions", "VersionFunctions")]


def test_the_names_are_those_of_the_registration_table() -> None:
    texts = [table.read_text(encoding="utf-8") for table in TABLES]
    assert tuple(re.findall(r'SqlFunction\(\s*"(\w+)"', "".join(texts))) == NAMES


def test_the_relation_has_the_name_that_the_kernel_gives_it() -> None:
    assert f'null, "{DL_PARQUET}",' in (KERNEL / "scan" / "NamedFiles.scala").read_text(encoding="utf-8")


def test_no_other_module_of_the_rules_spells_one() -> None:
    wrong = []
    for source in sorted((REPOSITORY / "rewrites").rglob("*.py")):
        if source.name == f"{lineage_functions.__name__.rpartition('.')[2]}.py":
            continue
        text = source.read_text(encoding="utf-8")
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING and token.string.strip("\"'") in (*NAMES, DL_PARQUET):
                wrong.append(f"{source.name}, line {token.start[0]}: {token.string}")
    assert not wrong

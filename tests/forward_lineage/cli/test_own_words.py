"""What an error says at the command line."""

from __future__ import annotations

import pytest

from forward_lineage.cli.own_words import in_words_of_commands
from udafs.errors import LineageError


@pytest.mark.parametrize(
    ("what", "instead", "says"),
    [
        ("x", 'Register it: lineage.register("t", …).', "x. Register it: forward-lineage register t …."),
        (
            "x",
            'Say so: lineage.register("t", path="a b.csv", format="csv"); in the shell --format csv.',
            "x. Say so: forward-lineage register t --path 'a b.csv' --format csv.",
        ),
        (
            "x",
            'Register it, lineage.register("t", path="t.d") or in the shell forward-lineage register t; then go on.',
            "x. Register it, forward-lineage register t --path t.d; then go on.",
        ),
        (
            "x",
            'Say so: lineage.register("t", format="csv", options={"header": True, "sep": ";"}).',
            "x. Say so: forward-lineage register t --format csv --option header=true --option sep=';'.",
        ),
        ("cube= is odd", "Write workload=[…].", "--cube is odd. Write --workload …."),
        ("x", 'Say where="a > …".', "x. Say --where 'a > …'."),
        (
            "x",
            'Or lineage.register("o", source="t", trusted=True).',
            "x. Or forward-lineage register o --source t --trusted.",
        ),
        (
            "x",
            "Run it with lineage.sql(…), or lineage.save(…).",
            "x. Run it with forward-lineage run …, or forward-lineage save ….",
        ),
        ("x", "Say which: table=….", "x. Say which: --table …."),
        ("x", 'Give key=["a", "b"], or order_by= for a copy.', "x. Give --key a --key b, or --order-by for a copy."),
        ("home= is no address", "Pass home= a folder.", "--home is no address. Pass --home a folder."),
        ("path= and source= both", "Give one of them.", "--path and --source both. Give one of them."),
        ("x", "lineage.rows(table, ids) reads them.", "x. lineage.rows(table, ids) reads them."),
        # the user's own SQL stays as it is
        ("the condition key=5 is odd", "Correct it.", "the condition key=5 is odd. Correct it."),
        ("x", "Write it another way; it was read as: 'key=…'.", "x. Write it another way; it was read as: 'key=…'."),
        ("x", None, "x"),
    ],
)
def test_remedies_name_commands(what: str, instead: str | None, says: str) -> None:
    assert in_words_of_commands(LineageError(what, instead=instead)) == says


def test_in_the_shell_commands_begin_with_a_backslash() -> None:
    error = LineageError("t is not registered", instead='lineage.register("t", path="t.parquet")')
    assert in_words_of_commands(error, "\\") == "t is not registered. \\register t --path t.parquet"

"""Campaigns without Spark: what is noted, what a second call does, what is reported."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.oracle import __main__ as command
from tests.oracle import campaign
from tests.oracle.blocks import Block, Outcome, blocks, faults, summary
from tests.oracle.campaign import Progress, State, StateError, fingerprint, judge_blocks
from tests.spark_switches import SWITCHES

WELL = Outcome("queries 0", 7, 100, {"data": {"agree": 98, "refused": 2}}, {"data refused: LIMIT …": 2}, [], 1.5)
ILL = replace(WELL, block="queries 1", found={"data": {"agree": 99, "disagree": 1}}, disagreements=["seed 7, mode …"])


def agreeing(connection: Connection, scratch: Path) -> None:
    """A process that finds nothing wrong, and dies of blocks whose seed is 13."""
    assert scratch.is_dir()
    while True:
        try:
            block = connection.recv()
        except EOFError:
            return
        if block.seed == 13:
            raise SystemExit(3)
        connection.send(replace(WELL, block=block.name, seed=block.seed, cases=block.count))


def test_blocks_share_no_seeds_and_grow_at_the_end() -> None:
    few, many = blocks(1_950, 30, 5), blocks(20_000, 200, 5)
    assert len(few) == 20 + 10 * 2
    assert set(few) <= set(many)
    assert len({block.name for block in many}) == len({block.seed for block in many}) == len(many)
    queries = [block for block in many if block.law is None]
    assert sum(block.granules for block in queries) == sum("values" in block.modes for block in queries) == 20


def test_continued_blocks_and_settings_have_seeds_of_their_own() -> None:
    found = blocks(200, 0, 5, continuations=1_950, under_settings=150)
    assert len({block.name for block in found}) == len({block.seed for block in found}) == len(found)
    assert sum(block.continued for block in found) == 20
    assert sum(block.continued and block.stacked for block in found) == 14, "two of three stand on groups and windows"
    assert {block.setting for block in found} == {None, *SWITCHES}
    assert len(SWITCHES) >= 12
    assert set(blocks(0, 0, 5, continuations=300)) <= set(found)


@pytest.mark.long  # as the campaign itself is
def test_a_block_that_ended_spark_is_reported_and_its_process_replaced(tmp_path: Path) -> None:
    todo = [Block(f"b{place}", place, 1, continued=True) for place in (11, 12)]
    outcomes = list(judge_blocks(todo, 1, dying))
    assert [(each.died, each.block) for each in outcomes] == [(True, "b11"), (True, "b12")]


def dying(connection: Connection, scratch: Path) -> None:
    """A process whose Spark dies of its first block; what it is given afterwards is never answered."""
    block = connection.recv()
    connection.send(replace(WELL, block=block.name, seed=block.seed, died=True))
    with suppress(EOFError):
        connection.recv()


def test_a_state_remembers_whole_lines(tmp_path: Path) -> None:
    with State(tmp_path, "key") as state:
        state.add(WELL)
        state.add(ILL)
    cut = state.path.read_bytes()[:-10]
    state.path.write_bytes(cut)  # as a power failure leaves it
    with State(tmp_path, "key") as again:
        assert again.finished == {"queries 0": WELL}
        again.add(ILL)
    with State(tmp_path, "key") as whole:
        assert whole.finished == {"queries 0": WELL, "queries 1": ILL}


def test_another_key_starts_afresh_and_knows_of_the_first(tmp_path: Path) -> None:
    with State(tmp_path, "one") as first, State(tmp_path, "two") as other:
        first.add(WELL)
        assert not other.finished
    assert other.others == ["one"]
    assert "others than those of one" in command.started(0, 3, other)


def test_two_campaigns_do_not_share_a_state(tmp_path: Path) -> None:
    with State(tmp_path, "key"), pytest.raises(StateError, match="another campaign uses"):
        State(tmp_path, "key")


def test_a_foreign_line_is_no_outcome(tmp_path: Path) -> None:
    (tmp_path / "key.jsonl").write_text('{"block": "queries 0"}\n')
    with pytest.raises(StateError, match="line 1"):
        State(tmp_path, "key")


def test_the_fingerprint_is_of_what_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "REPOSITORY", tmp_path)
    monkeypatch.setattr(campaign, "DECIDING_SOURCES", ("rules",))
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "a.py").write_text("1")
    before = fingerprint()
    (tmp_path / "rules" / "test_a.py").write_text("1")
    assert fingerprint() == before
    (tmp_path / "rules" / "a.py").write_text("2")
    assert fingerprint() != before


@pytest.mark.long  # as the campaign itself is
def test_all_blocks_are_judged_by_processes_that_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "BLOCKS_A_SPARK", 2)
    todo = blocks(500, 0, 100)
    assert sorted(outcome.block for outcome in judge_blocks(todo, 2, agreeing)) == [block.name for block in todo]


def test_a_process_that_dies_names_its_block() -> None:
    with pytest.raises(StateError, match=r"'queries 1' \(seed 13\) ended with 3"):
        list(judge_blocks([Block("queries 1", 13, 100)], 1, agreeing))


def test_a_second_call_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "judge_blocks", lambda todo, _: (replace(WELL, block=each.name) for each in todo))
    call = ["--queries", "300", "--state", str(tmp_path), "--seed", "100"]
    assert command.main(call) == 0
    assert "300 of 300 cases, 0 disagreements" in capsys.readouterr().out
    assert command.main(call) == 0
    assert "starting" not in capsys.readouterr().out
    call[1] = "400"
    assert command.main(call) == 0
    out = capsys.readouterr().out
    assert "going on: 3 of 4 blocks" in out
    assert "data: 400 cases, 392 agree, 8 refused" in out


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> object:
        yield replace(WELL, block="queries 0")
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "judge_blocks", interrupted)
    call = ["--queries", "300", "--state", str(tmp_path), "--seed", "100"]
    assert command.main(call) == 130
    (noted,) = tmp_path.iterdir()
    with State(tmp_path, noted.stem) as state:
        assert list(state.finished) == ["queries 0"]


def test_a_disagreement_is_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.closing([Block("queries 0", 7, 100), Block("queries 1", 8, 100)], [WELL, ILL]) == 1
    printed = capsys.readouterr()
    assert "seed 7, mode" in printed.err
    assert "1 disagreements" in printed.out
    assert faults([WELL]) == []
    assert summary([WELL, ILL]).splitlines() == [
        "data: 200 cases, 197 agree, 2 refused, 1 disagree",
        "      4 data refused: LIMIT …",
    ]


def test_too_many_refusals_are_a_fault() -> None:
    assert faults([replace(WELL, found={"data": {"agree": 90, "refused": 10}})]) == ["data: 10 of 100 were refused"]
    assert faults([replace(WELL, found={"data": {"agree": 80, "open": 11, "invalid": 9}})])
    assert faults([replace(WELL, found={"law: one": {"agree": 80, "refused": 20}})]) == []
    assert faults([replace(WELL, found={"law: one": {"agree": 79, "refused": 10, "open": 11}})])


def test_progress_is_of_this_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with State(tmp_path, "key") as state:
        state.add(WELL)
        progress = Progress(blocks(1_100, 0, 7), state)
        assert progress.line() == "100 of 1,100 cases, 0 disagreements, 0.0 a second, time left unknown"
        now[0] += 50
        state.add(ILL)
        assert progress.line() == "200 of 1,100 cases, 1 disagreements, 2.0 a second, 8 min left"

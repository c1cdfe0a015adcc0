"""The journal: what was acted on is never forgotten, and what a crash tore is not believed."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.journal import Entry, Journal
from agent.outcome import Applied, Rejected


def a_journal(path: Path) -> Journal:
    journal = Journal(path)
    journal.take("e1", "start", "f1", "i1")
    journal.settle("e1", Applied(4711))
    journal.take("e2", "stop", "f2", "i1")
    journal.report({"n": 1})
    journal.report({"n": 2})
    journal.close()
    return journal


def test_a_journal_read_again_knows_commands_results_and_reports(tmp_path: Path):
    a_journal(tmp_path / "journal")
    again = Journal(tmp_path / "journal")
    assert again.find("e1") == Entry("start", "f1", "i1", Applied(4711))
    assert again.find("e2") == Entry("stop", "f2", "i1", None)
    assert again.reports_after(0) == [(1, {"n": 1}), (2, {"n": 2})]
    assert (again.was_stopped("i1"), again.was_stopped("i2"), again.start_of("i1")) == (True, False, "e1")


def test_report_numbers_go_on_after_all_were_acknowledged(tmp_path: Path):
    """A number that counted twice would be taken for a report that is stored already."""
    a_journal(tmp_path / "journal")
    again = Journal(tmp_path / "journal")
    assert again.acknowledge(2) == [{"n": 1}, {"n": 2}]
    again.close()
    last = Journal(tmp_path / "journal")
    assert (last.reports_after(0), last.report({"n": 3})) == ([], 3)


def test_reports_are_given_from_the_first_that_was_not_sent(tmp_path: Path):
    journal = Journal(tmp_path / "journal")
    numbers = [journal.report({"n": n}) for n in range(4)]
    assert journal.acknowledge(1) == [{"n": 0}]
    assert [seq for seq, _ in journal.reports_after(2)] == numbers[2:]


@pytest.mark.parametrize("cut", [1, 2, 10, 30])
def test_a_torn_last_line_is_cut_off(tmp_path: Path, cut: int):
    path = tmp_path / "journal"
    a_journal(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    again = Journal(path)
    survived = [(1, {"n": 1}), (2, {"n": 2})] if cut == 1 else [(1, {"n": 1})]
    assert again.reports_after(0) == survived
    assert (again.damaged, again.report({"n": 9})) == ([], len(survived) + 1)
    again.close()
    assert Journal(path).reports_after(0)[-1][1] == {"n": 9}


def test_a_damaged_line_in_the_middle_is_kept_aside_and_the_rest_is_believed(tmp_path: Path):
    path = tmp_path / "journal"
    a_journal(path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b"start", b"stort")
    path.write_bytes(b"".join(lines))
    again = Journal(path)
    assert (again.find("e1"), again.find("e2")) == (None, Entry("stop", "f2", "i1"))
    assert (tmp_path / "journal.damaged").read_bytes() == lines[1]


def test_only_the_newest_settled_commands_are_kept_and_all_open_ones(tmp_path: Path):
    journal = Journal(tmp_path / "journal")
    journal.take("open", "start", "f", "i")
    for number in range(5):
        journal.take(f"e{number}", "start", "f", f"i{number}")
        journal.settle(f"e{number}", Rejected("CODE", "words"))
    journal.close()
    again = Journal(tmp_path / "journal", kept=2)
    assert (again.find("e2"), again.find("open")) == (None, Entry("start", "f", "i"))
    assert again.find("e3") == Entry("start", "f", "i3", Rejected("CODE", "words"))


@contextmanager
def a_disk_with_room_for(path: Path, count: int) -> Iterator[None]:
    """No file of this process may grow beyond the size of this one and a few bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + count, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("room", [0, 1, 40])
def test_a_full_disk_leaves_no_half_line(tmp_path: Path, room: int):
    """What could not be written is not remembered as taken, and later lines are whole."""
    path = tmp_path / "journal"
    journal = Journal(path)
    with a_disk_with_room_for(path, room), pytest.raises(OSError, match=r"No space left|File too large"):
        journal.take("e1", "start", "f1", "i1")
    assert journal.find("e1") is None
    journal.take("e2", "start", "f2", "i2")
    journal.close()
    again = Journal(path)
    assert (again.find("e1"), again.find("e2"), again.damaged) == (None, Entry("start", "f2", "i2"), [])

"""Output is bounded on disk and in the tail, whatever a job writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.output import FILE_BYTES, TAIL_BYTES, Tail, Writer, mark, read_tail


def written(folder: Path, *chunks: bytes) -> Path:
    writer = Writer(str(folder))
    for chunk in chunks:
        writer.write(chunk)
    return folder


def test_nothing_written_reads_as_nothing(tmp_path: Path):
    assert (read_tail(tmp_path), mark(tmp_path)) == (Tail(b"", truncated=False), (0, 0, 0))


def test_little_is_kept_whole(tmp_path: Path):
    assert read_tail(written(tmp_path, b"a\xff", b"\0b")) == Tail(b"a\xff\0b", truncated=False)


@pytest.mark.parametrize("more", [0, 1, 100])
def test_the_tail_is_the_last_64_kib(tmp_path: Path, more: int):
    data = b"y" * more + b"x" * TAIL_BYTES
    assert read_tail(written(tmp_path, data)) == Tail(b"x" * TAIL_BYTES, truncated=more > 0)


def test_the_tail_goes_over_the_turn_of_the_files(tmp_path: Path):
    tail = read_tail(written(tmp_path, b"a" * FILE_BYTES, b"b" * 10))
    assert tail == Tail(b"a" * (TAIL_BYTES - 10) + b"b" * 10, truncated=True)


def test_the_disk_never_holds_more_than_two_files(tmp_path: Path):
    written(tmp_path, *[bytes([n]) * 65536 for n in range(100)])
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert set(sizes) == {"log", "log.1"}
    assert sum(sizes.values()) <= 2 * (FILE_BYTES + 65536)
    assert read_tail(tmp_path).data == bytes([99]) * 65536


def test_a_mark_changes_when_something_is_written(tmp_path: Path):
    writer = Writer(str(tmp_path))
    marks = [mark(tmp_path)]
    for _ in range(3):
        writer.write(b"x" * FILE_BYTES)
        marks.append(mark(tmp_path))
    assert len(set(marks)) == 4

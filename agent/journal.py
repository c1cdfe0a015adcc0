"""What the agent must not forget: commands with their results, and reports until the server has them.

One record a line, `crc32 json`, appended and synced before anybody acts on it. A torn last line is cut off; a damaged
one in the middle is skipped and kept aside. Blocking: call it from a thread.
"""

from __future__ import annotations

import errno
import os
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from json import dumps, loads
from pathlib import Path

from agent.files import PRIVATE_FILE, sync_folder
from agent.files import replace as replace_file
from agent.outcome import Final, from_document, to_document
from resources.canonical import Document

KEPT_COMMANDS = 4096
COMPACT_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Entry:
    """A command as it was taken: `instance` is the one it is about, `result` None while nothing came of it."""

    kind: str
    fingerprint: str
    instance: str
    result: Final | None = None


class Journal:
    """`last_report` is the number that was given last; they count from one."""

    def __init__(self, path: Path, *, kept: int = KEPT_COMMANDS) -> None:
        self._path = path
        self._kept = kept
        self._lock = threading.Lock()
        self._commands: dict[str, Entry] = {}
        self._reports: dict[int, Document] = {}
        self.last_report = 0
        self.damaged: list[bytes] = []
        self._load()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, PRIVATE_FILE)
        self._compact_at = COMPACT_BYTES
        self._compact()

    def find(self, effect: str) -> Entry | None:
        return self._commands.get(effect)

    def was_stopped(self, instance: str) -> bool:
        """A stop for this instance was taken, so a start that comes after it is a late one."""
        return any(entry.kind == "stop" and entry.instance == instance for entry in list(self._commands.values()))

    def start_of(self, instance: str) -> str:
        """The effect that started this instance, or an empty text."""
        entries = list(self._commands.items())
        return next((effect for effect, entry in entries if entry.kind == "start" and entry.instance == instance), "")

    def take(self, effect: str, kind: str, fingerprint: str, instance: str) -> None:
        """Write a command down before it is carried out. Raises OSError when the disk does not take it."""
        record = {"t": "command", "effect": effect, "kind": kind, "fingerprint": fingerprint, "instance": instance}
        with self._lock:
            self._append(record)
            self._commands[effect] = Entry(kind, fingerprint, instance)

    def settle(self, effect: str, result: Final) -> None:
        with self._lock:
            self._append({"t": "result", "effect": effect, "result": to_document(result)})
            self._commands[effect] = replace(self._commands[effect], result=result)

    def report(self, body: Document) -> int:
        """Number a report and keep it. The number counts even when the disk does not take it: OSError, then."""
        with self._lock:
            self.last_report += 1
            seq = self.last_report
            self._reports[seq] = body
            self._append({"t": "report", "seq": seq, "body": body})
            return seq

    def acknowledge(self, seq: int) -> list[Document]:
        """Every report up to `seq` is with the server; returns those that were not known to be."""
        with self._lock:
            done = [number for number in self._reports if number <= seq]
            if done:
                self._append({"t": "acknowledged", "seq": max(done)})
            return [self._reports.pop(number) for number in done]

    def reports_after(self, seq: int) -> list[tuple[int, Document]]:
        """Reports that are not acknowledged, in order, from the first number above `seq`."""
        with self._lock:
            return [(number, body) for number, body in self._reports.items() if number > seq]

    def close(self) -> None:
        os.close(self._file)

    def _append(self, record: Document) -> None:
        line = _line(record)
        size = os.fstat(self._file).st_size
        try:
            _write(self._file, line)
            os.fdatasync(self._file)
        except OSError:
            os.ftruncate(self._file, size)
            raise
        if size + len(line) > self._compact_at:
            self._compact()

    def _load(self) -> None:
        if self._path.exists():
            data = self._path.read_bytes()
            for line in data.split(b"\n"):
                record = _record(line)
                if record is not None:
                    self._replay(record)
                elif line:
                    self.damaged.append(line)
            if self.damaged and data.endswith(self.damaged[-1]):
                self.damaged.pop()  # torn by a crash: nobody acted on it
        if self.damaged:
            replace_file(self._path.with_name("journal.damaged"), b"\n".join(self.damaged) + b"\n")

    def _replay(self, record: Document) -> None:
        match record:
            case {"t": "journal", "last": int(last)}:
                self.last_report = max(last, self.last_report)
            case {"t": "command", "effect": effect, "kind": kind, "fingerprint": fingerprint, "instance": instance}:
                self._commands[effect] = Entry(kind, fingerprint, instance)
            case {"t": "result", "effect": effect, "result": result} if effect in self._commands:
                self._commands[effect] = replace(self._commands[effect], result=from_document(result))
            case {"t": "report", "seq": int(seq), "body": body}:
                self._reports[seq] = body
                self.last_report = max(self.last_report, seq)
            case {"t": "acknowledged", "seq": int(seq)}:
                self._reports = {number: body for number, body in self._reports.items() if number > seq}

    def _compact(self) -> None:
        """Rewrite what still matters: open commands, the newest settled ones, reports on their way."""
        settled = [effect for effect, entry in self._commands.items() if entry.result is not None]
        for effect in settled[: max(0, len(settled) - self._kept)]:
            del self._commands[effect]
        data = b"".join(_line(record) for record in self._records())
        replace_file(self._path, data)
        os.close(self._file)
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        sync_folder(self._path.parent)
        self._compact_at = max(COMPACT_BYTES, 2 * len(data))

    def _records(self) -> Iterator[Document]:
        yield {"t": "journal", "last": self.last_report}
        for effect, entry in self._commands.items():
            about = {"kind": entry.kind, "fingerprint": entry.fingerprint, "instance": entry.instance}
            yield {"t": "command", "effect": effect} | about
            if entry.result is not None:
                yield {"t": "result", "effect": effect, "result": to_document(entry.result)}
        for seq, body in self._reports.items():
            yield {"t": "report", "seq": seq, "body": body}


def _write(handle: int, data: bytes) -> None:
    if os.write(handle, data) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _line(record: Document) -> bytes:
    text = dumps(record, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _record(line: bytes) -> Document | None:
    """The record of one line, or None when the line is not whole."""
    checksum, _, text = line.partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(text):
            return None
        record = loads(text)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
